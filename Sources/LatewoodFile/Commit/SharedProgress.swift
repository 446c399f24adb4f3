import LatewoodBytes
import LatewoodConcurrency

/// The progress of the log (``LogProgress``) and the monitor that guards it.
///
/// ```
/// LogBuffer                      SharedProgress                  GroupCommit
/// completes frames, ends     ->  open and waiting segments,  ->  writes them, syncs,
/// segments, empties chunks       how far they have come          and notes what is done
/// ```
///
/// Thread safety: all calls from any thread. Only the thread that has the store's writer lock
/// changes the segments; only a thread that has a turn of ``GroupCommit`` records progress of
/// writes and syncs.
// SAFETY: the pointer `state` never changes, and the monitor guards the memory it points to.
final class SharedProgress: @unchecked Sendable {
  /// Guards the progress and the turns at writing and syncing.
  let monitor = Monitor()
  private let state: UnsafeMutablePointer<LogProgress>

  init(open: Segment) {
    state = .allocate(capacity: 1)
    state.initialize(to: LogProgress(open: open))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Reads or changes the progress with the monitor held.
  @inline(__always) func locked<Result>(_ body: (inout LogProgress) -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body(&state.pointee)
  }

  /// The progress. The caller must hold the monitor.
  @inline(__always) var held: LogProgress {
    _read { yield state.pointee }
    _modify { yield &state.pointee }
  }

  // MARK: Offsets

  var committedThrough: UInt64 { locked { $0.completedThrough } }
  var writtenThrough: UInt64 { locked { $0.writtenThrough } }
  var durableThrough: UInt64 { locked { $0.syncedThrough } }
  /// The offset up to which frames and slots may claim durability.
  var durableMark: UInt64 { locked { $0.durableMark } }
  /// The number of bytes of the file that exist and may be read.
  var readableThrough: UInt64 { locked { $0.readableThrough } }

  /// Notes that the bytes before `end` exist.
  func extendReadable(through end: UInt64) { locked { $0.extendReadable(through: end) } }

  /// Sets the number of bytes that exist, before a log is read.
  func setReadable(through size: UInt64) { locked { $0.setReadable(through: size) } }

  /// Sets the end of a log written by another process.
  func noteCommitted(through offset: UInt64) { locked { $0.noteCommitted(through: offset) } }

  // MARK: Failures

  /// Throws if the file is closed or writing has ended.
  func check() throws(StorageError) {
    if let error = locked({ $0.refusal }) { throw error }
  }

  /// The error that ended all writing; nil if it has not ended.
  var failure: StorageError? { locked { $0.failure } }

  /// Whether writing is stopped for lack of space until the log restarts.
  var isOutOfSpace: Bool { locked { $0.shortage != nil } }

  /// Whether a lack of space, or a gap, prevents transactions from beginning.
  var isInterrupted: Bool { locked { $0.shortage != nil || $0.needsCheckpoint } }

  /// Ends all writing for good.
  func end(with error: StorageError) { locked { $0.end(with: error) } }

  /// Stops writing: for lack of space until the log restarts, otherwise for good.
  func fail(_ error: StorageError) { locked { $0.fail(error) } }

  /// Closes the log. Returns false if it was closed before.
  func close() -> Bool {
    locked { progress in
      if progress.isClosed { return false }
      progress.close()
      return true
    }
  }

  // MARK: Gaps

  var needsCheckpoint: Bool { locked { $0.needsCheckpoint } }

  /// The gap beyond which the needed checkpoint must replay; nil if no checkpoint is needed.
  var gap: Range<UInt64>? { locked { $0.gap } }

  /// Returns whether a checkpoint that replays from `start` does so beyond the last gap.
  func isBeyondGap(_ start: UInt64) -> Bool { locked { $0.isBeyondGap(start) } }

  /// Returns whether a checkpoint that replays from `start` satisfies the need for a checkpoint.
  func isNeeded(replayingFrom start: UInt64) -> Bool {
    locked { $0.needsCheckpoint && $0.isBeyondGap(start) }
  }

  /// Returns the offset up to which a slot may claim durability if its checkpoint replays from
  /// `start`.
  ///
  /// - Parameter isNeeded: whether the checkpoint was needed and is durable.
  func durableMark(replayingFrom start: UInt64, isNeeded: Bool) -> UInt64 {
    // If the log has just restarted after a gap, the walk from this checkpoint does not reach
    // beyond it.
    locked { progress in
      isNeeded && progress.isBeyondGap(start) ? progress.syncedThrough : progress.durableMark
    }
  }

  /// Records that a checkpoint which replays from `start` is durable, with its slot.
  func clearNeedsCheckpoint(replayingFrom start: UInt64) {
    locked { $0.clearNeedsCheckpoint(replayingFrom: start) }
  }
}
