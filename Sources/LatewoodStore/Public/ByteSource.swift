/// A type that can serve as a key or a value: anything with contiguous bytes.
///
/// Arrays and slices of bytes, strings (their UTF-8) and raw buffers conform. Conforming your own
/// types takes a line or two:
///
/// ```swift
/// extension UserID: ByteSource {
///   func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
///     try rawValue.withBytes(body)
///   }
/// }
/// ```
///
/// Keys are compared by unsigned bytes, so a number sorts by value only if it is encoded
/// big-endian.
public protocol ByteSource {
  /// Calls `body` with the bytes, which must stay valid during the call.
  ///
  /// - Throws: any error of `body`.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R
}

extension UnsafeRawBufferPointer: ByteSource {
  /// Calls `body` with this buffer.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E)
    -> R
  {
    try body(self)
  }
}

extension UnsafeBufferPointer: ByteSource where Element == UInt8 {
  /// Calls `body` with the bytes of the buffer.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E)
    -> R
  {
    try body(UnsafeRawBufferPointer(self))
  }
}

extension Array: ByteSource where Element == UInt8 {
  /// Calls `body` with the bytes of the array.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try span.bytes.withUnsafeBytes(body)
  }
}

extension ArraySlice: ByteSource where Element == UInt8 {
  /// Calls `body` with the bytes of the slice.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try span.bytes.withUnsafeBytes(body)
  }
}

extension ContiguousArray: ByteSource where Element == UInt8 {
  /// Calls `body` with the bytes of the array.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try span.bytes.withUnsafeBytes(body)
  }
}

extension Substring: ByteSource {
  /// Calls `body` with the UTF-8 of the text.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    // A string that is not contiguous UTF-8 (one bridged from Objective-C) is converted in the
    // copy.
    var copy = self
    return try copy.withUTF8 { bytes in
      Result { () throws(E) -> R in try body(UnsafeRawBufferPointer(bytes)) }
    }.get()
  }
}

extension String: ByteSource {
  /// Calls `body` with the UTF-8 of the text.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    // The same as for a substring: creating one would take longer than everything else.
    var copy = self
    return try copy.withUTF8 { bytes in
      Result { () throws(E) -> R in try body(UnsafeRawBufferPointer(bytes)) }
    }.get()
  }
}

extension StaticString: ByteSource {
  /// Calls `body` with the UTF-8 of the text.
  ///
  /// - Throws: any error of `body`.
  @inlinable public func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try withUTF8Buffer { bytes in
      Result { () throws(E) -> R in try body(UnsafeRawBufferPointer(bytes)) }
    }.get()
  }
}
