import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// The two root slots of an open file: FORMAT.md, section 4.
///
/// Thread safety: `read` and `wrap` from any thread. Everything else belongs to the thread that
/// checkpoints, and before that to recovery.
final class RootSlots {
  private let device: any Device
  private let codec: UnitCodec
  private let keyWrap: Guarded<KeyWrap?>
  /// The encrypted key of an encrypted file, which is written with each slot; nil for any other.
  var wrap: KeyWrap? {
    get { keyWrap.withLock { $0 } }
    set { keyWrap.withLock { $0 = newValue } }
  }
  /// The generation of the newest root slot.
  private(set) var generation: UInt64 = 0
  /// The offset of the oldest checkpoint frame whose tree can still be read, as in the newest root
  /// slot or the next one; 0 if all can be.
  var oldestWhole: UInt64 = 0

  init(of device: any Device, codec: UnitCodec, wrap: KeyWrap?) {
    self.device = device
    self.codec = codec
    keyWrap = Guarded(wrap)
  }

  /// Returns the slots whose own bytes are valid, the newest first.
  ///
  /// - Parameter fromDisk: whether to bypass the cache if the system can; see `DiskComparison`.
  func read(fromDisk: Bool = false) throws(StorageError) -> [RootSlot] {
    try withScratch(2 * FileLayout.slotBlockLength) { blocks throws(StorageError) in
      let offset = FileLayout.slotOffset(0)
      let count =
        fromDisk ? try readFromDisk(into: blocks, at: offset) : try device.read(into: blocks, at: offset)
      var slots: [RootSlot] = []
      for index in 0..<2 {
        // One read for both blocks, which follow each other.
        let start = min(index * FileLayout.slotBlockLength, count)
        let end = min(start + FileLayout.slotBlockLength, count)
        let bytes = UnsafeRawBufferPointer(rebasing: blocks[start..<end])
        do throws(StorageError) {
          slots.append(try RootSlot.decode(from: bytes, index: index, codec: codec))
        } catch {
          // A torn write: the other slot exists for this case.
          continue
        }
      }
      return slots.sorted { $0.isNewer(than: $1) }
    }
  }

  private func readFromDisk(
    into block: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StorageError) -> Int {
    if let count = try device.rereadFromDisk(into: block, at: offset) { return count }
    return try device.read(into: block, at: offset)
  }

  /// Continues after the slot that recovery chose.
  func begin(after slot: RootSlot) {
    generation = slot.generation
    oldestWhole = slot.oldestWhole
  }

  /// Returns the next slot, which will replace the older one.
  func next(naming checkpoint: AppendedCheckpoint, time: UInt64) throws(StorageError) -> RootSlot {
    let (next, overflow) = generation.addingReportingOverflow(1)
    guard !overflow else { throw StorageError(.fileTooLarge, "root slot generations are exhausted") }
    var slot = RootSlot(generation: next, time: time)
    slot.checkpointOffset = checkpoint.offset
    slot.checkpointChecksum = checkpoint.checksum
    slot.transaction = checkpoint.record.transaction
    slot.oldestWhole = oldestWhole
    return slot
  }

  /// Passes the block of a slot, with its checksum, to `write`. If that succeeds, the slot is the
  /// newest.
  func write(
    _ slot: RootSlot, _ write: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withScratch(FileLayout.slotBlockLength) { block throws(StorageError) in
      slot.encode(into: block, codec: codec, wrap: wrap)
      try write(UnsafeRawBufferPointer(block), FileLayout.slotOffset(slot.index))
    }
    generation = slot.generation
  }
}

/// A checkpoint that is accepted by FORMAT.md, section 7.
package struct FoundCheckpoint: Sendable, Equatable {
  package let frame: FrameHeader
  package let record: CheckpointRecord

  package var offset: UInt64 { frame.ownOffset }
}

/// The state that a root slot refers to.
package struct SlotChoice: Sendable {
  package let slot: RootSlot
  /// The checkpoint that the slot names; nil if there is none yet.
  package let checkpoint: FoundCheckpoint?
  /// Whether the newest slot was passed over.
  package var isOlder = false
  /// The greater *durable through* of the two slots.
  package var durableThrough: UInt64

  package var replay: ReplayPosition { checkpoint?.record.replay ?? .start }
  /// The newest transaction in the tree of the checkpoint.
  package var transaction: UInt64 { checkpoint?.record.transaction ?? 0 }
  /// The newest transaction number in the checkpoint or its frame.
  package var newestTransaction: UInt64 { max(transaction, checkpoint?.frame.transaction ?? 0) }
}

/// The choice of a root slot, for the engine and the inspector: FORMAT.md, section 4.
extension FileBytes {
  /// Returns the state that a slot refers to; nil if it names a checkpoint that is not sound.
  /// Throws `inputOutput` if the disk cannot read the checkpoint.
  package func choice(of slot: RootSlot) throws(StorageError) -> SlotChoice? {
    var found: FoundCheckpoint?
    if slot.checkpointOffset != 0 {
      found = try checkpoint(at: slot.checkpointOffset)
      guard found?.frame.checksum == slot.checkpointChecksum else { return nil }
    }
    return SlotChoice(slot: slot, checkpoint: found, durableThrough: slot.durableThrough)
  }

  /// Picks the newest slot whose checkpoint is sound. Throws `damaged` if there is none.
  ///
  /// - Parameter slots: those whose own bytes are valid, the newest first.
  package func newest(of slots: [RootSlot]) throws(StorageError) -> SlotChoice {
    var isOlder = slots.count < 2
    for slot in slots {
      guard var choice = try choice(of: slot) else {
        isOlder = true
        continue
      }
      choice.isOlder = isOlder
      choice.durableThrough = slots.reduce(0) { max($0, $1.durableThrough) }
      return choice
    }
    throw StorageError.damaged(at: FileLayout.slotOffset(0), "neither root slot names a sound checkpoint")
  }

  /// Returns the checkpoint whose frame is at `offset`; nil if there is none, or it is not valid by
  /// FORMAT.md, section 7.
  ///
  /// Throws `inputOutput` if the disk cannot read its bytes.
  package func checkpoint(at offset: UInt64) throws(StorageError) -> FoundCheckpoint? {
    guard let frame = try frame(at: offset) else { return nil }
    return try checkpoint(in: frame)
  }

  /// Returns the checkpoint in a frame whose checksum is correct; nil if the frame is of another
  /// kind or its contents are impossible.
  package func checkpoint(in frame: FrameHeader) throws(StorageError) -> FoundCheckpoint? {
    guard frame.kind == .checkpoint else { return nil }
    let start = frame.ownOffset + UInt64(FrameHeader.length)
    let length = Int(truncatingIfNeeded: frame.payloadLength) - frame.trailerLength
    let found = try withBytes(at: start, count: length) { payload -> FoundCheckpoint? in
      do throws(StorageError) {
        return FoundCheckpoint(
          frame: frame,
          record: try CheckpointRecord.decode(
            from: payload, length: length, frame: frame.ownOffset, fileSize: size))
      } catch {
        return nil
      }
    }
    return found ?? nil
  }
}
