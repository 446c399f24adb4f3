import LatewoodBytes

/// A planted fault, four bytes behind nested conditions: a run that does not find it cannot find
/// anything.
final class CanaryTarget: FuzzTarget {
  var longest: Int { 64 }

  func run(_ input: UnsafeRawBufferPointer) {
    guard input.count > 6 else { return }
    if input[2] == UInt8(ascii: "r") {
      if input[3] == UInt8(ascii: "i") {
        if input[4] == UInt8(ascii: "n") {
          if input[5] == UInt8(ascii: "g") { find("the canary, as it should be") }
        }
      }
    }
  }
}
