import LatewoodBytes

extension BLAKE2b {
  /// The sixteen words that one block is mixed into.
  struct Words {
    var v0, v1, v2, v3, v4, v5, v6, v7: UInt64
    var v8, v9, v10, v11, v12, v13, v14, v15: UInt64

    init(
      _ state: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64), count: UInt64, isLast: Bool
    ) {
      (v0, v1, v2, v3, v4, v5, v6, v7) = state
      (v8, v9, v10, v11, v12, v13, v14, v15) = BLAKE2b.initial
      v12 ^= count
      if isLast { v14 = ~v14 }
    }

    /// Mixes a block in twelve rounds; the order of the message words in each is the table of RFC
    /// 7693, section 2.7.
    ///
    /// SAFETY: `block` has 128 bytes.
    @inline(__always) mutating func mix(_ block: UnsafeRawPointer) {
      round(block, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
      round(block, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
      round(block, 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4)
      round(block, 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)
      round(block, 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13)
      round(block, 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)
      round(block, 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11)
      round(block, 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)
      round(block, 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5)
      round(block, 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)
      round(block, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
      round(block, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
    }

    /// One round: the columns, then the diagonals.
    // swift-format-ignore
    @inline(__always) private mutating func round(
      _ m: UnsafeRawPointer, _ s0: Int, _ s1: Int, _ s2: Int, _ s3: Int, _ s4: Int, _ s5: Int, _ s6: Int, _ s7: Int,
      _ s8: Int, _ s9: Int, _ s10: Int, _ s11: Int, _ s12: Int, _ s13: Int, _ s14: Int, _ s15: Int
    ) {
      Words.mix(&v0, &v4, &v8, &v12, m.u64(s0 &* 8), m.u64(s1 &* 8))
      Words.mix(&v1, &v5, &v9, &v13, m.u64(s2 &* 8), m.u64(s3 &* 8))
      Words.mix(&v2, &v6, &v10, &v14, m.u64(s4 &* 8), m.u64(s5 &* 8))
      Words.mix(&v3, &v7, &v11, &v15, m.u64(s6 &* 8), m.u64(s7 &* 8))
      Words.mix(&v0, &v5, &v10, &v15, m.u64(s8 &* 8), m.u64(s9 &* 8))
      Words.mix(&v1, &v6, &v11, &v12, m.u64(s10 &* 8), m.u64(s11 &* 8))
      Words.mix(&v2, &v7, &v8, &v13, m.u64(s12 &* 8), m.u64(s13 &* 8))
      Words.mix(&v3, &v4, &v9, &v14, m.u64(s14 &* 8), m.u64(s15 &* 8))
    }

    @inline(__always) private static func mix(
      _ a: inout UInt64, _ b: inout UInt64, _ c: inout UInt64, _ d: inout UInt64, _ x: UInt64, _ y: UInt64
    ) {
      a = a &+ b &+ x
      d = rotated(d ^ a, 32)
      c = c &+ d
      b = rotated(b ^ c, 24)
      a = a &+ b &+ y
      d = rotated(d ^ a, 16)
      c = c &+ d
      b = rotated(b ^ c, 63)
    }

    @inline(__always) private static func rotated(_ word: UInt64, _ by: UInt64) -> UInt64 {
      (word &>> by) | (word &<< (64 &- by))
    }
  }
}
