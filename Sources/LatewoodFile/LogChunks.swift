import LatewoodBytes
import LatewoodDevice

/// The chunks of memory that the writer fills with frames, and the file segments in them.
///
/// ```
/// file    ... in the file ............ | waits to be written ....................... | not written
/// memory                  chunk 1      | sealed segments     | chunk 2: open segment | room
///                                      flushedThrough                       tail: the next frame
/// ```
///
/// There are at most three chunks. A chunk is reused once everything in it has been written.
///
/// Invariants:
/// 1. The mapping covers everything that may be appended before the next `cover`.
/// 2. Frames handed over do not change until they have been written.
///
/// Belongs to the writer of the log.
struct LogChunks: ~Copyable {
  /// The length of a chunk, in bytes: this much is encoded in memory before it is written.
  private static let length = 4 << 20
  private static let limit = 3
  /// The least free space in a chunk, in bytes, with which a frame is begun.
  private static let minimumFree = 4096
  private static let valuePieceLength = 1 << 20
  /// An upper bound of the bytes appended before the next `cover`: a chunk, and the header and key
  /// of a large value.
  static var mappedAhead: UInt64 { UInt64(length) + (64 << 10) }

  /// Encodes frames into the open chunk.
  var frames: FrameEncoder
  private let group: GroupCommit
  private let progress: SharedProgress
  private let mapping: MappedFile
  private let path: String
  private var chunks: [UnsafeMutableRawPointer]
  /// The start of the mapping.
  private var base: UnsafeRawPointer
  /// The number of bytes that the mapping covers.
  private var mappedThrough: UInt64
  /// The offset below which all frames are in the file and are read through the mapping.
  private(set) var flushedThrough = FileLayout.logStart

  /// - Parameter chunk: the first chunk, in which the open segment begins.
  init(
    _ chunk: UnsafeMutableRawPointer, _ mapping: MappedFile, _ group: GroupCommit,
    _ progress: SharedProgress, seed: UInt64, path: String, isReadOnly: Bool
  ) {
    frames = FrameEncoder(
      chunk, at: FileLayout.logStart, capacity: LogChunks.length(isReadOnly: isReadOnly), seed: seed)
    self.group = group
    self.progress = progress
    self.mapping = mapping
    self.path = path
    chunks = [chunk]
    base = mapping.space.base
    mappedThrough = mapping.space.capacity
  }

  deinit {
    for chunk in chunks { chunk.deallocate() }
  }

  /// Allocates a chunk, to be owned by the `LogChunks` it is passed to.
  static func makeChunk(isReadOnly: Bool = false) -> UnsafeMutableRawPointer {
    .allocate(byteCount: length(isReadOnly: isReadOnly), alignment: 4096)
  }

  /// A read-only file's chunk is never used.
  private static func length(isReadOnly: Bool) -> Int { isReadOnly ? 64 : length }

  /// The offset at which the next frame will start.
  var tail: UInt64 { frames.tail }

  /// The number of bytes of memory in chunks.
  var memory: UInt64 { UInt64(chunks.count * LogChunks.length) }

  // MARK: Beginning

  /// Begins to append at `tail`: see ``LogProgress/begin(at:after:floor:hasGap:)``.
  mutating func begin(at tail: UInt64, after end: UInt64, floor: UInt64, hasGap: Bool) {
    let chunk = progress.locked { progress in
      progress.begin(at: tail, after: end, floor: floor, hasGap: hasGap)
      return progress.open.chunk
    }
    open(chunk, at: tail)
  }

  /// Discards everything that has not been written, and continues at `tail`.
  mutating func restart(at tail: UInt64) {
    let chunk = progress.locked { progress in
      progress.restart(at: tail)
      return progress.open.chunk
    }
    open(chunk, at: tail)
  }

  /// Takes note of flushes by other threads, and makes space to begin a frame. No frame may be
  /// open.
  ///
  /// - Parameter isTransaction: whether a transaction begins: then no checkpoint may be needed, and
  ///   space is preallocated.
  mutating func prepare(isTransaction: Bool) throws(StorageError) {
    let tail = tail
    let isUsed = frames.frameStart > 0
    var refusal: StorageError?
    var emptied: UnsafeMutableRawPointer?
    let (written, durable) = progress.locked { progress in
      if progress.isStopped {
        refusal = progress.reasonToStop()
      } else if isTransaction, progress.needsCheckpoint {
        refusal = .checkpointNeeded
      } else if isUsed, progress.writtenThrough == progress.completedThrough {
        // Everything is in the file: start over at the beginning of the chunk, so that small
        // transactions stay in the CPU cache.
        progress.rewind(to: tail)
        emptied = progress.open.chunk
      }
      return (progress.writtenThrough, progress.durableMark)
    }
    if let refusal { throw refusal }
    if isTransaction { try group.writeZeros(ahead: tail) }
    flushedThrough = written
    frames.durableThrough = durable
    if let emptied { open(emptied, at: tail) }
    if frames.free < LogChunks.minimumFree { try switchChunk() }
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
    let end = tail + UInt64(more)
    if end + LogChunks.mappedAhead > mappedThrough { try growMapping(toCover: end) }
  }

  private mutating func growMapping(toCover end: UInt64) throws(StorageError) {
    let space = try mapping.grown(toCover: end, ahead: LogChunks.mappedAhead)
    base = space.base
    mappedThrough = space.capacity
  }

  // MARK: Handing over

  /// Hands the complete frames over to `GroupCommit`.
  func handOver() {
    let length = frames.frameStart
    progress.locked { $0.completeFrames(length: length) }
  }

  /// As `handOver`, for the last frame of a transaction: throws, and changes nothing, if writing
  /// has stopped.
  func handOverTransaction() throws(StorageError) {
    let length = frames.frameStart
    let refusal = progress.locked { progress -> StorageError? in
      if progress.isStopped { return progress.reasonToStop() }
      progress.completeFrames(length: length)
      return nil
    }
    if let refusal { throw refusal }
  }

  /// Hands the chunk's frames over and continues in an empty chunk.
  ///
  /// The full chunk is written at once, so that a transaction of any size takes little memory. But
  /// while another thread writes, the writer takes a spare or new chunk and continues.
  mutating func switchChunk() throws(StorageError) {
    handOver()
    guard group.isWriting, let chunk = spareChunk() ?? newChunk() else { return try flush() }
    let (length, tail) = (frames.frameStart, tail)
    progress.locked {
      $0.seal(length: length, end: tail, readable: tail, next: .empty(chunk, at: tail))
    }
    frames.move(to: chunk, at: tail, capacity: LogChunks.length)
  }

  /// Returns a chunk without unwritten frames; nil if there is none.
  private func spareChunk() -> UnsafeMutableRawPointer? {
    let chunks = chunks
    return progress.locked { progress in
      chunks.first { chunk in
        chunk != progress.open.chunk && !progress.sealed.contains { $0.chunk == chunk }
      }
    }
  }

  private mutating func newChunk() -> UnsafeMutableRawPointer? {
    guard chunks.count < LogChunks.limit else { return nil }
    let chunk = LogChunks.makeChunk()
    chunks.append(chunk)
    return chunk
  }

  /// Writes everything that was handed over, and starts over at the beginning of the chunk.
  mutating func flush() throws(StorageError) {
    let tail = tail
    try group.flush(through: tail, durable: false)
    let chunk = progress.locked { progress in
      progress.rewind(to: tail)
      return progress.open.chunk
    }
    open(chunk, at: tail)
  }

  /// Continues at the start of a chunk, at `tail` in the file. Everything before `tail` is in the
  /// file.
  private mutating func open(_ chunk: UnsafeMutableRawPointer, at tail: UInt64) {
    frames.move(to: chunk, at: tail, capacity: LogChunks.length)
    flushedThrough = max(flushedThrough, tail)
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
  /// written before its value is.
  ///
  /// - Parameters:
  ///   - headLimit: an upper bound of the bytes of the frame besides its value.
  ///   - encode: encodes the record up to its value at an address, and returns the end.
  mutating func append(
    largeValue value: UnsafeRawBufferPointer, headLimit: Int,
    _ encode: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
  ) throws(StorageError) -> UInt64 {
    try cover(value.count)
    if headLimit > frames.free { try switchChunk() }
    let record = tail + UInt64(FrameHeader.length)
    let head = frames.encodeHead(of: value, encode)
    let start = tail + UInt64(head.length)
    let end = start + UInt64(value.count)
    try group.writeOutOfBand(value, at: start, pieces: LogChunks.valuePieceLength)
    try mapping.device.keepMapped(start..<end)
    frames.setLastFrame(checksum: head.checksum, kind: .commit)
    seal(length: head.length, end: end, exists: true)
    return record
  }

  /// Appends the header of a nodes frame. `GroupCommit.writeOutOfBand` writes its payload of
  /// `payloadLength` bytes at any later time.
  mutating func appendNodesHeader(payloadLength: Int) {
    let end = tail + UInt64(FrameHeader.length) + UInt64(payloadLength)
    frames.encodeNodesHeader(payloadLength: payloadLength)
    seal(length: FrameHeader.length, end: end, exists: false)
  }

  /// Ends the open segment after a frame of which only the first `length` bytes are in memory. The
  /// next segment follows at `end`, in the same chunk.
  ///
  /// - Parameter exists: whether the rest has been written.
  private mutating func seal(length: Int, end: UInt64, exists: Bool) {
    let readable = exists ? end : tail + UInt64(length)
    let segment = frames.skip(length, to: end)
    let tail = tail
    progress.locked { progress in
      var next = Segment.empty(progress.open.chunk, at: tail)
      next.memory = segment.next
      progress.seal(length: segment.used, end: tail, readable: readable, next: next)
    }
  }

  // MARK: Reading

  /// Returns the record appended at `offset`, from memory or the file's mapping; see
  /// `LogWriter.record`.
  @inline(__always) func record(at offset: UInt64) throws(StorageError) -> LogRecord {
    if let address = frames.address(of: offset) { return LogRecord(trusted: address) }
    // SAFETY: the mapping covers these bytes, and they are in the file.
    let written = min(flushedThrough, mappedThrough)
    if let record = LogRecord.validated(at: offset, base: base, end: written) { return record }
    return try LogChunks.waitingRecord(at: offset, progress, mapping)
  }

  /// Returns the record at `offset`, from a sealed segment or, if that was written meanwhile, the
  /// mapping.
  // Static, because otherwise the compiler copies all of `self` for each call of `record`.
  private static func waitingRecord(
    at offset: UInt64, _ progress: SharedProgress, _ mapping: MappedFile
  ) throws(StorageError) -> LogRecord {
    let waiting = progress.locked { progress in
      progress.sealedSegment(at: offset).map { $0.memory + Int(offset - $0.offset) }
    }
    if let waiting { return LogRecord(trusted: waiting) }
    // The record's segment was sealed and has been written. In this order: the mapping was made
    // before the limit was raised.
    let limit = progress.readableThrough
    // SAFETY: the bytes below the limit exist.
    guard let record = LogRecord.validated(at: offset, base: mapping.space.base, end: limit) else {
      throw LogRecord.changed(at: offset)
    }
    return record
  }
}

/// A contiguous range of the log in memory, on its way to the file.
struct Segment {
  var memory: UnsafeRawPointer
  /// The file offset of its first byte.
  var offset: UInt64
  /// The number of bytes in memory, all of them in complete frames.
  var length: Int
  /// The file offset of the next segment. Bytes in between, such as a large value or nodes, are
  /// written separately.
  var end: UInt64
  /// The offset up to which the file exists once the segment is written.
  var readable: UInt64
  var chunk: UnsafeMutableRawPointer

  /// A segment without frames, which begins at `offset` in the file and at the start of a chunk.
  static func empty(_ chunk: UnsafeMutableRawPointer, at offset: UInt64) -> Segment {
    Segment(
      memory: UnsafeRawPointer(chunk), offset: offset, length: 0, end: offset, readable: offset,
      chunk: chunk)
  }
}
