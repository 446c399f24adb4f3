import LatewoodBytes

extension LogFile {
  /// *Writer, transaction open.* Encodes a put, and returns the offset of its record.
  ///
  /// - Parameters:
  ///   - fullKey: 5 to 16,388 bytes, the number of the keyspace first.
  ///   - value: up to 2 GiB. A value of 1 MiB or more is written to the file at once, straight from
  ///     the caller's memory.
  ///   - asExtent: whether the tree will refer to the value in the log instead of copying it.
  ///
  /// Throws `keyEmpty`, `keyTooLong`, `valueTooLarge` without any effect; `outOfSpace`, `poisoned`,
  /// `fileTooLarge`, after which the transaction can only be aborted.
  package func put(
    fullKey: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(Fault) -> UInt64 {
    try put(keyspace: 0, prefix: 0, fullKey, value, asExtent)
  }

  /// *Writer, transaction open.* Encodes a put whose full key is the keyspace's number followed by
  /// a key of 1 to 16,384 bytes.
  package func put(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(Fault) -> UInt64 {
    try put(keyspace: keyspace, prefix: 4, key, value, asExtent)
  }

  @inline(__always) private func put(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ asExtent: Bool
  ) throws(Fault) -> UInt64 {
    precondition(append.pointee.isOpen, "no transaction is open")
    let keyCount = key.count &+ prefix
    try checkKey(keyCount)
    if value.count >= LogFile.largeValueLength {
      append.pointee.hasPut = true
      return try putLarge(keyspace: keyspace, prefix: prefix, key, value, asExtent)
    }
    try makeRoom(for: LogFile.recordOverhead &+ keyCount &+ value.count)
    let place = append
    let start = place.pointee.position
    // SAFETY: `makeRoom` found room for the record in the chunk.
    var to = encodePutHead(
      place.pointee.memory + start, keyspace: keyspace, prefix: prefix, key, value, asExtent)
    if let bytes = value.baseAddress {
      to.copyMemory(from: bytes, byteCount: value.count)
      to += value.count
    }
    place.pointee.position = to - place.pointee.memory
    place.pointee.hasPut = true
    return place.pointee.segmentOffset &+ UInt64(truncatingIfNeeded: start)
  }

  /// An upper bound of the bytes in a record besides key and value.
  static var recordOverhead: Int { 32 }

  @inline(__always) private func checkKey(_ fullCount: Int) throws(Fault) {
    if fullCount &- 5 >= 0, fullCount <= FileLayout.fullKeyLimit { return }
    throw fullCount > FileLayout.fullKeyLimit
      ? Fault(.keyTooLong, "a key has at most \(FileLayout.keyLimit) bytes")
      : Fault(.keyEmpty, "a key has at least one byte")
  }

  /// Encodes a put up to its value, and returns the address for the value.
  @inline(__always) func encodePutHead(
    _ start: UnsafeMutableRawPointer, keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer,
    _ value: UnsafeRawBufferPointer, _ asExtent: Bool
  ) -> UnsafeMutableRawPointer {
    start.set(asExtent ? OperationCode.putExtent : OperationCode.put, at: 0)
    var to = start + 1
    to += Varint.write(UInt64(truncatingIfNeeded: key.count &+ prefix), to: to)
    to += Varint.write(UInt64(truncatingIfNeeded: value.count), to: to)
    if asExtent {
      let checksum = XXH64.hash(value, seed: append.pointee.seed)
      to.set(UInt32(truncatingIfNeeded: checksum), at: 0)
      to += 4
    }
    if prefix != 0 {
      to.set(keyspace.byteSwapped, at: 0)
      to += 4
    }
    if let bytes = key.baseAddress {
      to.copyMemory(from: bytes, byteCount: key.count)
      to += key.count
    }
    return to
  }

  /// *Writer, transaction open.* Encodes the deletion of a key; as `put`.
  package func delete(fullKey: UnsafeRawBufferPointer) throws(Fault) -> UInt64 {
    try delete(keyspace: 0, prefix: 0, fullKey)
  }

  /// *Writer, transaction open.* Encodes the deletion of a key; as `put`.
  package func delete(keyspace: UInt32, key: UnsafeRawBufferPointer) throws(Fault) -> UInt64 {
    try delete(keyspace: keyspace, prefix: 4, key)
  }

  @inline(__always) private func delete(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer
  ) throws(Fault) -> UInt64 {
    precondition(append.pointee.isOpen, "no transaction is open")
    let keyCount = key.count &+ prefix
    try checkKey(keyCount)
    try makeRoom(for: LogFile.recordOverhead &+ keyCount)
    let place = append
    let start = place.pointee.position
    // SAFETY: `makeRoom` found room for the record in the chunk.
    var to = place.pointee.memory + start
    to.set(OperationCode.delete, at: 0)
    to += 1
    to += Varint.write(UInt64(truncatingIfNeeded: keyCount), to: to)
    if prefix != 0 {
      to.set(keyspace.byteSwapped, at: 0)
      to += 4
    }
    if let bytes = key.baseAddress {
      to.copyMemory(from: bytes, byteCount: key.count)
      to += key.count
    }
    place.pointee.position = to - place.pointee.memory
    return place.pointee.segmentOffset &+ UInt64(truncatingIfNeeded: start)
  }

  /// *Writer, transaction open.* Encodes the deletion of all full keys from `low` up to, not
  /// including, `high`.
  ///
  /// Bounds are full keys or parts of such, of up to 16,389 bytes. Throws `keyTooLong`, and as
  /// `put`.
  package func deleteRange(low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer) throws(Fault) -> UInt64
  {
    precondition(append.pointee.isOpen, "no transaction is open")
    guard low.count <= FileLayout.boundLimit, high.count <= FileLayout.boundLimit else {
      throw Fault(.keyTooLong, "a bound of a range is longer than every key")
    }
    try makeRoom(for: LogFile.recordOverhead + low.count + high.count)
    let place = append
    let start = place.pointee.position
    // SAFETY: `makeRoom` found room for the record in the chunk.
    var to = place.pointee.memory + start
    to.set(OperationCode.deleteRange, at: 0)
    to += 1
    to += Varint.write(UInt64(low.count), to: to)
    to += Varint.write(UInt64(high.count), to: to)
    for bound in [low, high] {
      if let bytes = bound.baseAddress { to.copyMemory(from: bytes, byteCount: bound.count) }
      to += bound.count
    }
    place.pointee.position = to - place.pointee.memory
    return place.pointee.segmentOffset + UInt64(start)
  }

  /// *Writer.* The record appended at `offset`, read from memory or from the file's mapping.
  ///
  /// The pointers are valid until the writer appends or begins again. O(1), unless 4 MiB or more
  /// have not been flushed. Throws `damaged` if the file no longer has a record there.
  package func record(at offset: UInt64) throws(Fault) -> LogRecord {
    if let record = append.pointee.recordInMemory(at: offset) { return record }
    if let record = append.pointee.recordInFile(at: offset) { return record }
    if let waiting = group.waitingBytes(at: offset) { return LogRecord(trusted: waiting) }
    // The record's segment was sealed and has been written.
    let view = view
    // SAFETY: the bytes below the limit exist.
    guard offset < view.limit,
      let found = LogRecord.validated(at: view.base + Int(offset), end: view.base + Int(view.limit))
    else { throw LogRecord.changed(at: offset) }
    return found.record
  }
}

extension LogRecord {
  /// The error for a record of the log that does not read as it was written.
  package static func changed(at offset: UInt64) -> Fault {
    Fault.damaged(at: offset, "an operation in the log is not what it was when it was written")
  }
}
