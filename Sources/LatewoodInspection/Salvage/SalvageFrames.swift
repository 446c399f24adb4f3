import LatewoodBytes
import LatewoodFile

/// Goes through a file frame by frame, and past what is damaged to the next frame that is valid by itself.
///
/// ```
/// | frame | frame | ...damage... | frame | nodes frame ~~~~~ | frame |
///                 \ a gap: what lies between two frames, or behind the last
/// ```
struct SalvageFrames {
  enum Piece {
    case frame(FrameHeader)
    /// Bytes that are in no valid frame.
    case gap(Range<UInt64>)
  }

  private let source: SalvageSource
  private let seed: UInt64
  private var position: UInt64
  private var found: FrameHeader?
  /// Bytes that may still be hashed in the search: a file that is made of headers must not cost the square of its length.
  private var budget: UInt64

  init(_ source: SalvageSource, seed: UInt64, from offset: UInt64) {
    self.source = source
    self.seed = seed
    position = offset
    budget = source.size.multipliedReportingOverflow(by: 16).partialValue
  }

  mutating func next() throws(Fault) -> Piece? {
    if let header = found {
      found = nil
      return pass(header)
    }
    guard position < source.size else { return nil }
    if let header = try frame(at: position) { return pass(header) }
    let start = position
    while let candidate = try nextMagic(from: &position) {
      if let header = try frame(at: candidate) {
        found = header
        position = candidate
        return .gap(start..<candidate)
      }
    }
    position = source.size
    return .gap(start..<source.size)
  }

  private mutating func pass(_ header: FrameHeader) -> Piece {
    position = header.end.flatMap(FileLayout.alignedToFrame) ?? source.size
    return .frame(header)
  }

  /// The frame at `offset` if it is valid by itself.
  mutating func frame(at offset: UInt64) throws(Fault) -> FrameHeader? {
    let decoded = try source.withBytes(at: offset, count: FrameHeader.length) {
      FrameHeader.decode(from: $0, at: offset)
    }
    guard let decoded, let header = decoded, let end = header.requiredEnd, end <= source.size,
      end - offset <= budget
    else { return nil }
    budget -= end - offset
    let sum = try source.hash(offset + UInt64(FrameHeader.Offset.magic)..<end, seed: seed)
    return sum == header.checksum ? header : nil
  }

  /// The next place after `at` that has the magic of a frame.
  private func nextMagic(from at: inout UInt64) throws(Fault) -> UInt64? {
    at += FileLayout.frameAlignment
    let length = UInt64(FrameHeader.length)
    while source.holds(at, length) {
      let count = min(source.size - at, 64 << 10)
      let start = at
      let hit = try source.withBytes(at: start, count: Int(count)) { base in
        var place = 0
        // SAFETY: the last header that is looked at ends within the `count` bytes.
        while place + FrameHeader.length <= Int(count) {
          if (base + place).u32(FrameHeader.Offset.magic) == FrameHeader.magic { return (true, place) }
          place += Int(FileLayout.frameAlignment)
        }
        return (false, place)
      }
      guard let (isFound, place) = hit else { return nil }
      at = start + UInt64(place)
      if isFound { return at }
    }
    return nil
  }
}
