import LatewoodBytes
import LatewoodFile

/// The part of the log that no checkpoint contains, with its checksums verified, and the bytes
/// after it.
package struct InspectedLog {
  /// The kinds of bytes that can follow the last frame of the log.
  package enum Tail: String, Sendable, CaseIterable {
    /// The end of the file.
    case none
    /// Zeros: preallocated space.
    case reserved
    /// The remains of a write that was not acknowledged, or a write in progress.
    case skipped
    /// The end of a backup's log, regardless of the bytes that follow.
    case ended
    /// Damage to data that was durable, at the end of the walk.
    case damaged
  }

  package let start: ReplayPosition
  package private(set) var end: ReplayPosition
  package private(set) var tail: Tail = .none
  package private(set) var frames: UInt64 = 0
  /// The number of commit frames and of complete transactions.
  package private(set) var commits: UInt64 = 0
  package private(set) var transactions: UInt64 = 0
  /// The length of all commit frames, with their headers.
  package private(set) var commitBytes: UInt64 = 0
  /// The newest complete transaction; the transaction of the checkpoint if the log has none.
  package private(set) var newestTransaction: UInt64
  /// The newest transaction that was begun, complete or not.
  package private(set) var lastTransaction: UInt64
  /// The offset before which everything was durable, according to slots and frames.
  package private(set) var durableThrough: UInt64
  package private(set) var fault: StorageError?
  /// The end of the file, from the first byte that is not known to be without frames, because there
  /// are more bytes after the log than are searched; nil if all were.
  package private(set) var unsearched: Range<UInt64>?

  init(_ frames: UnitReader, from checkpoint: FoundCheckpoint?, slots: [InspectedSlot])
    throws(StorageError)
  {
    start = checkpoint?.record.replay ?? .start
    end = start
    newestTransaction = checkpoint?.record.transaction ?? 0
    lastTransaction = max(newestTransaction, checkpoint?.frame.transaction ?? 0)
    durableThrough = slots.reduce(0) { max($0, $1.slot?.durableThrough ?? 0) }
    var walk = LogReader(frames, from: start, lastTransaction: newestTransaction)
    let limit = frames.reader.searchLimit
    while true {
      while let frame = try walk.next() { take(frame) }
      end = walk.position
      self.frames = walk.frames
      durableThrough = max(durableThrough, walk.durableThrough)
      guard try walk.endsInDamage(floor: durableThrough, limit: limit) else { break }
      // A writer may have completed the frame since this walk reached it; all durable frames are
      // complete by now.
      try frames.reader.refresh()
      if let frame = try walk.next() {
        take(frame)
        continue
      }
      tail = .damaged
      fault = .damaged(at: end.offset, "the log is damaged here: commits that had been made durable follow")
      return
    }
    if walk.hasEnded {
      tail = end.offset >= frames.size ? .none : .ended
    } else if end.offset < frames.size {
      unsearched = walk.unsearched(limit: limit)
      tail = try walk.isFollowedByZeros(limit: limit) ? .reserved : .skipped
    }
  }

  private mutating func take(_ frame: FrameHeader) {
    lastTransaction = max(lastTransaction, frame.transaction)
    guard frame.kind == .commit, let end = frame.end else { return }
    commits += 1
    commitBytes += end - frame.ownOffset
    if !frame.continues {
      transactions += 1
      newestTransaction = frame.transaction
    }
  }
}

extension InspectedFile {
  /// Returns the length of the commit frames that no checkpoint contains, with the padding between
  /// them. This is the log in a map of the file, but nothing else is read. O(frames of the log).
  package func unmergedBytes() throws(StorageError) -> UInt64 {
    guard newestSlot != nil else { return 0 }
    var bytes: UInt64 = 0
    var walk = logFrames()
    var start = walk.position.offset
    while walk.position.offset < log.end.offset, let frame = try walk.next() {
      let end = min(walk.position.offset, size)
      if frame.kind == .commit { bytes += end - min(start, end) }
      start = walk.position.offset
    }
    return bytes
  }
}
