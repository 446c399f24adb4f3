import LatewoodBytes

/// BLAKE2b without a key, as defined by RFC 7693: the hash that names revisions.
///
/// ```
/// message  128 bytes at a time -> twelve rounds of mixing into sixteen words -> folded into eight
/// ```
///
/// The sixteen words are separate variables, and the twelve rounds are written out, so that as many
/// as possible stay in registers.
struct BLAKE2b {
  static let blockLength = 128

  static let initial: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
    0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179
  )

  /// The eight words of the state; at the end, the digest in little-endian order.
  private(set) var state = BLAKE2b.initial
  /// The bytes of the message so far. RFC 7693 counts to 2^128; no message here exceeds 2^63.
  private var count: UInt64 = 0

  /// - Parameter length: the number of bytes in the digest, 1 to 64; it is part of the hashed
  ///   input.
  init(length: Int) {
    state.0 ^= 0x0101_0000 ^ UInt64(length)
  }

  /// Mixes in a block that is not the last.
  mutating func consume(_ block: UnsafeRawPointer) {
    count &+= UInt64(BLAKE2b.blockLength)
    compress(block, isLast: false)
  }

  /// Mixes in the whole rest of the message and finishes.
  mutating func finish(_ rest: UnsafeRawBufferPointer) {
    var at = 0
    if let start = rest.baseAddress {
      while rest.count - at > BLAKE2b.blockLength {
        consume(start + at)
        at += BLAKE2b.blockLength
      }
    }
    // SAFETY: the last block is copied into a separate buffer, whose 128 bytes are all written
    // first.
    withUnsafeTemporaryAllocation(byteCount: BLAKE2b.blockLength, alignment: 8) { block in
      guard let target = block.baseAddress else { return }
      _ = block.initializeMemory(as: UInt8.self, repeating: 0)
      if let start = rest.baseAddress, rest.count > at {
        target.copyMemory(from: start + at, byteCount: rest.count - at)
      }
      count &+= UInt64(rest.count - at)
      compress(UnsafeRawPointer(target), isLast: true)
    }
  }

  /// SAFETY: `block` has 128 bytes.
  private mutating func compress(_ block: UnsafeRawPointer, isLast: Bool) {
    var words = Words(state, count: count, isLast: isLast)
    words.mix(block)
    state.0 ^= words.v0 ^ words.v8
    state.1 ^= words.v1 ^ words.v9
    state.2 ^= words.v2 ^ words.v10
    state.3 ^= words.v3 ^ words.v11
    state.4 ^= words.v4 ^ words.v12
    state.5 ^= words.v5 ^ words.v13
    state.6 ^= words.v6 ^ words.v14
    state.7 ^= words.v7 ^ words.v15
  }

  /// Returns the digest of a whole message, `length` bytes.
  static func digest(_ message: UnsafeRawBufferPointer, length: Int) -> [UInt8] {
    var hash = BLAKE2b(length: length)
    hash.finish(message)
    let bytes = withUnsafeBytes(of: hash.state) { Array($0) }
    #if _endian(big)
      return (0..<length).map { bytes[$0 ^ 7] }
    #else
      return Array(bytes[..<length])
    #endif
  }
}

// MARK: - Rounds

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
