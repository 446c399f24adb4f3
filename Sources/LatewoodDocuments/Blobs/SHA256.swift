import LatewoodBytes

/// SHA-256 as defined by FIPS 180-4: the name of a blob is the hash of its bytes.
struct SHA256 {
  static let blockLength = 64
  static let digestLength = 32

  private static let initial: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C,
    0x1F83_D9AB, 0x5BE0_CD19,
  ]

  /// The round constants: the first 32 fractional bits of the cube roots of the first 64 primes.
  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1,
    0x923F_82A4, 0xAB1C_5ED5, 0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3,
    0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786,
    0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
    0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147,
    0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13,
    0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B,
    0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
    0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A,
    0x5B9C_CA4F, 0x682E_6FF3, 0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208,
    0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
  ]

  private var state = SHA256.initial
  private var schedule = [UInt32](repeating: 0, count: 64)
  private var pending: [UInt8] = []
  private var count: UInt64 = 0

  /// Appends bytes to the message.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    count &+= UInt64(bytes.count)
    var at = 0
    if !pending.isEmpty {
      at = min(SHA256.blockLength - pending.count, bytes.count)
      pending.append(contentsOf: bytes[..<at])
      guard pending.count == SHA256.blockLength else { return }
      consumePending()
    }
    // SAFETY: `compress` reads 64 bytes, and at least that many are left.
    while at &+ SHA256.blockLength <= bytes.count {
      compress(start + at)
      at &+= SHA256.blockLength
    }
    pending.append(contentsOf: bytes[at...])
  }

  /// Returns the 32 bytes of the hash.
  mutating func finish() -> [UInt8] {
    let bits = count &* 8
    pending.append(0x80)
    if pending.count > 56 {
      pending.append(contentsOf: repeatElement(0, count: SHA256.blockLength - pending.count))
      consumePending()
    }
    pending.append(contentsOf: repeatElement(0, count: 56 - pending.count))
    pending.append(bigEndian: bits)
    consumePending()
    return state.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
  }

  private mutating func consumePending() {
    let block = pending
    pending.removeAll(keepingCapacity: true)
    block.withUnsafeBytes { if let start = $0.baseAddress { compress(start) } }
  }

  /// SAFETY: `block` has 64 bytes; `schedule` and `constants` have 64 words and `state` has eight.
  private mutating func compress(_ block: UnsafeRawPointer) {
    state.withUnsafeMutableBufferPointer { state in
      schedule.withUnsafeMutableBufferPointer { words in
        SHA256.constants.withUnsafeBufferPointer { constants in
          SHA256.expand(block, words)
          SHA256.rounds(state, words, constants)
        }
      }
    }
  }

  private static func expand(_ block: UnsafeRawPointer, _ words: UnsafeMutableBufferPointer<UInt32>) {
    for index in 0..<16 { words[index] = block.u32(index &* 4).byteSwapped }
    for index in 16..<64 {
      let (old, new) = (words[index &- 15], words[index &- 2])
      let first = rotated(old, 7) ^ rotated(old, 18) ^ (old &>> 3)
      let second = rotated(new, 17) ^ rotated(new, 19) ^ (new &>> 10)
      words[index] = words[index &- 16] &+ first &+ words[index &- 7] &+ second
    }
  }

  private static func rounds(
    _ state: UnsafeMutableBufferPointer<UInt32>, _ words: UnsafeMutableBufferPointer<UInt32>,
    _ constants: UnsafeBufferPointer<UInt32>
  ) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    // Eight rounds at a time: the words change names instead of being moved.
    var index = 0
    while index < 64 {
      round(a, b, c, &d, e, f, g, &h, words[index] &+ constants[index])
      round(h, a, b, &c, d, e, f, &g, words[index &+ 1] &+ constants[index &+ 1])
      round(g, h, a, &b, c, d, e, &f, words[index &+ 2] &+ constants[index &+ 2])
      round(f, g, h, &a, b, c, d, &e, words[index &+ 3] &+ constants[index &+ 3])
      round(e, f, g, &h, a, b, c, &d, words[index &+ 4] &+ constants[index &+ 4])
      round(d, e, f, &g, h, a, b, &c, words[index &+ 5] &+ constants[index &+ 5])
      round(c, d, e, &f, g, h, a, &b, words[index &+ 6] &+ constants[index &+ 6])
      round(b, c, d, &e, f, g, h, &a, words[index &+ 7] &+ constants[index &+ 7])
      index &+= 8
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
    state[5] &+= f
    state[6] &+= g
    state[7] &+= h
  }

  /// One round: `h` becomes the new `a`, and `d` the new `e`.
  @inline(__always) private static func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32,
    _ h: inout UInt32, _ word: UInt32
  ) {
    let mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    let choice = g ^ (e & (f ^ g))
    let turned = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    let majority = (a & b) ^ (c & (a ^ b))
    h = h &+ mixed &+ choice &+ word
    d = d &+ h
    h = h &+ turned &+ majority
  }

  @inline(__always) private static func rotated(_ word: UInt32, _ by: UInt32) -> UInt32 {
    (word &>> by) | (word &<< (32 &- by))
  }
}
