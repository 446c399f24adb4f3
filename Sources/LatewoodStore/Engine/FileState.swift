import LatewoodFile
import LatewoodTree

/// A database file and the committed state in it, for a store to switch to: the recovered file when
/// the store is opened, the file that a compaction has written, or, in a read-only store, a newer
/// checkpoint of another process.
struct FileState {
  let file: DatabaseFile
  /// Whether this process wrote the entire file, so that it contains no data that died in an
  /// earlier session.
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
