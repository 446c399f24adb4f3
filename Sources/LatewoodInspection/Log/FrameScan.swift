import LatewoodBytes
import LatewoodFile

/// Finds the frames in any range of the file. As long as frames follow each other, it uses their
/// lengths; where a frame is missing, it searches for the next header.
///
/// ```
/// | frame | frame | ...damage... | frame | nodes frame ~~~~~ | frame |
///                 \ a gap: the bytes between two frames, or after the last
/// ```
package struct FrameScan {
  /// The frames that a scan accepts.
  package enum Accepting {
    /// Frames with the correct checksum.
    case sound
    /// In addition, commits whose length leads to a possible next frame, because part of a dead
    /// frame may have been punched out.
    case broken
    /// The same, without comparing the checksums of commits. The checksums of other frames are
    /// always compared.
    case unverified
  }

  /// A piece of the range. The pieces cover the whole range, in order.
  package enum Piece: Equatable {
    /// A frame with the zeros after it.
    case frame(FrameHeader, range: Range<UInt64>, isSound: Bool)
    /// Bytes in which no frame starts.
    case gap(Range<UInt64>)
  }

  private let frames: UnitReader
  private let range: Range<UInt64>
  private let accepting: Accepting
  private var at: UInt64
  /// The frame after the gap that was returned last.
  private var found: Piece?
  private var budget: HashBudget

  init(_ frames: UnitReader, in range: Range<UInt64>, accepting: Accepting = .broken) {
    self.frames = frames
    self.range = range
    self.accepting = accepting
    at = range.lowerBound
    budget = HashBudget(searching: frames.size)
  }

  /// Returns the next piece; nil at the end.
  package mutating func next() throws(StorageError) -> Piece? {
    if let piece = found {
      found = nil
      return pass(piece)
    }
    guard at < range.upperBound else { return nil }
    let start = at
    if let piece = try frame(at: start) { return pass(piece) }
    at = FrameHeader.aligned(start + 1) ?? range.upperBound
    while at < range.upperBound, found == nil {
      guard let header = try nextHeader() else { break }
      found = try frame(at: header.ownOffset)
      if found != nil { at = header.ownOffset }
    }
    if found == nil { at = range.upperBound }
    return .gap(start..<at)
  }

  /// Returns the next header at any offset; the scan continues after its start.
  mutating func nextHeader() throws(StorageError) -> FrameHeader? {
    at = FrameHeader.aligned(at) ?? range.upperBound
    while at < range.upperBound {
      let count = Int(min(64 << 10, frames.size - min(frames.size, at)))
      if count < FrameHeader.length { break }
      let step = Int(FileLayout.frameAlignment)
      let magic = try frames.withBytes(at: at, count: count) { base in
        // SAFETY: the four bytes at 8 are below `count`.
        stride(from: 0, through: count - FrameHeader.length, by: step).first {
          (base + $0).u32(FrameHeader.Offset.magic) == FrameHeader.magic
        }
      }
      guard let found = magic ?? nil else {
        at += UInt64((count - FrameHeader.length) / step * step + step)
        continue
      }
      let offset = at + UInt64(found)
      at = offset + FileLayout.frameAlignment
      if offset < range.upperBound, let header = try frames.frameHeader(at: offset) { return header }
    }
    at = range.upperBound
    return nil
  }

  private mutating func pass(_ piece: Piece) -> Piece {
    if case .frame(_, let range, _) = piece { at = range.upperBound }
    return piece
  }

  private mutating func frame(at offset: UInt64) throws(StorageError) -> Piece? {
    guard let header = try frames.frameHeader(at: offset), let next = header.next,
      let required = header.requiredEnd
    else { return nil }
    let whole = offset..<min(next, range.upperBound)
    if header.kind == .commit, accepting == .unverified {
      return .frame(header, range: whole, isSound: true)
    }
    if budget.spend(required - offset), try frames.isSound(header) {
      return .frame(header, range: whole, isSound: true)
    }
    guard accepting != .sound, header.kind == .commit else { return nil }
    let leadsOn = next == range.upperBound ? true : try frames.frameHeader(at: next) != nil
    return leadsOn ? .frame(header, range: whole, isSound: false) : nil
  }
}
