import LatewoodBytes

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

extension LogFile {
  /// *Writer, no transaction open.* Reserves space for nodes and returns the offset of the first
  /// one, a multiple of 64.
  ///
  /// - Parameter length: bytes from that offset on, greater than 0.
  ///
  /// Throws `poisoned`, `closed`, `outOfSpace`, `fileTooLarge`.
  package func reserveNodes(length: Int) throws(Fault) -> UInt64 {
    precondition(length > 0 && !append.pointee.isOpen)
    try prepareToAppend()
    try checkLength(of: length)
    let payload = append.pointee.tail + UInt64(FrameHeader.length)
    let first = (payload + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
    try claim(through: first + UInt64(length), freesSpace: true)
    let header = frameHeader(.nodes, payloadLength: Int(first - payload) + length)
    append.pointee.lastFrameChecksum = header.encode(
      into: append.pointee.memory + append.pointee.frameStart, seed: append.pointee.seed)
    endsInSeal = false
    sealGap(length: FrameHeader.length, end: first + UInt64(length), exists: false)
    return first
  }

  /// Writes nodes into space reserved by `reserveNodes`. From any thread.
  ///
  /// Writes in pieces of 32 KiB by default, so that a concurrent commit waits for one piece at
  /// most, about 10 µs; pass larger pieces if nobody commits to this file. Throws `outOfSpace`,
  /// after which the log is as usable as before and only these nodes are missing; `inputOutput`,
  /// which ends all writing; `poisoned`, `closed`.
  package func writeNodes(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int = LogFile.nodePieceLength
  ) throws(Fault) {
    try group.writeAside(bytes, at: offset, pieces: pieces)
    // The file is this long now. The tree may be read before a frame behind it is written, which
    // can fail for lack of space.
    let end = offset + UInt64(bytes.count)
    group.extendReadable(through: end)
  }

  /// Makes the written nodes durable, and with them the whole file. From any thread.
  ///
  /// A flush is not enough: commits beyond a region may have been synced before its nodes were
  /// written. The first failure ends all writing.
  package func syncNodes() throws(Fault) {
    let through = committedPosition.offset
    try group.flush(through: through, durable: false)
    try group.sync()
  }

  /// *Writer, no transaction open.* Appends the frame of a checkpoint. All nodes and values of its
  /// tree must already be durable.
  ///
  /// Throws `unsupported` if the checkpoint was begun before a gap in the log (invariant 2 of
  /// `LogFile`) and must be done again; otherwise as `reserveNodes`.
  package func appendCheckpoint(_ record: CheckpointRecord) throws(Fault) -> AppendedCheckpoint {
    precondition(!append.pointee.isOpen)
    try prepareToAppend()
    guard group.isBeyondGap(record.replay.offset) else {
      throw Fault(.unsupported, "the log began anew after this checkpoint was begun")
    }
    let offset = append.pointee.tail
    var record = record
    record.branch = branch
    // SAFETY: `prepareToAppend` left room for a few thousand bytes.
    let frame = append.pointee.memory + append.pointee.frameStart
    record.encode(into: frame + FrameHeader.length)
    try appendFrame(frameHeader(.checkpoint, payloadLength: CheckpointRecord.length))
    return AppendedCheckpoint(
      offset: offset, checksum: lastFrameChecksum, position: position, record: record)
  }

  /// *Writer, no transaction open.* Appends a frame that only records how far the file is known to
  /// be durable. `flush` writes it; it needs no sync. Does nothing right after another seal.
  package func appendSeal() throws(Fault) {
    precondition(!append.pointee.isOpen)
    try prepareToAppend()
    if endsInSeal { return }
    try appendFrame(frameHeader(.seal, payloadLength: 0))
    endsInSeal = true
  }

  /// Completes a frame whose payload stands in the chunk.
  private func appendFrame(_ header: FrameHeader) throws(Fault) {
    let place = append.pointee
    append.pointee.lastFrameChecksum = header.encode(into: place.memory + place.frameStart, seed: place.seed)
    append.pointee.position = place.frameStart + FrameHeader.length + Int(header.payloadLength)
    endsInSeal = false
    padFrame()
    group.completeFrames(length: append.pointee.frameStart)
  }

  /// Overwrites the older root slot with one that names `checkpoint`. From one thread at a time.
  ///
  /// The slot is not synced: until it is durable, recovery starts from the older checkpoint and
  /// replays more. But if `needsCheckpoint` is set, this syncs the checkpoint and then the slot,
  /// after which transactions can begin again.
  ///
  /// Throws as `flush`. `outOfSpace` leaves everything as it was.
  package func writeSlot(naming checkpoint: AppendedCheckpoint) throws(Fault) {
    // A slot may still name a checkpoint from before a gap, but that is not the one that is needed.
    let replayStart = checkpoint.record.replay.offset
    let isNeeded = group.isNeeded(replayingFrom: replayStart)
    try group.flush(through: checkpoint.position.offset, durable: isNeeded)
    let (generation, overflow) = slotGeneration.addingReportingOverflow(1)
    guard !overflow else { throw Fault(.fileTooLarge, "the numbers for root slots are used up") }
    var slot = RootSlot(generation: generation, time: environment.now())
    slot.checkpointOffset = checkpoint.offset
    slot.checkpointChecksum = checkpoint.checksum
    slot.transaction = checkpoint.record.transaction
    slot.oldestWhole = oldestWholeCheckpoint
    slot.durableThrough = group.durableMark(replayingFrom: replayStart, isNeeded: isNeeded)
    let place = FileLayout.slotOffset(slot.place)
    try withScratch(FileLayout.slotBlockLength) { block throws(Fault) in
      slot.encode(into: block, seed: header.seed)
      try group.writeAside(UnsafeRawBufferPointer(block), at: place, pieces: block.count)
    }
    if isNeeded {
      try group.sync()
      group.endNeed(replayingFrom: replayStart)
    }
    slotGeneration = slot.generation
  }
}
