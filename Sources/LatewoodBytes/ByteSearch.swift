/// Finding a byte, eight at a time.
extension UnsafeRawPointer {
  /// Returns the offset of the first byte of a value at or after an offset; `end` if there is none.
  ///
  /// SAFETY: there must be `end` bytes here.
  @inlinable @inline(__always) package func firstOffset(
    of byte: UInt8, from offset: Int, before end: Int
  ) -> Int {
    let (ones, highs) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
    let pattern = ones &* UInt64(byte)
    var at = offset
    while at &+ 8 <= end {
      // A byte that is equal becomes zero, and the lowest zero byte is marked by its highest bit.
      let word = u64(at) ^ pattern
      let zeros = (word &- ones) & ~word & highs
      if zeros != 0 { return at &+ zeros.trailingZeroBitCount &>> 3 }
      at &+= 8
    }
    while at < end, u8(at) != byte { at &+= 1 }
    return at
  }
}
