/// Prints rows one by one: in aligned columns below headings on a terminal, and elsewhere with tabs
/// between the cells, for the next program of a pipe.
///
/// The widths of the columns are determined by the first rows, so memory does not grow with the
/// table.
struct ColumnTable {
  private static let measuredRows = 100
  private static let widestColumn = 40

  private let console: Console
  private let headings: [String]
  private let pager: Pager?
  private var waiting: [[String]] = []
  private var widths: [Int]?

  /// - Parameter pager: shows the rows on a terminal, where they may then be wider than the screen.
  init(_ console: Console, headings: [String], pager: Pager? = nil) {
    self.console = console
    self.headings = headings
    self.pager = pager
  }

  /// - Parameter row: a cell for each heading, without line breaks and tabs.
  mutating func add(_ row: [String]) throws {
    guard console.isOutputTerminal else { return try console.line(row.joined(separator: "\t")) }
    let row = row.map(TerminalText.escaped)
    if let widths { return try print(row, widths) }
    waiting.append(row)
    if waiting.count == Self.measuredRows { try end() }
  }

  /// Prints the pending rows.
  mutating func end() throws {
    guard widths == nil, !waiting.isEmpty else { return }
    let widths = headings.indices.map { column in
      let cells = waiting.map { DisplayWidth.of($0[column]) }
      return min(max(DisplayWidth.of(headings[column]), cells.max() ?? 0), Self.widestColumn)
    }
    try show(console.style.bold(line(headings, widths)))
    for row in waiting { try print(row, widths) }
    waiting = []
    self.widths = widths
  }

  private func print(_ row: [String], _ widths: [Int]) throws {
    try show(line(row, widths))
  }

  private func show(_ line: String) throws {
    if let pager { try pager.line(line) } else { try console.row(line) }
  }

  private func line(_ row: [String], _ widths: [Int]) -> String {
    var line = ""
    for (column, cell) in row.enumerated() {
      let isLast = column == row.count - 1
      line +=
        isLast
        ? cell
        : DisplayWidth.padded(DisplayWidth.fitted(cell, to: widths[column]), to: widths[column]) + "  "
    }
    return line
  }
}
