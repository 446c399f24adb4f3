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

  init(place: Int, _ frames: FrameReader) throws(Fault) {
    self.place = place
    let slot: RootSlot
    switch try frames.slot(place) {
    case .success(let read): slot = read
    case .failure(let error):
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
    guard let frame = try frames.frame(at: offset) else { return nil }
    try self.init(frame, frames)
  }

  /// Nil if the frame, which is sound, is no checkpoint or says the impossible.
  init?(_ frame: FrameHeader, _ frames: FrameReader) throws(Fault) {
    guard frame.kind == .checkpoint else { return nil }
    let start = frame.ownOffset + UInt64(FrameHeader.length)
    let decoded = try frames.reader.withBytes(at: start, count: CheckpointRecord.length) { start in
      Result { () throws(Fault) in
        try CheckpointRecord.decode(from: start, frame: frame.ownOffset, fileSize: frames.reader.size)
      }
    }
    guard let decoded, case .success(let record) = decoded else { return nil }
    self.frame = frame
    self.record = record
  }
}
