/// The encoding of unsigned integers in 1 to 10 bytes (LEB128): seven bits in each byte, least
/// significant first. The top bit is set if more bytes follow.
@usableFromInline package enum Varint {
  /// The number of bytes that `value` takes.
  @inlinable package static func length(_ value: UInt64) -> Int {
    (70 &- (value | 1).leadingZeroBitCount) / 7
  }

  /// Writes `value` and returns the number of bytes written. `target` has room for `length(value)`
  /// bytes.
  @inlinable @inline(__always) package static func write(
    _ value: UInt64, to target: UnsafeMutableRawPointer
  ) -> Int {
    var rest = value
    var count = 0
    while rest >= 0x80 {
      target.set(UInt8(truncatingIfNeeded: rest) | 0x80, at: count)
      rest &>>= 7
      count &+= 1
    }
    target.set(UInt8(truncatingIfNeeded: rest), at: count)
    return count &+ 1
  }

  /// Reads bytes that this process wrote or has validated.
  @inlinable @inline(__always) package static func readTrusted(
    _ source: UnsafeRawPointer
  ) -> (value: UInt64, length: Int) {
    // Nearly all numbers have one or two bytes.
    let first = source.u8(0)
    if first < 0x80 { return (UInt64(first), 1) }
    let second = source.u8(1)
    if second < 0x80 { return (UInt64(first & 0x7F) | UInt64(second) &<< 7, 2) }
    return readLongTrusted(source)
  }

  @usableFromInline @inline(never) package static func readLongTrusted(
    _ source: UnsafeRawPointer
  ) -> (value: UInt64, length: Int) {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    var count = 0
    while true {
      let byte = source.u8(count)
      count &+= 1
      value |= UInt64(byte & 0x7F) &<< shift
      if byte < 0x80 || count == 10 { return (value, count) }
      shift &+= 7
    }
  }

  /// Reads untrusted bytes; nil if the number reaches beyond `end`, does not fit in 64 bits, or is
  /// longer than necessary.
  @inlinable @inline(__always) package static func read(
    _ source: UnsafeRawPointer, end: UnsafeRawPointer
  ) -> (value: UInt64, length: Int)? {
    // Nearly all numbers have one or two bytes.
    guard end - source >= 2 else { return readAny(source, end: end) }
    let first = UInt64(source.u8(0))
    if first < 0x80 { return (first, 1) }
    let second = UInt64(source.u8(1))
    if second < 0x80, second > 0 { return (first & 0x7F | second &<< 7, 2) }
    return readAny(source, end: end)
  }

  @inlinable @inline(never) static func readAny(
    _ source: UnsafeRawPointer, end: UnsafeRawPointer
  ) -> (value: UInt64, length: Int)? {
    let available = end - source
    var value: UInt64 = 0
    var count = 0
    while count < available, count < 10 {
      let byte = source.u8(count)
      if count == 9, byte > 1 { return nil }
      value |= UInt64(byte & 0x7F) &<< UInt64(7 * count)
      count += 1
      if byte < 0x80 {
        return byte == 0 && count > 1 ? nil : (value, count)
      }
    }
    return nil
  }
}

extension [UInt8] {
  /// Appends an integer in the encoding of ``Varint``.
  @inlinable package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }
}
