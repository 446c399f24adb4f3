import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

/// The knowledge whether dead ranges belong to nothing else, so that they may be given back.
///
/// ```
/// own                               this process wrote every reference in the file
/// unknown -> counting -> counted    another process wrote it: all references are counted first
/// ```
///
/// No byte that this process writes has two owners. A file from outside can contain anything, with
/// correct checksums. So before any of its space is given back, all references before the newest
/// checkpoint's frame are counted: those of its tree, of the log after its replay offset, and of
/// the dead ranges that still wait. (A tree that refers to bytes behind it is refused, because they
/// are written later and for something else.) A dead range is removed from the count when nobody
/// can read it any more, and a block is given back when its count is 0. Bytes written later lie
/// behind that frame, and only this process refers to them. So no tree that can still be read, and
/// no replay, needs a block that is given back, however references overlap or repeat.
///
/// - `kept` values stay counted as a part of the log; they die with their entries.
/// - Older base trees refer only to what the newest one refers to, and to waiting ranges.
enum Ownership {
  case own
  case unknown
  case counting(ClaimCount)
  case counted(BlockClaims)

  /// Removes dead ranges from the count once nobody can read them.
  mutating func remove(_ ranges: [DeadRange]) {
    guard case .counted(var claims) = self else { return }
    // Avoids a copy of the array of counts.
    self = .unknown
    for range in ranges { claims.remove(range) }
    self = .counted(claims)
  }

  /// Returns the blocks of `length` in `blocks` that nothing refers to. The other blocks can never
  /// be given back, because the file contradicts itself there.
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

/// A count of all references, which continues from checkpoint to checkpoint. Under `checkpointing`.
final class ClaimCount {
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
  func run(until enough: () -> Bool) throws(Fault) -> Bool {
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
  static func contradiction(at offset: UInt64) -> Fault {
    Fault.damaged(
      at: offset,
      "the tree refers to what cannot be its own, so nothing of this file is given back to the file system: compact the store"
    )
  }
}

extension Engine {
  /// The longest time that one checkpoint spends counting. Up to `quickLength` live bytes, counting
  /// begins however little is dead.
  private static let countNanoseconds: UInt64 = 500_000_000
  private static let quickLength: UInt64 = 64 << 20
  /// A longer tree is counted only if the dead bytes are at least a sixteenth of its live bytes.
  private static let countedShare: UInt64 = 16

  /// Whether all references to blocks with dead bytes are known. Counts them if necessary. Under
  /// `checkpointing`.
  ///
  /// Throws if the file contradicts itself, or cannot be read.
  func knowsOwners(dead length: UInt64) throws(Fault) -> Bool {
    let (ownership, newest) = punching.withLock { ($0.ownership, $0.newest) }
    switch ownership {
    case .own, .counted: return true
    case .counting(let count): return try goOn(counting: count)
    case .unknown:
      let live = newest?.record.root?.liveBytes ?? 0
      guard live <= Engine.quickLength || length >= live / Engine.countedShare, let newest else {
        return false
      }
      guard let count = try startCounting(before: newest) else { return false }
      punching.withLock { $0.ownership = .counting(count) }
      return try goOn(counting: count)
    }
  }

  private func goOn(counting count: ClaimCount) throws(Fault) -> Bool {
    let start = MonotonicClock.nanoseconds
    let isDone = try count.run {
      MonotonicClock.nanoseconds - start > Engine.countNanoseconds
    }
    if isDone { punching.withLock { $0.ownership = .counted(count.claims) } }
    return isDone
  }

  /// Counts the log and the waiting ranges; nil if not everything can be counted.
  private func startCounting(before newest: AppendedCheckpoint) throws(Fault) -> ClaimCount? {
    guard var claims = BlockClaims(limit: newest.offset) else { return nil }
    let (waiting, replay) = punching.withLock { ($0.waiting, $0.replay) }
    let log = log
    let frames = try log.frames(from: replay, to: newest.offset)
    guard frames.isWhole else { return nil }
    for range in waiting.flatMap(\.ranges) + frames.ranges {
      guard claims.add(range) else { throw Ownership.contradiction(at: range.start) }
    }
    guard let hold = hold(checkpoint: newest.offset) else { return nil }
    return ClaimCount(claims, tree: pastVersion(newest.record, in: log, hold: hold))
  }
}
