import LatewoodBytes

/// SHA-1 (FIPS 180-4, RFC 3174), only for the passwords that CouchDB stores (PBKDF2 with
/// HMAC-SHA-1). Collisions of SHA-1 alone are known; it must not be used for anything new.
package typealias SHA1 = BlockHash<SHA1Compression>

package enum SHA1Compression: CompressionFunction {
  /// The five words of the state.
  package struct State: Sendable {
    var a: UInt32, b: UInt32, c: UInt32, d: UInt32, e: UInt32
  }
  package static var initial: State {
    State(a: 0x6745_2301, b: 0xEFCD_AB89, c: 0x98BA_DCFE, d: 0x1032_5476, e: 0xC3D2_E1F0)
  }
  package static var digestSize: Int { 20 }
  package static var isBigEndian: Bool { true }

  @inline(__always) private static func rotate(_ word: UInt32, _ by: UInt32) -> UInt32 {
    (word &<< by) | (word &>> (32 &- by))
  }

  @inline(__always) private static func rounds(
    _ state: inout State, _ words: UnsafeMutablePointer<UInt32>, _ range: Range<Int>, _ constant: UInt32,
    _ function: (UInt32, UInt32, UInt32) -> UInt32
  ) {
    for at in range {
      let next =
        rotate(state.a, 5) &+ function(state.b, state.c, state.d) &+ state.e &+ words[at] &+ constant
      state = State(a: next, b: state.a, c: rotate(state.b, 30), d: state.c, e: state.d)
    }
  }

  package static func compress(_ state: inout State, _ start: UnsafeRawPointer, count: Int) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { schedule in
      guard let w = schedule.baseAddress else { return }
      for block in 0..<count {
        // SAFETY: `w` has room for 80 words, each block is 64 bytes long.
        for at in 0..<16 {
          w[at] = start.loadUnaligned(fromByteOffset: block &* 64 &+ at &* 4, as: UInt32.self).bigEndian
        }
        for at in 16..<80 { w[at] = rotate(w[at &- 3] ^ w[at &- 8] ^ w[at &- 14] ^ w[at &- 16], 1) }
        var s = state
        rounds(&s, w, 0..<20, 0x5A82_7999) { b, c, d in d ^ (b & (c ^ d)) }
        rounds(&s, w, 20..<40, 0x6ED9_EBA1) { b, c, d in b ^ c ^ d }
        rounds(&s, w, 40..<60, 0x8F1B_BCDC) { b, c, d in (b & c) | (d & (b | c)) }
        rounds(&s, w, 60..<80, 0xCA62_C1D6) { b, c, d in b ^ c ^ d }
        state = State(
          a: state.a &+ s.a, b: state.b &+ s.b, c: state.c &+ s.c, d: state.d &+ s.d, e: state.e &+ s.e)
      }
    }
  }

  package static func write(_ state: State, to target: UnsafeMutableRawPointer) {
    target.storeBytes(of: state.a.bigEndian, as: UInt32.self)
    target.storeBytes(of: state.b.bigEndian, toByteOffset: 4, as: UInt32.self)
    target.storeBytes(of: state.c.bigEndian, toByteOffset: 8, as: UInt32.self)
    target.storeBytes(of: state.d.bigEndian, toByteOffset: 12, as: UInt32.self)
    target.storeBytes(of: state.e.bigEndian, toByteOffset: 16, as: UInt32.self)
  }
}
