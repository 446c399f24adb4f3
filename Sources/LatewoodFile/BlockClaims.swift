/// Counts the bytes of each block of a file that are referred to by a tree, by the log, or by dead
/// nodes and values that may still be read.
///
/// The references in a file can be wrong although all its checksums are right: two entries can
/// refer to one value, or an entry to a node, to a frame of the log, or to bytes that are written
/// only later. So a dead reference does not prove that nothing else needs its bytes. A block
/// without claims is free, however wrong the references are.
///
/// Invariants:
/// 1. The count of a block is the sum of its bytes over all ranges that were added and not removed.
///    Bytes at or after `limit` do not count.
/// 2. A count that ever passed `UInt16.max` stays there: the block is never free again. (In a sound
///    file none is above 4,159.)
///
/// Memory: two bytes for every 4 KiB of the file.
package struct BlockClaims: Sendable {
  private static let blockLength: UInt64 = 4096
  /// The maximum length of a file, which takes 128 MiB of memory.
  private static let longestFile: UInt64 = 256 << 30

  /// Bytes at or after this offset are not counted.
  package let limit: UInt64
  private var counts: [UInt16]
  private var total: UInt64 = 0

  /// - Parameter limit: every reference that is added ends at or before this offset.
  /// - Returns: nil if the file is longer than 256 GiB.
  package init?(limit: UInt64) {
    guard limit <= BlockClaims.longestFile else { return nil }
    self.limit = limit
    counts = Array(repeating: 0, count: Int((limit + BlockClaims.blockLength - 1) / BlockClaims.blockLength))
  }

  /// Adds a reference and returns whether it is plausible: it lies before `limit`, and all
  /// references together are no longer than twice `limit`. O(blocks in the range).
  package mutating func add(_ range: DeadRange) -> Bool {
    guard range.start >= FileLayout.logStart, range.start <= range.end, range.end <= limit else {
      return false
    }
    total += range.length
    guard total <= 2 * limit else { return false }
    change(range) { count, bytes in
      let (sum, overflow) = count.addingReportingOverflow(bytes)
      return overflow ? .max : sum
    }
    return true
  }

  /// Removes bytes that were added, in the same pieces or others.
  package mutating func remove(_ range: DeadRange) {
    change(range) { count, bytes in count == .max ? .max : count - min(count, bytes) }
  }

  /// Whether the blocks that a range overlaps are free of claims.
  package func isFree(_ range: Range<UInt64>) -> Bool {
    guard range.lowerBound < limit else { return true }
    let end = min(range.upperBound, limit)
    let blocks = Int(range.lowerBound / BlockClaims.blockLength)...Int((end - 1) / BlockClaims.blockLength)
    return counts[blocks].allSatisfy { $0 == 0 }
  }

  private mutating func change(_ range: DeadRange, _ change: (_ count: UInt16, _ bytes: UInt16) -> UInt16) {
    var at = range.start
    let end = min(range.claimedEnd, limit)
    while at < end {
      let block = at / BlockClaims.blockLength
      let next = min((block + 1) * BlockClaims.blockLength, end)
      counts[Int(block)] = change(counts[Int(block)], UInt16(next - at))
      at = next
    }
  }
}

extension DeadRange {
  /// The end of the range with the padding after a node, so that adjacent nodes claim the same
  /// bytes as the range they are joined into.
  fileprivate var claimedEnd: UInt64 {
    endsInNode ? (end + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1) : end
  }
}
