import LatewoodBytes
import LatewoodDevice

/// Walks the frames of the log to its end: FORMAT.md, section 5.
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
struct LogReader {
  let view: FileView
  /// The size of the file, in bytes, when the walk began.
  let size: UInt64
  private var chain: FrameChain
  /// The bytes that this walk has made readable.
  private(set) var readable: ReadableWindow
  /// The pin that keeps the walked frames in memory.
  private let pin: CachePin?

  var position: ReplayPosition { chain.position }
  /// The greatest *durable through* of the frames walked.
  var durableThrough: UInt64 { chain.durableThrough }
  /// The greatest transaction number in the frames walked, committed or not.
  var lastTransaction: UInt64 { chain.lastTransaction }
  var frames: Int { Int(chain.count) }
  var lastFrame: FrameHeader? { chain.last }
  /// Whether the last frame ends the log, regardless of the bytes that follow.
  var hasEnded: Bool { chain.hasEnded }

  /// - Parameter lastFrame: the frame before `position`, if an earlier walk ended there.
  init(
    view: FileView, size: UInt64, from position: ReplayPosition, lastTransaction: UInt64 = 0,
    after lastFrame: FrameHeader? = nil
  ) {
    chain = FrameChain(from: position, lastTransaction: lastTransaction, after: lastFrame)
    self.view = view
    self.size = size
    pin = view.pin()
    readable = ReadableWindow(view)
  }

  /// Returns the frame at `offset`; nil if it is not valid. The frames before it are not
  /// considered.
  ///
  /// Throws `inputOutput` if the disk cannot read its bytes.
  static func frame(at offset: UInt64, view: FileView, size: UInt64) throws(StorageError) -> FrameHeader? {
    let pin = view.pin()
    defer { withExtendedLifetime(pin) {} }
    var readable = ReadableWindow(view)
    return try frame(at: offset, view: view, size: size, &readable)
  }

  private static func frame(
    at offset: UInt64, view: FileView, size: UInt64, _ readable: inout ReadableWindow
  ) throws(StorageError) -> FrameHeader? {
    let length = UInt64(FrameHeader.length)
    guard size >= length, offset <= size - length else { return nil }
    try readable.need(offset, length)
    guard let header = header(at: offset, view: view, size: size), let required = header.requiredEnd else {
      return nil
    }
    try readable.need(offset, required - offset)
    return header.checksumMatches(view.base + Int(offset), seed: view.seed) ? header : nil
  }

  /// Returns the header at `offset`; nil if there is none, or its required bytes do not lie within
  /// the file. The checksum is not verified. The header's bytes must be readable.
  static func header(at offset: UInt64, view: FileView, size: UInt64) -> FrameHeader? {
    // SAFETY: the header's bytes, and then those that the checksum covers, are found to be below
    // `size` before they are read.
    guard size >= UInt64(FrameHeader.length), offset <= size - UInt64(FrameHeader.length),
      let header = FrameHeader.decode(from: view.base + Int(offset), at: offset),
      let required = header.requiredEnd, required <= size
    else { return nil }
    return header
  }

  /// Returns the next frame of the log, or nil at its end. Throws `inputOutput` if the disk cannot
  /// read its bytes.
  mutating func next() throws(StorageError) -> FrameHeader? {
    guard !hasEnded,
      let header = try LogReader.frame(at: position.offset, view: view, size: size, &readable),
      let end = chain.end(of: header)
    else { return nil }
    chain.pass(header, to: end)
    return header
  }

  /// Walks to the end.
  mutating func finish() throws(StorageError) {
    while try next() != nil {}
  }
}
