import LatewoodBytes
import LatewoodFile

/// Finds the frames in a stretch of the file of which nothing is known: where frames follow each other, by their lengths; where one has
/// gone, by looking for the next.
package struct FrameScan {
  /// A piece of the stretch. Together the pieces are all of it, in order.
  package enum Piece: Equatable {
    /// With the zeros after it.
    case frame(FrameHeader, range: Range<UInt64>, isSound: Bool)
    /// No frame starts in it.
    case gap(Range<UInt64>)
  }

  private let frames: FrameReader
  private let range: Range<UInt64>
  private let isProving: Bool
  private var at: UInt64

  /// - Parameter isProving: whether the checksums of commits are compared. Those of other frames always are.
  init(_ frames: FrameReader, in range: Range<UInt64>, isProving: Bool = true) {
    self.frames = frames
    self.range = range
    self.isProving = isProving
    at = range.lowerBound
  }

  /// The next piece; nil at the end.
  package mutating func next() throws(Fault) -> Piece? {
    guard at < range.upperBound else { return nil }
    let start = at
    if let piece = try frame(at: start) {
      at = piece.end
      return .frame(piece.header, range: start..<piece.end, isSound: piece.isSound)
    }
    at = FileLayout.alignedToFrame(start + 1) ?? range.upperBound
    while at < range.upperBound {
      guard let header = try nextHeader() else {
        at = range.upperBound
        break
      }
      if try frame(at: header.ownOffset) != nil {
        at = header.ownOffset
        break
      }
    }
    at = min(at, range.upperBound)
    return .gap(start..<at)
  }

  /// The next header from here on, wherever it lies; the scan goes on after its start.
  mutating func nextHeader() throws(Fault) -> FrameHeader? {
    at = FileLayout.alignedToFrame(at) ?? range.upperBound
    while at < range.upperBound {
      let bytes = try frames.reader.some(at: at, count: 64 << 10)
      if bytes.count < FrameHeader.length { break }
      let step = Int(FileLayout.frameAlignment)
      let found = bytes.withUnsafeBytes { all -> Int? in
        // SAFETY: the four bytes at 8 are below `count`.
        guard let base = all.baseAddress else { return nil }
        return stride(from: 0, through: all.count - FrameHeader.length, by: step).first {
          (base + $0).u32(FrameHeader.Offset.magic) == FrameHeader.magic
        }
      }
      guard let found else {
        at += UInt64((bytes.count - FrameHeader.length) / step * step + step)
        continue
      }
      let place = at + UInt64(found)
      at = place + FileLayout.frameAlignment
      if place < range.upperBound, let header = try frames.header(at: place) { return header }
    }
    at = range.upperBound
    return nil
  }

  private func frame(
    at offset: UInt64
  ) throws(Fault) -> (header: FrameHeader, end: UInt64, isSound: Bool)? {
    guard let header = try frames.header(at: offset), let next = header.next else { return nil }
    let end = min(next, range.upperBound)
    let isSound = header.kind == .commit && !isProving ? true : try frames.isSound(header)
    if isSound { return (header, end, true) }
    // Part of a dead frame may have been given back. Its length counts if it leads to where a frame can be.
    guard header.kind == .commit else { return nil }
    if next == range.upperBound { return (header, end, false) }
    return try frames.header(at: next).map { _ in (header, end, false) }
  }
}
