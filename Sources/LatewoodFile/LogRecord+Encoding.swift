import LatewoodBytes

/// The encoding of records: FORMAT.md, section 6.
extension LogRecord {
  /// An upper bound of a record's length without key and value.
  static var overhead: Int { 32 }

  /// Throws `keyEmpty` or `keyTooLong` if no full key has this length.
  @inline(__always) static func checkKey(_ fullCount: Int) throws(Fault) {
    if fullCount &- 5 >= 0, fullCount <= FileLayout.fullKeyLimit { return }
    throw fullCount > FileLayout.fullKeyLimit
      ? Fault(.keyTooLong, "a key has at most \(FileLayout.keyLimit) bytes")
      : Fault(.keyEmpty, "a key has at least one byte")
  }

  /// Encodes a put up to its value, and returns the address for the value.
  ///
  /// - Parameters:
  ///   - prefix: 4 if `keyspace` precedes the key; 0 if the key is a full key.
  ///   - checksumSeed: the seed for a checksum of the value, which makes it an extent; nil for a
  ///     plain put.
  @inline(__always) static func encodePut(
    to start: UnsafeMutableRawPointer, keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer,
    _ value: UnsafeRawBufferPointer, checksumSeed: UInt64?
  ) -> UnsafeMutableRawPointer {
    start.set(checksumSeed != nil ? OperationCode.putExtent : OperationCode.put, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(truncatingIfNeeded: key.count &+ prefix), to: to)
    to += Varint.write(UInt64(truncatingIfNeeded: value.count), to: to)
    if let checksumSeed {
      let checksum = XXH64.hash(value, seed: checksumSeed)
      to.set(UInt32(truncatingIfNeeded: checksum), at: 0)
      to += 4
    }
    return encodeKey(to: to, keyspace: keyspace, prefix: prefix, key)
  }

  /// Encodes a delete, and returns its end.
  @inline(__always) static func encodeDelete(
    to start: UnsafeMutableRawPointer, keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer
  ) -> UnsafeMutableRawPointer {
    start.set(OperationCode.delete, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(truncatingIfNeeded: key.count &+ prefix), to: to)
    return encodeKey(to: to, keyspace: keyspace, prefix: prefix, key)
  }

  @inline(__always) private static func encodeKey(
    to start: UnsafeMutableRawPointer, keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer
  ) -> UnsafeMutableRawPointer {
    var to = start
    if prefix != 0 {
      to.set(keyspace.byteSwapped, at: 0)
      to += 4
    }
    return copy(key, to: to)
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
