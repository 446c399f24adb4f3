import LatewoodBytes
import LatewoodDevice
import LatewoodTerminal

/// One run of the shell: reads lines, fills in the database and runs each as a command.
///
/// Every command is a separate process, started from the same program: it behaves exactly as
/// outside the shell, an interrupt stops only the command, and the file is not kept open between
/// two commands.
final class ShellSession {
  /// The maximum length of a statement in UTF-8: Linux limits each argument of a program to this.
  private static let statementLimit = 128 << 10
  private static let tooLong = "statementTooLong"

  private let console: Console
  private let database: String
  private let key: FileKey.Handover
  private var history: ShellHistory
  /// A statement that has not ended yet.
  private var statement: ShellStatement?

  /// - Parameter key: the key that each command gets.
  init(_ console: Console, database: String, key: FileKey.Handover = .none, history: ShellHistory) {
    self.console = console
    self.database = database
    self.key = key
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
          var rest = line
          repeat {
            guard let code = try take(&rest, isAtTerminal: true) else { return .success }
            if code != .success { break }
          } while !rest.isEmpty
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
      let line = String(validating: bytes, as: UTF8.self)
      var rest = line ?? ""
      repeat {
        // The line in which a command or a statement begins.
        if statement == nil { number = last }
        var code = ExitCode.success
        do {
          guard line != nil else {
            throw Failure.usage("the line is not UTF-8", advice: "Write bytes in hexadecimal, after 0x.")
          }
          guard let ended = try take(&rest, isAtTerminal: false) else { return result }
          code = ended
        } catch {
          var failure = Failure(error)
          if failure.exitCode == .brokenPipe { throw failure }
          failure.line = line == nil ? last : number
          // Nothing shows where the command after this statement begins.
          if failure.code == Self.tooLong { throw failure }
          try console.report(failure)
          code = failure.exitCode
        }
        guard code != .success else { continue }
        // The remaining output would not be read.
        if code == .brokenPipe { return code }
        if result == .success { result = code }
        guard keepsGoing else {
          try console.note(
            "latewood: stopped at line \(number), exit code \(code.rawValue). With --keep-going the rest still runs."
          )
          return code
        }
      } while !rest.isEmpty
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

  /// Takes a command, or a line of a statement, and runs it if it ends there; returns nil if that
  /// ends the shell.
  ///
  /// - Parameter rest: the rest of a line; after the call, also if this throws, the part after the
  ///   command or the statement.
  private func take(_ rest: inout String, isAtTerminal: Bool) throws -> ExitCode? {
    let line = rest
    rest = ""
    guard var statement = statement ?? ShellStatement(startOf: line) else {
      if isAtTerminal { try remember(line) }
      return try run(line, isAtTerminal: isAtTerminal)
    }
    // A second reference would copy the text for each line.
    self.statement = nil
    let next = statement.take(line)
    guard statement.text.utf8.count < Self.statementLimit else {
      throw Failure(
        .usage, code: Self.tooLong, "the statement is longer than 128 KiB",
        advice: "A quote may not be closed; put long values into documents or files.")
    }
    guard let next else {
      self.statement = statement
      return .success
    }
    rest = next
    if isAtTerminal, let line = statement.line { try remember(line) }
    return try run(words: statement.words, isAtTerminal: isAtTerminal)
  }

  /// Adds a line to the history. A history that cannot be written is reported once, and is then one
  /// of this session only.
  private func remember(_ line: String) throws {
    do { try history.add(line) } catch { try console.report(Failure(error)) }
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
    let arguments = try ShellLine.arguments(
      words, database: database, key: key.options, hasInput: isAtTerminal)
    try console.flush()
    let status = try ChildProcess.run(
      CurrentProcess.executablePath(), arguments: arguments, hasInput: isAtTerminal, secret: key.password)
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
