import LatewoodBytes
import LatewoodDevice

/// The space preallocated after the log for small synchronous commits: a sync that does not have to
/// record a new file length is a third cheaper.
///
/// ```
/// log ... tail |.... preallocated ....| through
///              | reserved: the file has this length, and blocks
///              | zeroed: the blocks have been written, too
/// ```
///
/// On some file systems (`Device.prefersZeroedSpace`) the first sync of a block that was only
/// reserved takes two to three times as long, because it records that the block is now in use. On
/// these file systems the space is filled with zeros ahead of time instead, unless commits are so
/// long that each reaches a new block anyway.
///
/// The sync after a preallocation takes longer itself, so each one is twice as long as the last, up
/// to a limit.
struct Preallocation {
  /// The minimum and maximum length of one preallocation, in bytes.
  private static let leastLength: UInt64 = 64 << 10
  private static let greatestLength: UInt64 = 512 << 10
  /// The number of syncs before the first preallocation.
  private static let syncsBefore = 8
  /// The minimum length of synchronous commits, in bytes, for which no space is zeroed.
  private static let longLength: UInt64 = 16 << 10

  /// The number of writes so far that were followed by a sync.
  private var syncs = 0
  /// The number of bytes that the last of these writes added.
  private var syncedLength: UInt64 = 0
  private var through: UInt64 = 0
  /// The length of the next preallocation, in bytes.
  private var length = Preallocation.leastLength
  /// The value of `syncs` when `through` was set.
  private var syncsAtLast = 0

  /// Counts a write that will be synced, and returns the range to reserve before it for the small
  /// commits that follow; nil if there is no need.
  ///
  /// - Parameter isZeroed: whether the writer fills the space with zeros instead.
  mutating func rangeToReserve(from start: UInt64, through end: UInt64, isZeroed: Bool) -> Range<UInt64>? {
    syncs += 1
    syncedLength = end - start
    guard !isZeroed, syncs > Self.syncsBefore, end > through, syncedLength < Self.leastLength else {
      return nil
    }
    return extend(from: start, beyond: end)
  }

  /// The offset at or before which no transaction begins for which `rangeToZero` returns a range.
  var tailToZero: UInt64 {
    let isDue = syncs > Self.syncsBefore && syncedLength < Self.longLength && syncs - syncsAtLast >= 4
    return isDue ? through - min(through, syncedLength) : .max
  }

  /// Returns the range to fill with zeros before the next transaction, which begins at `tail`; nil
  /// if there is no need.
  ///
  /// Only called by the writer: other threads do not write at or after `tail`, except into regions
  /// that the writer has reserved for them.
  mutating func rangeToZero(at tail: UInt64) -> Range<UInt64>? {
    tail > tailToZero ? extend(from: tail, beyond: tail) : nil
  }

  private mutating func extend(from start: UInt64, beyond end: UInt64) -> Range<UInt64> {
    through = end + length
    length = min(2 * length, Self.greatestLength)
    syncsAtLast = syncs
    return start..<through
  }
}
