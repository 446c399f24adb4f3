import LatewoodFleece

/// Sorts rows in parts that fit into memory. The sort is stable.
///
/// All rows are added for each part, in the same order:
///
/// ```
/// position   of a row: its sort key, then its index among all added rows
/// part       the rows from `start` to before `end`, in the order of their positions
/// ```
///
/// 1. Every row added so far whose position is in the part is among `entries`.
/// 2. When the entries exceed the memory, the last ones are dropped, and the first dropped position
///    becomes `end`. The next part starts there.
/// 3. In a part before OFFSET, only the keys are kept if the rows do not fit.
struct SQLSorter {
  struct Position: Comparable {
    let key: [UInt8]
    let place: Int

    static func < (left: Position, right: Position) -> Bool {
      left.key == right.key ? left.place < right.place : left.key.lexicographicallyPrecedes(right.key)
    }
  }

  private struct Entry {
    let position: Position
    /// Nil if only the key is kept.
    var row: FleeceBody?

    var byteCount: Int {
      position.key.count + (row?.bytes.count ?? 0) + MemoryLayout<Entry>.stride + SQLMemory.entry
    }
  }

  /// About the most memory for a part, in bytes.
  var memory: Int
  private let isDistinct: Bool
  /// The numbers of rows to skip and to return, starting with this part.
  private var skip: Int
  private var limit: Int
  private var start: Position?
  private var end: Position?
  private var entries: [Entry] = []
  /// The approximate memory of the entries. After each addition it is at most `memory`, unless
  /// there is only one entry.
  private(set) var byteCount = 0
  /// Whether rows are kept in addition to their keys.
  private(set) var keepsRows = true
  private var place = 0

  /// - Parameters:
  ///   - memory: the approximate maximum memory for a part, in bytes.
  ///   - isDistinct: whether rows with equal keys count once.
  init(skip: Int, limit: Int, memory: Int, isDistinct: Bool = false) {
    self.skip = skip
    self.limit = limit
    self.memory = memory
    self.isDistinct = isDistinct
  }

  /// The number of entries that can be used.
  private var needed: Int {
    guard keepsRows else { return skip }
    let (sum, overflow) = skip.addingReportingOverflow(limit)
    return overflow ? .max : sum
  }

  /// Returns the position of the next row with a sort key.
  mutating func position(_ key: [UInt8]) -> Position {
    defer { place += 1 }
    return Position(key: key, place: place)
  }

  /// Returns whether a row belongs to this part or an earlier one.
  func isBeforeEnd(_ position: Position) -> Bool { end.map { position < $0 } ?? true }

  /// Returns whether a row belongs to this part.
  func wants(_ position: Position) -> Bool {
    if let start, position < start { return false }
    return isBeforeEnd(position)
  }

  /// Adds a row if it belongs to this part.
  ///
  /// - Parameter row: nil if no rows are kept.
  mutating func add(_ position: Position, _ row: FleeceBody?) throws {
    guard wants(position) else { return }
    let entry = Entry(position: position, row: keepsRows ? row : nil)
    entries.append(entry)
    byteCount += entry.byteCount
    // Cutting off a share of what is there makes sorting cost amortized O(log n) for each row.
    if entries.count / 2 > max(needed, 64) || byteCount > memory { try cut(to: memory - memory / 4) }
  }

  /// Ends a part: returns its rows without those to skip, in order.
  mutating func takePart() throws -> [FleeceBody] {
    try cut(to: .max)
    let part = entries.dropFirst(skip).compactMap(\.row)
    let skipped = min(skip, entries.count)
    skip -= skipped
    limit -= entries.count - skipped
    entries = []
    byteCount = 0
    return part
  }

  /// Begins the next part. Returns false if there is none.
  mutating func beginNextPart() -> Bool {
    guard let end, limit > 0 else { return false }
    (start, self.end) = (end, nil)
    keepsRows = true
    place = 0
    return true
  }

  /// Sorts the entries, and drops those that are not needed or exceed `memory`.
  private mutating func cut(to memory: Int) throws {
    try entries.sortCounting { $0.position < $1.position }
    if isDistinct { removeRepeated() }
    var kept = countFitting(memory)
    if keepsRows, kept < min(skip, entries.count) {
      keepsRows = false
      for index in entries.indices { entries[index].row = nil }
      kept = countFitting(memory)
    }
    if kept < entries.count {
      end = entries[kept].position
      entries.removeLast(entries.count - kept)
    }
    byteCount = entries.reduce(0) { $0 + $1.byteCount }
  }

  /// Returns the number of leading entries that are needed and fit into memory; at least 1.
  private func countFitting(_ memory: Int) -> Int {
    let most = min(needed, entries.count)
    var (count, byteCount) = (0, 0)
    while count < most {
      byteCount += entries[count].byteCount
      if byteCount > memory, count > 0 { break }
      count += 1
    }
    return count
  }

  /// Keeps the first of several entries with one key.
  private mutating func removeRepeated() {
    var kept = 0
    for index in entries.indices {
      if kept > 0, entries[kept - 1].position.key == entries[index].position.key { continue }
      if kept < index { entries[kept] = entries[index] }
      kept += 1
    }
    entries.removeLast(entries.count - kept)
  }
}
