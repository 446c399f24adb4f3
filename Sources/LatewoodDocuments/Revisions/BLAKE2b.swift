import LatewoodBytes

/// BLAKE2b without a key, as RFC 7693 defines it: the hash that names revisions.
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
    // SAFETY: the last block is copied into a buffer of its own, whose 128 bytes are all written
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
