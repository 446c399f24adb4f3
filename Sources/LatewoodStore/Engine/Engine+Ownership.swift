import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

/// Whether what dies in the file belongs to nothing else, so that it may be given back.
///
/// ```
/// own                       this process wrote every reference in the file
/// unknown -> counting -> counted    somebody else wrote it: all that is referred to is counted first, block by block
/// ```
///
/// Of what this process writes, no byte has two owners. A file that comes from outside can say
/// anything with right checksums. So before anything of it is given back, everything is counted
/// that the newest tree, the log after its replay offset and the dead ranges that still wait refer
/// to, before that checkpoint's frame. (A tree that refers to what lies behind it is refused: such
/// bytes are written later, by somebody else.) Dead ranges are taken out of the count when nobody
/// can read them any more, and a block is given back when its count is 0. What is written later
/// lies behind the frame; this process alone refers to it. So a block that is given back is needed
/// by no tree that can still be read and by no replay, however references overlap or repeat.
///
/// - `kept` values stay counted as the part of the log that they were; they are dead when their
///   entry is.
/// - Base trees that are older than the newest refer to what that refers to, and to ranges that
///   wait.
enum Ownership {
  case own
  case unknown
  case counting(ClaimCount)
  case counted(BlockClaims)

  /// The dead ranges of `batch` can no longer be read.
  mutating func remove(_ ranges: [DeadRange]) {
    guard case .counted(var claims) = self else { return }
    // The array of counts is not to be copied.
    self = .unknown
    for range in ranges { claims.remove(range) }
    self = .counted(claims)
  }

  /// The blocks of `length` in `blocks` that nothing refers to. What else is in there never can be
  /// given back: the file is not sound there.
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

/// A count of everything that is referred to, which goes on from checkpoint to checkpoint. Under
/// `checkpointing`.
final class ClaimCount {
  /// Keeps what the walk goes over.
  private let version: Version
  private var walk: ReferenceWalk
  private(set) var claims: BlockClaims

  init(_ claims: BlockClaims, tree version: Version) {
    self.claims = claims
    self.version = version
    walk = ReferenceWalk(version.base, in: version.file)
  }

  /// Goes on until `enough` says so; true when all is counted.
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
  /// How long one checkpoint counts at most, and the live bytes for which it begins to, however
  /// little is dead.
  private static let countNanoseconds: UInt64 = 500_000_000
  private static let quickLength: UInt64 = 64 << 20
  /// A longer tree is gone over when the dead bytes are so many times less at most.
  private static let countedShare: UInt64 = 16

  /// Whether it is known what else refers to blocks in which something died; counts if need be.
  /// Under `checkpointing`.
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

  /// Counts the log and what waits; nil if not everything can be told.
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
