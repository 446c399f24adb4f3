// Rotations of all lanes of a vector of 128 bits. See also VectorLogic.swift.

extension SIMD4<UInt32> {
  /// Returns the vector with each lane rotated to the left by a constant between 1 and 31.
  @inline(__always) func rotated(by count: UInt32) -> SIMD4<UInt32> {
    (self &<< SIMD4(repeating: count)) | (self &>> SIMD4(repeating: 32 &- count))
  }

  /// Returns the vector with each lane rotated by 16.
  @inline(__always) func rotatedBy16() -> SIMD4<UInt32> {
    // SAFETY: both are vectors of 16 bytes, of which any bits are valid.
    let halves = unsafeBitCast(self, to: SIMD8<UInt16>.self)
    let swapped = SIMD8<UInt16>(
      halves[1], halves[0], halves[3], halves[2], halves[5], halves[4], halves[7], halves[6])
    return unsafeBitCast(swapped, to: SIMD4<UInt32>.self)
  }
}

extension SIMD2<UInt64> {
  /// Returns the vector with each lane rotated to the right by a constant between 1 and 63.
  @inline(__always) func rotatedRight(by count: UInt64) -> SIMD2<UInt64> {
    (self &>> SIMD2(repeating: count)) | (self &<< SIMD2(repeating: 64 &- count))
  }

  /// Returns the vector with each lane rotated by 32.
  @inline(__always) func rotatedBy32() -> SIMD2<UInt64> {
    // SAFETY: as above.
    let halves = unsafeBitCast(self, to: SIMD4<UInt32>.self)
    return unsafeBitCast(SIMD4(halves.y, halves.x, halves.w, halves.z), to: SIMD2<UInt64>.self)
  }

  /// Returns the vector with each lane rotated to the right by 16.
  @inline(__always) func rotatedRightBy16() -> SIMD2<UInt64> {
    // SAFETY: as above.
    let parts = unsafeBitCast(self, to: SIMD8<UInt16>.self)
    let rotated = SIMD8<UInt16>(
      parts[1], parts[2], parts[3], parts[0], parts[5], parts[6], parts[7], parts[4])
    return unsafeBitCast(rotated, to: SIMD2<UInt64>.self)
  }
}
