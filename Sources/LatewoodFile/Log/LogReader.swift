import LatewoodBytes
import LatewoodDevice

/// Walks the frames of the log to its end: FORMAT.md, section 5. A plain value: a copy continues
/// independently.
///
/// ```
/// replay offset                         end of the walk            size
/// | frame | frame | nodes frame ~~~~~~ | frame |  ?????????????????  |
///   each: own offset, checksum, and the checksum of the one before    \ skipped (torn) or damage:
///                                                                      FORMAT.md, section 5
/// ```
///
/// Invariants:
/// 1. Nothing at or beyond `size` is accessed, and the bytes below it are in the file.
/// 2. `position` only grows, and everything before it is part of the log.
package struct LogReader<Bytes: FileBytes> {
  package let bytes: Bytes
  /// Whether to accept frames without comparing checksums, because they were compared before.
  private let isTrusting: Bool
  private var chain: FrameChain

  /// The size of the file, in bytes.
  var size: UInt64 { bytes.size }
  package var position: ReplayPosition { chain.position }
  /// The greatest *durable through* of the frames walked.
  package var durableThrough: UInt64 { chain.durableThrough }
  /// The greatest transaction number in the frames walked, committed or not.
  package var lastTransaction: UInt64 { chain.lastTransaction }
  /// The number of frames walked.
  package var frames: UInt64 { chain.count }
  package var lastFrame: FrameHeader? { chain.last }
  /// Whether the last frame ends the log, regardless of the bytes that follow.
  package var hasEnded: Bool { chain.hasEnded }

  /// - Parameters:
  ///   - lastTransaction: the newest transaction before `position`.
  ///   - lastFrame: the frame before `position`, if an earlier walk ended there.
  ///   - isTrusting: whether the checksums of these frames were compared before.
  package init(
    _ bytes: Bytes, from position: ReplayPosition, lastTransaction: UInt64 = 0,
    after lastFrame: FrameHeader? = nil, isTrusting: Bool = false
  ) {
    chain = FrameChain(from: position, lastTransaction: lastTransaction, after: lastFrame)
    self.bytes = bytes
    self.isTrusting = isTrusting
  }

  /// Returns the next frame of the log, or nil at its end. Throws `inputOutput` if the disk cannot
  /// read its bytes.
  package mutating func next() throws(StorageError) -> FrameHeader? {
    guard !hasEnded, let header = try bytes.frameHeader(at: position.offset),
      let end = chain.end(of: header)
    else { return nil }
    if !isTrusting, try !bytes.isSound(header) { return nil }
    chain.pass(header, to: end, isEncrypted: bytes.codec.isEncrypted)
    return header
  }

  /// Walks to the end.
  mutating func finish() throws(StorageError) {
    while try next() != nil {}
  }
}

/// A walk over the log as readers see it.
extension LogReader where Bytes == ViewedBytes {
  /// - Parameter limit: the end of the bytes that belong to the file, if it is before their end.
  init(
    view: FileView, below limit: UInt64 = .max, from position: ReplayPosition, lastTransaction: UInt64 = 0,
    after lastFrame: FrameHeader? = nil
  ) {
    var view = view
    view.limit = min(view.limit, limit)
    self.init(
      ViewedBytes(view), from: position, lastTransaction: lastTransaction, after: lastFrame)
  }

  var view: FileView { bytes.view }
}

/// The end of the log as it was last read: a refresh of a reader continues there.
struct LogTail {
  /// The replay of the log up to `position`.
  private(set) var replay = LogReplay()
  private(set) var position = ReplayPosition.start
  /// The greatest transaction number before `position`.
  private(set) var lastTransaction: UInt64 = 0
  /// The frame before `position`; nil if the log has not been read.
  private(set) var lastFrame: FrameHeader?
  /// The offset of the frame of the checkpoint that was read last; 0 if there was none.
  private(set) var checkpoint: UInt64 = 0

  /// An end before anything was read.
  init() {}

  /// - Parameter replay: a replay from the checkpoint to the end of the walk.
  init(of reader: LogReader<ViewedBytes>, replay: LogReplay, checkpoint: UInt64) {
    self.checkpoint = checkpoint
    advance(to: reader, replay)
  }

  /// Moves to the end of a longer walk, to which the log was replayed.
  mutating func advance(to reader: LogReader<ViewedBytes>, _ replay: LogReplay) {
    self.replay = replay
    position = reader.position
    lastTransaction = reader.lastTransaction
    lastFrame = reader.lastFrame
  }
}
