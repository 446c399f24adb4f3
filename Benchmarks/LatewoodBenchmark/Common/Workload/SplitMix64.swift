/// Steele, Lea and Flood's finaliser: every bit of the result depends on every bit of the argument.
@inline(__always) func mix64(_ number: UInt64) -> UInt64 {
  var z = number
  z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
  z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
  return z ^ (z >> 31)
}

/// The only source of randomness in the workloads. Its state is the seed, so that any driver can
/// repeat a run.
struct SplitMix64 {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  @inline(__always) mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix64(state)
  }

  /// Returns a number below `bound`, without rejection: the slight bias is part of the definition.
  @inline(__always) mutating func below(_ bound: UInt64) -> UInt64 {
    next().multipliedFullWidth(by: bound).high
  }

  /// Returns a number in 0..<1 with 53 random bits.
  @inline(__always) mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
