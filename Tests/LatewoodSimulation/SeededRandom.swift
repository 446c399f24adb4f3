import LatewoodConcurrency
import LatewoodDevice

/// Random numbers that can be repeated with a seed: SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014).
///
/// A random test takes its seed from `SeededRandom.seed()`, and prints `replay` when it fails.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  package let seed: UInt64
  private var state: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// The value of the environment variable `LATEWOOD_SEED`, or `fallback`, or a random one.
  package static func seed(_ fallback: UInt64? = nil) -> UInt64 {
    if let text = CurrentProcess.environmentVariable("LATEWOOD_SEED"), let seed = UInt64(text) { return seed }
    return fallback ?? Environment.system.random()
  }

  /// The environment variable that repeats the run, for the message of a failed test.
  package var replay: String { "LATEWOOD_SEED=\(seed)" }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed &>> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed &>> 31)
  }

  /// A number in `0 ..< bound`, nearly uniformly distributed; `bound` is above 0.
  package mutating func below(_ bound: Int) -> Int {
    precondition(bound > 0)
    return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// Returns true once in `times` calls on average.
  package mutating func oneIn(_ times: Int) -> Bool { below(times) == 0 }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count + 8 <= count { withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) } }
    while bytes.count < count { bytes.append(UInt8(truncatingIfNeeded: next())) }
    return bytes
  }

  package mutating func pick<Elements: RandomAccessCollection>(_ elements: Elements) -> Elements.Element {
    elements[elements.index(elements.startIndex, offsetBy: below(elements.count))]
  }
}
