/// YCSB's generator of ranks with Zipf's distribution, theta 0.99 (Gray et al., SIGMOD 1994).
struct Zipfian {
  /// YCSB's constants for its default of ten billion items.
  static let scrambled = Zipfian(items: 1e10, zeta: 26.46902820178302)
  private static let theta = 0.99

  private let items: Double
  private let zeta: Double
  private let alpha: Double
  private let eta: Double
  private let secondLimit: Double

  init(items: Double, zeta: Double) {
    self.items = items
    self.zeta = zeta
    secondLimit = 1 + MathFunctions.power(0.5, Self.theta)
    alpha = 1 / (1 - Self.theta)
    eta = (1 - MathFunctions.power(2 / items, 1 - Self.theta)) / (1 - secondLimit / zeta)
  }

  /// Returns the sum of 1 / i^theta over 1...count, added in that order.
  static func zeta(_ count: UInt64) -> Double {
    var sum = 0.0
    var i: UInt64 = 0
    while i < count {
      i += 1
      sum += 1 / MathFunctions.power(Double(i), theta)
    }
    return sum
  }

  func next(_ random: inout SplitMix64) -> UInt64 {
    let u = random.unit()
    let uz = u * zeta
    if uz < 1 { return 0 }
    if uz < secondLimit { return 1 }
    return UInt64(items * MathFunctions.power(eta * u - eta + 1, alpha))
  }
}

/// Returns the 64-bit FNV-1a hash of the eight bytes of a number, the least significant first.
func fnv64(_ number: UInt64) -> UInt64 {
  var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  for byte in 0..<8 as Range<UInt64> {
    hash ^= (number >> (8 * byte)) & 0xFF
    hash &*= 1_099_511_628_211
  }
  return hash
}
