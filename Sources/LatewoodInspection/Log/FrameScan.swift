import LatewoodBytes
import LatewoodFile

/// Finds the frames in a stretch of the file of which nothing is known: where frames follow each
/// other, by their lengths; where one has gone, by looking for the next.
///
/// ```
/// | frame | frame | ...damage... | frame | nodes frame ~~~~~ | frame |
///                 \ a gap: what lies between two frames, or behind the last
/// ```
package struct FrameScan {
  /// Which frames count.
  package enum Accepting {
    /// Those with the right checksum.
    case sound
    /// Also commits whose length leads to where a frame can be: part of a dead frame may have been
    /// given back.
    case broken
    /// The same, and the checksums of commits are not compared. Those of other frames always are.
    case unproved
  }

  /// A piece of the stretch. Together the pieces are all of it, in order.
  package enum Piece: Equatable {
    /// With the zeros after it.
    case frame(FrameHeader, range: Range<UInt64>, isSound: Bool)
    /// No frame starts in it.
    case gap(Range<UInt64>)
  }

  private let frames: FrameReader
  private let range: Range<UInt64>
  private let accepting: Accepting
  private var at: UInt64
  /// The frame behind the gap that was given last.
  private var found: Piece?
  /// Bytes that may still be hashed: a file that is made of headers must not cost the square of its
  /// length.
  private var budget: UInt64

  init(_ frames: FrameReader, in range: Range<UInt64>, accepting: Accepting = .broken) {
    self.frames = frames
    self.range = range
    self.accepting = accepting
    at = range.lowerBound
    budget = frames.reader.size.multipliedReportingOverflow(by: 16).partialValue
  }

  /// The next piece; nil at the end.
  package mutating func next() throws(Fault) -> Piece? {
    if let piece = found {
      found = nil
      return pass(piece)
    }
    guard at < range.upperBound else { return nil }
    let start = at
    if let piece = try frame(at: start) { return pass(piece) }
    at = FileLayout.alignedToFrame(start + 1) ?? range.upperBound
    while at < range.upperBound, found == nil {
      guard let header = try nextHeader() else { break }
      found = try frame(at: header.ownOffset)
      if found != nil { at = header.ownOffset }
    }
    if found == nil { at = range.upperBound }
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

  private mutating func pass(_ piece: Piece) -> Piece {
    if case .frame(_, let range, _) = piece { at = range.upperBound }
    return piece
  }

  private mutating func frame(at offset: UInt64) throws(Fault) -> Piece? {
    guard let header = try frames.header(at: offset), let next = header.next,
      let required = header.requiredEnd
    else { return nil }
    let whole = offset..<min(next, range.upperBound)
    if header.kind == .commit, accepting == .unproved {
      return .frame(header, range: whole, isSound: true)
    }
    if required - offset <= budget {
      budget -= required - offset
      if try frames.isSound(header) { return .frame(header, range: whole, isSound: true) }
    }
    guard accepting != .sound, header.kind == .commit else { return nil }
    let leadsOn = next == range.upperBound ? true : try frames.header(at: next) != nil
    return leadsOn ? .frame(header, range: whole, isSound: false) : nil
  }
}
