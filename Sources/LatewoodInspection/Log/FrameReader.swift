import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads frames and proves them, in bounded memory whatever length they claim.
package struct FrameReader {
  package let reader: FileReader
  /// The file seed.
  package let seed: UInt64

  /// The header at `offset` if it is one and what the frame must have lies within the file. Its checksum is not compared.
  package func header(at offset: UInt64) throws(Fault) -> FrameHeader? {
    guard offset >= FileLayout.logStart, offset % FileLayout.frameAlignment == 0 else { return nil }
    let bytes = try reader.some(at: offset, count: FrameHeader.length)
    guard bytes.count == FrameHeader.length else { return nil }
    let header = bytes.withUnsafeBytes { all in
      // SAFETY: there are 56 bytes, by the check above.
      all.baseAddress.flatMap { FrameHeader.decode(from: $0, at: offset) }
    }
    guard let header, let required = header.requiredEnd, required <= reader.size else { return nil }
    return header
  }

  /// The frame at `offset` if it is valid by itself.
  package func frame(at offset: UInt64) throws(Fault) -> FrameHeader? {
    guard let header = try header(at: offset), try isSound(header) else { return nil }
    return header
  }

  /// Whether a frame has the checksum that its header says.
  package func isSound(_ header: FrameHeader) throws(Fault) -> Bool {
    guard let end = header.requiredEnd, end <= reader.size else { return false }
    var sum = XXH64.Stream(seed: seed)
    let start = header.ownOffset + UInt64(FrameHeader.Offset.magic)
    if end - start <= 16 << 10 {
      let bytes = try reader.some(at: start, count: Int(end - start))
      guard bytes.count == Int(end - start) else { return false }
      return bytes.withUnsafeBytes { XXH64.hash($0, seed: seed) } == header.checksum
    }
    try reader.forEachPiece(of: start..<end) { _, piece in
      sum.update(piece)
      return true
    }
    return sum.finish() == header.checksum
  }
}

extension FrameHeader {
  /// Where the next frame of the log starts; nil if that is beyond every file.
  package var next: UInt64? { end.flatMap(FileLayout.alignedToFrame) }
}
