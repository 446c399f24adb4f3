import LatewoodBytes
import LatewoodDevice
import LatewoodTerminal

/// One run of the shell: reads lines, fills in the database and runs each as a command.
///
/// Every command is a separate process, started from the same program: it behaves exactly as
/// outside the shell, an interrupt stops only the command, and the file is not kept open between
/// two commands.
final class ShellSession {
  private let console: Console
  private let database: String
  private var history: ShellHistory
  /// A statement that has not ended yet.
  private var statement: ShellStatement?

  init(_ console: Console, database: String, history: ShellHistory) {
    self.console = console
    self.database = database
    self.history = history
  }

  /// Runs commands from a terminal until the user leaves.
  func runInteractively() throws -> ExitCode {
    let name = database.split(separator: "/").last.map(String.init) ?? database
    let prompt = DisplayWidth.fitted(KeyText.shown(name.utf8), to: max(console.width / 3, 12)) + "> "
    let reader = LineReader(console, prompt: prompt, completion: ShellCompletion(database: database))
    CurrentProcess.outliveInterrupts()
    try console.line("SELECT ... ; is a query, {...} a selector; help lists the commands; ctrl-D leaves.")
    try console.flush()
    while true {
      switch try reader.read(&history, continuing: statement) {
      case .end: return .success
      case .cancelled: statement = nil
      case .line(let line):
        do {
          if try take(line, isAtTerminal: true) == nil { return .success }
        } catch {
          let failure = Failure(error)
          if failure.exitCode == .brokenPipe { throw failure }
          try console.report(failure)
        }
      }
    }
  }

  /// Runs commands from a file or pipe, to its end, or to the first command that fails.
  func follow(keepsGoing: Bool) throws -> ExitCode {
    var result = ExitCode.success
    var (number, last) = (0, 0)
    while let bytes = try nextLine() {
      last += 1
      // The line in which a statement begins.
      if statement == nil { number = last }
      var code = ExitCode.success
      do {
        guard let line = String(validating: bytes, as: UTF8.self) else {
          throw Failure.usage("the line is not UTF-8", advice: "Write bytes in hexadecimal, after 0x.")
        }
        guard let ended = try take(line, isAtTerminal: false) else { return result }
        code = ended
      } catch {
        var failure = Failure(error)
        if failure.exitCode == .brokenPipe { throw failure }
        failure.line = number
        try console.report(failure)
        code = failure.exitCode
      }
      guard code != .success else { continue }
      // The remaining output would not be read.
      if code == .brokenPipe { return code }
      if result == .success { result = code }
      guard keepsGoing else {
        try console.note(
          "latewood: stopped at line \(number), exit code \(code.rawValue). With --keep-going the rest is run, too."
        )
        return code
      }
    }
    guard statement == nil else {
      var failure = Failure.usage(
        "the statement that begins here does not end", advice: "Write a semicolon at its end.")
      failure.line = number
      throw failure
    }
    return result
  }

  private func nextLine() throws -> [UInt8]? {
    guard var line = try console.input.readLine() else { return nil }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }

  /// Takes a line of a command or of statements, and runs what ends on it; returns nil if that ends
  /// the shell.
  private func take(_ line: String, isAtTerminal: Bool) throws -> ExitCode? {
    var rest = line
    while true {
      guard var statement = statement ?? ShellStatement(startOf: rest) else {
        if isAtTerminal { try history.add(rest) }
        return try run(rest, isAtTerminal: isAtTerminal)
      }
      guard let next = statement.take(rest) else {
        self.statement = statement
        return .success
      }
      self.statement = nil
      if isAtTerminal, let line = statement.line { try history.add(line) }
      let code = try run(words: statement.words, isAtTerminal: isAtTerminal)
      guard !next.isEmpty, code == .success else { return code }
      rest = next
    }
  }

  /// Runs a line; returns nil if it ends the shell.
  private func run(_ line: String, isAtTerminal: Bool) throws -> ExitCode? {
    guard line.first(where: { !$0.isWhitespace }) != "#" else { return .success }
    let words = try ShellWords.split(line)
    guard let name = words.first else { return .success }
    if name == "exit" || name == "quit" { return nil }
    if words == ["help"] {
      try console.output.write(
        HelpText.shellOverview(of: CommandTable.groups, style: console.style, width: console.proseWidth))
      return .success
    }
    return try run(words: words, isAtTerminal: isAtTerminal)
  }

  private func run(words: [String], isAtTerminal: Bool) throws -> ExitCode? {
    let arguments = try ShellLine.arguments(words, database: database, hasInput: isAtTerminal)
    try console.flush()
    let status = try ChildProcess.run(
      CurrentProcess.executablePath(), arguments: arguments, hasInput: isAtTerminal)
    guard let status else {
      // On a terminal this was an interrupt, and the screen already shows ^C.
      if isAtTerminal { try console.note("") }
      return isAtTerminal ? .no : .inputOutput
    }
    if words.first == "help", isAtTerminal {
      try console.line("Here, leave out `latewood` and DATABASE. exit or ctrl-D leaves the shell.")
      try console.flush()
    }
    return ExitCode(rawValue: status) ?? .inputOutput
  }
}
