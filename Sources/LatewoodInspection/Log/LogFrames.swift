import LatewoodBytes
import LatewoodFile

/// Walks the frames of a log by the rules of FORMAT.md, section 5. A plain value: a copy continues
/// independently.
package struct LogFrames {
  private let frames: FrameReader
  /// Whether to accept frames without comparing checksums, because they were compared before.
  private let isTrusting: Bool
  private var chain: FrameChain

  package var position: ReplayPosition { chain.position }
  /// The greatest *durable through* of the frames so far.
  package var durableThrough: UInt64 { chain.durableThrough }
  package var lastTransaction: UInt64 { chain.lastTransaction }
  package var last: FrameHeader? { chain.last }
  package var count: UInt64 { chain.count }
  /// Whether the last frame is a seal that ends the log.
  package var hasEnded: Bool { chain.hasEnded }

  init(_ frames: FrameReader, from start: ReplayPosition, lastTransaction: UInt64, isTrusting: Bool = false) {
    self.frames = frames
    self.isTrusting = isTrusting
    chain = FrameChain(from: start, lastTransaction: lastTransaction)
  }

  /// Returns the next frame; nil where the log ends.
  package mutating func next() throws(StorageError) -> FrameHeader? {
    guard !hasEnded, let header = try frames.header(at: position.offset),
      let end = chain.end(of: header)
    else { return nil }
    if !isTrusting, try !frames.isSound(header) { return nil }
    chain.pass(header, to: end)
    return header
  }
}
