extension Array where Element == UInt8 {
  /// Calls `body` with the address of the first byte and the number of bytes. If there are no
  /// bytes, the address is a placeholder that must not be read.
  package func withStart<R>(
    _ body: (_ start: UnsafeRawPointer, _ count: Int) throws(Fault) -> R
  ) throws(Fault) -> R {
    try withUnsafeBytes { bytes in
      Swift.withUnsafeBytes(of: bytes.count) { other in
        Result { () throws(Fault) -> R in
          guard let start = bytes.baseAddress ?? other.baseAddress else {
            throw Fault(.outOfMemory, "a variable has no address")
          }
          return try body(start, bytes.count)
        }
      }
    }.get()
  }
}
