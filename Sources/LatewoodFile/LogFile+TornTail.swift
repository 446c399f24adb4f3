import LatewoodBytes
import LatewoodDevice

/// What lies behind the last whole frame of a log, when it is not room that was reserved.
package struct TornTail: Sendable, Equatable {
  /// In the file.
  package var range: Range<UInt64>
  /// Whether the file says that what was there had been durable. If not, it is what a crash, a
  /// power cut or a full disk leaves of a write that was never acknowledged.
  package var isDamage: Bool
}

extension LogFile {
  /// What lies behind the log as a verification has walked it; nil if that is nothing, zeros, or
  /// for a writer to say.
  ///
  /// - Parameters:
  ///   - walk: through all that this process knows of the log, and no further.
  ///   - floor: what the root slots say to be durable.
  /// - Throws: `inputOutput` if the disk does not give those bytes.
  func tornTail(behind walk: LogWalk, floor: UInt64) throws(Fault) -> TornTail? {
    if walk.hasEnded { return nil }
    if isReadOnly { return try strangersTail(behind: walk, floor: floor) }
    // Recovery has found that nothing durable is in it. What lies behind a log without a gap is
    // being written just now.
    let gap = group.locked { $0.needsCheckpoint ? $0.gapStart..<max($0.gapStart, $0.chainStart) : nil }
    guard let gap, walk.position.offset == gap.lowerBound else { return nil }
    let end = min(gap.upperBound, walk.size)
    let rest = LogWalk(view: walk.view, size: end, from: walk.position)
    if try rest.isFollowedByZeros() { return nil }
    return TornTail(range: gap.lowerBound..<end, isDamage: false)
  }

  /// The same where another process writes, or has written, the file.
  private func strangersTail(behind walk: LogWalk, floor: UInt64) throws(Fault) -> TornTail? {
    if try volume.isLockedForWriting(path) { return nil }
    var walk = walk
    try walk.finish()
    if walk.hasEnded { return nil }
    if try walk.isFollowedByZeros() { return nil }
    // Half a frame may be one that a writer has begun meanwhile.
    if try volume.isLockedForWriting(path) { return nil }
    let start = walk.position.offset
    var isDamage = start < max(floor, walk.durableThrough)
    if !isDamage { isDamage = try walk.isContradictedBeyond() }
    return TornTail(range: start..<walk.size, isDamage: isDamage)
  }
}
