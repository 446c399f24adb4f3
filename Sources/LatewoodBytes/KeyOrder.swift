/// The order of keys: by unsigned bytes, a proper prefix first. Eight bytes are compared at a time.
@usableFromInline package enum KeyOrder {
  @inlinable @inline(__always) static func bigEndianWord(_ pointer: UnsafeRawPointer, _ at: Int) -> UInt64 {
    UInt64(bigEndian: pointer.loadUnaligned(fromByteOffset: at, as: UInt64.self))
  }

  /// Returns a negative number, zero or a positive number if `a` is less than, equal to or greater
  /// than `b`.
  @inlinable package static func compare(
    _ a: UnsafeRawPointer, _ aCount: Int, _ b: UnsafeRawPointer, _ bCount: Int
  ) -> Int {
    let shared = aCount < bCount ? aCount : bCount
    var at = 0
    while at &+ 8 <= shared {
      let x = bigEndianWord(a, at)
      let y = bigEndianWord(b, at)
      if x != y { return x < y ? -1 : 1 }
      at &+= 8
    }
    while at < shared {
      let x = a.u8(at)
      let y = b.u8(at)
      if x != y { return Int(x) &- Int(y) }
      at &+= 1
    }
    return aCount &- bCount
  }

  /// Returns whether `count` bytes of both are equal.
  @inlinable package static func isEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
    compare(a, count, b, count) == 0
  }

  /// Returns the length of the longest common prefix.
  @inlinable package static func commonPrefix(
    _ a: UnsafeRawPointer, _ aCount: Int, _ b: UnsafeRawPointer, _ bCount: Int
  ) -> Int {
    let shared = aCount < bCount ? aCount : bCount
    var at = 0
    while at &+ 8 <= shared {
      let difference = bigEndianWord(a, at) ^ bigEndianWord(b, at)
      if difference != 0 { return at &+ difference.leadingZeroBitCount / 8 }
      at &+= 8
    }
    while at < shared, a.u8(at) == b.u8(at) { at &+= 1 }
    return at
  }

  /// Returns the least key greater than all keys with a prefix; nil if all bytes of the prefix are
  /// 255, because such a key does not exist.
  package static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
    var bytes = prefix
    while let last = bytes.last {
      if last < 255 {
        bytes[bytes.count - 1] = last + 1
        return bytes
      }
      bytes.removeLast()
    }
    return nil
  }

  /// Returns the first four bytes as a big-endian number; missing bytes count as zero.
  @inlinable @inline(__always) package static func head(_ pointer: UnsafeRawPointer, _ count: Int) -> UInt32 {
    if count >= 4 { return UInt32(bigEndian: pointer.loadUnaligned(fromByteOffset: 0, as: UInt32.self)) }
    var value: UInt32 = 0
    if count > 0 { value |= UInt32(pointer.u8(0)) &<< 24 }
    if count > 1 { value |= UInt32(pointer.u8(1)) &<< 16 }
    if count > 2 { value |= UInt32(pointer.u8(2)) &<< 8 }
    return value
  }
}
