import LatewoodQuery

/// Something that is sorted in memory.
protocol SortedEntry {
  static func precedes(_ left: Self, _ right: Self) -> Bool
  /// The approximate memory of the entry, in bytes.
  var byteCount: Int { get }
}

/// The id of a document and the key that it is sorted by, if any.
struct SortKey: SortedEntry {
  var key: [UInt8] = []
  let id: String

  var byteCount: Int { MemoryLayout<SortKey>.stride + key.count + id.utf8.count + 32 }

  static func precedes(_ left: SortKey, _ right: SortKey) -> Bool {
    left.key == right.key ? isLess(left.id, right.id) : left.key.lexicographicallyPrecedes(right.key)
  }

  static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}

/// Collects the first of all added entries in their order: as many as are requested and fit into
/// memory. Equal entries count once.
struct TopEntries<Entry: SortedEntry> {
  private let wanted: Int
  private let memory: Int
  /// The entry that precedes the collected ones; nil to begin with the first.
  private let after: Entry?
  private var entries: [Entry] = []
  private var byteCount = 0
  /// The first entry that was left out: that entry and all later ones are not needed. Nil if no
  /// entry was left out.
  private var end: Entry?
  /// Whether requested entries were left out for lack of memory.
  private var isCut = false

  /// Calls a closure with the entries of a source in order, up to the requested number, until it
  /// returns false.
  ///
  /// If they need more memory, the source is read again for each part of them: O(entries x parts).
  ///
  /// - Parameters:
  ///   - wanted: the number of entries; nil for all.
  ///   - memory: the approximate maximum memory for the entries of a part, in bytes.
  ///   - add: adds all entries, the same in each call.
  static func inParts(
    wanted: Int? = nil, memory: Int, adding add: (inout TopEntries) throws -> Void,
    _ take: (Entry) throws -> Bool
  ) throws {
    var rest = wanted ?? .max
    var after: Entry?
    while rest > 0 {
      var best = TopEntries(wanted: rest, memory: memory, after: after)
      try add(&best)
      try best.cut(to: .max)
      for entry in best.entries where try !take(entry) { return }
      guard best.isCut, let last = best.entries.last else { return }
      after = last
      rest -= wanted == nil ? 0 : best.entries.count
    }
  }

  private init(wanted: Int, memory: Int, after: Entry?) {
    self.wanted = wanted
    self.memory = memory
    self.after = after
  }

  mutating func add(_ entry: Entry) throws {
    if let after, !Entry.precedes(after, entry) { return }
    if let end, !Entry.precedes(entry, end) { return }
    entries.append(entry)
    byteCount += entry.byteCount
    // Cutting to half of what is there makes sorting cost amortized O(log n) for each entry.
    if entries.count / 2 > max(wanted, 64) || byteCount > memory { try cut(to: memory / 2) }
  }

  /// Sorts the entries, and leaves out those that are not wanted or exceed `memory`.
  private mutating func cut(to memory: Int) throws {
    try entries.sortCounting(by: Entry.precedes)
    var kept = 0
    byteCount = 0
    for index in entries.indices {
      if kept > 0, !Entry.precedes(entries[kept - 1], entries[index]) { continue }
      let isFull = kept > 0 && byteCount + entries[index].byteCount > memory
      if isFull || kept == wanted {
        isCut = isCut || isFull
        end = entries[index]
        break
      }
      byteCount += entries[index].byteCount
      if kept < index { entries[kept] = entries[index] }
      kept += 1
    }
    entries.removeLast(entries.count - kept)
  }
}
