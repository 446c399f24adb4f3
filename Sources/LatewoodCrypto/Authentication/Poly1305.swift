import LatewoodBytes

/// The one-time authenticator Poly1305 (RFC 8439, section 2.5; D. J. Bernstein, 2005).
///
/// The message is a polynomial over the field of 2^130 - 5, evaluated at the secret point `r`; the
/// secret `s` is added to the value. Numbers have three limbs of 44, 44 and 42 bits, so that
/// products of limbs and their sums fit into 128 bits: nine multiplications for 16 bytes, without
/// branches or table lookups.
///
/// Limits: a key of 32 bytes authenticates one message. Two tags under one key reveal it. A forgery
/// of an n-byte message succeeds with probability n / 2^107 at most.
package struct Poly1305: Sendable {
  package static let keySize = 32

  private static let mask44: UInt64 = 0xFFF_FFFF_FFFF
  private static let mask42: UInt64 = 0x3FF_FFFF_FFFF

  private let r0, r1, r2: UInt64
  private let s: (low: UInt64, high: UInt64)
  private var h0: UInt64 = 0
  private var h1: UInt64 = 0
  private var h2: UInt64 = 0
  /// The bytes of an incomplete block.
  private var pending = SIMD16<UInt8>()
  private var pendingCount = 0

  /// Creates an authenticator for one message, with a key of 32 bytes that is used only once.
  package init(key: UnsafeRawBufferPointer) {
    guard key.count == Poly1305.keySize, let key = key.baseAddress else {
      preconditionFailure("a key of Poly1305 has 32 bytes")
    }
    let (low, high) = (key.u64(0), key.u64(8))
    // The clamped r in limbs.
    r0 = low & 0xFFC_0FFF_FFFF
    r1 = (low &>> 44 | high &<< 20) & 0xFFF_FFC0_FFFF
    r2 = (high &>> 24) & 0x00F_FFFF_FC0F
    s = (key.u64(16), key.u64(24))
  }

  /// Appends `bytes` to the message.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    var at = 0
    if pendingCount > 0 {
      at = min(16 - pendingCount, bytes.count)
      append(start, at)
      guard pendingCount == 16 else { return }
      let block = pending
      withUnsafeBytes(of: block) { block in
        if let block = block.baseAddress { absorb(block, 16, final: 1 &<< 40) }
      }
      pendingCount = 0
    }
    let whole = (bytes.count &- at) & ~15
    // SAFETY: `at + whole` is at most the size of the buffer.
    if whole > 0 { absorb(start + at, whole, final: 1 &<< 40) }
    at &+= whole
    append(start + at, bytes.count &- at)
  }

  private mutating func append(_ start: UnsafeRawPointer, _ count: Int) {
    guard count > 0 else { return }
    let from = pendingCount
    withUnsafeMutableBytes(of: &pending) { pending in
      // SAFETY: `from + count` is at most 16.
      pending.baseAddress?.advanced(by: from).copyMemory(from: start, byteCount: count)
    }
    pendingCount = from + count
  }

  /// Appends zeros up to the next multiple of 16 bytes, as RFC 8439 does between the parts of a
  /// message.
  package mutating func pad() {
    guard pendingCount > 0 else { return }
    for at in pendingCount..<16 { pending[at] = 0 }
    let block = pending
    withUnsafeBytes(of: block) { block in
      if let block = block.baseAddress { absorb(block, 16, final: 1 &<< 40) }
    }
    pendingCount = 0
  }

  /// Multiplies the value of the polynomial by `r` after adding each block of 16 bytes.
  ///
  /// - Parameter final: The bit above the bytes of a block, as a bit of the third limb.
  private mutating func absorb(_ start: UnsafeRawPointer, _ count: Int, final: UInt64) {
    let (mask44, mask42) = (Poly1305.mask44, Poly1305.mask42)
    let (r0, r1, r2) = (r0, r1, r2)
    // 2^132 is 20 modulo the prime, for products whose limbs add up to 132 bits and more.
    let (s1, s2) = (r1 &* 20, r2 &* 20)
    var (h0, h1, h2) = (h0, h1, h2)
    var at = 0
    while at < count {
      let (low, high) = (start.u64(at), start.u64(at &+ 8))
      h0 = h0 &+ (low & mask44)
      h1 = h1 &+ ((low &>> 44 | high &<< 20) & mask44)
      h2 = h2 &+ ((high &>> 24) | final)

      let d0 = Poly1305.product(h0, r0) &+ Poly1305.product(h1, s2) &+ Poly1305.product(h2, s1)
      var d1 = Poly1305.product(h0, r1) &+ Poly1305.product(h1, r0) &+ Poly1305.product(h2, s2)
      var d2 = Poly1305.product(h0, r2) &+ Poly1305.product(h1, r1) &+ Poly1305.product(h2, r0)

      h0 = UInt64(truncatingIfNeeded: d0) & mask44
      d1 = d1 &+ (d0 &>> 44)
      h1 = UInt64(truncatingIfNeeded: d1) & mask44
      d2 = d2 &+ (d1 &>> 44)
      h2 = UInt64(truncatingIfNeeded: d2) & mask42
      h0 = h0 &+ UInt64(truncatingIfNeeded: d2 &>> 42) &* 5
      h1 = h1 &+ (h0 &>> 44)
      h0 &= mask44
      at &+= 16
    }
    (self.h0, self.h1, self.h2) = (h0, h1, h2)
  }

  @inline(__always) private static func product(_ a: UInt64, _ b: UInt64) -> UInt128 {
    UInt128(truncatingIfNeeded: a) &* UInt128(truncatingIfNeeded: b)
  }

  /// Returns the tag of the message.
  package func finish() -> AuthenticationTag {
    var copy = self
    return copy.end()
  }

  private mutating func end() -> AuthenticationTag {
    if pendingCount > 0 {
      // A short block ends with its own bit, then zeros.
      pending[pendingCount] = 1
      for at in (pendingCount + 1)..<16 { pending[at] = 0 }
      let block = pending
      withUnsafeBytes(of: block) { block in
        if let block = block.baseAddress { absorb(block, 16, final: 0) }
      }
    }
    let (mask44, mask42) = (Poly1305.mask44, Poly1305.mask42)
    // Two passes of carries make the limbs canonical.
    for _ in 0..<2 {
      h1 = h1 &+ (h0 &>> 44)
      h0 &= mask44
      h2 = h2 &+ (h1 &>> 44)
      h1 &= mask44
      h0 = h0 &+ (h2 &>> 42) &* 5
      h2 &= mask42
    }
    h1 = h1 &+ (h0 &>> 44)
    h0 &= mask44

    // h - p, which replaces h if it is not negative.
    var g0 = h0 &+ 5
    var g1 = h1 &+ (g0 &>> 44)
    g0 &= mask44
    var g2 = h2 &+ (g1 &>> 44)
    g1 &= mask44
    let reduced = 0 &- (g2 &>> 42)  // all ones if h + 5 reaches 2^130, else zero
    g2 &= mask42
    h0 = (h0 & ~reduced) | (g0 & reduced)
    h1 = (h1 & ~reduced) | (g1 & reduced)
    h2 = (h2 & ~reduced) | (g2 & reduced)

    let value = UInt128(h0) | UInt128(h1) &<< 44 | UInt128(truncatingIfNeeded: h2) &<< 88
    let tag = value &+ (UInt128(s.low) | UInt128(s.high) &<< 64)
    return AuthenticationTag(
      low: UInt64(truncatingIfNeeded: tag), high: UInt64(truncatingIfNeeded: tag &>> 64))
  }
}
