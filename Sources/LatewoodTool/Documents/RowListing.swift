import LatewoodConcurrency
import LatewoodFleece

/// Prints the rows of a statement as a table or as CSV.
protocol RowListing {
  mutating func add(_ row: FleeceBody) throws -> Bool
  mutating func end() throws
  /// Leaves the screen to the report of an error.
  mutating func stop()
}

/// A table for a terminal, with the number of rows and the time below it.
struct RowTable: RowListing {
  /// The number of rows from which the columns of `*` are determined.
  private static let learnedRows = 100

  private let console: Console
  private let pager: Pager
  private let start: UInt64
  private var columns: RowColumns
  /// The first rows, cut to the width of the terminal, by the names of their columns.
  private var waiting: [[String: String]] = []
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
      waiting.append(shown(cells))
      if waiting.count == Self.learnedRows || !columns.isOpen { try begin() }
    } else {
      hidesMembers = hidesMembers || !columns.cover(cells)
      try print(shown(cells))
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

  mutating func stop() {
    // The error that stopped the query is reported.
    do { try pager.end() } catch {}
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

  /// Returns as much of each cell as a row can show.
  private func shown(_ cells: [String: RowColumns.Cell]) -> [String: String] {
    let width = console.width
    return cells.mapValues { ValueText.shown(text: $0.text, in: width) }
  }

  private mutating func print(_ cells: [String: String]) throws {
    try table?.add(columns.names.map { cells[$0] ?? "" })
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
  mutating func stop() {}

  private static func quoted(_ text: [UInt8]) -> String {
    let quote = UInt8(ascii: "\"")
    guard text.isEmpty || text.contains(where: { ",\"\n\r".utf8.contains($0) }) else {
      return String(decoding: text, as: UTF8.self)
    }
    // By bytes, because a quote and a combining mark after it are one `Character`.
    let doubled = text.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return String(decoding: [quote] + doubled + [quote], as: UTF8.self)
  }
}
