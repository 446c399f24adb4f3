import LatewoodBytes

/// The rule that decides which frame continues the log: FORMAT.md, section 5.
///
/// The caller reads each frame and verifies its checksum.
package struct FrameChain: Sendable {
  /// The position of the next frame, and the checksum that it must contain for the frame before it.
  package private(set) var position: ReplayPosition
  /// The greatest *durable through* of the frames so far.
  package private(set) var durableThrough: UInt64 = 0
  /// The greatest transaction number of the frames so far, committed or not.
  package private(set) var lastTransaction: UInt64
  package private(set) var last: FrameHeader?
  /// The number of frames so far.
  package private(set) var count: UInt64 = 0

  /// Whether the last frame ends the log, regardless of the bytes that follow.
  package var hasEnded: Bool { last?.endsLog ?? false }

  /// - Parameter last: the frame before `position`, if it was read earlier.
  package init(from position: ReplayPosition, lastTransaction: UInt64 = 0, after last: FrameHeader? = nil) {
    self.position = position
    self.lastTransaction = lastTransaction
    self.last = last
  }

  /// Returns the offset after a frame at `position` and its padding; nil if the log ends before
  /// this frame. Must not be called if `hasEnded`.
  package func end(of header: FrameHeader) -> UInt64? {
    guard header.previousChecksum == position.previousChecksum,
      header.kind != .commit || header.transaction >= lastTransaction
    else { return nil }
    return header.next
  }

  /// Moves past a frame that continues the log.
  ///
  /// - Parameters:
  ///   - end: the result of ``end(of:)``.
  ///   - isEncrypted: whether the file is encrypted. Then the numbers in a seal that ends the log
  ///     are ignored, because it has no tag: somebody without the key could have written them.
  package mutating func pass(_ header: FrameHeader, to end: UInt64, isEncrypted: Bool) {
    if !isEncrypted || !header.endsLog {
      durableThrough = max(durableThrough, header.durableThrough)
      lastTransaction = max(lastTransaction, header.transaction)
    }
    last = header
    count += 1
    position = ReplayPosition(offset: end, previousChecksum: header.checksum)
  }
}
