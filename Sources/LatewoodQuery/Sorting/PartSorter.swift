/// Something that is sorted in memory.
@usableFromInline package protocol SortedEntry {
  static func precedes(_ left: Self, _ right: Self) -> Bool
  /// Whether an entry repeats an adjacent earlier entry. Where repetitions are left out, the first
  /// occurrence is kept.
  static func repeats(_ entry: Self, _ earlier: Self) -> Bool
  /// The approximate memory of the entry, in bytes.
  var byteCount: Int { get }
  /// Releases everything except the key.
  mutating func keepOnlyKey()
}

extension SortedEntry {
  @inlinable package static func repeats(_ entry: Self, _ earlier: Self) -> Bool { !precedes(earlier, entry) }
  @inlinable package mutating func keepOnlyKey() {}
}

/// Sorts entries in parts that fit into memory.
///
/// All entries are added for each part, in the same order:
///
/// ```
/// repeat { add all entries; use takePart() } while beginNextPart()
/// ```
///
/// 1. A part has the entries from `start` to before `end`. Every one of these added so far is among
///    `entries`, except those that are not needed.
/// 2. When the entries exceed the memory, the last ones are dropped, and the first dropped one
///    becomes `end`. The next part starts there.
/// 3. In a part before the first entry that is wanted, only the keys are kept if the contents do
///    not fit.
@usableFromInline package struct PartSorter<Entry: SortedEntry> {
  /// About the most memory for a part, in bytes.
  @usableFromInline package var memory: Int
  @usableFromInline let isDistinct: Bool
  /// The numbers of entries to skip and to return, starting with this part.
  @usableFromInline var skip: Int
  @usableFromInline var limit: Int
  @usableFromInline var start: Entry?
  @usableFromInline var end: Entry?
  @usableFromInline var entries: [Entry] = []
  /// The approximate memory of the entries. After each addition it is at most `memory`, unless
  /// there is only one entry.
  @usableFromInline package internal(set) var byteCount = 0
  /// Whether contents are kept in addition to keys.
  @usableFromInline package internal(set) var keepsContents = true

  /// - Parameters:
  ///   - memory: the approximate maximum memory for a part, in bytes.
  ///   - isDistinct: whether repeated entries count once.
  @inlinable package init(skip: Int = 0, limit: Int = .max, memory: Int, isDistinct: Bool) {
    self.skip = skip
    self.limit = limit
    self.memory = memory
    self.isDistinct = isDistinct
  }

  /// The number of entries that can be used.
  @inlinable var needed: Int {
    guard keepsContents else { return skip }
    let (sum, overflow) = skip.addingReportingOverflow(limit)
    return overflow ? .max : sum
  }

  /// Returns whether an entry belongs to this part or an earlier one.
  @inlinable package func isBeforeEnd(_ entry: Entry) -> Bool {
    end.map { Entry.precedes(entry, $0) } ?? true
  }

  /// Returns whether an entry belongs to this part.
  @inlinable package func wants(_ entry: Entry) -> Bool {
    if let start, Entry.precedes(entry, start) { return false }
    return isBeforeEnd(entry)
  }

  /// Adds an entry if it belongs to this part.
  @inlinable package mutating func add(_ entry: Entry) throws {
    guard wants(entry) else { return }
    entries.append(entry)
    if !keepsContents { entries[entries.count - 1].keepOnlyKey() }
    byteCount += entries[entries.count - 1].byteCount
    // Each cut removes a share of the entries, so sorting costs amortized O(log n) for each entry.
    if entries.count / 2 > max(needed, 64) || byteCount > memory { try cut(to: memory - memory / 4) }
  }

  /// Ends a part: returns its entries without those to skip, in order.
  @inlinable package mutating func takePart() throws -> ArraySlice<Entry> {
    try cut(to: .max)
    let part = entries.dropFirst(skip)
    let skipped = min(skip, entries.count)
    skip -= skipped
    limit -= entries.count - skipped
    entries = []
    byteCount = 0
    return part
  }

  /// Begins the next part. Returns false if there is none.
  @inlinable package mutating func beginNextPart() -> Bool {
    guard let end, limit > 0 else { return false }
    (start, self.end) = (end, nil)
    keepsContents = true
    return true
  }

  /// Sorts the entries, and drops those that are not needed or exceed `memory`.
  @usableFromInline mutating func cut(to memory: Int) throws {
    try entries.sortCounting(by: Entry.precedes)
    if isDistinct { removeRepetitions() }
    var kept = countFitting(memory)
    if keepsContents, kept < min(skip, entries.count) {
      keepsContents = false
      for index in entries.indices { entries[index].keepOnlyKey() }
      kept = countFitting(memory)
    }
    if kept < entries.count {
      end = entries[kept]
      end?.keepOnlyKey()
      entries.removeLast(entries.count - kept)
    }
    byteCount = entries.reduce(0) { $0 + $1.byteCount }
  }

  /// Returns the number of leading entries that are needed and fit into memory; at least 1.
  @usableFromInline func countFitting(_ memory: Int) -> Int {
    let most = min(needed, entries.count)
    var (count, byteCount) = (0, 0)
    while count < most {
      byteCount += entries[count].byteCount
      if byteCount > memory, count > 0 { break }
      count += 1
    }
    return count
  }

  @usableFromInline mutating func removeRepetitions() {
    var kept = 0
    for index in entries.indices {
      if kept > 0, Entry.repeats(entries[index], entries[kept - 1]) { continue }
      if kept < index { entries[kept] = entries[index] }
      kept += 1
    }
    entries.removeLast(entries.count - kept)
  }
}

extension PartSorter {
  /// Calls a closure with the entries of a source in order, without repetitions, until it returns
  /// false.
  ///
  /// If they need more memory, the source is read again for each part of them: O(entries x parts).
  ///
  /// - Parameters:
  ///   - limit: the number of entries; nil for all.
  ///   - memory: the approximate maximum memory for the entries of a part, in bytes.
  ///   - add: adds all entries, the same in each call.
  @inlinable package static func sort(
    limit: Int? = nil, memory: Int, adding add: (inout PartSorter) throws -> Void,
    _ take: (Entry) throws -> Bool
  ) throws {
    if limit == 0 { return }
    var sorter = PartSorter(limit: limit ?? .max, memory: memory, isDistinct: true)
    repeat {
      try add(&sorter)
      for entry in try sorter.takePart() where try !take(entry) { return }
    } while sorter.beginNextPart()
  }
}
