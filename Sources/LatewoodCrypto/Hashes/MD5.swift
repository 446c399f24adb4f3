import LatewoodBytes

/// MD5 (RFC 1321), only for the digests of attachments, which CouchDB names by it. Collisions of
/// MD5 are made in seconds; it must not be used where someone gains by one.
package typealias MD5 = BlockHash<MD5Compression>

package enum MD5Compression: CompressionFunction {
  package static var initial: SIMD4<UInt32> { SIMD4(0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476) }
  package static var digestSize: Int { 16 }
  package static var isBigEndian: Bool { false }

  /// Four rotations, which are repeated for the 16 rounds of a group.
  private typealias Rotations = (UInt32, UInt32, UInt32, UInt32)

  @inline(__always) private static func rotate(_ word: UInt32, _ by: UInt32) -> UInt32 {
    (word &<< by) | (word &>> (32 &- by))
  }

  /// The 16 rounds of a group. Round `at` takes word `factor * at + first` of the block.
  @inline(__always) private static func rounds(
    _ a: inout UInt32, _ b: inout UInt32, _ c: inout UInt32, _ d: inout UInt32, _ block: UnsafeRawPointer,
    _ constants: UnsafePointer<UInt32>, _ factor: Int, _ first: Int, _ rotations: Rotations,
    _ function: (UInt32, UInt32, UInt32) -> UInt32
  ) {
    // SAFETY: a block has 16 words, and there are 16 constants for a group.
    var at = 0
    while at < 16 {
      let word = { (round: Int) in
        block.u32((factor &* round &+ first) & 15 &* 4) &+ constants[round]
      }
      a = b &+ rotate(a &+ function(b, c, d) &+ word(at), rotations.0)
      d = a &+ rotate(d &+ function(a, b, c) &+ word(at &+ 1), rotations.1)
      c = d &+ rotate(c &+ function(d, a, b) &+ word(at &+ 2), rotations.2)
      b = c &+ rotate(b &+ function(c, d, a) &+ word(at &+ 3), rotations.3)
      at &+= 4
    }
  }

  package static func compress(_ state: inout SIMD4<UInt32>, _ start: UnsafeRawPointer, count: Int) {
    constants.withUnsafeBufferPointer { constants in
      guard let k = constants.baseAddress else { return }
      for block in 0..<count {
        let block = start + block &* 64
        var (a, b, c, d) = (state.x, state.y, state.z, state.w)
        rounds(&a, &b, &c, &d, block, k, 1, 0, (7, 12, 17, 22)) { x, y, z in z ^ (x & (y ^ z)) }
        rounds(&a, &b, &c, &d, block, k + 16, 5, 1, (5, 9, 14, 20)) { x, y, z in y ^ (z & (x ^ y)) }
        rounds(&a, &b, &c, &d, block, k + 32, 3, 5, (4, 11, 16, 23)) { x, y, z in x ^ y ^ z }
        rounds(&a, &b, &c, &d, block, k + 48, 7, 0, (6, 10, 15, 21)) { x, y, z in y ^ (x | ~z) }
        state = state &+ SIMD4(a, b, c, d)
      }
    }
  }

  package static func write(_ state: SIMD4<UInt32>, to target: UnsafeMutableRawPointer) {
    for at in 0..<4 { target.set(state[at], at: at &* 4) }
  }

  /// The absolute values of the sines of 1 to 64, times 2^32.
  private static let constants: [UInt32] = [
    0xD76A_A478, 0xE8C7_B756, 0x2420_70DB, 0xC1BD_CEEE, 0xF57C_0FAF, 0x4787_C62A, 0xA830_4613, 0xFD46_9501,
    0x6980_98D8, 0x8B44_F7AF, 0xFFFF_5BB1, 0x895C_D7BE, 0x6B90_1122, 0xFD98_7193, 0xA679_438E, 0x49B4_0821,
    0xF61E_2562, 0xC040_B340, 0x265E_5A51, 0xE9B6_C7AA, 0xD62F_105D, 0x0244_1453, 0xD8A1_E681, 0xE7D3_FBC8,
    0x21E1_CDE6, 0xC337_07D6, 0xF4D5_0D87, 0x455A_14ED, 0xA9E3_E905, 0xFCEF_A3F8, 0x676F_02D9, 0x8D2A_4C8A,
    0xFFFA_3942, 0x8771_F681, 0x6D9D_6122, 0xFDE5_380C, 0xA4BE_EA44, 0x4BDE_CFA9, 0xF6BB_4B60, 0xBEBF_BC70,
    0x289B_7EC6, 0xEAA1_27FA, 0xD4EF_3085, 0x0488_1D05, 0xD9D4_D039, 0xE6DB_99E5, 0x1FA2_7CF8, 0xC4AC_5665,
    0xF429_2244, 0x432A_FF97, 0xAB94_23A7, 0xFC93_A039, 0x655B_59C3, 0x8F0C_CC92, 0xFFEF_F47D, 0x8584_5DD1,
    0x6FA8_7E4F, 0xFE2C_E6E0, 0xA301_4314, 0x4E08_11A1, 0xF753_7E82, 0xBD3A_F235, 0x2AD7_D2BB, 0xEB86_D391,
  ]
}
