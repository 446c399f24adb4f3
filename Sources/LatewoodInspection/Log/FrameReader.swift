import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads and verifies frames and root slots in bounded memory, regardless of the lengths they
/// claim.
package struct FrameReader {
  package let reader: FileReader
  /// The file seed.
  package let seed: UInt64

  /// A reader for the nodes of the same file.
  package var nodes: NodeReader { NodeReader(reader: reader, seed: seed) }

  /// Returns the header at `offset`; nil if there is none, or the required part of its frame does
  /// not lie within the file. The checksum is not compared.
  package func header(at offset: UInt64) throws(StorageError) -> FrameHeader? {
    guard offset >= FileLayout.logStart, offset % FileLayout.frameAlignment == 0,
      let header = try anyHeader(at: offset), let required = header.requiredEnd, required <= reader.size
    else { return nil }
    return header
  }

  /// Returns the header at `offset`, if there is one, regardless of the length it claims.
  func anyHeader(at offset: UInt64) throws(StorageError) -> FrameHeader? {
    let decoded = try reader.withBytes(at: offset, count: FrameHeader.length) {
      FrameHeader.decode(from: $0, at: offset)
    }
    return decoded ?? nil
  }

  /// Returns a scan for sound frames from `offset` to the end of the file, continuing past damage.
  func soundFrames(from offset: UInt64) -> FrameScan {
    FrameScan(self, in: min(offset, reader.size)..<reader.size, accepting: .sound)
  }

  /// Returns the frame at `offset` if it is valid, regardless of other frames.
  package func frame(at offset: UInt64) throws(StorageError) -> FrameHeader? {
    guard let header = try header(at: offset), try isSound(header) else { return nil }
    return header
  }

  /// Returns whether the checksum of a frame is correct.
  package func isSound(_ header: FrameHeader) throws(StorageError) -> Bool {
    guard let end = header.requiredEnd, end <= reader.size else { return false }
    let start = header.ownOffset + UInt64(FrameHeader.Offset.magic)
    return try reader.hash(start..<end, seed: seed) == header.checksum
  }

  /// Returns the contents of a root slot, or the reason why they are not valid. The checkpoint that
  /// the slot refers to is not checked.
  func slot(_ index: Int) throws(StorageError) -> Result<RootSlot, StorageError> {
    let bytes = Array(try reader.some(at: FileLayout.slotOffset(index), count: RootSlot.length))
    return bytes.withUnsafeBytes { bytes in
      Result { () throws(StorageError) in try RootSlot.decode(from: bytes, index: index, seed: seed) }
    }
  }
}
