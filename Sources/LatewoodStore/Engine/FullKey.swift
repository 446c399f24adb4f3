import LatewoodBytes

/// Keys as the tree has them: the keyspace's number, big-endian, in front of the caller's bytes.
enum FullKey {
  static let prefixLength = 4
  /// Of the caller's bytes.
  static let maximumKeyLength = 16384

  @inline(__always) static func check(_ key: UnsafeRawBufferPointer) throws(Fault) {
    if key.count &- 1 >= maximumKeyLength || key.isEmpty { throw refusal(key.count) }
  }

  @inline(never) private static func refusal(_ length: Int) -> Fault {
    length == 0
      ? Fault(.keyEmpty, "a key has no bytes")
      : Fault(.keyTooLong, "a key of \(length) bytes is longer than \(maximumKeyLength)")
  }

  /// A bound of a range as a full key: also that of nothing but the keyspace, and the one just
  /// after the longest key.
  static func check(bound: [UInt8]) throws(Fault) {
    let length = bound.count - prefixLength
    guard length <= maximumKeyLength + 1 else {
      throw Fault(.keyTooLong, "a bound of \(length) bytes is longer than every key")
    }
  }

  /// Calls `body` with the full key in memory on the stack (or, if it is long, from the heap).
  @inline(__always) static func with<R>(
    _ keyspace: UInt32, _ key: UnsafeRawBufferPointer,
    _ body: (UnsafeRawPointer, Int) throws(Fault) -> R
  ) throws(Fault) -> R {
    try check(key)
    let count = key.count &+ prefixLength
    return try withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { memory in
      Result { () throws(Fault) -> R in
        guard let start = memory.baseAddress, let source = key.baseAddress else {
          throw Fault(.keyEmpty, "a key has no bytes")
        }
        start.storeBytes(of: keyspace.bigEndian, as: UInt32.self)
        (start + prefixLength).copyMemory(from: source, byteCount: key.count)
        return try body(start, count)
      }
    }.get()
  }
}
