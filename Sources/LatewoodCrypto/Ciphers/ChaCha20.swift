import LatewoodBytes

/// The stream cipher ChaCha20: RFC 8439 with its nonce of 96 bits, and D. J. Bernstein's original
/// with a nonce and a counter of 64 bits each. Both have the same rounds.
///
/// ```
/// state   0-3  constants     4-11  key     12, 13  block counter     14, 15  nonce   (original)
///                                          12      block counter     13-15   nonce   (RFC 8439)
/// ```
///
/// Four blocks are computed together: each word of the state is a vector, with a lane for each
/// block. The code uses no tables and does not branch on secrets. Additions, XORs and rotations
/// take the same time for all operands.
///
/// Limits: the original makes 2^64 blocks of 64 bytes for a nonce, RFC 8439 makes 2^32 (256 GiB). A
/// pair of key and nonce must never be used for two texts: the XOR of both would be known. The
/// cipher does not authenticate.
package struct ChaCha20: Sendable {
  package static let keySize = 32
  /// The number of bytes of a block of the keystream.
  package static let blockSize = 64

  private let key: SecretBytes

  /// Creates a cipher with a key of 32 bytes.
  package init(key: SecretBytes) {
    precondition(key.count == ChaCha20.keySize, "a key of ChaCha20 has 32 bytes")
    self.key = key
  }

  /// Writes the XOR of `source` and the keystream of `nonce` to `target`. The target is the same
  /// memory as the source, or does not overlap it.
  ///
  /// - Parameter offset: The byte of the keystream to begin with, below 2^63 - `source.count`.
  ///   Parts of a text can be encrypted and decrypted alone and in any order.
  /// - Complexity: O(`source.count`). Four blocks are computed even for one byte.
  package func apply(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, nonce: UInt64,
    at offset: UInt64 = 0
  ) {
    run(source, target, counter: offset / 64, nonce: nonce, skipping: Int(offset % 64))
  }

  /// Writes the XOR of `source` and the keystream of RFC 8439 to `target`. The target is the same
  /// memory as the source, or does not overlap it.
  ///
  /// - Parameter counter: The block of the keystream to begin with. The last block of the text must
  ///   be below 2^32.
  package func apply(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, nonce: Nonce,
    counter: UInt32
  ) {
    let blocks = (UInt64(source.count) + 63) / 64
    precondition(UInt64(counter) + blocks <= 1 << 32, "the text is longer than the keystream of a nonce")
    run(
      source, target, counter: UInt64(nonce.words.x) << 32 | UInt64(counter),
      nonce: UInt64(nonce.words.z) << 32 | UInt64(nonce.words.y), skipping: 0)
  }

  /// Encrypts as many whole groups of four blocks as there are, then the rest through a buffer.
  private func run(
    _ source: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer, counter: UInt64, nonce: UInt64,
    skipping: Int
  ) {
    precondition(target.count >= source.count, "the target is smaller than the source")
    guard let from = source.baseAddress, let to = target.baseAddress, !source.isEmpty else { return }
    key.withUnsafeBytes { key in
      guard let key = key.baseAddress else { return }
      var counter = counter
      var at = 0
      if skipping > 0 {
        at = min(256 - skipping, source.count)
        ChaCha20.partialBlocks(key, counter, nonce, from, to, skipping, at)
        counter &+= 4
      }
      while source.count &- at >= 256 {
        // SAFETY: 256 bytes from `at` are within the source, and the target is not smaller.
        ChaCha20.blocks(key, counter, nonce, from + at, to + at)
        at &+= 256
        counter &+= 4
      }
      if at < source.count {
        ChaCha20.partialBlocks(key, counter, nonce, from + at, to + at, 0, source.count &- at)
      }
    }
  }

  /// Encrypts `count` bytes with part of the keystream of four blocks.
  private static func partialBlocks(
    _ key: UnsafeRawPointer, _ counter: UInt64, _ nonce: UInt64, _ from: UnsafeRawPointer,
    _ to: UnsafeMutableRawPointer, _ skipping: Int, _ count: Int
  ) {
    SecureMemory.withTemporaryBytes(256) { buffer in
      guard let start = buffer.baseAddress else { return }
      // SAFETY: `skipping + count` is at most 256.
      (start + skipping).copyMemory(from: from, byteCount: count)
      blocks(key, counter, nonce, start, start)
      to.copyMemory(from: start + skipping, byteCount: count)
    }
  }

  private typealias Lanes = SIMD4<UInt32>

  @inline(__always) private static func quarterRound(
    _ a: inout Lanes, _ b: inout Lanes, _ c: inout Lanes, _ d: inout Lanes
  ) {
    a = a &+ b
    d = (d ^ a).rotatedBy16()
    c = c &+ d
    b = (b ^ c).rotated(by: 12)
    a = a &+ b
    d = (d ^ a).rotated(by: 8)
    c = c &+ d
    b = (b ^ c).rotated(by: 7)
  }

  /// Encrypts four blocks, 256 bytes.
  private static func blocks(
    _ key: UnsafeRawPointer, _ counter: UInt64, _ nonce: UInt64, _ from: UnsafeRawPointer,
    _ to: UnsafeMutableRawPointer
  ) {
    let k0 = Lanes(repeating: key.u32(0))
    let k1 = Lanes(repeating: key.u32(4))
    let k2 = Lanes(repeating: key.u32(8))
    let k3 = Lanes(repeating: key.u32(12))
    let k4 = Lanes(repeating: key.u32(16))
    let k5 = Lanes(repeating: key.u32(20))
    let k6 = Lanes(repeating: key.u32(24))
    let k7 = Lanes(repeating: key.u32(28))
    let (c0, c1, c2, c3) = (counter, counter &+ 1, counter &+ 2, counter &+ 3)
    let low = Lanes(
      UInt32(truncatingIfNeeded: c0), UInt32(truncatingIfNeeded: c1), UInt32(truncatingIfNeeded: c2),
      UInt32(truncatingIfNeeded: c3))
    let high = Lanes(
      UInt32(truncatingIfNeeded: c0 &>> 32), UInt32(truncatingIfNeeded: c1 &>> 32),
      UInt32(truncatingIfNeeded: c2 &>> 32), UInt32(truncatingIfNeeded: c3 &>> 32))
    let n0 = Lanes(repeating: UInt32(truncatingIfNeeded: nonce))
    let n1 = Lanes(repeating: UInt32(truncatingIfNeeded: nonce &>> 32))

    var x0 = Lanes(repeating: constant0)
    var x1 = Lanes(repeating: constant1)
    var x2 = Lanes(repeating: constant2)
    var x3 = Lanes(repeating: constant3)
    var (x4, x5, x6, x7, x8, x9, x10, x11) = (k0, k1, k2, k3, k4, k5, k6, k7)
    var (x12, x13, x14, x15) = (low, high, n0, n1)
    for _ in 0..<10 {
      quarterRound(&x0, &x4, &x8, &x12)
      quarterRound(&x1, &x5, &x9, &x13)
      quarterRound(&x2, &x6, &x10, &x14)
      quarterRound(&x3, &x7, &x11, &x15)
      quarterRound(&x0, &x5, &x10, &x15)
      quarterRound(&x1, &x6, &x11, &x12)
      quarterRound(&x2, &x7, &x8, &x13)
      quarterRound(&x3, &x4, &x9, &x14)
    }
    x0 = x0 &+ Lanes(repeating: constant0)
    x1 = x1 &+ Lanes(repeating: constant1)
    x2 = x2 &+ Lanes(repeating: constant2)
    x3 = x3 &+ Lanes(repeating: constant3)
    store(x0, x1, x2, x3, 0, from, to)
    store(x4 &+ k0, x5 &+ k1, x6 &+ k2, x7 &+ k3, 16, from, to)
    store(x8 &+ k4, x9 &+ k5, x10 &+ k6, x11 &+ k7, 32, from, to)
    store(x12 &+ low, x13 &+ high, x14 &+ n0, x15 &+ n1, 48, from, to)
  }

  /// Encrypts four words of each of the four blocks: lane `i` of the vectors belongs to block `i`.
  @inline(__always) private static func store(
    _ a: Lanes, _ b: Lanes, _ c: Lanes, _ d: Lanes, _ at: Int, _ from: UnsafeRawPointer,
    _ to: UnsafeMutableRawPointer
  ) {
    let ab = (Lanes(a.x, b.x, a.y, b.y), Lanes(a.z, b.z, a.w, b.w))
    let cd = (Lanes(c.x, d.x, c.y, d.y), Lanes(c.z, d.z, c.w, d.w))
    put(Lanes(ab.0.x, ab.0.y, cd.0.x, cd.0.y), at, from, to)
    put(Lanes(ab.0.z, ab.0.w, cd.0.z, cd.0.w), at &+ 64, from, to)
    put(Lanes(ab.1.x, ab.1.y, cd.1.x, cd.1.y), at &+ 128, from, to)
    put(Lanes(ab.1.z, ab.1.w, cd.1.z, cd.1.w), at &+ 192, from, to)
  }

  @inline(__always) private static func put(
    _ keystream: Lanes, _ at: Int, _ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer
  ) {
    // SAFETY: `at + 16` is at most 256, which both pointers cover. Words are little-endian, as on
    // every platform of this package.
    to.storeBytes(
      of: from.loadUnaligned(fromByteOffset: at, as: Lanes.self) ^ keystream, toByteOffset: at, as: Lanes.self
    )
  }

  // "expand 32-byte k"
  static let constant0: UInt32 = 0x6170_7865
  static let constant1: UInt32 = 0x3320_646E
  static let constant2: UInt32 = 0x7962_2D32
  static let constant3: UInt32 = 0x6B20_6574
}

extension ChaCha20 {
  /// The nonce of 96 bits of RFC 8439.
  package struct Nonce: Sendable, Equatable {
    /// The words 13, 14 and 15 of the state, and zero.
    let words: SIMD4<UInt32>

    /// Takes the 12 bytes that begin at `bytes`.
    package init(_ bytes: UnsafeRawBufferPointer) {
      precondition(bytes.count == 12, "a nonce of ChaCha20 has 12 bytes")
      var words = SIMD4<UInt32>()
      if let start = bytes.baseAddress { words = SIMD4(start.u32(0), start.u32(4), start.u32(8), 0) }
      self.words = words
    }

    init(_ first: UInt32, _ rest: UInt64) {
      words = SIMD4(first, UInt32(truncatingIfNeeded: rest), UInt32(truncatingIfNeeded: rest &>> 32), 0)
    }
  }

  /// HChaCha20 (draft-irtf-cfrg-xchacha-03): derives a key from a key and 16 bytes that are unique
  /// for it. The derived keys are independent of each other.
  ///
  /// - Parameter input: 16 bytes, usually the first ones of a nonce.
  package static func derivedKey(_ key: SecretBytes, _ input: UnsafeRawBufferPointer) -> SecretBytes {
    precondition(key.count == keySize && input.count == 16, "HChaCha20 takes 32 and 16 bytes")
    return SecretBytes(count: 32) { target in
      key.withUnsafeBytes { key in
        guard let key = key.baseAddress, let input = input.baseAddress, let target = target.baseAddress
        else { return }
        hash(key, input, target)
      }
    }
  }

  private static func hash(
    _ key: UnsafeRawPointer, _ input: UnsafeRawPointer, _ target: UnsafeMutableRawPointer
  ) {
    // The four words of a row are the lanes of a vector here: there is only one block.
    var a = Lanes(constant0, constant1, constant2, constant3)
    var b = key.loadUnaligned(as: Lanes.self)
    var c = key.loadUnaligned(fromByteOffset: 16, as: Lanes.self)
    var d = input.loadUnaligned(as: Lanes.self)
    for _ in 0..<10 {
      quarterRound(&a, &b, &c, &d)
      b = Lanes(b.y, b.z, b.w, b.x)
      c = Lanes(c.z, c.w, c.x, c.y)
      d = Lanes(d.w, d.x, d.y, d.z)
      quarterRound(&a, &b, &c, &d)
      b = Lanes(b.w, b.x, b.y, b.z)
      c = Lanes(c.z, c.w, c.x, c.y)
      d = Lanes(d.y, d.z, d.w, d.x)
    }
    target.storeBytes(of: a, as: Lanes.self)
    target.storeBytes(of: d, toByteOffset: 16, as: Lanes.self)
  }
}
