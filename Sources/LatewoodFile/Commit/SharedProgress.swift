import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// The progress of the log (``LogProgress``) and the monitor that guards it.
///
/// ```
/// LogBuffer                      SharedProgress                  GroupCommit
/// completes frames, ends     ->  open and waiting segments,  ->  writes them, syncs,
/// segments, empties chunks       how far they have come          and notes what is done
/// ```
///
/// Offsets and flags are also published when the monitor is released, each in an atomic of its own,
/// so that the start of a transaction, a view of the file and most questions take no lock.
///
/// Invariants:
/// 1. A thread that finds an offset published sees all bytes of the log before it.
/// 2. The flags may be older than the progress, unless the caller has the lock that they change
///    under. So a frame that was begun can still be refused when it is handed over, under the
///    monitor.
///
/// Thread safety: all calls from any thread. Only the thread that has the store's writer lock
/// changes the segments; only a thread that has a turn of ``GroupCommit`` records progress of
/// writes and syncs.
// SAFETY: the pointer `state` never changes, and the monitor guards the memory it points to.
final class SharedProgress: @unchecked Sendable {
  /// The flags of `signals`.
  private enum Signal {
    static let stopped: UInt8 = 1
    static let outOfSpace: UInt8 = 2
    static let needsCheckpoint: UInt8 = 4
  }

  /// Guards the progress and the turns at writing and syncing.
  let monitor = Monitor()
  private let state: UnsafeMutablePointer<LogProgress>
  // The progress as of the last change.
  private let completed = Atomic<UInt64>(FileLayout.logStart)
  private let written = Atomic<UInt64>(FileLayout.logStart)
  private let synced = Atomic<UInt64>(FileLayout.logStart)
  private let durable = Atomic<UInt64>(FileLayout.logStart)
  private let readable = Atomic<UInt64>(FileLayout.logStart)
  private let signals = Atomic<UInt8>(0)

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
    return change(body)
  }

  /// The progress. The caller must hold the monitor.
  @inline(__always) var held: LogProgress { _read { yield state.pointee } }

  /// Changes the progress. The caller must hold the monitor.
  @inline(__always) func change<Result>(_ body: (inout LogProgress) -> Result) -> Result {
    defer { publish() }
    return body(&state.pointee)
  }

  private func publish() {
    completed.store(held.completedThrough, ordering: .releasing)
    written.store(held.writtenThrough, ordering: .releasing)
    synced.store(held.syncedThrough, ordering: .releasing)
    durable.store(held.durableMark, ordering: .releasing)
    readable.store(held.readableThrough, ordering: .releasing)
    var flags = held.needsCheckpoint ? Signal.needsCheckpoint : 0
    if held.isStopped { flags |= held.shortage == nil ? Signal.stopped : Signal.stopped | Signal.outOfSpace }
    signals.store(flags, ordering: .releasing)
  }

  private func has(_ flags: UInt8) -> Bool { signals.load(ordering: .acquiring) & flags != 0 }

  // MARK: Offsets

  var completedThrough: UInt64 { completed.load(ordering: .acquiring) }
  var writtenThrough: UInt64 { written.load(ordering: .acquiring) }
  var syncedThrough: UInt64 { synced.load(ordering: .acquiring) }
  /// The offset up to which frames and slots may claim durability.
  var durableMark: UInt64 { durable.load(ordering: .acquiring) }
  /// The number of bytes of the file that exist and may be read.
  var readableThrough: UInt64 { readable.load(ordering: .acquiring) }

  /// Notes that the bytes before `end` exist.
  func extendReadable(through end: UInt64) { locked { $0.extendReadable(through: end) } }

  /// Sets the number of bytes that exist, before a log is read.
  func setReadable(through size: UInt64) { locked { $0.setReadable(through: size) } }

  /// Sets the end of a log written by another process.
  func noteCommitted(through offset: UInt64) { locked { $0.noteCommitted(through: offset) } }

  // MARK: Failures

  /// Throws if the file is closed or writing has ended.
  func check() throws(StorageError) {
    if has(Signal.stopped), let error = locked({ $0.refusal }) { throw error }
  }

  /// Throws if a frame cannot be begun now.
  ///
  /// - Parameter isTransaction: whether a transaction begins, which must wait for a needed
  ///   checkpoint.
  func checkBeginning(ofTransaction isTransaction: Bool) throws(StorageError) {
    if has(Signal.stopped), let error = locked({ $0.isStopped ? $0.reasonToStop() : nil }) { throw error }
    if isTransaction, needsCheckpoint { throw .checkpointNeeded }
  }

  /// The error that ended all writing; nil if it has not ended.
  var failure: StorageError? { has(Signal.stopped) ? locked { $0.failure } : nil }

  /// Whether writing is stopped for lack of space until the log restarts.
  var isOutOfSpace: Bool { has(Signal.outOfSpace) }

  /// Whether a lack of space, or a gap, prevents transactions from beginning.
  var isInterrupted: Bool { has(Signal.outOfSpace | Signal.needsCheckpoint) }

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

  var needsCheckpoint: Bool { has(Signal.needsCheckpoint) }

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
