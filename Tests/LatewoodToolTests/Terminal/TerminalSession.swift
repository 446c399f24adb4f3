import LatewoodBytes
import LatewoodSimulation
import LatewoodTerminal
import LatewoodTestSupport
import Testing

@testable import LatewoodTool

/// The tool on a terminal, and its user.
final class TerminalSession {
  private let terminal: PseudoTerminal
  /// The time limit in milliseconds. No test depends on the speed of the tool, even on a busy
  /// machine; but if the tool hangs, the test ends.
  private static let patience = Patience.seconds * 1000

  /// - Parameter program: another program to run instead of the tool.
  init(program: String? = nil, _ arguments: [String], columns: Int = 80, environment: [String: String?] = [:])
    throws
  {
    var environment = environment
    if environment["NO_COLOR"] == nil { environment["NO_COLOR"] = .some(nil) }
    // No test reads or writes the history of the person who runs it.
    if environment["LATEWOOD_HISTORY"] == nil { environment["LATEWOOD_HISTORY"] = "" }
    if environment["TERM"] == nil { environment["TERM"] = "xterm-256color" }
    terminal = try PseudoTerminal(
      try program ?? BuiltTool.path(), arguments: arguments, columns: columns, environment: environment)
  }

  /// The earlier output of the tool.
  private var earlier: [UInt8] = []
  var all: Screen { Screen(earlier + terminal.text) }

  /// Types text. Earlier output on the screen is ignored afterwards.
  func type(_ text: String) throws {
    earlier += terminal.take()
    try terminal.write(text)
  }
  func resize(columns: Int) throws { try terminal.resize(columns: columns) }
  func send(_ signal: ChildProcess.TerminationSignal) throws { try terminal.send(signal) }
  var editsLines: Bool { get throws { try terminal.editsLines() } }

  /// Reads until the screen shows `text` on some row.
  func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let found = try terminal.read(milliseconds: Self.patience) { bytes in
      Screen(bytes).rows.contains { $0.contains(text) }
    }
    try #require(
      found, "\(text) did not appear; there is:\n\(Screen(terminal.text).rows.joined(separator: "\n"))",
      sourceLocation: sourceLocation)
  }

  /// Reads until the last row equals a text.
  func expectRow(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let found = try terminal.read(milliseconds: Self.patience) { Screen($0).rows.last == text }
    try #require(
      found,
      "\(text) did not come to be the last row; there is:\n\(Screen(terminal.text).rows.joined(separator: "\n"))",
      sourceLocation: sourceLocation)
  }

  var screen: Screen { Screen(terminal.text) }

  /// Repeats `action` until some row shows `text`.
  func waitUntil(_ text: String, repeating action: () throws -> Void) throws {
    for _ in 0..<Self.patience / 50 {
      try action()
      if try terminal.read(milliseconds: 50, until: { Screen($0).rows.contains { $0.contains(text) } }) {
        return
      }
    }
    try expect(text)
  }

  /// Reads until the terminal itself edits lines and echoes them. Text that is typed earlier is
  /// kept, but not shown.
  func waitUntilItEditsLines(sourceLocation: SourceLocation = #_sourceLocation) throws {
    for _ in 0..<Self.patience / 10 {
      if try editsLines { return }
      _ = try terminal.read(milliseconds: 10) { _ in false }
    }
    try #require(try editsLines, "the terminal's own mode did not come back", sourceLocation: sourceLocation)
  }

  /// Presses Ctrl-C until the last row equals a text: the first may arrive before the intended
  /// program has started.
  func interrupt(untilRow text: String) throws {
    for _ in 0..<Self.patience / 200 {
      try type("\u{03}")
      if try terminal.read(milliseconds: 200, until: { Screen($0).rows.last == text }) { return }
    }
    try expectRow(text)
  }

  /// Waits for the end and returns the exit status; nil if a signal ended the program.
  func wait() throws -> Int32? { try terminal.wait(milliseconds: Self.patience) }
}

/// The screen of a terminal after some bytes, with the sequences that the tool uses: carriage
/// return, line feed, backspace, bell, erasing to the end of the row, moving right, and colours.
/// Rows may have any length; wide characters take two columns.
struct Screen {
  private(set) var rows: [String] = []
  /// The column of the cursor.
  private(set) var column = 0
  private(set) var hasColour = false
  /// Unknown sequences.
  private(set) var unknown: [String] = []

  init(_ bytes: [UInt8]) {
    // One cell for each column; the second half of a wide character is empty.
    var cells: [[String]] = [[]]
    var rest = Substring(String(decoding: bytes, as: UTF8.self)).unicodeScalars[...]
    var row: Int { cells.count - 1 }
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\r": column = 0
      case "\n":
        cells.append([])
        column = 0
      case "\u{07}": break
      case "\u{08}": column = max(0, column - 1)
      case "\u{1B}":
        guard rest.popFirst() == "[" else {
          unknown.append("ESC")
          continue
        }
        var parameters = ""
        while let next = rest.first, next.value < 0x40 {
          parameters.unicodeScalars.append(rest.removeFirst())
        }
        switch rest.popFirst() {
        case "K": cells[row] = Array(cells[row].prefix(column))
        case "C": column += Int(parameters) ?? 1
        case "m": hasColour = true
        case let other: unknown.append(parameters + (other.map(String.init) ?? ""))
        }
      default:
        let width = Screen.width(scalar)
        if width == 0 {
          if column > 0, column <= cells[row].count { cells[row][column - 1].unicodeScalars.append(scalar) }
          continue
        }
        while cells[row].count < column + width { cells[row].append(" ") }
        cells[row][column] = String(scalar)
        if width == 2 { cells[row][column + 1] = "" }
        column += width
      }
    }
    rows = cells.map { $0.joined() }
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int { DisplayWidth.of(String(scalar)) }
}
