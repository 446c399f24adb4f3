/// A search for a byte, many at a time.
extension UnsafeRawPointer {
  /// Returns the offset of the first byte with a value at or after an offset; `end` if there is
  /// none.
  ///
  /// SAFETY: there must be at least `end` bytes.
  @inlinable @inline(__always) package func firstOffset(
    of byte: UInt8, from offset: Int, before end: Int
  ) -> Int {
    let (ones, highs) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
    var at = offset
    // Skips 32 bytes at a time that do not contain the value, in a few instructions.
    let wide = SIMD16(repeating: byte)
    while at &+ 32 <= end {
      let equal =
        (loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self) .== wide)
        .| (loadUnaligned(fromByteOffset: at &+ 16, as: SIMD16<UInt8>.self) .== wide)
      let halves = unsafeBitCast(equal, to: SIMD2<UInt64>.self)
      if halves[0] | halves[1] != 0 { break }
      at &+= 32
    }
    let pattern = ones &* UInt64(byte)
    while at &+ 8 <= end {
      // An equal byte becomes zero, and the highest bit of the lowest zero byte is set in `zeros`.
      let word = u64(at) ^ pattern
      let zeros = (word &- ones) & ~word & highs
      if zeros != 0 { return at &+ zeros.trailingZeroBitCount &>> 3 }
      at &+= 8
    }
    while at < end, u8(at) != byte { at &+= 1 }
    return at
  }
}

extension UnsafeRawBufferPointer {
  /// The index of the first nonzero byte; nil if there is none.
  package var firstNonZero: Int? {
    guard let base = baseAddress else { return nil }
    var at = 0
    // SAFETY: every load is below `count`.
    while at &+ 64 <= count {
      let bits =
        base.loadUnaligned(fromByteOffset: at, as: SIMD8<UInt64>.self)
      if bits != .zero { break }
      at &+= 64
    }
    while at &+ 8 <= count, base.u64(at) == 0 { at &+= 8 }
    while at < count {
      if base.u8(at) != 0 { return at }
      at &+= 1
    }
    return nil
  }
}
