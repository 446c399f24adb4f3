extension Array where Element == UInt8 {
  /// Appends bytes. `append(contentsOf:)` takes several times as long with a raw buffer.
  @inlinable @inline(__always) package mutating func append(bytes: UnsafeRawBufferPointer) {
    // SAFETY: memory of any type may be read as bytes.
    append(contentsOf: bytes.assumingMemoryBound(to: UInt8.self))
  }

  /// Calls `body` with the bytes. Unlike `withUnsafeBytes`, it throws only errors of `body`.
  @inlinable @inline(__always) package func withContents<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try span.bytes.withUnsafeBytes(body)
  }

  /// Calls `body` with the address of the first byte and the number of bytes. If there are no
  /// bytes, the address is a placeholder that must not be read.
  package func withStart<R>(
    _ body: (_ start: UnsafeRawPointer, _ count: Int) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    try span.bytes.withUnsafeBytes { (bytes) throws(StorageError) -> R in
      try Swift.withUnsafeBytes(of: bytes.count) { (other) throws(StorageError) -> R in
        guard let start = bytes.baseAddress ?? other.baseAddress else {
          throw StorageError(.outOfMemory, "a variable has no address")
        }
        return try body(start, bytes.count)
      }
    }
  }
}
