import LatewoodBytes
import LatewoodDevice

extension DatabaseFile {
  /// The newest valid root slot and the checkpoint it names.
  struct SlotChoice {
    var slot: RootSlot
    var checkpoint: CheckpointRecord?
    var replay = ReplayPosition.start
    /// The newest transaction that the slot's checkpoint or its frame names.
    var newestTransaction: UInt64 = 0
    var isOlder = false
    /// The greater *durable through* of the two slots.
    var durableThrough: UInt64 = 0
  }

  /// Picks the newest slot whose checkpoint is sound. Throws `damaged` if there is none.
  ///
  /// - Parameter slots: the newest first.
  func chooseSlot(_ slots: [RootSlot], in view: FileView) throws(StorageError) -> SlotChoice {
    var isOlder = slots.count < 2
    for slot in slots {
      guard var choice = try soundChoice(slot, in: view) else {
        isOlder = true
        continue
      }
      choice.isOlder = isOlder
      choice.durableThrough = slots.reduce(0) { max($0, $1.durableThrough) }
      return choice
    }
    throw StorageError.damaged(at: FileLayout.slotOffset(0), "neither root slot names a sound checkpoint")
  }

  /// The slots with valid bytes of their own, the newest first.
  ///
  /// - Parameter fromDisk: whether to read past the cache where the system can; see `DiskView`.
  func readSlots(fromDisk: Bool = false) throws(StorageError) -> [RootSlot] {
    try withScratch(FileLayout.slotBlockLength) { block throws(StorageError) in
      var slots: [RootSlot] = []
      for index in 0..<2 {
        let offset = FileLayout.slotOffset(index)
        let count =
          fromDisk ? try readFromDisk(into: block, at: offset) : try device.read(into: block, at: offset)
        let bytes = UnsafeRawBufferPointer(rebasing: block[..<count])
        do throws(StorageError) {
          slots.append(try RootSlot.decode(from: bytes, index: index, seed: header.seed))
        } catch {
          // A torn write: the other slot exists for this case.
          continue
        }
      }
      return slots.sorted { $0.generation > $1.generation }
    }
  }

  private func readFromDisk(
    into block: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StorageError) -> Int {
    var count: Int?
    do throws(StorageError) {
      count = try device.readFromDisk(into: block, at: offset)
    } catch {
      // The system may have reported an earlier failure, which it does once.
      count = try device.readFromDisk(into: block, at: offset)
    }
    if let count { return count }
    return try device.read(into: block, at: offset)
  }

  private func soundChoice(_ slot: RootSlot, in view: FileView) throws(StorageError) -> SlotChoice? {
    var choice = SlotChoice(slot: slot)
    if slot.checkpointOffset == 0 { return choice }
    guard let (record, frame) = try checkpoint(at: slot.checkpointOffset, in: view),
      frame.checksum == slot.checkpointChecksum
    else { return nil }
    choice.checkpoint = record
    choice.replay = record.replay
    choice.newestTransaction = max(frame.transaction, record.transaction)
    return choice
  }

  /// Drops cached bytes before a writer reads them. After a failed sync the cache can hold bytes,
  /// even a root slot, that never reached the disk.
  func forgetCache(_ range: Range<UInt64>) {
    if !isReadOnly { device.dropCache(range) }
  }

  /// Returns the checkpoint whose frame is at `offset`; nil if there is none that FORMAT.md,
  /// section 7 accepts.
  ///
  /// - Parameter view: a view of this file.
  ///
  /// Throws `inputOutput` if the disk cannot read its bytes.
  package func checkpoint(
    at offset: UInt64, in view: FileView
  ) throws(StorageError) -> (record: CheckpointRecord, frame: FrameHeader)? {
    let pin = view.pin()
    defer { withExtendedLifetime(pin) {} }
    guard offset >= FileLayout.logStart, offset % FileLayout.frameAlignment == 0,
      let frame = try LogReader.frame(at: offset, view: view, size: view.limit), frame.kind == .checkpoint
    else { return nil }
    // SAFETY: the walk found the frame and its 88 bytes of payload to be within the file.
    let payload = view.base + Int(offset) + FrameHeader.length
    do throws(StorageError) {
      return (try CheckpointRecord.decode(from: payload, frame: offset, fileSize: view.limit), frame)
    } catch {
      return nil
    }
  }

  // MARK: Writing

  /// Overwrites the older root slot with one that names `checkpoint`. From one thread at a time.
  ///
  /// The slot is not synced: until it is durable, recovery starts from the older checkpoint and
  /// replays more. But if `needsCheckpoint` is set, this syncs the checkpoint and then the slot,
  /// after which transactions can begin again.
  ///
  /// Throws as `flush`. `outOfSpace` leaves everything as it was.
  package func writeSlot(naming checkpoint: AppendedCheckpoint) throws(StorageError) {
    // A checkpoint that replays from before the gap does not satisfy `needsCheckpoint`.
    let replayStart = checkpoint.record.replay.offset
    let isNeeded = progress.isNeeded(replayingFrom: replayStart)
    try group.flush(through: checkpoint.position.offset, durable: isNeeded)
    let (generation, overflow) = slotGeneration.addingReportingOverflow(1)
    guard !overflow else { throw StorageError(.fileTooLarge, "root slot generations are exhausted") }
    var slot = RootSlot(generation: generation, time: environment.now())
    slot.checkpointOffset = checkpoint.offset
    slot.checkpointChecksum = checkpoint.checksum
    slot.transaction = checkpoint.record.transaction
    slot.oldestWhole = oldestWholeCheckpoint
    slot.durableThrough = progress.durableMark(replayingFrom: replayStart, isNeeded: isNeeded)
    let offset = FileLayout.slotOffset(slot.index)
    try withScratch(FileLayout.slotBlockLength) { block throws(StorageError) in
      slot.encode(into: block, seed: header.seed)
      try group.writeOutOfBand(UnsafeRawBufferPointer(block), at: offset, pieces: block.count)
    }
    if isNeeded {
      try group.sync()
      progress.clearNeedsCheckpoint(replayingFrom: replayStart)
    }
    slotGeneration = slot.generation
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
    oldestWholeCheckpoint = oldestWhole
    try writeSlot(naming: checkpoint)
    try syncNodes()
  }
}
