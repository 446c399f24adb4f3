import LatewoodBytes

/// Keys of the tree: the keyspace's number, big-endian, followed by the caller's bytes.
enum FullKey {
  static let prefixLength = 4
  /// The maximum length of the caller's bytes.
  static let maximumKeyLength = 16384

  @inline(__always) static func check(_ key: UnsafeRawBufferPointer) throws(StorageError) {
    if key.count &- 1 >= maximumKeyLength || key.isEmpty { throw refusal(key.count) }
  }

  /// Returns the caller's part of a full key. Throws `damaged` if the key is too short, because its
  /// node has changed.
  @inline(__always) static func rest(
    of full: UnsafeRawBufferPointer
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    guard full.count >= prefixLength, let start = full.baseAddress else { throw tooShort }
    return UnsafeRawBufferPointer(start: start + prefixLength, count: full.count &- prefixLength)
  }

  static func rest(of full: [UInt8]) throws(StorageError) -> [UInt8] {
    guard full.count >= prefixLength else { throw tooShort }
    return Array(full[prefixLength...])
  }

  @inline(never) private static var tooShort: StorageError {
    StorageError(
      .damaged, "a key lacks the number of its keyspace: its node has changed since it was checked")
  }

  @inline(never) private static func refusal(_ length: Int) -> StorageError {
    length == 0
      ? StorageError(.keyEmpty, "a key has no bytes")
      : StorageError(.keyTooLong, "a key of \(length) bytes is longer than \(maximumKeyLength)")
  }

  /// Checks the length of a range's bound, given as a full key. It may be the keyspace's number
  /// alone, or the successor of the longest key.
  static func check(bound: [UInt8]) throws(StorageError) {
    let length = bound.count - prefixLength
    guard length <= maximumKeyLength + 1 else {
      throw StorageError(.keyTooLong, "a bound of \(length) bytes is longer than every key")
    }
  }

  /// Calls `body` with the full key on the stack or, if it is long, on the heap.
  @inline(__always) static func with<R>(
    _ keyspace: UInt32, _ key: UnsafeRawBufferPointer,
    _ body: (UnsafeRawPointer, Int) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    try check(key)
    let count = key.count &+ prefixLength
    return try withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) {
      (memory) throws(StorageError) -> R in
      guard let start = memory.baseAddress, let source = key.baseAddress else {
        throw StorageError(.keyEmpty, "a key has no bytes")
      }
      start.storeBytes(of: keyspace.bigEndian, as: UInt32.self)
      (start + prefixLength).copyMemory(from: source, byteCount: key.count)
      return try body(start, count)
    }
  }
}
