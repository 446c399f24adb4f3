import LatewoodBytes
import LatewoodFile

// Counting: the base tree answers from the totals in its branches; what waits in the write buffers
// is added entry by entry.
//
//     count(low, high) = base, without its deleted ranges
//                      + pending entries of the range that show, and that the base does not show
//                      - pending deletes of keys that the base shows
//
// Totals come from the file: wrong ones make a wrong count, which a verification finds, and never a
// trap.

extension ReadView {
  /// How many entries a range of full keys has. O(log n + (pending entries and deleted ranges in
  /// it) x log n).
  package func count(low: [UInt8], high: [UInt8]) throws(Fault) -> UInt64 {
    guard RangeSet.less(low, high) else { return 0 }
    var total = try shownByBase(low, high)
    if active != nil || frozen != nil {
      try eachPending(low: low, high: high) { (_, change) throws(Fault) in
        total = total &+ UInt64(bitPattern: Int64(change))
        return true
      }
    }
    return total
  }

  /// The full key of entry number `index` of a range, counted from 0; nil if the range has fewer.
  /// Complexity as `count`.
  package func key(at index: UInt64, low: [UInt8], high: [UInt8]) throws(Fault) -> [UInt8]? {
    // Walk the pending entries; between two of them the base alone decides.
    var start = low
    var passed: UInt64 = 0
    var result: [UInt8]?
    if active != nil || frozen != nil {
      try eachPending(low: low, high: high) { (entry, _) throws(Fault) in
        let between = try shownByBase(start, entry.key)
        if index < passed &+ between {
          result = try baseKey(at: index &- passed, from: start, below: entry.key)
          return false
        }
        passed &+= between
        if entry.isShown {
          if index == passed {
            result = entry.key
            return false
          }
          passed &+= 1
        }
        start = entry.key + [0]
        return true
      }
      if result != nil { return result }
    }
    guard try index < passed &+ shownByBase(start, high) else { return nil }
    return try baseKey(at: index &- passed, from: start, below: high)
  }

  /// An entry that waits in a write buffer.
  private struct Pending {
    var key: [UInt8]
    var isShown: Bool
  }

  /// Gives each pending entry of the range, and by how much it changes what the base shows, until
  /// `body` returns false.
  private func eachPending(
    low: [UInt8], high: [UInt8], _ body: (Pending, Int) throws(Fault) -> Bool
  ) throws(Fault) {
    var newer = BufferCursor(root: active, space: records)
    var older = BufferCursor(root: frozen, space: records)
    try low.withStart { (start, count) throws(Fault) in
      try newer.seek(start, count)
      try older.seek(start, count)
    }
    while newer.isValid || older.isValid {
      var takesNewer = newer.isValid
      var takesOlder = older.isValid
      if takesNewer, takesOlder {
        let order = KeyOrder.compare(newer.key, newer.keyCount, older.key, older.keyCount)
        if order < 0 { takesOlder = false } else if order > 0 { takesNewer = false }
      }
      let (start, count) = takesNewer ? (newer.key, newer.keyCount) : (older.key, older.keyCount)
      let reference = takesNewer ? newer.reference : older.reference
      guard RangeSet.compare(high, start, count) > 0 else { return }
      let hidden = cover(start, count)
      let isShown = !reference.isTombstone && hidden <= reference.offset
      let isInBase = hidden == 0 ? try base.find(start, count) != nil : false
      let entry = Pending(
        key: Array(UnsafeRawBufferPointer(start: start, count: count)), isShown: isShown)
      guard try body(entry, (isShown ? 1 : 0) - (isInBase ? 1 : 0)) else { return }
      if takesNewer { try newer.next() }
      if takesOlder { try older.next() }
    }
  }

  /// How many entries of the base in a range are not hidden by a deleted range.
  private func shownByBase(_ low: [UInt8], _ high: [UInt8]) throws(Fault) -> UInt64 {
    guard RangeSet.less(low, high) else { return 0 }
    var total = try baseCount(low, high)
    try eachHole(low: low, high: high) { (hole) throws(Fault) in
      total &-= try baseCount(hole.low, hole.high)
      return true
    }
    return total
  }

  /// Key number `index` of what the base shows from a full key on; there is one below `high`.
  private func baseKey(at index: UInt64, from start: [UInt8], below high: [UInt8]) throws(Fault) -> [UInt8]? {
    var rank = try baseRank(start) &+ index
    try eachHole(low: start, high: high) { (hole) throws(Fault) in
      let first = try baseRank(hole.low)
      if first > rank { return false }
      rank &+= try baseRank(hole.high) &- first
      return true
    }
    let cursor = try base.cursor(atRank: rank)
    return cursor.isValid ? cursor.key.bytes : nil
  }

  private func baseRank(_ key: [UInt8]) throws(Fault) -> UInt64 {
    try key.withStart { (start, count) throws(Fault) in try base.rank(of: start, count) }
  }

  private func baseCount(_ low: [UInt8], _ high: [UInt8]) throws(Fault) -> UInt64 {
    let before = try baseRank(low)
    let below = try baseRank(high)
    return below > before ? below - before : 0
  }

  /// Gives each part of a range that the ranges of the buffers hide from the base, ascending,
  /// without overlap, until `body` returns false. O(log n) each.
  func eachHole(
    low: [UInt8], high: [UInt8], _ body: (_ hole: Hole) throws(Fault) -> Bool
  ) throws(Fault) {
    var start = low
    while RangeSet.less(start, high), let hole = hole(endingAfter: start), RangeSet.less(hole.low, high) {
      let end = RangeSet.less(high, hole.high) ? high : hole.high
      guard try body(Hole(low: RangeSet.less(hole.low, start) ? start : hole.low, high: end)) else { return }
      start = end
    }
  }

  /// A part of the key space that is hidden from the base.
  struct Hole {
    var low: [UInt8]
    /// Not included.
    var high: [UInt8]
  }

  /// The interval of either buffer that begins first among those that end after a key.
  private func hole(endingAfter key: [UInt8]) -> RangeSet.Interval? {
    let newer = activeRanges?._withUnsafeGuaranteedRef { $0.firstEnding(after: key) }
    let older = frozenRanges?._withUnsafeGuaranteedRef { $0.firstEnding(after: key) }
    guard let newer, let older else { return newer ?? older }
    return RangeSet.less(older.low, newer.low) ? older : newer
  }
}
