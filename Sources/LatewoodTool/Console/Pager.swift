import LatewoodBytes
import LatewoodDevice
import LatewoodTerminal

/// Shows lines on the terminal: directly if they fit on the screen, and otherwise in the user's
/// pager, which PAGER names, and which is `less` if it is there.
///
/// Lines are kept until one of them is too wide, or they are too many for the screen. Then the
/// pager starts and gets all lines; memory does not grow with their number.
final class Pager {
  private let console: Console
  /// The command of the pager; nil if there is none.
  private let command: String?
  private let height: Int
  private var waiting: [String] = []
  private var process: ReadingProcess?
  private var output: Output?
  private var unflushed = 0
  /// Whether the user has left the pager, so that further lines are not needed.
  private(set) var isClosed = false

  init(_ console: Console, command: String? = Pager.usualCommand()) {
    self.console = console
    // A pager needs a terminal that has rows.
    let rows = console.isOutputTerminal ? console.output.terminalHeight : nil
    self.command = rows == nil ? nil : command
    height = max(rows ?? 0, 2)
  }

  func line(_ text: String) throws {
    guard command != nil else { return try console.row(text) }
    if output == nil {
      waiting.append(text)
      // A row is left for the prompt.
      guard waiting.count >= height || DisplayWidth.of(plain: text) > console.width else { return }
      try start()
    } else {
      try write([text])
    }
  }

  /// Shows the lines that fit on the screen, or waits until the user leaves the pager. Throws if
  /// the command of the pager cannot be run.
  func end() throws {
    guard let process else {
      for text in waiting { try console.row(text) }
      waiting = []
      return
    }
    self.process = nil
    output = nil
    // The shell reports these if it cannot run the command; the rows are then lost.
    if let status = try process.finish(), status == 126 || status == 127, let command {
      throw Failure(
        .inputOutput, code: "pager", "the pager \(Arguments.quoted(Array(command.utf8))) cannot be run",
        advice: "Set PAGER to a program that can be run, or to an empty text to print without a pager.")
    }
  }

  private func start() throws {
    guard let command else { return }
    try console.flush()
    // Options of less: leave if it fits on one screen, keep colours and the screen, do not wrap.
    let usual = ["LESS": "FRXS"].filter { CurrentProcess.environmentVariable($0.key) == nil }
    let process = try ReadingProcess(
      "/bin/sh", arguments: ["-c", command], environment: usual.mapValues { .some($0) })
    // An interrupt is for the pager.
    CurrentProcess.outliveInterrupts()
    self.process = process
    let output = Output(process.input)
    output.isTerminal = true
    self.output = output
    let lines = waiting
    waiting = []
    try write(lines)
    try flush()
  }

  private func write(_ lines: [String]) throws {
    guard !isClosed, let output else { return }
    try untilClosed { for text in lines { try output.line(text) } }
    unflushed += lines.count
    if unflushed >= height { try flush() }
  }

  private func flush() throws {
    unflushed = 0
    try untilClosed { try output?.flush() }
  }

  private func untilClosed(_ body: () throws -> Void) throws {
    do { try body() } catch let failure as Failure where failure.exitCode == .brokenPipe { isClosed = true }
  }

  /// Returns the command of the user's pager; nil if it is switched off, with an empty PAGER or
  /// cat, if there is none, or if the terminal cannot be controlled.
  static func usualCommand() -> String? {
    if CurrentProcess.environmentVariable("TERM") == "dumb" { return nil }
    if let chosen = CurrentProcess.environmentVariable("PAGER") {
      return chosen.allSatisfy(\.isWhitespace) || chosen == "cat" ? nil : chosen
    }
    let directories = (CurrentProcess.environmentVariable("PATH") ?? "").split(separator: ":")
    let hasLess = directories.contains { directory in
      do throws(StorageError) { return try FileVolume().exists("\(directory)/less") } catch { return false }
    }
    return hasLess ? "less" : nil
  }
}
