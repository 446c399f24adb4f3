import LatewoodBytes

/// The steps of a checkpoint in the file. The log is verified; nodes are written into reserved
/// space (`LogWriter.reserveNodes`) and synced; a frame (`LogWriter.appendCheckpoint`) and a root
/// slot then refer to their tree. Finally, bytes that only older checkpoints used are punched.
extension DatabaseFile {
  package static let nodePieceLength = 32 << 10
  /// The maximum length punched by one system call, in bytes: a multiple of every block length.
  private static let longestPunch: UInt64 = 1 << 20

  /// Verifies the frames between two log positions before a checkpoint relies on their operations.
  ///
  /// Throws `damaged` if a frame has changed. The caller must then end all writing, because
  /// recovery would not find anything after that frame. Throws `inputOutput`, without ending
  /// writing, if the disk cannot read a frame; and as `checkWriting`. O(bytes of the log between).
  /// From any thread.
  package func verifyFrames(from start: ReplayPosition, to end: UInt64) throws(StorageError) {
    try checkWriting()
    // There are no operations after a gap yet.
    let end = progress.gap.map { min(end, $0.lowerBound) } ?? end
    let view = view
    var reader = LogReader(view: view, from: start)
    while reader.position.offset < end, try reader.next() != nil {}
    guard reader.position.offset < end else { return }
    throw StorageError.damaged(
      at: reader.position.offset, "a frame of the log has changed since it was written: writing stops")
  }

  // MARK: Nodes

  /// Writes nodes into space reserved by `LogWriter.reserveNodes`. Can be called from any thread.
  ///
  /// Writes in pieces of 32 KiB by default, so that a concurrent commit waits for at most one
  /// piece, about 10 µs; pass larger pieces for a file without concurrent commits. Throws
  /// `outOfSpace`, after which only these nodes are missing and the log remains usable;
  /// `inputOutput`, which ends all writing; `poisoned`, `closed`.
  package func writeNodes(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int = DatabaseFile.nodePieceLength
  ) throws(StorageError) {
    try group.writeOutOfBand(bytes, at: offset, pieces: pieces)
    // The nodes may be read before a later frame extends the file, which can fail for lack of
    // space.
    let end = offset + UInt64(bytes.count)
    progress.extendReadable(through: end)
  }

  /// Syncs the written nodes, and everything else in the file. Can be called from any thread.
  ///
  /// A flush is not enough: commits beyond a region may have been synced before its nodes were
  /// written. The first failure ends all writing.
  package func syncNodes() throws(StorageError) {
    let through = completedThrough.offset
    try group.flush(through: through, durable: false)
    try group.sync()
  }

  // MARK: Root slots

  /// Overwrites the older root slot with one that refers to `checkpoint`. Called from one thread at
  /// a time.
  ///
  /// The slot is not synced: until it is durable, recovery starts from the older checkpoint and
  /// replays more. But if `needsCheckpoint` is set, this syncs the checkpoint and then the slot,
  /// after which transactions can begin again.
  ///
  /// Throws like `flush`. After `outOfSpace`, nothing has changed.
  package func writeSlot(naming checkpoint: AppendedCheckpoint) throws(StorageError) {
    // A checkpoint that replays from before the gap does not satisfy `needsCheckpoint`.
    let replayStart = checkpoint.record.replay.offset
    let isNeeded = progress.isNeeded(replayingFrom: replayStart)
    try group.flush(through: checkpoint.position.offset, durable: isNeeded)
    var slot = try slots.next(naming: checkpoint, time: environment.now())
    slot.durableThrough = progress.durableMark(replayingFrom: replayStart, isNeeded: isNeeded)
    try slots.write(slot) { (block, offset) throws(StorageError) in
      try group.writeOutOfBand(block, at: offset, pieces: block.count)
      guard isNeeded else { return }
      try group.sync()
      progress.clearNeedsCheckpoint(replayingFrom: replayStart)
    }
    mapping.compareWithMemory(log: replayStart)
  }

  /// Returns the checkpoint whose frame is at `offset`, which an earlier session may have appended;
  /// nil if there is no sound one. Throws `inputOutput` if the disk cannot read its bytes.
  package func appendedCheckpoint(at offset: UInt64) throws(StorageError) -> AppendedCheckpoint? {
    guard let (record, frame) = try checkpoint(at: offset, in: view), let end = frame.end else { return nil }
    return AppendedCheckpoint(
      offset: offset, checksum: frame.checksum, position: CommitPosition(offset: end), record: record)
  }

  /// Durably makes both root slots name `checkpoint`. Whichever slot is lost afterwards, nothing
  /// that this checkpoint does not need will be read again.
  ///
  /// The slot that `writeSlot` wrote last must already name it. There is a sync between the two
  /// slots, so that a power cut destroys one of them at most. Two syncs in all; a failed sync ends
  /// all writing. Throws as `flush`. From the thread that checkpoints.
  package func writeBothSlots(naming checkpoint: AppendedCheckpoint, oldestWhole: UInt64) throws(StorageError)
  {
    try syncNodes()
    slots.oldestWhole = oldestWhole
    try writeSlot(naming: checkpoint)
    try syncNodes()
  }

  // MARK: Hole punching (FORMAT.md, section 1)

  /// Returns the frames between two log positions, without the payloads of nodes frames: the bytes
  /// that a replay from `start` needs, but a replay from `end` does not.
  ///
  /// Stops early at a gap, after which the log restarted. O(bytes of the log between). Can be
  /// called from any thread. Throws errors of the device.
  ///
  /// - Returns: the ranges, and whether they reach `end`.
  package func frames(
    from start: ReplayPosition, to end: UInt64
  ) throws(StorageError) -> (ranges: [DeadRange], isComplete: Bool) {
    let view = view
    var reader = LogReader(view: view, from: start)
    var ranges: [DeadRange] = []
    var at = start.offset
    // `next` verifies the frame's checksum: a wrong header could free live nodes.
    while reader.position.offset < end, let frame = try reader.next() {
      guard frame.kind == .nodes else { continue }
      let content = frame.ownOffset + UInt64(FrameHeader.length + frame.trailerLength)
      let firstNode = (content + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
      ranges.append(
        DeadRange(start: at, end: min(firstNode, reader.position.offset), endsInNode: false))
      at = reader.position.offset
    }
    let last = min(reader.position.offset, end)
    if at < last { ranges.append(DeadRange(start: at, end: last, endsInNode: false)) }
    return (ranges, reader.position.offset >= end)
  }

  /// Returns whether the bytes between two dead ranges are zeros, as between nodes, and not a frame
  /// header. Returns false if they cannot be read.
  package func isPadding(_ bytes: Range<UInt64>) -> Bool {
    let view = view
    guard bytes.upperBound <= view.limit else { return false }
    let pin = view.pin()
    defer { withExtendedLifetime(pin) {} }
    var hasBytes = false
    do throws(StorageError) {
      try view.eachPiece(of: bytes) { piece in hasBytes = hasBytes || piece.firstNonZero != nil }
    } catch {
      return false
    }
    return !hasBytes
  }

  /// Punches blocks, starting with the last, until `enough` returns true. Does so only while no
  /// reader has the file locked.
  ///
  /// - Parameter blocks: unreferenced ranges of complete blocks of `device.blockLength`. Punched
  ///   blocks are removed from the array.
  /// - Returns: `done`; `busy` if there is a reader or `enough` returned true first; `unsupported`
  ///   if the file system cannot do this.
  ///
  /// Throws errors of the device; the blocks then left in `blocks` may or may not have been
  /// punched. The failure does not end writing.
  package func punch(_ blocks: inout [Range<UInt64>], until enough: () -> Bool) throws(StorageError)
    -> PunchOutcome
  {
    if blocks.isEmpty { return .done }
    try progress.check()
    try frames.checkOwner()
    guard try device.tryLockExclusively() else { return .busy }
    defer { device.unlockExclusively() }
    while let block = blocks.last {
      if enough() { return .busy }
      guard block.lowerBound >= FileLayout.logStart else {
        throw StorageError.damaged(at: block.lowerBound, "a dead range overlaps the header or the root slots")
      }
      // The file system blocks writes while it frees blocks.
      let start = max(block.lowerBound, block.upperBound - min(block.upperBound, DatabaseFile.longestPunch))
      frames.yieldToFrames()
      guard try device.punch(offset: start, length: block.upperBound - start) else {
        return .unsupported
      }
      blocks.removeLast()
      if start > block.lowerBound { blocks.append(block.lowerBound..<start) }
    }
    return .done
  }

  /// Returns whether a reader, in this process or another, has locked the file.
  package func hasReaders() throws(StorageError) -> Bool {
    try frames.checkOwner()
    guard try device.tryLockExclusively() else { return true }
    device.unlockExclusively()
    return false
  }
}

/// The outcome of `DatabaseFile.punch`.
package enum PunchOutcome: Sendable { case done, busy, unsupported }

/// A checkpoint frame that has been appended.
package struct AppendedCheckpoint: Sendable, Equatable {
  /// The offset of the frame.
  package var offset: UInt64
  /// The checksum of the frame.
  package var checksum: UInt64
  /// The position to flush through so that the frame is in the file.
  package var position: CommitPosition
  package var record: CheckpointRecord
}
