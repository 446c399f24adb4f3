import LatewoodBytes
import LatewoodConcurrency

/// A caller's request for a compaction, which can be cancelled from any thread: before it begins,
/// while it waits for a compaction that another caller began, and while it runs.
///
/// Cancelling it does not affect compactions that others began.
final class CompactionRequest: Sendable {
  private struct State {
    var isCancelled = false
    /// The thread that works for this request; nil before and afterwards.
    var thread: UInt?
  }

  private let state = Guarded(State())

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Runs the compaction on this thread.
  func run(
    in engine: Engine, bytesPerSecond: UInt64?, _ progress: ((CompactionProgress) throws -> Void)?
  ) throws -> CompactionReport {
    state.withLock { $0.thread = Monitor.currentThread }
    // Clear it before this thread can begin another compaction.
    defer { state.withLock { $0.thread = nil } }
    var failure: (any Error)?
    let tell = progress.map { progress in
      { (state: CompactionProgress) in
        guard failure == nil else { return }
        do { try progress(state) } catch {
          failure = error
          // This thread runs the compaction, which ends at its next step.
          engine.compaction.cancel { $0 == Monitor.currentThread }
        }
      }
    }
    let result = Result { () throws(StorageError) in
      try engine.compact(bytesPerSecond: bytesPerSecond, unless: { isCancelled }, tell)
    }
    if let failure { throw failure }
    do { return try result.get() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Cancels the request.
  func cancel(in engine: Engine) {
    state.withLock { $0.isCancelled = true }
    engine.compaction.cancel { [state] runner in state.withLock { $0.thread == runner } }
  }
}
