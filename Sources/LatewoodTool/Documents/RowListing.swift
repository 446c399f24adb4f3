import LatewoodConcurrency
import LatewoodFleece

/// Prints the rows of a statement as a table or as CSV.
protocol RowListing {
  mutating func add(_ row: FleeceBody) throws -> Bool
  mutating func end() throws
}

/// A table for a terminal, with the number of rows and the time below it.
struct RowTable: RowListing {
  /// The number of rows from which the columns of `*` are determined.
  private static let learnedRows = 100

  private let console: Console
  private let pager: Pager
  private let start: UInt64
  private var columns: RowColumns
  private var waiting: [[String: RowColumns.Cell]] = []
  private var table: ColumnTable?
  private var count = 0
  private var hidesMembers = false

  init(_ console: Console, _ columns: RowColumns, pager: Pager, start: UInt64) {
    self.console = console
    self.columns = columns
    self.pager = pager
    self.start = start
  }

  /// Returns false when the user has left the pager.
  mutating func add(_ row: FleeceBody) throws -> Bool {
    count += 1
    let cells = try columns.cells(of: row)
    if table == nil {
      columns.learn(cells)
      waiting.append(cells)
      if waiting.count == Self.learnedRows || !columns.isOpen { try begin() }
    } else {
      hidesMembers = hidesMembers || !columns.cover(cells)
      try print(cells)
    }
    return !pager.isClosed
  }

  mutating func end() throws {
    try begin()
    try table?.end()
    let duration = Quantity.duration(nanoseconds: MonotonicClock.nanoseconds &- start)
    try pager.line(console.style.dim("\(Quantity.count(count, "row", "rows")) in \(duration)"))
    if hidesMembers {
      try pager.line("Later rows have more members than there are columns: --lines prints them.")
    }
    try pager.end()
  }

  private mutating func begin() throws {
    guard table == nil else { return }
    if !columns.names.isEmpty {
      let headings = columns.names.map { TerminalText.escapedData($0) }
      table = ColumnTable(console, headings: headings, pager: pager)
    }
    for cells in waiting { try print(cells) }
    waiting = []
  }

  private mutating func print(_ cells: [String: RowColumns.Cell]) throws {
    let width = console.width
    try table?.add(
      columns.names.map { name in
        cells[name]?.text.withUnsafeBytes { ValueText.shown($0.bytes, in: width) } ?? ""
      })
  }
}

/// CSV (RFC 4180) with a header; lines end with LF. A value that is missing or null is an empty
/// cell.
struct RowCSV: RowListing {
  private let console: Console
  private let columns: RowColumns

  /// - Parameter columns: has the columns of all rows.
  init(_ console: Console, _ columns: RowColumns) throws {
    self.console = console
    self.columns = columns
    try console.line(columns.names.map { Self.quoted(Array($0.utf8)) }.joined(separator: ","))
  }

  mutating func add(_ row: FleeceBody) throws -> Bool {
    let cells = try columns.cells(of: row)
    let texts = columns.names.map { name in
      cells[name].map { $0.isNull ? "" : Self.quoted($0.text) } ?? ""
    }
    try console.line(texts.joined(separator: ","))
    return true
  }

  mutating func end() {}

  private static func quoted(_ text: [UInt8]) -> String {
    let needsQuotes = text.isEmpty || text.contains { ",\"\n\r".utf8.contains($0) }
    let shown = String(decoding: text, as: UTF8.self)
    return needsQuotes ? "\"" + shown.replacing("\"", with: "\"\"") + "\"" : shown
  }
}
