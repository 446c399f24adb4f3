import LatewoodBytes

/// BLAKE2b (RFC 7693), with digests of 1 to 64 bytes, and with or without a key.
///
/// With a key of up to 64 bytes it is a message authentication code for any number of messages,
/// without HMAC. Digests of different sizes are unrelated, so none is a prefix of another. There
/// are no tables and no branches on the input.
package struct BLAKE2b: Sendable {
  package static let maximumDigestSize = 64
  package static let maximumKeySize = 64
  package static let blockSize = 128

  /// The number of bytes of a digest.
  package let digestSize: Int
  private var state: SIMD8<UInt64>
  private var total: UInt64 = 0
  /// The last bytes of the input, as the last block is compressed differently: 1 to 128 of them
  /// once there was any input.
  private var pending = (SIMD64<UInt8>(), SIMD64<UInt8>())
  private var pendingCount = 0

  private static let initial = SIMD8<UInt64>(
    0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
    0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179)

  /// Creates a hash, with a key if `key` is not empty.
  package init(digestSize: Int, key: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
    precondition(1...BLAKE2b.maximumDigestSize ~= digestSize, "BLAKE2b has digests of 1 to 64 bytes")
    precondition(key.count <= BLAKE2b.maximumKeySize, "BLAKE2b has keys of up to 64 bytes")
    self.digestSize = digestSize
    state = BLAKE2b.initial
    state[0] ^= 0x0101_0000 ^ UInt64(key.count) &<< 8 ^ UInt64(digestSize)
    if !key.isEmpty {
      SecureMemory.withTemporaryBytes(BLAKE2b.blockSize) { block in
        block.copyMemory(from: key)
        update(UnsafeRawBufferPointer(block))
      }
    }
  }

  /// Appends `bytes` to the input.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    var at = 0
    if pendingCount > 0 {
      at = min(128 - pendingCount, bytes.count)
      append(start, at)
      // A block that may be the last one waits for more input.
      guard at < bytes.count else { return }
      compressPending()
    }
    while bytes.count &- at > 128 {
      total &+= 128
      // SAFETY: more than 128 bytes from `at` are within the buffer.
      BLAKE2b.compress(&state, start + at, total, isLast: false)
      at &+= 128
    }
    append(start + at, bytes.count &- at)
  }

  /// Compresses a full block that waits because it may be the last one. The caller appends more
  /// input afterwards.
  package mutating func compressPending() {
    precondition(pendingCount == BLAKE2b.blockSize, "a block of BLAKE2b is not full")
    total &+= 128
    let block = pending
    withUnsafeBytes(of: block) { block in
      if let block = block.baseAddress { BLAKE2b.compress(&state, block, total, isLast: false) }
    }
    pendingCount = 0
  }

  private mutating func append(_ start: UnsafeRawPointer, _ count: Int) {
    guard count > 0 else { return }
    let from = pendingCount
    withUnsafeMutableBytes(of: &pending) { pending in
      // SAFETY: `from + count` is at most 128.
      pending.baseAddress?.advanced(by: from).copyMemory(from: start, byteCount: count)
    }
    pendingCount = from + count
  }

  /// Writes the digest to the first `digestSize` bytes of `target`. The input can be continued
  /// afterwards.
  package func finish(into target: UnsafeMutableRawBufferPointer) {
    precondition(target.count >= digestSize, "the digest does not fit")
    var state = state
    SecureMemory.withTemporaryBytes(BLAKE2b.blockSize) { block in
      withUnsafeBytes(of: pending) { pending in
        block.copyMemory(from: UnsafeRawBufferPointer(rebasing: pending[..<pendingCount]))
      }
      if let start = block.baseAddress {
        BLAKE2b.compress(&state, start, total &+ UInt64(pendingCount), isLast: true)
      }
    }
    for at in 0..<digestSize {
      target[at] = UInt8(truncatingIfNeeded: state[at &>> 3] &>> UInt64(at & 7 &* 8))
    }
  }

  /// The 16 words that the rounds work on.
  private struct Words {
    var v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15: UInt64
  }

  @inline(__always) private static func rotate(_ word: UInt64, _ by: UInt64) -> UInt64 {
    (word &>> by) | (word &<< (64 &- by))
  }

  @inline(__always) private static func mix(
    _ a: inout UInt64, _ b: inout UInt64, _ c: inout UInt64, _ d: inout UInt64, _ x: UInt64, _ y: UInt64
  ) {
    a = a &+ b &+ x
    d = rotate(d ^ a, 32)
    c = c &+ d
    b = rotate(b ^ c, 24)
    a = a &+ b &+ y
    d = rotate(d ^ a, 16)
    c = c &+ d
    b = rotate(b ^ c, 63)
  }

  /// A round, with the numbers of the words of the block in its order.
  @inline(__always) private static func round(
    _ v: inout Words, _ m: UnsafeRawPointer, _ s0: Int, _ s1: Int, _ s2: Int, _ s3: Int, _ s4: Int, _ s5: Int,
    _ s6: Int, _ s7: Int, _ s8: Int, _ s9: Int, _ s10: Int, _ s11: Int, _ s12: Int, _ s13: Int, _ s14: Int,
    _ s15: Int
  ) {
    mix(&v.v0, &v.v4, &v.v8, &v.v12, m.u64(s0 &* 8), m.u64(s1 &* 8))
    mix(&v.v1, &v.v5, &v.v9, &v.v13, m.u64(s2 &* 8), m.u64(s3 &* 8))
    mix(&v.v2, &v.v6, &v.v10, &v.v14, m.u64(s4 &* 8), m.u64(s5 &* 8))
    mix(&v.v3, &v.v7, &v.v11, &v.v15, m.u64(s6 &* 8), m.u64(s7 &* 8))
    mix(&v.v0, &v.v5, &v.v10, &v.v15, m.u64(s8 &* 8), m.u64(s9 &* 8))
    mix(&v.v1, &v.v6, &v.v11, &v.v12, m.u64(s10 &* 8), m.u64(s11 &* 8))
    mix(&v.v2, &v.v7, &v.v8, &v.v13, m.u64(s12 &* 8), m.u64(s13 &* 8))
    mix(&v.v3, &v.v4, &v.v9, &v.v14, m.u64(s14 &* 8), m.u64(s15 &* 8))
  }

  /// Compresses the block of 128 bytes at `m`, with which the input has `total` bytes.
  private static func compress(_ h: inout SIMD8<UInt64>, _ m: UnsafeRawPointer, _ total: UInt64, isLast: Bool)
  {
    let iv = initial
    var v = Words(
      v0: h[0], v1: h[1], v2: h[2], v3: h[3], v4: h[4], v5: h[5], v6: h[6], v7: h[7], v8: iv[0], v9: iv[1],
      v10: iv[2], v11: iv[3], v12: iv[4] ^ total, v13: iv[5], v14: isLast ? ~iv[6] : iv[6], v15: iv[7])
    round(&v, m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    round(&v, m, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
    round(&v, m, 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4)
    round(&v, m, 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)
    round(&v, m, 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13)
    round(&v, m, 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)
    round(&v, m, 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11)
    round(&v, m, 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)
    round(&v, m, 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5)
    round(&v, m, 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)
    round(&v, m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    round(&v, m, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
    h = h ^ SIMD8(v.v0, v.v1, v.v2, v.v3, v.v4, v.v5, v.v6, v.v7)
    h = h ^ SIMD8(v.v8, v.v9, v.v10, v.v11, v.v12, v.v13, v.v14, v.v15)
  }
}
