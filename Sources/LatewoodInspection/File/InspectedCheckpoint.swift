import LatewoodBytes
import LatewoodFile

/// A checkpoint that passes the checks of FORMAT.md, section 7.
package struct InspectedCheckpoint: Equatable {
  package let frame: FrameHeader
  package let record: CheckpointRecord

  package var offset: UInt64 { frame.ownOffset }

  /// Returns nil if there is not a checkpoint at this offset.
  init?(at offset: UInt64, _ frames: FrameReader) throws(StorageError) {
    guard let frame = try frames.frame(at: offset) else { return nil }
    try self.init(frame, frames)
  }

  /// Returns nil if the frame, whose checksum is correct, is not a checkpoint or has impossible
  /// contents.
  init?(_ frame: FrameHeader, _ frames: FrameReader) throws(StorageError) {
    guard let record = try frames.checkpointRecord(of: frame) else { return nil }
    self.frame = frame
    self.record = record
  }
}
