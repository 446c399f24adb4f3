import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

/// The file of a store, and the offset of the newest checkpoint in it.
///
/// A compaction replaces the file while no checkpoint and no transaction runs. A thread that may
/// run at that time must read `file` once and keep the result.
///
/// Thread safety: all methods may be called from any thread, unless their comment says otherwise.
final class CurrentFile: @unchecked Sendable {
  private let monitor = Monitor()
  // SAFETY: changed under both the writer lock and `monitor`, and read under either.
  private var open: DatabaseFile
  // SAFETY: accessed under `monitor`.
  private var newest: UInt64

  /// - Parameter checkpoint: the offset of the newest checkpoint's frame; 0 if there is no
  ///   checkpoint.
  init(_ file: DatabaseFile, checkpoint: UInt64 = 0) {
    open = file
    newest = checkpoint
  }

  var file: DatabaseFile { monitor.withLock { open } }

  /// The file, without another lock. For the thread that has the writer lock.
  var fileForWriter: DatabaseFile { open }

  /// The offset of the newest checkpoint's frame; 0 if there is no checkpoint.
  var checkpoint: UInt64 { monitor.withLock { newest } }

  /// The file and the newest checkpoint in it, which belong together.
  var fileAndCheckpoint: (file: DatabaseFile, checkpoint: UInt64) { monitor.withLock { (open, newest) } }

  func didWriteCheckpoint(at offset: UInt64) { monitor.withLock { newest = offset } }

  /// Called under the writer lock.
  func replace(with next: DatabaseFile, checkpoint: UInt64) {
    let old = monitor.withLock {
      defer { (open, newest) = (next, checkpoint) }
      return open
    }
    // Releasing the last reference closes the file, which is forbidden under the lock.
    withExtendedLifetime(old) {}
  }
}
