import LatewoodBytes
import LatewoodDevice

extension LogFile {
  /// The newest valid root slot and the checkpoint it names.
  struct SlotChoice {
    var slot: RootSlot
    var checkpoint: CheckpointRecord?
    var replay = ReplayPosition.start
    /// That the slot, or the frame of its checkpoint, knows of.
    var newestTransaction: UInt64 = 0
    var isOlder = false
    /// The greatest that either slot says.
    var durableThrough: UInt64 = 0
  }

  /// Throws `damaged` if neither slot is valid.
  ///
  /// - Parameter slots: the newest first.
  func chooseSlot(_ slots: [RootSlot], in view: FileView) throws(Fault) -> SlotChoice {
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
    throw Fault.damaged(at: FileLayout.slotOffset(0), "neither root slot names a sound checkpoint")
  }

  /// The slots whose own bytes are right, the newest first.
  ///
  /// - Parameter fromDisk: not as the cache has them, where the disk can be asked; see `DiskView`.
  func readSlots(fromDisk: Bool = false) throws(Fault) -> [RootSlot] {
    try withScratch(FileLayout.slotBlockLength) { block throws(Fault) in
      var slots: [RootSlot] = []
      for place in 0..<2 {
        let offset = FileLayout.slotOffset(place)
        let count =
          fromDisk ? try readFromDisk(into: block, at: offset) : try device.read(into: block, at: offset)
        let bytes = UnsafeRawBufferPointer(rebasing: block[..<count])
        do throws(Fault) {
          slots.append(try RootSlot.decode(from: bytes, place: place, seed: header.seed))
        } catch {
          // A slot that was torn while it was written: the other one is for that.
          continue
        }
      }
      return slots.sorted { $0.generation > $1.generation }
    }
  }

  private func readFromDisk(
    into block: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(Fault) -> Int {
    var count: Int?
    do throws(Fault) {
      count = try device.readFromDisk(into: block, at: offset)
    } catch {
      // The system may have told of an old failure, which it does once.
      count = try device.readFromDisk(into: block, at: offset)
    }
    if let count { return count }
    return try device.read(into: block, at: offset)
  }

  private func soundChoice(_ slot: RootSlot, in view: FileView) throws(Fault) -> SlotChoice? {
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

  /// After a failed sync the cache can hold what the disk does not, a root slot too. A writer must
  /// not build on that.
  func forgetCache(_ range: Range<UInt64>) {
    if !isReadOnly { device.dropCache(range) }
  }

  /// The checkpoint whose frame is at `offset`, if it is one that FORMAT.md, section 7 accepts.
  ///
  /// - Parameter view: of this file.
  ///
  /// Throws `inputOutput` if the disk does not give its bytes.
  package func checkpoint(
    at offset: UInt64, in view: FileView
  ) throws(Fault) -> (record: CheckpointRecord, frame: FrameHeader)? {
    guard offset >= FileLayout.logStart, offset % FileLayout.frameAlignment == 0,
      let frame = try LogWalk.frame(at: offset, view: view, size: view.limit), frame.kind == .checkpoint
    else { return nil }
    // SAFETY: the walk found the frame and its 88 bytes of payload to be within the file.
    let payload = view.base + Int(offset) + FrameHeader.length
    do throws(Fault) {
      return (try CheckpointRecord.decode(from: payload, frame: offset, fileSize: view.limit), frame)
    } catch {
      return nil
    }
  }
}
