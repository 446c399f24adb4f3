import LatewoodBytes

/// The kinds of operations in a commit frame. The raw values are on disk.
@usableFromInline package enum OperationCode {
  @usableFromInline package static let put: UInt8 = 1
  @usableFromInline package static let putExtent: UInt8 = 2
  @usableFromInline package static let delete: UInt8 = 3
  @usableFromInline package static let deleteRange: UInt8 = 4
}

/// One operation of a commit frame, decoded in place. The pointers are valid as long as the bytes
/// that it was read from.
///
/// ```
/// put           1 | varint keyCount | varint valueCount |               key | value
/// put extent    2 | varint keyCount | varint valueCount | u32 checksum | key | value
/// delete        3 | varint keyCount |                                    key
/// delete range  4 | varint lowCount | varint highCount  |               low | high
/// ```
@usableFromInline package struct LogRecord {
  @usableFromInline package let code: UInt8
  /// The full key; for a range, its lower bound.
  @usableFromInline package let key: UnsafeRawPointer
  @usableFromInline package let keyCount: Int
  /// The value; for a range, its upper bound.
  @usableFromInline package let value: UnsafeRawPointer
  @usableFromInline package let valueCount: Int
  /// The checksum of an extent; otherwise 0.
  @usableFromInline package let valueChecksum: UInt32

  /// Decodes a record in private memory. It must not be used for a file that others can change.
  @inlinable @inline(__always) package init(trusted start: UnsafeRawPointer) {
    code = start.u8(0)
    let (keyLength, keyBytes) = Varint.readTrusted(start + 1)
    keyCount = Int(truncatingIfNeeded: keyLength)
    var at = 1 &+ keyBytes
    if code == OperationCode.delete {
      key = start + at
      value = key + keyCount
      valueCount = 0
      valueChecksum = 0
      return
    }
    let (valueLength, valueBytes) = Varint.readTrusted(start + at)
    valueCount = Int(truncatingIfNeeded: valueLength)
    at &+= valueBytes
    if code == OperationCode.putExtent {
      valueChecksum = start.u32(at)
      at &+= 4
    } else {
      valueChecksum = 0
    }
    key = start + at
    value = key + keyCount
  }

  @inlinable @inline(__always) init(_ lengths: Lengths, at start: UnsafeRawPointer) {
    code = lengths.code
    key = start + lengths.start
    keyCount = lengths.key
    value = key + lengths.key
    valueCount = lengths.value
    valueChecksum = lengths.valueChecksum
  }

  /// A record without a key or value.
  package static func none(at start: UnsafeRawPointer) -> LogRecord {
    LogRecord(
      Lengths(code: OperationCode.delete, key: 0, value: 0, valueChecksum: 0, start: 0), at: start)
  }

  @inlinable package var isPut: Bool { code == OperationCode.put || code == OperationCode.putExtent }
}

extension LogRecord {
  /// Returns the reference to the value of this record, an extent.
  package func extent(ofRecordAt offset: UInt64) -> ExtentReference {
    let lengths = Varint.length(UInt64(keyCount)) + Varint.length(UInt64(valueCount))
    return ExtentReference(
      offset: offset + UInt64(1 + lengths + 4 + keyCount), length: UInt64(valueCount),
      checksum: valueChecksum)
  }

  /// Returns the record at `offset` of a mapping that starts at `base`; nil if it does not lie
  /// below `end`, or if the bytes are not a valid record.
  static func validated(at offset: UInt64, base: UnsafeRawPointer, end: UInt64) -> LogRecord? {
    guard offset < end else { return nil }
    return validated(
      at: base + Int(truncatingIfNeeded: offset), end: base + Int(truncatingIfNeeded: end))?.record
  }

  /// The error for an operation of the log that violates FORMAT.md, section 6.
  static func malformed(at offset: UInt64) -> StorageError {
    StorageError.damaged(
      at: offset, "an operation in the log is malformed although its checksum is right")
  }

  /// The error for a record of the log that has changed since it was written.
  package static func changed(at offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "an operation in the log has changed since it was written")
  }
}

extension LogRecord {
  /// The fields before the key, which determine where the record ends.
  @usableFromInline package struct Lengths {
    @usableFromInline package var code: UInt8
    /// The length of the key; for a range, of its lower bound.
    @usableFromInline package var key: Int
    /// The length of the value; for a range, of its upper bound.
    @usableFromInline package var value: Int
    @usableFromInline package var valueChecksum: UInt32
    /// The number of bytes before the key.
    @usableFromInline package var start: Int
    /// The length of the whole record, in bytes.
    @inlinable package var total: Int { start + key + value }

    @inlinable @inline(__always) init(
      code: UInt8, key: Int, value: Int, valueChecksum: UInt32, start: Int
    ) {
      self.code = code
      self.key = key
      self.value = value
      self.valueChecksum = valueChecksum
      self.start = start
    }
  }

  /// Decodes the lengths of an untrusted record in `start ..< end`; nil if it violates FORMAT.md,
  /// section 6. Key and value may reach beyond `end`.
  @inlinable @inline(__always) package static func lengths(
    at start: UnsafeRawPointer, end: UnsafeRawPointer
  ) -> Lengths? {
    guard start < end else { return nil }
    let code = start.u8(0)
    guard code >= OperationCode.put, code <= OperationCode.deleteRange else { return nil }
    guard let first = Varint.read(start + 1, end: end) else { return nil }
    var at = start + 1 + first.length
    var second: UInt64 = 0
    if code != OperationCode.delete {
      guard let read = Varint.read(at, end: end) else { return nil }
      second = read.value
      at += read.length
    }
    var checksum: UInt32 = 0
    if code == OperationCode.putExtent {
      guard end - at >= 4 else { return nil }
      checksum = at.u32(0)
      at += 4
    }
    guard lengthsAreLegal(code, first.value, second) else { return nil }
    // Both have been checked to be so small that their sum cannot overflow.
    return Lengths(
      code: code, key: Int(first.value), value: Int(second), valueChecksum: checksum, start: at - start)
  }

  /// Decodes an untrusted record in `start ..< end`; nil if it violates FORMAT.md, section 6.
  @inlinable @inline(__always) package static func validated(
    at start: UnsafeRawPointer, end: UnsafeRawPointer
  ) -> (record: LogRecord, length: Int)? {
    guard let lengths = lengths(at: start, end: end), lengths.total <= end - start else { return nil }
    return (LogRecord(lengths, at: start), lengths.total)
  }

  @inlinable @inline(__always) package static func lengthsAreLegal(
    _ code: UInt8, _ first: UInt64, _ second: UInt64
  ) -> Bool {
    if code == OperationCode.deleteRange {
      return first <= FileLayout.boundLimit && second <= FileLayout.boundLimit
    }
    return first > 4 && first <= FileLayout.fullKeyLimit && second <= FileLayout.valueLimitHere
  }
}

/// The full key of an operation to append: the number of a keyspace, followed by 1 to 16,384 bytes.
package struct LogKey {
  /// The length of the number, in bytes.
  private static let prefixLength = 4

  fileprivate let keyspace: UInt32
  fileprivate let rest: UnsafeRawBufferPointer

  @inline(__always) package init(_ keyspace: UInt32, _ rest: UnsafeRawBufferPointer) {
    self.keyspace = keyspace
    self.rest = rest
  }

  /// Splits a full key. A key that is too short gets no rest, and is then refused, too.
  package static func full(_ bytes: UnsafeRawBufferPointer) -> LogKey {
    guard bytes.count >= prefixLength, let start = bytes.baseAddress else {
      return LogKey(0, UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return LogKey(
      UInt32(bigEndian: start.loadUnaligned(as: UInt32.self)),
      UnsafeRawBufferPointer(start: start + prefixLength, count: bytes.count - prefixLength))
  }

  /// The length of the full key, in bytes.
  @inline(__always) var count: Int { rest.count &+ LogKey.prefixLength }
}

/// The encoding of records: FORMAT.md, section 6.
extension LogRecord {
  /// An upper bound of a record's length without key and value.
  static var overhead: Int { 32 }

  /// Throws `keyEmpty` or `keyTooLong` if a full key cannot have this length.
  @inline(__always) static func checkKey(_ fullCount: Int) throws(StorageError) {
    if fullCount &- 5 >= 0, fullCount <= FileLayout.fullKeyLimit { return }
    throw fullCount > FileLayout.fullKeyLimit
      ? StorageError(.keyTooLong, "a key has at most \(FileLayout.keyLimit) bytes")
      : StorageError(.keyEmpty, "a key has at least one byte")
  }

  /// Returns the length of a put with an extent, up to the value.
  static func headLength(ofExtent value: UnsafeRawBufferPointer, _ key: LogKey) -> Int {
    1 + Varint.length(UInt64(key.count)) + Varint.length(UInt64(value.count)) + 4 + key.count
  }

  /// Encodes a put with an extent up to its value, and returns the address for the value.
  static func encodePut(
    to start: UnsafeMutableRawPointer, _ key: LogKey, _ value: UnsafeRawBufferPointer, checksum: UInt32
  ) -> UnsafeMutableRawPointer {
    start.set(OperationCode.putExtent, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(truncatingIfNeeded: key.count), to: to)
    to += Varint.write(UInt64(truncatingIfNeeded: value.count), to: to)
    to.set(checksum, at: 0)
    return encodeKey(to: to + 4, key)
  }

  /// Encodes a put up to its value, and returns the address for the value.
  ///
  /// - Parameters:
  ///   - value: the value, which the caller copies.
  ///   - codec: seals the value, which makes it an extent; nil for a plain put.
  ///   - offset: the offset of the record in the file.
  @inline(__always) static func encodePut(
    to start: UnsafeMutableRawPointer, _ key: LogKey, _ value: UnsafeRawBufferPointer,
    sealedBy codec: UnitCodec?, at offset: UInt64
  ) -> UnsafeMutableRawPointer {
    start.set(codec != nil ? OperationCode.putExtent : OperationCode.put, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(truncatingIfNeeded: key.count), to: to)
    to += Varint.write(UInt64(truncatingIfNeeded: value.count), to: to)
    if let codec {
      let length = to + (4 + key.count) - start
      to.set(codec.sealExtent(at: offset &+ UInt64(length), value), at: 0)
      to += 4
    }
    return encodeKey(to: to, key)
  }

  /// Encodes a delete, and returns its end.
  @inline(__always) static func encodeDelete(
    to start: UnsafeMutableRawPointer, _ key: LogKey
  ) -> UnsafeMutableRawPointer {
    start.set(OperationCode.delete, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(truncatingIfNeeded: key.count), to: to)
    return encodeKey(to: to, key)
  }

  @inline(__always) private static func encodeKey(
    to start: UnsafeMutableRawPointer, _ key: LogKey
  ) -> UnsafeMutableRawPointer {
    start.set(key.keyspace.byteSwapped, at: 0)
    return copy(key.rest, to: start + 4)
  }

  /// Encodes the delete of a range, and returns its end.
  static func encodeDeleteRange(
    to start: UnsafeMutableRawPointer, low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer
  ) -> UnsafeMutableRawPointer {
    start.set(OperationCode.deleteRange, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(low.count), to: to)
    to += Varint.write(UInt64(high.count), to: to)
    return copy(high, to: copy(low, to: to))
  }

  /// Copies bytes to an address, and returns their end.
  @inline(__always) static func copy(
    _ bytes: UnsafeRawBufferPointer, to start: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if let base = bytes.baseAddress { start.copyMemory(from: base, byteCount: bytes.count) }
    return start + bytes.count
  }
}
