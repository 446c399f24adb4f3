// AND, OR and XOR of whole vectors.
//
// The operators of the standard library compute integers lane by lane, and rely on the optimizer to
// combine the lanes again. It fails to do so in large functions: with Swift 6.3 on x86-64, AES in
// bit slices is then four times slower. The operators of masks compile to vector instructions even
// without optimization. They are bitwise, so they apply to any bits and not only to masks. If they
// were not, the official test vectors of each cipher would fail.

extension SIMD4<UInt32> {
  private typealias Bits = SIMDMask<SIMD4<Int32>>

  // SAFETY: for all casts of this file, both types are 16 bytes, of which any bits are valid.

  @inline(__always) private var bits: Bits { unsafeBitCast(self, to: Bits.self) }
  @inline(__always) private init(_ bits: Bits) { self = unsafeBitCast(bits, to: Self.self) }

  @inline(__always) static func & (left: Self, right: Self) -> Self { Self(left.bits .& right.bits) }
  @inline(__always) static func | (left: Self, right: Self) -> Self { Self(left.bits .| right.bits) }
  @inline(__always) static func ^ (left: Self, right: Self) -> Self { Self(left.bits .^ right.bits) }
}

extension SIMD2<UInt64> {
  private typealias Bits = SIMDMask<SIMD2<Int64>>

  @inline(__always) private var bits: Bits { unsafeBitCast(self, to: Bits.self) }
  @inline(__always) private init(_ bits: Bits) { self = unsafeBitCast(bits, to: Self.self) }

  @inline(__always) static func & (left: Self, right: Self) -> Self { Self(left.bits .& right.bits) }
  @inline(__always) static func | (left: Self, right: Self) -> Self { Self(left.bits .| right.bits) }
  @inline(__always) static func ^ (left: Self, right: Self) -> Self { Self(left.bits .^ right.bits) }
}
