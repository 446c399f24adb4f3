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
/// No byte that this process writes has two owners. A file from outside can contain anything, with
/// correct checksums. So before any of its space is reclaimed, all references before the newest
/// checkpoint's frame are counted: those of its tree, of the log after its replay offset, and of
/// the dead ranges that still wait. (A tree that refers to bytes after that frame is refused,
/// because they are written later and for another purpose.) A dead range is removed from the count
/// when it can no longer be read, and a block is reclaimed when its count is 0. Bytes written later
/// are after that frame, and only this process refers to them. So no readable tree and no replay
/// needs a reclaimed block, even if references overlap or repeat.
///
/// - `kept` values stay counted as a part of the log; they die with their entries.
/// - Older base trees refer only to what the newest one refers to, and to waiting ranges.
enum Ownership {
  case own
  case unknown
  case counting(ReferenceCount)
  case counted(BlockClaims)

  /// Removes dead ranges from the count when they can no longer be read.
  mutating func remove(_ ranges: [DeadRange]) {
    guard case .counted(var claims) = self else { return }
    // Avoids a copy of the array of counts.
    self = .unknown
    for range in ranges { claims.remove(range) }
    self = .counted(claims)
  }

  /// Returns the blocks of `length` in `blocks` that nothing refers to. The other blocks can never
  /// be reclaimed, because the file contradicts itself there.
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
/// `Checkpointer.exclude`.
final class ReferenceCount {
  /// Keeps the tree that is being walked in the file.
  private let version: Version
  private var walk: ReferenceWalk
  private(set) var claims: BlockClaims

  init(_ claims: BlockClaims, tree version: Version) {
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
