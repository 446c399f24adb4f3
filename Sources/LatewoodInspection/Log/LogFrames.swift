import LatewoodBytes
import LatewoodFile

/// Walks the frames of a log by the rules of FORMAT.md, section 5. A plain value: a copy continues
/// independently.
package struct LogFrames {
  private let frames: FrameReader
  /// Whether to accept frames without comparing checksums, because they were compared before.
  private let isTrusting: Bool
  package private(set) var position: ReplayPosition
  /// The greatest *durable through* of the frames so far.
  package private(set) var durableThrough: UInt64 = 0
  package private(set) var lastTransaction: UInt64
  package private(set) var last: FrameHeader?
  package private(set) var count: UInt64 = 0
  /// Whether the last frame is a seal that ends the log.
  package var hasEnded: Bool { last?.endsLog ?? false }

  init(_ frames: FrameReader, from start: ReplayPosition, lastTransaction: UInt64, isTrusting: Bool = false) {
    self.frames = frames
    self.isTrusting = isTrusting
    self.lastTransaction = lastTransaction
    position = start
  }

  /// Returns the next frame; nil where the log ends.
  package mutating func next() throws(Fault) -> FrameHeader? {
    guard !hasEnded, let header = try frames.header(at: position.offset),
      header.previousChecksum == position.previousChecksum,
      header.kind != .commit || header.transaction >= lastTransaction, let next = header.next
    else { return nil }
    if !isTrusting, try !frames.isSound(header) { return nil }
    durableThrough = max(durableThrough, header.durableThrough)
    lastTransaction = max(lastTransaction, header.transaction)
    last = header
    count += 1
    position = ReplayPosition(offset: next, previousChecksum: header.checksum)
    return header
  }
}
