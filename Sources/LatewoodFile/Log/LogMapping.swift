import LatewoodBytes

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
