import LatewoodFleece

/// Collects the first rows in an order, up to a given number. The sort is stable.
struct SQLSorter {
  private struct Entry {
    let key: [UInt8]
    let place: Int
    let row: FleeceBody

    var size: Int { key.count + row.bytes.count + SQLMemory.entry }
  }

  private let wanted: Int?
  private var entries: [Entry] = []
  private var count = 0
  /// The greatest key after the last cut.
  private var last: [UInt8]?

  /// - Parameter wanted: the number of rows to keep; nil for all.
  init(wanted: Int?) { self.wanted = wanted }

  /// Returns whether a row with this key can be among the first.
  func wants(_ key: [UInt8]) -> Bool {
    if wanted == 0 { return false }
    guard let last else { return true }
    return key.lexicographicallyPrecedes(last)
  }

  mutating func add(_ key: [UInt8], _ row: FleeceBody, _ memory: inout SQLMemory) throws(QueryError) {
    let entry = Entry(key: key, place: count, row: row)
    count += 1
    entries.append(entry)
    // Cutting only at twice the wanted number makes sorting cost amortized O(log n) per row.
    if let wanted, entries.count / 2 >= max(wanted, 32) { cut(to: wanted, &memory) }
    try memory.take(entry.size)
  }

  private mutating func cut(to count: Int, _ memory: inout SQLMemory) {
    sort()
    for entry in entries.dropFirst(count) { memory.give(entry.size) }
    entries.removeLast(max(0, entries.count - count))
    last = entries.last?.key
  }

  private mutating func sort() {
    entries.sort {
      $0.key == $1.key ? $0.place < $1.place : $0.key.lexicographicallyPrecedes($1.key)
    }
  }

  func rows() -> [FleeceBody] {
    var sorter = self
    sorter.sort()
    return sorter.entries.map(\.row)
  }
}
