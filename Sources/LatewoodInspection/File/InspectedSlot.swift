import LatewoodBytes
import LatewoodFile

/// What one of the two root slots says, and whether that is so.
package struct InspectedSlot {
  /// 0 or 1.
  package let place: Int
  /// Nil if the slot is not whole.
  package let slot: RootSlot?
  /// The checkpoint it names, if that is accepted.
  package let checkpoint: InspectedCheckpoint?
  /// Why the slot is not valid; nil if it is.
  package let fault: Fault?

  package var isValid: Bool { slot != nil && fault == nil }

  init(place: Int, _ reader: FileReader, _ frames: FrameReader) throws(Fault) {
    self.place = place
    let block = Array(try reader.some(at: FileLayout.slotOffset(place), count: RootSlot.length))
    let slot: RootSlot
    do throws(Fault) {
      slot = try block.withStart { start, count throws(Fault) in
        try RootSlot.decode(
          from: UnsafeRawBufferPointer(start: start, count: count), place: place, seed: frames.seed)
      }
    } catch {
      (self.slot, checkpoint, fault) = (nil, nil, error)
      return
    }
    self.slot = slot
    guard slot.checkpointOffset != 0 else {
      (checkpoint, fault) = (nil, nil)
      return
    }
    let found = try InspectedCheckpoint(at: slot.checkpointOffset, frames)
    if let found, found.frame.checksum == slot.checkpointChecksum {
      (checkpoint, fault) = (found, nil)
    } else {
      checkpoint = nil
      fault = .damaged(
        at: slot.checkpointOffset, "root slot \(place) names a checkpoint here that is not sound")
    }
  }
}

/// A checkpoint that FORMAT.md, section 7 accepts.
package struct InspectedCheckpoint: Equatable {
  package let frame: FrameHeader
  package let record: CheckpointRecord

  package var offset: UInt64 { frame.ownOffset }

  /// Nil if there is none at this place.
  init?(at offset: UInt64, _ frames: FrameReader) throws(Fault) {
    guard let frame = try frames.frame(at: offset), frame.kind == .checkpoint else { return nil }
    let start = offset + UInt64(FrameHeader.length)
    let payload = try frames.reader.bytes(start..<start + UInt64(CheckpointRecord.length))
    do throws(Fault) {
      record = try payload.withStart { start, _ throws(Fault) in
        try CheckpointRecord.decode(from: start, frame: offset, fileSize: frames.reader.size)
      }
    } catch {
      return nil
    }
    self.frame = frame
  }
}
