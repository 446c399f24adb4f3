import LatewoodBytes

/// SHA-256 (FIPS 180-4, RFC 6234).
package typealias SHA256 = BlockHash<SHA256Compression>

package enum SHA256Compression: CompressionFunction {
  package static var initial: SIMD8<UInt32> {
    SIMD8(
      0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19)
  }
  package static var digestSize: Int { 32 }
  package static var isBigEndian: Bool { true }

  @inline(__always) private static func rotate(_ word: UInt32, _ by: UInt32) -> UInt32 {
    (word &>> by) | (word &<< (32 &- by))
  }

  /// A round: `d` and `h` change, and the roles of the words move on by one in the next round.
  @inline(__always) private static func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32,
    _ h: inout UInt32, _ input: UInt32
  ) {
    let s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    h = h &+ s1 &+ (g ^ (e & (f ^ g))) &+ input
    d = d &+ h
    let s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    h = h &+ s0 &+ ((a & b) | (c & (a | b)))
  }

  package static func compress(_ state: inout SIMD8<UInt32>, _ start: UnsafeRawPointer, count: Int) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
      guard let w = schedule.baseAddress else { return }
      for block in 0..<count {
        compress(&state, start + block &* 64, w)
      }
    }
  }

  private static func compress(
    _ state: inout SIMD8<UInt32>, _ block: UnsafeRawPointer, _ w: UnsafeMutablePointer<UInt32>
  ) {
    // SAFETY: `w` has room for 64 words, the block is 64 bytes long.
    for at in 0..<16 { w[at] = block.loadUnaligned(fromByteOffset: at &* 4, as: UInt32.self).bigEndian }
    for at in 16..<64 {
      let (w15, w2) = (w[at &- 15], w[at &- 2])
      let s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 &>> 3)
      let s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 &>> 10)
      w[at] = w[at &- 16] &+ s0 &+ w[at &- 7] &+ s1
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    constants.withUnsafeBytes { constants in
      guard let k = constants.baseAddress else { return }
      var at = 0
      while at < 64 {
        let k = k + at &* 4
        let w = w + at
        round(a, b, c, &d, e, f, g, &h, w[0] &+ k.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        round(h, a, b, &c, d, e, f, &g, w[1] &+ k.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        round(g, h, a, &b, c, d, e, &f, w[2] &+ k.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        round(f, g, h, &a, b, c, d, &e, w[3] &+ k.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        round(e, f, g, &h, a, b, c, &d, w[4] &+ k.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        round(d, e, f, &g, h, a, b, &c, w[5] &+ k.loadUnaligned(fromByteOffset: 20, as: UInt32.self))
        round(c, d, e, &f, g, h, a, &b, w[6] &+ k.loadUnaligned(fromByteOffset: 24, as: UInt32.self))
        round(b, c, d, &e, f, g, h, &a, w[7] &+ k.loadUnaligned(fromByteOffset: 28, as: UInt32.self))
        at &+= 8
      }
    }
    state = state &+ SIMD8(a, b, c, d, e, f, g, h)
  }

  package static func write(_ state: SIMD8<UInt32>, to target: UnsafeMutableRawPointer) {
    for at in 0..<8 { target.storeBytes(of: state[at].bigEndian, toByteOffset: at &* 4, as: UInt32.self) }
  }

  /// The fractional parts of the cube roots of the first 64 primes.
  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
    0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
    0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
    0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
    0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
    0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
    0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
  ]
}
