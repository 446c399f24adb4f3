import LatewoodBytes
import LatewoodDevice

/// The end of the log in memory: the chunks that the writer fills with frames, and the frames in
/// them that are not in the file yet. Chunks are written to the file verbatim, unless it is
/// encrypted.
///
/// ```
/// file    ... in the file ..... | waits to be written ......................... | not written
/// memory            chunk 1     | waiting segments     | chunk 2: open segment  | room
///                               flushedThrough                       tail: the next frame
///
/// file            segmentOffset      tail
/// open segment    | frames ......... | header 56 | records ........ |        room        | 8 |
///                 memory             frameStart                     position        capacity
/// ```
///
/// The frames of an encrypted file are encrypted when they are complete, because the next frame has
/// their checksum. Each chunk is then followed by memory of the same length, with the bytes as they
/// will be in the file; the chunk itself keeps the operations for readers in this process.
///
/// Invariants:
/// 1. For `n` below `position`, byte `n` of `memory` will be byte `segmentOffset + n` of the file.
/// 2. `tail` is the end of the log's last complete frame, rounded up; the next frame starts there.
/// 3. The mapping covers everything that may be appended before the next `cover`.
/// 4. Frames handed over do not change until they have been written.
///
/// Owned by the writer of the log.
struct LogBuffer: ~Copyable {
  /// The minimum free space in a chunk, in bytes, for beginning a frame.
  private static let minimumFree = 4096
  private static let valuePieceLength = 1 << 20

  /// The log's last frame, to which the next one refers.
  private struct LastFrame {
    /// Its checksum; 0 at the start of the log and after a gap.
    var checksum: UInt64 = 0
    var isSeal = false
    /// The offset of the last frame with operations. Everything before the first frame of this
    /// writer counts as one such frame.
    var commitOffset: UInt64 = 0
  }

  /// The chunk that contains `memory`.
  private var chunk: UnsafeMutableRawPointer
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  private var position = 0
  /// The offset in the file of the first byte in memory.
  private(set) var segmentOffset = FileLayout.logStart
  /// The number of bytes in complete frames and their padding.
  private var frameStart = 0
  /// The extents in the open frame of an encrypted file, with their trailers, from its start.
  private var extents: [Range<Int>] = []
  private var last = LastFrame()
  /// The *durable through* of the next frames.
  private var durableMark: UInt64 = 0
  /// The number of the open transaction, or of the last one.
  var transaction: UInt64 = 0

  private let codec: UnitCodec
  /// The distance from a byte of a chunk to the same byte as it will be in the file.
  private let storedDistance: Int
  /// The number of bytes for the trailer and the padding of a frame.
  private let endLength: Int
  private let group: GroupCommit
  private let progress: SharedProgress
  private var mapping: LogMapping
  private let path: String
  private var chunks: LogChunks
  /// The offset below which all frames are in the file and are read through the mapping.
  private(set) var flushedThrough = FileLayout.logStart

  /// - Parameter chunk: the first chunk, in which the open segment begins.
  init(
    _ chunk: UnsafeMutableRawPointer, _ mapping: MappedFile, _ group: GroupCommit,
    _ progress: SharedProgress, codec: UnitCodec, path: String, isReadOnly: Bool
  ) {
    self.chunk = chunk
    memory = chunk
    capacity = LogChunks.length(isReadOnly: isReadOnly)
    self.codec = codec
    endLength = codec.trailerLength + 8
    storedDistance = codec.isEncrypted ? LogChunks.length(isReadOnly: isReadOnly) : 0
    self.group = group
    self.progress = progress
    self.mapping = LogMapping(mapping)
    self.path = path
    chunks = LogChunks(chunk, isEncrypted: codec.isEncrypted)
  }

  /// The offset at which the next frame will start.
  var tail: UInt64 { segmentOffset &+ UInt64(frameStart) }
  /// The end of the open frame if it were completed now, with padding.
  var end: UInt64 { segmentOffset + UInt64((position + codec.trailerLength + 7) & ~7) }
  var lastFrameChecksum: UInt64 { last.checksum }
  var lastCommitOffset: UInt64 { last.commitOffset }
  var endsInSeal: Bool { last.isSeal }
  /// The number of bytes of memory in chunks.
  var memoryLength: UInt64 { chunks.memoryLength }

  // MARK: Beginning

  /// Begins to append at `tail`: see ``LogProgress/begin(at:after:floor:hasGap:)``.
  ///
  /// - Parameters:
  ///   - checksum: the checksum of the frame that the next one follows; 0 after a gap.
  ///   - isSeal: whether that frame is a seal.
  mutating func begin(
    at tail: UInt64, after end: UInt64, floor: UInt64, hasGap: Bool, checksum: UInt64, isSeal: Bool
  ) {
    progress.locked { $0.begin(at: tail, after: end, floor: floor, hasGap: hasGap) }
    begin(at: tail, after: LastFrame(checksum: checksum, isSeal: isSeal))
  }

  /// Discards everything that has not been written, and continues at `tail`, after a gap.
  mutating func restart(at tail: UInt64) {
    progress.locked { $0.restart(at: tail) }
    begin(at: tail, after: LastFrame())
  }

  private mutating func begin(at tail: UInt64, after frame: LastFrame) {
    last = frame
    startOver(at: tail)
    // Earlier frames are not known here, so they all count as commits.
    last.commitOffset = tail &- 1
  }

  /// Takes note of flushes by other threads, and makes space for a new frame. No frame may be open.
  /// Takes no lock, unless a chunk is full.
  ///
  /// - Parameter isTransaction: whether a transaction begins. If so, throws if a checkpoint is
  ///   needed, and preallocates space.
  mutating func prepare(isTransaction: Bool) throws(StorageError) {
    try group.checkOwner()
    try progress.checkBeginning(ofTransaction: isTransaction)
    if isTransaction { try group.writeZeros(ahead: tail) }
    flushedThrough = progress.writtenThrough
    durableMark = progress.durableMark
    // Everything is in the file: start over at the beginning of the chunk, so that small
    // transactions stay in the CPU cache. The open segment of `progress` stays the old one until a
    // frame is handed over, but there is nothing left in it to write.
    if frameStart > 0, flushedThrough == tail { startOver(at: tail) }
    if capacity &- position < LogBuffer.minimumFree { try switchChunk() }
    try cover(0)
  }

  /// Checks that the file may grow by `more` bytes plus everything that may be appended before the
  /// next call, and maps that range.
  mutating func cover(_ more: Int) throws(StorageError) {
    let reserve = UInt64(2 * LogChunks.length)
    let limit = FileLayout.fileLimit
    let tail = tail
    guard UInt64(more) < limit, tail < limit - UInt64(more), limit - UInt64(more) - tail > reserve
    else {
      throw StorageError(.fileTooLarge, "the file has reached its greatest length", path: path)
    }
    try mapping.cover(tail + UInt64(more))
  }

  // MARK: Records

  /// Begins a frame of records.
  mutating func openFrame() {
    position = frameStart + FrameHeader.length
    if codec.isEncrypted { extents.removeAll(keepingCapacity: true) }
  }

  /// Drops the open frame.
  mutating func dropFrame() { position = frameStart }

  var frameHasRecords: Bool { position > frameStart + FrameHeader.length }

  /// The records of the open frame, until another is begun.
  var openRecords: UnsafeRawBufferPointer {
    let start = frameStart + FrameHeader.length
    return UnsafeRawBufferPointer(start: memory + start, count: max(0, position - start))
  }

  /// The number of bytes left for records. The others are for the trailer, and for the padding
  /// after the frame.
  var recordCapacity: Int { capacity &- position &- endLength }

  /// The address for the next record.
  var nextRecord: UnsafeMutableRawPointer { memory + position }

  /// The offset in the file of the next record.
  @inline(__always) var nextRecordOffset: UInt64 {
    segmentOffset &+ UInt64(truncatingIfNeeded: position)
  }

  /// Adds the record that was encoded at `nextRecord`, and returns its offset in the file.
  ///
  /// - Parameter end: the end of the record, within `recordCapacity`.
  @inline(__always) mutating func take(recordEndingAt end: UnsafeMutableRawPointer) -> UInt64 {
    let offset = nextRecordOffset
    position = end - memory
    return offset
  }

  /// Encodes a put with an extent at `nextRecord`, where it fits, and encrypts the value. Returns
  /// the offset of the record in the file.
  mutating func putEncrypted(_ key: LogKey, _ value: UnsafeRawBufferPointer) -> UInt64 {
    let start = nextRecord
    let head = LogRecord.headLength(ofExtent: value, key)
    guard let source = value.baseAddress else { preconditionFailure("an extent has no bytes") }
    // SAFETY: the record and its trailer fit into the chunk, which memory of the same length
    // follows.
    let checksum = codec.sealExtent(
      at: nextRecordOffset + UInt64(head), source, into: start + storedDistance + head, value.count)
    let end = LogRecord.copy(value, to: LogRecord.encodePut(to: start, key, value, checksum: checksum))
    end.initializeMemory(as: UInt8.self, repeating: 0, count: codec.trailerLength)
    let inFrame = position - frameStart + head
    extents.append(inFrame..<inFrame + value.count + codec.trailerLength)
    return take(recordEndingAt: end + codec.trailerLength)
  }

  /// Returns the record appended at `offset`, from memory or the file's mapping; see
  /// `LogWriter.record`.
  @inline(__always) func record(at offset: UInt64) throws(StorageError) -> LogRecord {
    if offset >= segmentOffset { return LogRecord(trusted: memory + Int(offset &- segmentOffset)) }
    if let record = mapping.record(at: offset, writtenThrough: flushedThrough) { return record }
    return try mapping.record(at: offset, waitingIn: progress)
  }

  // MARK: Frames

  /// Completes the last frame of a transaction and hands it over to `GroupCommit`. Throws, and
  /// changes nothing, if writing has stopped.
  mutating func commitFrame() throws(StorageError) {
    let before = (position, frameStart, last)
    closeFrame(continues: false)
    let segment = segment(length: frameStart)
    let refusal = progress.locked { progress -> StorageError? in
      if progress.isStopped { return progress.reasonToStop() }
      progress.completeFrames(of: segment)
      return nil
    }
    guard let refusal else { return }
    (position, frameStart, last) = before
    throw refusal
  }

  /// Completes the open frame, marks its transaction as continuing, and hands it over immediately:
  /// even if the next frame is refused, this one stays part of the log.
  mutating func continueFrame() {
    closeFrame(continues: true)
    handOver()
  }

  private mutating func closeFrame(continues: Bool) {
    var header = header(.commit, contentLength: position - frameStart - FrameHeader.length)
    header.continues = continues
    finish(header)
  }

  /// Appends a frame without records, and hands it over.
  ///
  /// - Parameters:
  ///   - payloadLength: the number of bytes of the payload, which `encode` writes.
  ///   - encode: called with the address for the payload, which must fit into the chunk.
  mutating func append(
    _ kind: FrameKind, payloadLength: Int = 0, _ encode: (UnsafeMutableRawPointer) -> Void = { _ in }
  ) {
    openFrame()
    encode(memory + position)
    position += payloadLength
    finish(header(kind, contentLength: payloadLength))
    handOver()
  }

  /// Returns a header for a frame at the tail.
  ///
  /// - Parameter contentLength: the length of the payload without the trailer.
  private func header(_ kind: FrameKind, contentLength: Int) -> FrameHeader {
    FrameHeader(
      kind: kind, ownOffset: tail, transaction: transaction, previousChecksum: last.checksum,
      durableThrough: durableMark, payloadLength: UInt64(contentLength + codec.trailerLength),
      trailerLength: codec.trailerLength)
  }

  /// Writes the header of the open frame, and zeros up to the next multiple of 8, where the next
  /// frame starts.
  private mutating func finish(_ header: FrameHeader) {
    // SAFETY: `frameStart` and everything up to `position` lie in the chunk, and `recordCapacity`
    // leaves space for the trailer and the padding.
    let frame = memory + frameStart
    let stored = frame + storedDistance
    let checksum = header.encode(into: frame, stored: stored, leaving: extents, codec: codec)
    didAppend(header.kind, checksum: checksum)
    if storedDistance > 0 {
      (memory + position).initializeMemory(as: UInt8.self, repeating: 0, count: codec.trailerLength)
      position += codec.trailerLength
    }
    let end = (position + 7) & ~7
    // Chunks are reused, so the zeros must be written.
    for at in position..<end {
      memory.set(UInt8(0), at: at)
      if storedDistance > 0 { (memory + storedDistance).set(UInt8(0), at: at) }
    }
    position = end
    frameStart = end
  }

  /// Records the frame at the tail as the one that the next frame follows.
  private mutating func didAppend(_ kind: FrameKind, checksum: UInt64) {
    last.checksum = checksum
    last.isSeal = kind == .seal
    if kind == .commit { last.commitOffset = tail }
  }

  // MARK: Frames that are not complete in memory

  /// Appends a commit frame of one large value, and writes the value to the file from the caller's
  /// memory. Returns the offset of its record. `flush` must follow: the record is not complete in
  /// memory, so it is read through the mapping.
  ///
  /// ```
  /// chunk   ... | header 56 | code, lengths, checksum, key |                       | next frame ...
  /// file    ... | header 56 | code, lengths, checksum, key | value ...... | 0 to 7 | next frame ...
  /// ```
  ///
  /// The value is written first, so that a flush by another thread never counts the frame as
  /// written before its value is. The frame is always marked as continuing, because the next
  /// operation is not known yet.
  ///
  /// - Parameters:
  ///   - headLimit: an upper bound of the length of the frame without its value, in bytes.
  ///   - encode: encodes the record up to its value at an address, for an offset in the file, and
  ///     returns the end.
  mutating func append(
    largeValue value: UnsafeRawBufferPointer, headLimit: Int,
    _ encode: (UnsafeMutableRawPointer, UInt64) -> UnsafeMutableRawPointer
  ) throws(StorageError) -> UInt64 {
    try cover(value.count + 2 * codec.trailerLength)
    if headLimit > capacity &- position { try switchChunk() }
    // SAFETY: the chunk has space for `headLimit` bytes.
    let frame = memory + frameStart
    let record = tail + UInt64(FrameHeader.length)
    let length = encode(frame + FrameHeader.length, record) - frame
    var header = header(.commit, contentLength: length - FrameHeader.length + value.count)
    header.continues = true
    header.encodeFields(into: frame)
    let head = UnsafeRawBufferPointer(start: frame, count: length)[UnitCodec.checksumLength...]
    var pieces = codec.pieces(of: .frame, at: tail, count: head.count + value.count)
    pieces.add(UnsafeRawBufferPointer(rebasing: head))
    pieces.add(value)
    let checksum = pieces.checksum
    frame.set(checksum, at: FrameHeader.Offset.checksum)
    let start = tail + UInt64(length)
    let end = start + UInt64(value.count)
    try group.writeOutOfBand(value, at: start, pieces: LogBuffer.valuePieceLength)
    try mapping.file.device.pinMapped(start..<end)
    didAppend(.commit, checksum: checksum)
    endSegment(after: length, of: end, exists: true)
    return record
  }

  /// Appends a commit frame of one large value to an encrypted file, like
  /// `append(largeValue:headLimit:_:)`. The frame is encrypted in memory as a whole.
  ///
  /// - Parameter asExtent: whether the value is an extent.
  mutating func append(
    encrypting value: UnsafeRawBufferPointer, _ key: LogKey, asExtent: Bool, headLimit: Int
  ) throws(StorageError) -> UInt64 {
    try cover(value.count + 2 * codec.trailerLength)
    if headLimit > capacity &- position { try switchChunk() }
    let frame = memory + frameStart
    let record = tail + UInt64(FrameHeader.length)
    let extentTrailer = asExtent ? codec.trailerLength : 0
    let total = headLimit + value.count + 2 * codec.trailerLength
    let (length, end) = try withWork(total) { stored throws(StorageError) in
      let (length, checksum) = encryptLarge(value, key, asExtent: asExtent, in: stored)
      let end = tail + UInt64(length + value.count + extentTrailer + codec.trailerLength)
      // The head is written with the segment.
      (frame + storedDistance).copyMemory(from: stored, byteCount: length)
      let rest = UnsafeRawBufferPointer(start: stored + length, count: Int(end - tail) - length)
      try group.writeOutOfBand(rest, at: tail + UInt64(length), pieces: LogBuffer.valuePieceLength)
      didAppend(.commit, checksum: checksum)
      return (length, end)
    }
    let start = tail + UInt64(length)
    let device = mapping.file.device
    try device.pinMapped(start..<end)
    device.show(value, at: start)
    endSegment(after: length, of: end, exists: true)
    return record
  }

  /// Encodes a frame of one large value: its head in the chunk, and all of it, encrypted, in
  /// `stored`. Returns the length of the head, and the checksum of the frame.
  private func encryptLarge(
    _ value: UnsafeRawBufferPointer, _ key: LogKey, asExtent: Bool, in stored: UnsafeMutableRawPointer
  ) -> (length: Int, checksum: UInt64) {
    let frame = memory + frameStart
    let record = frame + FrameHeader.length
    guard asExtent, let source = value.baseAddress else {
      let length = LogRecord.encodePut(to: record, key, value, sealedBy: nil, at: 0) - frame
      var header = header(.commit, contentLength: length - FrameHeader.length + value.count)
      header.continues = true
      stored.copyMemory(from: frame, byteCount: length)
      _ = LogRecord.copy(value, to: stored + length)
      let checksum = header.encode(into: stored, codec: codec)
      frame.copyMemory(from: stored, byteCount: FrameHeader.length)
      return (length, checksum)
    }
    let length = FrameHeader.length + LogRecord.headLength(ofExtent: value, key)
    let valueChecksum = codec.sealExtent(
      at: tail + UInt64(length), source, into: stored + length, value.count)
    _ = LogRecord.encodePut(to: record, key, value, checksum: valueChecksum)
    let extent = length..<length + value.count + codec.trailerLength
    var header = header(.commit, contentLength: extent.upperBound - FrameHeader.length)
    header.continues = true
    return (length, header.encode(into: frame, stored: stored, leaving: [extent], codec: codec))
  }

  /// Appends the header of a nodes frame. `GroupCommit.writeOutOfBand` writes the nodes at any
  /// later time.
  ///
  /// - Parameter contentLength: the length of the payload without the trailer, which follows the
  ///   header.
  mutating func appendNodesHeader(contentLength: Int) {
    let header = header(.nodes, contentLength: contentLength)
    let end = tail + UInt64(FrameHeader.length) + header.payloadLength
    // SAFETY: a frame begins only where the chunk has space for a header and a trailer.
    let frame = memory + frameStart
    didAppend(.nodes, checksum: header.encode(into: frame, stored: frame + storedDistance, codec: codec))
    endSegment(after: FrameHeader.length + codec.trailerLength, of: end, exists: false)
  }

  /// Ends the open segment after a frame of which only the first `length` bytes are in memory. The
  /// next segment follows at `end`, the end of that frame in the file, in the same chunk.
  ///
  /// - Parameter exists: whether the rest has been written.
  private mutating func endSegment(after length: Int, of end: UInt64, exists: Bool) {
    let used = frameStart + length
    let skipped = (used + 7) & ~7
    var ended = segment(length: used)
    ended.readable = exists ? end : tail + UInt64(length)
    ended.end = (end + 7) & ~7
    move(to: memory + skipped, at: ended.end, capacity: capacity - skipped)
    open(after: ended)
  }

  /// The open segment, up to `length` bytes of it.
  private func segment(length: Int) -> Segment {
    let end = segmentOffset + UInt64(length)
    return Segment(
      memory: UnsafeRawPointer(memory), storedDistance: storedDistance, offset: segmentOffset, length: length,
      end: end, readable: end, chunk: chunk)
  }

  /// Hands an ended segment over, after which this one follows.
  private func open(after ended: Segment) {
    let next = segment(length: 0)
    progress.locked { $0.endSegment(ended, next: next) }
  }

  // MARK: Chunks

  /// Hands the complete frames over to `GroupCommit`.
  private func handOver() {
    let segment = segment(length: frameStart)
    progress.locked { $0.completeFrames(of: segment) }
  }

  /// Hands the chunk's frames over and continues in an empty chunk.
  ///
  /// The full chunk is written immediately, so that a transaction of any size takes little memory.
  /// While another thread is writing, however, the writer takes a spare or new chunk and continues.
  mutating func switchChunk() throws(StorageError) {
    handOver()
    guard group.isWriting, let next = chunks.next(progress) else { return try flush() }
    let ended = segment(length: frameStart)
    chunk = next
    move(to: next, at: ended.end, capacity: LogChunks.length)
    open(after: ended)
  }

  /// Writes everything that was handed over, and starts over at the beginning of the chunk.
  mutating func flush() throws(StorageError) {
    try group.flush(through: tail, durable: false)
    startOver(at: tail)
  }

  /// Continues at the start of the chunk, at `tail` in the file. Everything before `tail` is in the
  /// file.
  private mutating func startOver(at tail: UInt64) {
    move(to: chunk, at: tail, capacity: LogChunks.length)
    flushedThrough = max(flushedThrough, tail)
  }

  private mutating func move(to memory: UnsafeMutableRawPointer, at offset: UInt64, capacity: Int) {
    self.memory = memory
    segmentOffset = offset
    self.capacity = capacity
    position = 0
    frameStart = 0
  }
}

/// The memory that the writer of the log fills with frames: at most three chunks. A chunk is reused
/// once everything in it has been written.
struct LogChunks: ~Copyable {
  /// The length of a chunk, in bytes: the amount that is encoded in memory before it is written.
  static let length = 4 << 20
  private static let limit = 3

  private var chunks: [UnsafeMutableRawPointer]
  private let isEncrypted: Bool

  /// - Parameter first: a chunk made by `makeChunk`.
  init(_ first: UnsafeMutableRawPointer, isEncrypted: Bool) {
    chunks = [first]
    self.isEncrypted = isEncrypted
  }

  deinit {
    for chunk in chunks { chunk.deallocate() }
  }

  /// Allocates a chunk, which will be owned by the `LogChunks` that it is passed to.
  ///
  /// - Parameter isEncrypted: whether memory of the same length follows, for the encrypted frames.
  static func makeChunk(isReadOnly: Bool = false, isEncrypted: Bool = false) -> UnsafeMutableRawPointer {
    .allocate(byteCount: length(isReadOnly: isReadOnly) * (isEncrypted ? 2 : 1), alignment: 4096)
  }

  /// Returns the length of a chunk, which is small for a read-only file because it is never used.
  static func length(isReadOnly: Bool) -> Int { isReadOnly ? 64 : length }

  /// The number of bytes of memory in chunks.
  var memoryLength: UInt64 { UInt64(chunks.count * LogChunks.length * (isEncrypted ? 2 : 1)) }

  /// Returns a chunk without unwritten frames, other than the open one; nil if there is none.
  mutating func next(_ progress: SharedProgress) -> UnsafeMutableRawPointer? {
    let all = chunks
    let spare = progress.locked { progress in
      all.first { chunk in
        chunk != progress.open.chunk && !progress.waiting.contains { $0.chunk == chunk }
      }
    }
    if let spare { return spare }
    guard chunks.count < LogChunks.limit else { return nil }
    let chunk = LogChunks.makeChunk(isEncrypted: isEncrypted)
    chunks.append(chunk)
    return chunk
  }
}

/// The mapping of the file through which the writer of the log reads its written records. It also
/// covers everything that may be appended next, because growing the mapping may move it.
struct LogMapping {
  /// An upper bound of the bytes appended before the next `cover`: a chunk, and the header and key
  /// of a large value.
  static var ahead: UInt64 { UInt64(LogChunks.length) + (64 << 10) }

  let file: MappedFile
  private var base: UnsafeRawPointer
  /// The number of bytes that the mapping covers.
  private var capacity: UInt64

  init(_ file: MappedFile) {
    self.file = file
    base = file.space.base
    capacity = file.space.capacity
  }

  /// Maps the file up to `end`, and the bytes that may be appended after that.
  mutating func cover(_ end: UInt64) throws(StorageError) {
    guard end + LogMapping.ahead > capacity else { return }
    let space = try file.grown(toCover: end, ahead: LogMapping.ahead)
    (base, capacity) = (space.base, space.capacity)
  }

  /// Returns the record at `offset`; nil if it does not end before `writtenThrough`, an offset
  /// below which everything is in the file.
  @inline(__always) func record(at offset: UInt64, writtenThrough: UInt64) -> LogRecord? {
    // SAFETY: the mapping covers these bytes, and they are in the file.
    LogRecord.validated(at: offset, base: base, end: min(writtenThrough, capacity))
  }

  /// Returns the record at `offset`, from a segment that waits to be written or, if that has been
  /// written in the meantime, from the mapping.
  func record(at offset: UInt64, waitingIn progress: SharedProgress) throws(StorageError) -> LogRecord {
    let waiting = progress.locked { progress in
      progress.waitingSegment(at: offset).map { $0.memory + Int(offset - $0.offset) }
    }
    if let waiting { return LogRecord(trusted: waiting) }
    // The limit is read first, because the mapping was created before the limit was raised.
    let limit = progress.readableThrough
    // SAFETY: the bytes below the limit exist.
    guard let record = LogRecord.validated(at: offset, base: file.space.base, end: limit) else {
      throw LogRecord.changed(at: offset)
    }
    return record
  }
}
