import LatewoodConcurrency
import LatewoodFile

/// The file of a store, and the offset of the newest checkpoint in it.
///
/// A compaction replaces the file while no checkpoint and no transaction runs. A thread that may
/// run at that time must read `file` once and keep the result.
///
/// Thread safety: all methods may be called from any thread.
final class CurrentFile: Sendable {
  private struct State {
    var file: DatabaseFile
    var checkpoint: UInt64
  }
  private let state: Guarded<State>

  /// - Parameter checkpoint: the offset of the newest checkpoint's frame; 0 if there is no
  ///   checkpoint.
  init(_ file: DatabaseFile, checkpoint: UInt64 = 0) {
    state = Guarded(State(file: file, checkpoint: checkpoint))
  }

  var file: DatabaseFile { state.withLock { $0.file } }

  /// The offset of the newest checkpoint's frame; 0 if there is no checkpoint.
  var checkpoint: UInt64 { state.withLock { $0.checkpoint } }

  /// The file and the newest checkpoint in it, which belong together.
  var fileAndCheckpoint: (file: DatabaseFile, checkpoint: UInt64) {
    state.withLock { ($0.file, $0.checkpoint) }
  }

  func didWriteCheckpoint(at offset: UInt64) { state.withLock { $0.checkpoint = offset } }

  func replace(with next: DatabaseFile, checkpoint: UInt64) {
    let old = state.withLock { state in
      defer { state = State(file: next, checkpoint: checkpoint) }
      return state.file
    }
    // Releasing the last reference closes the file, which is forbidden under the lock.
    withExtendedLifetime(old) {}
  }
}
