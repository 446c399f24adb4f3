import LatewoodBytes
import LatewoodQuery
import LatewoodStore

/// Running totals of the numbers in one field of an index in one state. The total of a range is the
/// difference of two running totals, adjusted by a few entries at its ends.
///
/// ```
/// entries   a b c d e f g h i j        a range from c to h:
/// keys      a     d     g     j        (total before g, + g) - (total before a, + a + b)
/// ```
///
/// They are computed in memory once sums over the state have read as many entries as the index has,
/// so they at most double the work. They are discarded with the next state. The last bits of a sum
/// of fractions depend on the order of addition, so totals exist only if all numbers are whole.
final class IndexTotals: Sendable {
  /// A field of an index.
  struct Field: Hashable {
    let index: String
    let field: FieldPath
  }

  /// The known information about a field in one state.
  enum Knowledge {
    /// The number of entries that sums have read.
    case read(entries: Int)
    case totals(IndexTotals)
    /// Some values are neither whole numbers nor missing nor null, or the index is damaged.
    case impossible
  }

  /// The maximum number of keys to keep.
  private static let keyLimit = 4096
  /// The minimum distance of two keys, in entries.
  private static let leastStride = 64
  /// Ranges with fewer entries than this are read without totals.
  static let leastCount = 512

  /// The keys of some entries, including the first, in order.
  private let keys: [[UInt8]]
  /// The total of the entries before each key.
  private let totals: [NumberTotal]
  private let all: NumberTotal
  private let place: KeyColumn

  /// Reads all entries of an index. Returns nil unless all values are whole numbers, missing or
  /// null. O(entries).
  ///
  /// - Parameter count: the number of entries.
  init?(of entries: Keyspace, count: Int, _ place: KeyColumn, _ source: ReadSource) throws {
    self.place = place
    let stride = max(IndexTotals.leastStride, count / IndexTotals.keyLimit + 1)
    var keys: [[UInt8]] = []
    var totals: [NumberTotal] = []
    var running = NumberTotal(isWhole: true)
    var (next, isWhole) = (0, true)
    try source.forEachBatch(in: entries, .all, reversed: false) { batch in
      for entry in batch {
        if next == 0 {
          keys.append(Array(entry.key))
          totals.append(running)
          next = stride
        }
        next -= 1
        isWhole = try place.add(entry, to: &running)
        if !isWhole { return false }
      }
      return true
    }
    guard isWhole else { return nil }
    (self.keys, self.totals, all) = (keys, totals, running)
  }

  /// Returns the total of a nonempty range of entries; nil if an entry can no longer be added.
  /// O(log n).
  func total(of range: KeyRange, in entries: Keyspace, _ source: ReadSource) throws -> NumberTotal? {
    var end: NumberTotal? = all
    switch range.upper {
    case .unbounded: break
    case .excluded(let key): end = try total(before: key, .excluded(key), in: entries, source)
    case .included(let key): end = try total(before: key, .included(key), in: entries, source)
    }
    let start: NumberTotal?
    switch range.lower {
    case .unbounded: return end
    case .included(let key): start = try total(before: key, .excluded(key), in: entries, source)
    case .excluded(let key): start = try total(before: key, .included(key), in: entries, source)
    }
    guard var end, let start else { return nil }
    end.subtract(start)
    return end
  }

  /// Returns the total of the entries up to a bound at `key`.
  private func total(
    before key: [UInt8], _ bound: KeyRange.Bound, in entries: Keyspace, _ source: ReadSource
  ) throws -> NumberTotal? {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if key.lexicographicallyPrecedes(keys[middle]) { high = middle } else { low = middle + 1 }
    }
    // The bound precedes the first entry.
    guard low > 0 else { return NumberTotal(isWhole: true) }
    var total = totals[low - 1]
    var isWhole = true
    let rest = KeyRange(lower: .included(keys[low - 1]), upper: bound)
    try source.forEachBatch(in: entries, rest, reversed: false) { batch in
      for entry in batch where isWhole { isWhole = try place.add(entry, to: &total) }
      return isWhole
    }
    return isWhole ? total : nil
  }
}

extension DocumentReads {
  /// Returns the total of a field from the running totals of an index; nil if they do not exist yet
  /// or there are too few entries.
  func knownTotal(
    _ request: FindRequest, by plan: FindPlan, of field: FieldPath
  ) throws -> NumberTotal? {
    guard case .state(let held) = source, case .index(let access) = plan.access, access.isExact,
      access.candidates >= IndexTotals.leastCount, request.skip == 0, request.limit == .max,
      let place = KeyColumn(of: field, in: access.index.definition), try expired().isEmpty
    else { return nil }
    let key = IndexTotals.Field(index: access.index.name, field: field)
    let entries = access.index.entries
    switch collection.totals(of: key, inVersion: held.number) {
    case .totals(let totals):
      var sum = NumberTotal(isWhole: true)
      for range in access.ranges {
        guard let total = try totals.total(of: range, in: entries, source) else { return nil }
        sum.add(total)
      }
      return sum
    case .read(let read):
      let (count, isTooMany) = read.addingReportingOverflow(access.candidates)
      let all = try source.entryCount(in: entries)
      guard !isTooMany, count > all else {
        collection.keep(.read(entries: count), of: key, inVersion: held.number)
        return nil
      }
      var made = IndexTotals.Knowledge.impossible
      do {
        if let totals = try IndexTotals(of: entries, count: all, place, source) { made = .totals(totals) }
      } catch {
        // Damage elsewhere in the index does not affect this sum.
      }
      collection.keep(made, of: key, inVersion: held.number)
      return nil
    case .impossible, nil: return nil
    }
  }
}
