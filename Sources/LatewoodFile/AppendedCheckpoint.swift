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
