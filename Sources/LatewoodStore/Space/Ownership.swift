import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Tracks whether every reference to the file's blocks is known, so that dead ranges can be punched
/// safely.
///
/// ```
/// own                               this process wrote every reference in the file
/// unknown -> counting -> counted    another process wrote it: all references are counted first
/// ```
///
/// Bytes that this process writes never have two owners. A file from outside can contain anything,
/// with correct checksums. So before any of its space is reclaimed, all references before the
/// newest checkpoint's frame are counted: references of its tree, of the log after its replay
/// offset, and of the dead ranges that still wait. (A tree that refers to bytes after that frame is
/// refused, because they are written later and for another purpose.) A dead range is removed from
/// the count when it can no longer be read, and a block is reclaimed when its count is 0. Bytes
/// written later are after that frame, and only this process refers to them. So readable trees and
/// replays never need a reclaimed block, even if references overlap or repeat.
///
/// - `live` values stay counted as a part of the log; they die with their entries.
/// - Older base trees refer only to bytes that the newest one refers to, and to waiting ranges.
enum Ownership {
  case own
  case unknown
  case counting(ReferenceCount)
  case counted(BlockReferenceCounts)

  /// Removes dead ranges from the count when they can no longer be read.
  mutating func remove(_ ranges: [DeadRange]) {
    guard case .counted(var claims) = self else { return }
    // Avoids a copy of the array of counts.
    self = .unknown
    for range in ranges { claims.remove(range) }
    self = .counted(claims)
  }

  /// Returns the unreferenced blocks of `length` in `blocks`. The other blocks can never be
  /// reclaimed, because the file contradicts itself there.
  func free(in blocks: [Range<UInt64>], of length: UInt64) -> [Range<UInt64>] {
    guard case .counted(let claims) = self else { return blocks }
    var free: [Range<UInt64>] = []
    for run in blocks {
      if claims.isFree(run) {
        free.append(run)
        continue
      }
      for start in stride(from: run.lowerBound, to: run.upperBound, by: Int(length)) {
        let block = start..<start + length
        guard claims.isFree(block) else { continue }
        if let last = free.last, last.upperBound == start {
          free[free.count - 1] = last.lowerBound..<block.upperBound
        } else {
          free.append(block)
        }
      }
    }
    return free
  }
}

/// Counts all references in the file, step by step across checkpoints. Used only inside
/// `Checkpointer.withoutCheckpoints`.
final class ReferenceCount {
  /// Keeps the tree that is being walked in the file.
  private let version: Version
  private var walk: ReferenceWalk
  private(set) var claims: BlockReferenceCounts

  init(_ claims: BlockReferenceCounts, tree version: Version) {
    self.claims = claims
    self.version = version
    walk = ReferenceWalk(version.base, in: version.file)
  }

  /// Continues until `enough` returns true; returns true when everything is counted.
  func run(until enough: () -> Bool) throws(StorageError) -> Bool {
    while !walk.isFinished {
      if enough() { return false }
      var refused: UInt64 = 0
      let isSound = try walk.step { range in
        refused = range.start
        return claims.add(range)
      }
      guard isSound else { throw Ownership.contradiction(at: refused) }
    }
    return true
  }
}

extension Ownership {
  static func contradiction(at offset: UInt64) -> StorageError {
    StorageError.damaged(
      at: offset,
      "the tree refers to bytes that cannot belong to it, so no space of this file is reclaimed: compact the store"
    )
  }
}

/// Counts the bytes of each block of a file that are referred to by a tree, by the log, or by dead
/// nodes and values that may still be read.
///
/// The references in a file can be wrong although all its checksums are right: two entries can
/// refer to one value, or an entry to a node, to a frame of the log, or to bytes that are written
/// only later. So a dead reference does not prove that its bytes are unneeded. A block without
/// claims is free, regardless of wrong references.
///
/// Invariants:
/// 1. The count of a block is the sum of its bytes over all ranges that were added and not removed.
///    Bytes at or after `limit` do not count.
/// 2. A count that ever passed `UInt16.max` stays there: the block is never free again. (In a sound
///    file, counts are at most 4,159.)
///
/// Memory: two bytes for every 4 KiB of the regions of 64 MiB in which there are claims. A file can
/// be far longer than what it contains, because most of it is holes, or because it says so falsely.
struct BlockReferenceCounts: Sendable {
  static let blockLength: UInt64 = 4096
  /// The maximum length of a file. If claims lie everywhere in it, they take 128 MiB of memory.
  private static let longestFile: UInt64 = 256 << 30
  /// The length of the regions that are allocated as a whole.
  private static let regionLength: UInt64 = 64 << 20
  private static let blocksInRegion = Int(regionLength / blockLength)

  /// Bytes at or after this offset are not counted.
  let limit: UInt64
  /// For each region the counts of its blocks; empty if nothing was added there.
  private var regions: [[UInt16]]
  private var total: UInt64 = 0

  /// - Parameter limit: every reference that is added ends at or before this offset.
  /// - Returns: nil if the file is longer than 256 GiB.
  init?(limit: UInt64) {
    guard limit <= BlockReferenceCounts.longestFile else { return nil }
    self.limit = limit
    regions = Array(repeating: [], count: Int(limit / BlockReferenceCounts.regionLength) + 1)
  }

  /// Adds a reference and returns whether it is plausible: it lies before `limit`, and the total
  /// length of all references is at most twice `limit`. O(blocks in the range).
  mutating func add(_ range: DeadRange) -> Bool {
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
  mutating func remove(_ range: DeadRange) {
    change(range) { count, bytes in count == .max ? .max : count - min(count, bytes) }
  }

  /// Whether the blocks that a range overlaps are free of claims.
  func isFree(_ range: Range<UInt64>) -> Bool {
    let end = min(range.upperBound, limit)
    var at = range.lowerBound
    while at < end {
      let region = Int(at / BlockReferenceCounts.regionLength)
      let next = min(BlockReferenceCounts.start(ofRegion: region + 1), end)
      if !regions[region].isEmpty {
        let blocks =
          BlockReferenceCounts.block(at, in: region)...BlockReferenceCounts.block(next - 1, in: region)
        guard regions[region][blocks].allSatisfy({ $0 == 0 }) else { return false }
      }
      at = next
    }
    return true
  }

  /// Returns the end of the region at an offset if nothing was ever added in it; otherwise nil.
  func endOfEmptyRegion(at offset: UInt64) -> UInt64? {
    let region = Int(offset / BlockReferenceCounts.regionLength)
    return regions[region].isEmpty ? BlockReferenceCounts.start(ofRegion: region + 1) : nil
  }

  private mutating func change(_ range: DeadRange, _ change: (_ count: UInt16, _ bytes: UInt16) -> UInt16) {
    var at = range.start
    let end = min(range.claimedEnd, limit)
    while at < end {
      let region = Int(at / BlockReferenceCounts.regionLength)
      let next = min(BlockReferenceCounts.start(ofRegion: region + 1), end)
      if regions[region].isEmpty {
        regions[region] = Array(repeating: 0, count: BlockReferenceCounts.blocksInRegion)
      }
      while at < next {
        let block = BlockReferenceCounts.block(at, in: region)
        let step = min((at / BlockReferenceCounts.blockLength + 1) * BlockReferenceCounts.blockLength, next)
        regions[region][block] = change(regions[region][block], UInt16(step - at))
        at = step
      }
    }
  }

  private static func start(ofRegion region: Int) -> UInt64 { UInt64(region) * regionLength }

  /// Returns the number of the block at an offset, counted from the beginning of its region.
  private static func block(_ offset: UInt64, in region: Int) -> Int {
    Int((offset - start(ofRegion: region)) / blockLength)
  }
}

extension DeadRange {
  /// The end of the range with the padding after a node, so that adjacent nodes claim the same
  /// bytes as the range they are joined into.
  fileprivate var claimedEnd: UInt64 {
    endsInNode ? (end + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1) : end
  }
}
