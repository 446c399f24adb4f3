/// A permutation of 0..<count: four rounds of a balanced Feistel network, walked until the result
/// is in range.
struct Permutation: Sendable {
  /// The seed for the order in which fills put keys.
  static let fillSeed: UInt64 = 0xF111
  /// The seed for the order in which `delete` removes keys.
  static let deleteSeed: UInt64 = 0xDE1E

  private let count: UInt64
  private let seed: UInt64
  private let half: UInt64
  private let mask: UInt64

  init(count: UInt64, seed: UInt64) {
    self.count = count
    self.seed = seed
    var half: UInt64 = 1
    while 1 << (2 * half) < count { half += 1 }
    self.half = half
    mask = (1 << half) - 1
  }

  @inline(__always) subscript(_ index: UInt64) -> UInt64 {
    var x = index
    repeat { x = pass(x) } while x >= count
    return x
  }

  @inline(__always) private func pass(_ x: UInt64) -> UInt64 {
    var left = x >> half
    var right = x & mask
    for round in 0..<4 as Range<UInt64> {
      let f = mix64(right &+ 0x9E37_79B9_7F4A_7C15 &* (seed &+ round &+ 1)) & mask
      (left, right) = (right, left ^ f)
    }
    return left << half | right
  }
}
