import LatewoodBytes

/// Encodes consecutive frames into the open chunk, whose memory is written to the file verbatim.
///
/// ```
/// file    segmentOffset      tail
/// chunk   | frames ......... | header 56 | records ........ |        room        | 8 |
///         memory             frameStart                     position        capacity
/// ```
///
/// Invariants:
/// 1. For `n` below `position`, byte `n` of `memory` will be byte `segmentOffset + n` of the file.
/// 2. `tail` is the end of the log's last complete frame, rounded up; the next frame starts there.
struct FrameEncoder {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  private var position = 0
  private let seed: UInt64
  /// The offset in the file of the first byte in memory.
  private(set) var segmentOffset: UInt64
  /// The number of bytes in complete frames and their padding.
  private(set) var frameStart = 0
  /// The checksum of the log's last frame; 0 at the start of the log and after a gap.
  private(set) var lastFrameChecksum: UInt64 = 0
  /// Whether the log's last frame is a seal.
  private(set) var logEndsInSeal = false
  /// The offset of the log's last frame with operations. Everything before the frame at which this
  /// writer began counts as one.
  private(set) var lastCommitOffset: UInt64 = 0
  /// The *durable through* of the next frames.
  var durableThrough: UInt64 = 0
  /// The number of the open transaction, or of the last one.
  var transaction: UInt64 = 0

  init(_ memory: UnsafeMutableRawPointer, at offset: UInt64, capacity: Int, seed: UInt64) {
    self.memory = memory
    segmentOffset = offset
    self.capacity = capacity
    self.seed = seed
  }

  /// Continues in `memory`, at `offset` in the file.
  mutating func move(to memory: UnsafeMutableRawPointer, at offset: UInt64, capacity: Int) {
    self.memory = memory
    segmentOffset = offset
    self.capacity = capacity
    position = 0
    frameStart = 0
  }

  /// Sets the frame that the next one follows.
  ///
  /// - Parameters:
  ///   - checksum: its checksum; 0 if there is none, or a gap follows it.
  ///   - kind: its kind; nil if there is none.
  mutating func setLastFrame(checksum: UInt64, kind: FrameKind?) {
    lastFrameChecksum = checksum
    logEndsInSeal = kind == .seal
    if kind == .commit { lastCommitOffset = tail }
  }

  /// Treats all frames before the tail as commits, because they are not known here.
  mutating func countEarlierAsCommits() { lastCommitOffset = tail &- 1 }

  /// The offset of the next frame.
  var tail: UInt64 { segmentOffset &+ UInt64(frameStart) }
  /// The end of the open frame if it were completed now, with padding.
  var end: UInt64 { segmentOffset + UInt64((position + 7) & ~7) }
  var frameHasRecords: Bool { position > frameStart + FrameHeader.length }
  /// The number of bytes left in the chunk.
  var free: Int { capacity &- position }
  /// The number of bytes left for records. Eight more are for the padding after the frame.
  var recordCapacity: Int { capacity &- position &- 8 }

  /// The address of the record at `offset`, if it is in this chunk.
  func address(of offset: UInt64) -> UnsafeRawPointer? {
    guard offset >= segmentOffset else { return nil }
    return UnsafeRawPointer(memory) + Int(offset &- segmentOffset)
  }

  // MARK: Records

  /// Begins a frame of records.
  mutating func openFrame() { position = frameStart + FrameHeader.length }

  /// Drops the open frame.
  mutating func dropFrame() { position = frameStart }

  /// The records of the open frame, until another is begun.
  var openRecords: UnsafeRawBufferPointer {
    let start = frameStart + FrameHeader.length
    return UnsafeRawBufferPointer(start: memory + start, count: max(0, position - start))
  }

  /// The address for the next record.
  var nextRecord: UnsafeMutableRawPointer { memory + position }

  /// Adds the record that was encoded at `nextRecord`, and returns its offset in the file.
  ///
  /// - Parameter end: the end of the record, within `recordCapacity`.
  @inline(__always) mutating func take(recordEndingAt end: UnsafeMutableRawPointer) -> UInt64 {
    let offset = segmentOffset &+ UInt64(truncatingIfNeeded: position)
    position = end - memory
    return offset
  }

  // MARK: Frames

  /// Completes the open frame of records.
  ///
  /// - Parameter continues: whether its transaction continues in the next frame.
  mutating func closeFrame(continues: Bool) {
    var header = header(.commit, payloadLength: position - frameStart - FrameHeader.length)
    header.continues = continues
    finish(header)
  }

  /// Appends a frame without records.
  ///
  /// - Parameters:
  ///   - payloadLength: the number of bytes of the payload, which `encode` writes.
  ///   - encode: called with the address for the payload, which must fit into the chunk.
  mutating func appendFrame(
    _ kind: FrameKind, payloadLength: Int = 0, _ encode: (UnsafeMutableRawPointer) -> Void = { _ in }
  ) {
    openFrame()
    encode(memory + position)
    position += payloadLength
    finish(header(kind, payloadLength: payloadLength))
  }

  /// Encodes the header of a nodes frame, whose payload is written separately. `skip` must follow.
  mutating func encodeNodesHeader(payloadLength: Int) {
    let header = header(.nodes, payloadLength: payloadLength)
    // SAFETY: a frame begins only where the chunk has space for a header.
    setLastFrame(checksum: header.encode(into: memory + frameStart, seed: seed), kind: .nodes)
  }

  /// Encodes a commit frame of one large value, up to the value, which is written separately.
  /// `setLastFrame` and `skip` must follow.
  ///
  /// The frame is always marked as continuing, because the next operation is not known yet.
  ///
  /// - Parameter encode: encodes the record up to its value at an address, and returns the end. It
  ///   must fit into the chunk.
  /// - Returns: the number of bytes from the frame's start to its value, and the checksum of the
  ///   frame.
  func encodeHead(
    of value: UnsafeRawBufferPointer, _ encode: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
  ) -> (length: Int, checksum: UInt64) {
    // SAFETY: the caller made sure that all of this fits into the chunk.
    let frame = memory + frameStart
    let length = encode(frame + FrameHeader.length) - frame
    var header = header(.commit, payloadLength: length - FrameHeader.length + value.count)
    header.continues = true
    header.encodeFields(into: frame)
    var stream = XXH64.Stream(seed: seed)
    stream.update(UnsafeRawBufferPointer(start: frame + 8, count: length - 8))
    stream.update(value)
    let checksum = stream.finish()
    frame.set(checksum, at: FrameHeader.Offset.checksum)
    return (length, checksum)
  }

  /// Ends the open segment after a frame of which only the first `length` bytes are in memory, and
  /// continues after it in the same chunk.
  ///
  /// - Parameters:
  ///   - length: the number of bytes from the frame's start.
  ///   - end: the end of the frame in the file.
  /// - Returns: the length of the segment, and the memory of the next one.
  mutating func skip(_ length: Int, to end: UInt64) -> (used: Int, next: UnsafeRawPointer) {
    let used = frameStart + length
    let skipped = (used + 7) & ~7
    move(to: memory + skipped, at: (end + 7) & ~7, capacity: capacity - skipped)
    return (used, UnsafeRawPointer(memory))
  }

  /// Returns a header for a frame at the tail.
  private func header(_ kind: FrameKind, payloadLength: Int) -> FrameHeader {
    FrameHeader(
      kind: kind, ownOffset: tail, transaction: transaction, previousChecksum: lastFrameChecksum,
      durableThrough: durableThrough, payloadLength: UInt64(payloadLength))
  }

  /// Writes the header of the open frame, and zeros up to the next multiple of 8, where the next
  /// frame starts.
  private mutating func finish(_ header: FrameHeader) {
    // SAFETY: `frameStart` and everything up to `position` lie in the chunk.
    setLastFrame(checksum: header.encode(into: memory + frameStart, seed: seed), kind: header.kind)
    let end = (position + 7) & ~7
    // SAFETY: `recordCapacity` leaves 8 bytes of the chunk for this. Chunks are reused, so the
    // zeros must be written.
    for at in position..<end { memory.set(UInt8(0), at: at) }
    position = end
    frameStart = end
  }
}
