import LatewoodBytes

/// A checkpoint frame that has been appended.
package struct AppendedCheckpoint: Sendable, Equatable {
  /// Of the frame.
  package var offset: UInt64
  /// Of the frame.
  package var checksum: UInt64
  /// What a flush needs for the frame to be in the file.
  package var position: CommitPosition
  package var record: CheckpointRecord
}

extension LogFile {
  /// *Writer, no transaction open.* Reserves room for nodes: returns the offset of the first one, a
  /// multiple of 64.
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
    let header = frameHeader(.nodes, payloadLength: Int(first - payload) + length)
    append.pointee.lastFrameChecksum = header.encode(
      into: append.pointee.memory + append.pointee.frameStart, seed: append.pointee.seed)
    endsInSeal = false
    sealGap(length: FrameHeader.length, end: first + UInt64(length), exists: false)
    return first
  }

  /// Writes nodes where there was room reserved for them. From any thread.
  ///
  /// In pieces of 32 KiB, unless nobody commits to this file: a commit waits for one of them at
  /// most, which takes 10 µs. Throws `outOfSpace`, after which the log is as usable as before and
  /// only these nodes are missing; `inputOutput`, which ends all writing; `poisoned`, `closed`.
  package func writeNodes(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int = LogFile.nodePieceLength
  ) throws(Fault) {
    try group.writeAside(bytes, at: offset, pieces: pieces)
    // The file is this long now, and the tree may be read before a frame behind it is written: that
    // can fail for lack of space.
    let end = offset + UInt64(bytes.count)
    group.locked { $0.touchableThrough = max($0.touchableThrough, end) }
  }

  /// Makes nodes that were written durable, and with them all of the file. From any thread.
  ///
  /// A flush is not enough for that: commits beyond a region may have been synced before its nodes
  /// were written. The first failure ends all writing.
  package func syncNodes() throws(Fault) {
    let through = committedPosition.offset
    try group.flush(through: through, durable: false)
    try group.sync()
  }

  /// *Writer, no transaction open.* Appends the frame of a checkpoint. What its tree consists of
  /// must be durable already.
  ///
  /// Throws `unsupported` if the checkpoint was begun before a gap in the log (invariant 2 of
  /// `LogFile`): it has to be done again. Otherwise as `reserveNodes`.
  package func appendCheckpoint(_ record: CheckpointRecord) throws(Fault) -> AppendedCheckpoint {
    precondition(!append.pointee.isOpen)
    try prepareToAppend()
    guard record.replay.offset >= group.locked({ $0.chainStart }) else {
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

  /// *Writer, no transaction open.* Appends a frame that only says how far the file is known to be
  /// durable; `flush` writes it, and a sync is not needed. Does nothing right after another seal.
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
    let length = append.pointee.frameStart
    group.locked { $0.close(length: length) }
  }

  /// Overwrites the older root slot with one that names `checkpoint`. From one thread at a time.
  ///
  /// The slot is not synced: until it is durable, recovery starts from the older checkpoint and
  /// replays more. But if `needsCheckpoint`, the checkpoint and then the slot are synced here, and
  /// after that transactions can begin again.
  ///
  /// Throws as `flush`. `outOfSpace` leaves everything as it was.
  package func writeSlot(naming checkpoint: AppendedCheckpoint) throws(Fault) {
    // A checkpoint from before a gap may still be named, but it is not the one that is needed.
    let isNeeded = group.locked { $0.needsCheckpoint && checkpoint.record.replay.offset >= $0.chainStart }
    try group.flush(through: checkpoint.position.offset, durable: isNeeded)
    let (generation, overflow) = slotGeneration.addingReportingOverflow(1)
    guard !overflow else { throw Fault(.fileTooLarge, "the numbers for root slots are used up") }
    var slot = RootSlot(generation: generation, time: environment.now())
    slot.checkpointOffset = checkpoint.offset
    slot.checkpointChecksum = checkpoint.checksum
    slot.transaction = checkpoint.record.transaction
    slot.oldestWhole = oldestWholeCheckpoint
    // Asked again: if the log began anew just now, what lies beyond that is not in the reach of
    // this checkpoint.
    slot.durableThrough = group.locked { state in
      isNeeded && checkpoint.record.replay.offset >= state.chainStart
        ? state.syncedThrough : state.durableMark
    }
    let place = FileLayout.slotOffset(slot.place)
    try withScratch(FileLayout.slotBlockLength) { block throws(Fault) in
      slot.encode(into: block, seed: header.seed)
      try group.writeAside(UnsafeRawBufferPointer(block), at: place, pieces: block.count)
    }
    if isNeeded { try makeSlotDurable(replay: checkpoint.record.replay) }
    slotGeneration = slot.generation
  }

  private func makeSlotDurable(replay: ReplayPosition) throws(Fault) {
    try group.sync()
    group.locked { state in
      // While the slot was written the log may have begun anew once more.
      guard replay.offset >= state.chainStart else { return }
      state.needsCheckpoint = false
      state.durableMark = max(state.durableMark, state.syncedThrough)
    }
  }
}
