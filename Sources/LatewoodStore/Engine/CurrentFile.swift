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

/// A database file and the committed state in it, for a store to switch to: the recovered file when
/// the store is opened, the file that a compaction has written, or, in a read-only store, a newer
/// checkpoint of another process.
struct FileState {
  let file: DatabaseFile
  /// Whether this process wrote the entire file, so that nothing in it died in an earlier session.
  var isOwn = false
  /// The offset of the newest checkpoint's frame; 0 if there is no checkpoint.
  var checkpoint: UInt64 = 0
  /// The tree of that checkpoint.
  var base: Subtree?
  /// The replay position of that checkpoint; the start of the log without one.
  var replay = ReplayPosition.start
  /// The newest state, which includes the transactions since that checkpoint.
  var head = Head()
  /// The number of bytes of log since that checkpoint.
  var pendingBytes: UInt64 = 0
}

extension FileState {
  /// A file after its log was recovered.
  init(_ file: DatabaseFile, recovered active: BufferState, _ report: LogRecoveryReport) {
    self.file = file
    isOwn = report.checkpointOffset == 0 && !file.isReadOnly
    checkpoint = report.checkpointOffset
    base = report.checkpoint?.root
    // Without a checkpoint there is only a log, which has just been read.
    replay = report.checkpoint?.replay ?? .start
    head.transaction = report.lastTransaction
    head.active = active
    pendingBytes = report.bytesReplayed
  }
}
