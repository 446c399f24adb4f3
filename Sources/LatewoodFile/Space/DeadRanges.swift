/// A range of the file that is no longer referenced.
package struct DeadRange: Sendable, Equatable {
  package var start: UInt64
  /// The end, which is below ``FileLayout/fileLimit``, and the flag `endsInNode` in the highest
  /// bit. They share a word to save memory, because there may be a range for each value in the log.
  private var bits: UInt64

  private static let flag: UInt64 = 1 << 63

  package init(start: UInt64, end: UInt64, endsInNode: Bool) {
    self.start = start
    bits = end | (endsInNode ? DeadRange.flag : 0)
  }

  package var end: UInt64 {
    get { bits & ~DeadRange.flag }
    set { bits = bits & DeadRange.flag | newValue }
  }

  /// Whether the range ends with a node, so that the bytes up to the next multiple of 64 may be
  /// padding.
  package var endsInNode: Bool {
    get { bits & DeadRange.flag != 0 }
    set { bits = newValue ? bits | DeadRange.flag : bits & ~DeadRange.flag }
  }

  package var length: UInt64 { end - start }
}

/// The dead ranges of a file, coalesced, and the complete blocks in them.
///
/// ```
/// nodes     |====== a ======|pad|====== b ======|pad|header of the next frame ...
/// blocks    |         |         |         |         |
///                     \_ free __/             the rest waits until its neighbours are dead
/// ```
///
/// Invariants:
/// 1. `ranges` ascend, and do not overlap or touch.
/// 2. A range contains only inserted bytes and the padding between two nodes. Live bytes between
///    the end of a node and the next dead byte are at least as long as a frame header: a node
///    starts at a multiple of 64 and is longer than `leastNode`, and anything else follows a frame
///    header.
package struct DeadRanges: Sendable {
  package private(set) var ranges: [DeadRange] = []

  /// The minimum length of a node: a header, one head, one slot and one cell.
  private static let leastNode: UInt64 = 50

  package init() {}

  package var isEmpty: Bool { ranges.isEmpty }

  /// Inserts ranges in any order. They may overlap each other and the existing ranges.
  ///
  /// O(all ranges). `isPadding` is called for the bytes, fewer than 64, between two ranges if their
  /// number alone is not conclusive.
  package mutating func insert(
    _ added: [DeadRange], isPadding: (_ bytes: Range<UInt64>) -> Bool = { _ in false }
  ) {
    let added = added.filter { $0.start < $0.end }.sorted { $0.start < $1.start }
    merge(added)
    var count = 0
    for index in ranges.indices {
      let next = ranges[index]
      guard count > 0, DeadRanges.join(ranges[count - 1], next, isPadding) else {
        ranges[count] = next
        count += 1
        continue
      }
      if next.end >= ranges[count - 1].end {
        ranges[count - 1].end = next.end
        ranges[count - 1].endsInNode = next.endsInNode
      }
    }
    ranges.removeLast(ranges.count - count)
  }

  /// Inserts ranges in ascending order, without joining any. Works in place, because there may be
  /// millions.
  private mutating func merge(_ added: [DeadRange]) {
    guard let first = added.first else { return }
    var old = ranges.count
    var new = added.count
    // Reserves little more than necessary, because a doubled array would stay half empty.
    let count = old + new
    if ranges.capacity < count { ranges.reserveCapacity(count + count / 8) }
    ranges.append(contentsOf: repeatElement(first, count: new))
    while new > 0 {
      let takesOld = old > 0 && ranges[old - 1].start > added[new - 1].start
      ranges[old + new - 1] = takesOld ? ranges[old - 1] : added[new - 1]
      if takesOld { old -= 1 } else { new -= 1 }
    }
  }

  private static func join(_ last: DeadRange, _ next: DeadRange, _ isPadding: (Range<UInt64>) -> Bool) -> Bool
  {
    if next.start <= last.end { return true }
    guard last.endsInNode, next.start - last.end < FileLayout.nodeAlignment else { return false }
    return next.start - last.end < leastNode || isPadding(last.end..<next.start)
  }

  /// Removes and returns all complete blocks, in ascending order with neighbours joined. Blocks
  /// start at multiples of `length`, a power of two and a multiple of 64.
  ///
  /// `isPadding` is called for the bytes between a node and the end of its block: the next block
  /// may have been punched long ago, so there may be no range to join with.
  package mutating func takeBlocks(
    of length: UInt64, isPadding: (_ bytes: Range<UInt64>) -> Bool = { _ in false }
  ) -> [Range<UInt64>] {
    var blocks: [Range<UInt64>] = []
    // The rests of ranges after their last complete blocks.
    var ends: [DeadRange] = []
    var count = 0
    for index in ranges.indices {
      var range = ranges[index]
      let padded = (range.end + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
      if range.endsInNode, padded > range.end, padded & (length - 1) == 0, isPadding(range.end..<padded) {
        range.end = padded
      }
      let start = (range.start + length - 1) & ~(length - 1)
      let end = range.end & ~(length - 1)
      if start < end {
        blocks.append(start..<end)
        if end < range.end {
          ends.append(DeadRange(start: end, end: range.end, endsInNode: range.endsInNode))
        }
        guard range.start < start else { continue }
        range = DeadRange(start: range.start, end: start, endsInNode: false)
      }
      ranges[count] = range
      count += 1
    }
    ranges.removeLast(ranges.count - count)
    merge(ends)
    return blocks
  }
}

/// The space that dies with a new tree: the bytes that only its predecessor refers to, and, as
/// exceptions, the values in the log that the new tree still uses.
package struct DeadSpace: Sendable {
  /// Dead nodes and extents, in the order in which they died, with neighbouring nodes joined.
  package private(set) var ranges: [DeadRange] = []
  /// Values in the log that the new tree refers to.
  package private(set) var live: [Range<UInt64>] = []

  package init() {}

  package mutating func add(node: NodeReference) {
    add(offset: node.offset, length: UInt64(node.length), endsInNode: true)
  }

  package mutating func add(extent offset: UInt64, length: UInt64) {
    add(offset: offset, length: length, endsInNode: false)
  }

  /// Adds a dead range. The reference comes from a file and may never have been followed, so an
  /// impossible range is ignored.
  private mutating func add(offset: UInt64, length: UInt64, endsInNode: Bool) {
    let (end, overflow) = offset.addingReportingOverflow(length)
    guard length > 0, !overflow, offset >= FileLayout.logStart, end <= FileLayout.fileLimit else { return }
    add(DeadRange(start: offset, end: end, endsInNode: endsInNode))
  }

  package mutating func addLive(extent offset: UInt64, length: UInt64) {
    if length > 0 { live.append(offset..<offset + length) }
  }

  private mutating func add(_ range: DeadRange) {
    // Leaves that were written in sequence usually die in sequence.
    if range.endsInNode, let last = ranges.last, last.endsInNode, range.start >= last.end,
      range.start - last.end < 50
    {
      ranges[ranges.count - 1].end = range.end
    } else {
      ranges.append(range)
    }
  }

  package mutating func append(_ other: DeadSpace) {
    ranges += other.ranges
    live += other.live
  }

  /// Subtracts the live values from ranges of the log, and adds the rest to the dead ranges.
  package mutating func add(log: [DeadRange]) {
    let live = live.sorted { $0.lowerBound < $1.lowerBound }
    var index = 0
    for range in log {
      var at = range.start
      while index < live.count, live[index].lowerBound < range.end {
        let value = live[index]
        if value.lowerBound > at {
          ranges.append(DeadRange(start: at, end: value.lowerBound, endsInNode: false))
        }
        at = max(at, value.upperBound)
        // A value that extends into the next range is also subtracted there.
        if value.upperBound > range.end { break }
        index += 1
      }
      if at < range.end { ranges.append(DeadRange(start: at, end: range.end, endsInNode: range.endsInNode)) }
    }
  }

  /// Removes ranges that do not lie before `end`. A tree whose checkpoint frame is at `end` cannot
  /// own them.
  package mutating func removeAll(beyond end: UInt64) { ranges.removeAll { $0.end > end } }

  package var length: UInt64 { ranges.reduce(0) { $0 &+ $1.length } }
}
