import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// An open database file: its header, a mapping of its bytes, and the log, to which one writer
/// appends.
///
/// ```
///   LogWriter: put, delete ... commit      GroupCommit: flush                 readers
///   encodes frames in memory           ->  the first thread that waits    ->  see it through
///                                          writes and syncs for all           the mapping
/// ```
///
/// Both take the progress of the log from `SharedProgress`.
///
/// Invariants:
/// 1. Offsets are known when a record is encoded, and never change. A record is read from the chunk
///    until it is written, and then from the mapping, where it has the same bytes.
/// 2. No offset is used twice. After a torn tail, or a write that failed for lack of space, the log
///    continues past everything that may have been written, with a *previous checksum* of 0. Walks
///    do not cross this gap, so `needsCheckpoint` is set, and transactions cannot begin, until a
///    slot that refers to a checkpoint beyond the gap is durable.
/// 3. A frame's *durable through* never lies beyond such a gap until that slot is durable.
///
/// Thread safety:
/// 1. `writer` and calls marked *writer* need the store's writer lock, so one thread at a time
///    makes them and sees the effects of earlier calls. `create`, `open`, `recover` and `refresh`
///    are called before or instead of a writer, and count as writer calls.
/// 2. `flush`, `writeNodes`, `view`, `syncedThrough`, `isPoisoned`, `needsCheckpoint` and `close`
///    can be called from any thread.
/// 3. `writeSlot`, `writeBothSlots` and `punch` are called from one thread at a time, the thread
///    that checkpoints. They do not need the writer lock.
// SAFETY: by these three rules, every variable is accessed by one thread at a time, or guards
// itself.
package final class DatabaseFile: @unchecked Sendable {
  package let path: String
  package let isReadOnly: Bool
  package let header: FileHeader
  package let device: any Device
  package let mapping: MappedFile
  let volume: any Volume
  let environment: Environment
  let frames: FrameWriter
  let progress: SharedProgress
  let group: GroupCommit
  /// Requests the system to write cached pages of the log before a sync waits for them.
  package let writeback: Writeback
  /// Pins and locks, until the file is closed.
  let lifetime: FileLifetime
  /// Appends to the log.
  package let writer: LogWriter
  let slots: RootSlots
  /// *Writer.* The state from which the file must descend; nil to accept any file.
  var expected: StateAnchor?
  /// *Reader.* The end of the log as `recover` or `refresh` found it.
  var tail = LogTail()

  init(_ opened: Opened, on volume: any Volume, path: String, environment: Environment) {
    self.path = path
    self.volume = volume
    self.environment = environment
    header = opened.header
    device = opened.device
    mapping = opened.mapping
    lifetime = FileLifetime(of: opened)
    slots = RootSlots(of: opened.device, codec: opened.header.codec, wrap: opened.wrap)
    expected = opened.expected
    isReadOnly = opened.fileLock == nil
    frames = FrameWriter(
      opened.device, opened.fileLock, trailerLength: opened.header.codec.trailerLength)
    writeback = Writeback(opened.device)
    let chunk = LogChunks.makeChunk(
      isReadOnly: isReadOnly, isEncrypted: opened.header.codec.isEncrypted)
    progress = SharedProgress(open: .empty(chunk, at: FileLayout.logStart))
    group = GroupCommit(frames, progress)
    let log = LogBuffer(
      chunk, mapping, group, progress, codec: header.codec, path: path, isReadOnly: isReadOnly)
    let reserve = SpaceReserve(device, path: path)
    writer = LogWriter(log, reserve, progress, codec: header.codec, isReadOnly: isReadOnly)
  }

  deinit { close() }

  /// The existing bytes of the file. Valid as long as this object or `mapping`. Can be called from
  /// any thread.
  package var view: FileView {
    // The limit is read first, because the mapping was created before the limit was raised.
    let limit = progress.readableThrough
    return view(of: mapping.space, limit: limit)
  }

  /// Returns the first `size` bytes of the file, all of which exist. Throws `outOfMemory` if they
  /// cannot be mapped.
  func view(through size: UInt64) throws(StorageError) -> FileView {
    view(of: try mapping.grown(toCover: size), limit: size)
  }

  private func view(of space: AddressSpace, limit: UInt64) -> FileView {
    FileView(
      base: space.base, verified: space.verified, codec: header.codec, limit: limit, owner: mapping)
  }

  /// The offset before which everything survives a power cut. Can be called from any thread.
  package var syncedThrough: UInt64 { progress.syncedThrough }

  /// Whether a failed write or sync has ended all writing. Can be called from any thread.
  package var isPoisoned: Bool { progress.failure != nil }

  /// Whether the file was found to be removed, renamed or replaced, which ends all writing.
  /// Acknowledged commits can still be read. Can be called from any thread.
  package var isMoved: Bool { progress.failure?.kind == .fileMoved }

  /// Throws `poisoned`, `fileMoved` or `closed` if writing has ended. Can be called from any
  /// thread.
  package func checkWriting() throws(StorageError) { try progress.check() }

  /// Whether a checkpoint, and a slot that refers to it, must be written before commits can be
  /// acknowledged. Can be called from any thread.
  package var needsCheckpoint: Bool { progress.needsCheckpoint }

  /// Whether a write has failed for lack of space since the last call of `recoverFromOutOfSpace`.
  /// Can be called from any thread.
  package var isOutOfSpace: Bool { progress.isOutOfSpace }

  /// Whether `isOutOfSpace` or `needsCheckpoint` prevents transactions from beginning. Can be
  /// called from any thread.
  package var isInterrupted: Bool { progress.isInterrupted }

  /// The offset of the oldest checkpoint frame whose tree can still be read; 0 if all can be.
  /// Belongs to the thread that checkpoints.
  package var oldestWholeCheckpoint: UInt64 { slots.oldestWhole }

  /// The end of all commits. Can be called from any thread.
  package var completedThrough: CommitPosition { CommitPosition(offset: progress.completedThrough) }
  /// The end of the log in the file. Later commits and reservations are still in memory. Can be
  /// called from any thread.
  package var writtenThrough: CommitPosition { CommitPosition(offset: progress.writtenThrough) }

  /// A reference that, as long as it is retained, pins the mapping and the file's blocks under it.
  /// Can be called from any thread.
  package var pin: any AnyObject & Sendable { lifetime.pin ?? mapping }

  /// Declares that versions created after this call do not need log records before `floor`. Can be
  /// called from any thread.
  package func requireRecords(from floor: UInt64) { lifetime.requireRecords(from: floor) }

  /// Releases the locks and the file. Unflushed commits are lost. Idempotent; from any thread.
  ///
  /// The file stays mapped, and locked for reading, as long as `pin` is retained anywhere.
  package func close() {
    guard progress.close() else { return }
    group.waitUntilIdle()
    if isPoisoned, !isMoved { PromisedFloors.keep(progress.durableMark, of: device, header) }
    lifetime.end()
  }
}

extension DatabaseFile {
  /// Refuses all further writing. Can be called from any thread.
  package func endWriting(_ error: StorageError) { progress.end(with: error) }

  /// *Writer, no transaction open.* Restarts the log after a write that failed for lack of space.
  ///
  /// Discards the frames waiting in memory: flushing them then throws `outOfSpace`, and they do not
  /// reappear after a crash or a power cut. Before calling this, the store undoes, in memory, every
  /// transaction that was not flushed. Afterwards `needsCheckpoint` is set, and the store writes a
  /// checkpoint of the remaining state at the current `LogWriter.replayPosition`; a checkpoint in
  /// progress must be started again. If the disk is still full, that fails in the same way, and
  /// this is called again.
  ///
  /// Does nothing if no write failed. Throws `poisoned`, `closed`, `fileTooLarge`, and errors of
  /// the device.
  package func recoverFromOutOfSpace() throws(StorageError) {
    precondition(!writer.isInTransaction, "a transaction is open")
    guard isOutOfSpace else { return }
    group.waitUntilIdle()
    try progress.check()
    // No attempted write reached beyond this size: the file only grows by writing.
    let size = try device.size()
    guard let tail = FrameHeader.aligned(max(size, writer.tail) + FileLayout.frameAlignment),
      tail < FileLayout.fileLimit
    else { throw StorageError(.fileTooLarge, "the file has reached its greatest length", path: path) }
    try eraseDiscardedFrames(below: size)
    writer.restart(at: tail)
  }

  /// Ensures that the log ends before the discarded frames. All of them depend on the first, which
  /// `FrameWriter` completes last.
  ///
  /// No known device fails a write after storing all of its bytes. But if the first frame is in the
  /// file, it is durably overwritten with zeros. Otherwise nothing is synced, because a sync that
  /// fails for lack of space ends all writing.
  private func eraseDiscardedFrames(below size: UInt64) throws(StorageError) {
    let start = progress.writtenThrough
    let view = try view(through: size)
    guard try ViewedBytes(view).frame(at: start) != nil else { return }
    try withScratch(FrameHeader.length) { zeros throws(StorageError) in
      try group.writeOutOfBand(UnsafeRawBufferPointer(zeros), at: start, pieces: zeros.count)
    }
    try group.sync()
  }
}
