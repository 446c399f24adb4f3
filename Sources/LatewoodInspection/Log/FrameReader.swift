import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads frames and root slots and proves them, in bounded memory whatever length they claim.
package struct FrameReader {
  package let reader: FileReader
  /// The file seed.
  package let seed: UInt64

  /// Reads the nodes of the same file.
  package var nodes: NodeReader { NodeReader(reader: reader, seed: seed) }

  /// The header at `offset` if it is one and what the frame must have lies within the file. Its
  /// checksum is not compared.
  package func header(at offset: UInt64) throws(Fault) -> FrameHeader? {
    guard offset >= FileLayout.logStart, offset % FileLayout.frameAlignment == 0,
      let header = try anyHeader(at: offset), let required = header.requiredEnd, required <= reader.size
    else { return nil }
    return header
  }

  /// The header at `offset` if it is one, whatever length it claims.
  func anyHeader(at offset: UInt64) throws(Fault) -> FrameHeader? {
    let decoded = try reader.withBytes(at: offset, count: FrameHeader.length) {
      FrameHeader.decode(from: $0, at: offset)
    }
    return decoded ?? nil
  }

  /// The sound frames from `offset` to the end of the file, also past damage.
  func soundFrames(from offset: UInt64) -> FrameScan {
    FrameScan(self, in: min(offset, reader.size)..<reader.size, accepting: .sound)
  }

  /// The frame at `offset` if it is valid by itself.
  package func frame(at offset: UInt64) throws(Fault) -> FrameHeader? {
    guard let header = try header(at: offset), try isSound(header) else { return nil }
    return header
  }

  /// Whether a frame has the checksum that its header says.
  package func isSound(_ header: FrameHeader) throws(Fault) -> Bool {
    guard let end = header.requiredEnd, end <= reader.size else { return false }
    let start = header.ownOffset + UInt64(FrameHeader.Offset.magic)
    return try reader.hash(start..<end, seed: seed) == header.checksum
  }

  /// What a root slot says, or why it says nothing. The checkpoint that it names is not looked at.
  func slot(_ place: Int) throws(Fault) -> Result<RootSlot, Fault> {
    let bytes = Array(try reader.some(at: FileLayout.slotOffset(place), count: RootSlot.length))
    return bytes.withUnsafeBytes { bytes in
      Result { () throws(Fault) in try RootSlot.decode(from: bytes, place: place, seed: seed) }
    }
  }
}

extension FrameHeader {
  /// Where the next frame of the log starts; nil if that is beyond every file.
  package var next: UInt64? { end.flatMap(FileLayout.alignedToFrame) }
}
