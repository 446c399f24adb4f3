extension FleeceValue {
  /// Checks the value and everything in it, and throws the first error.
  package func validate() throws(FleeceError) {
    var nothing = NoVisitor()
    try FleeceWalk.run(self, into: &nothing)
  }
}

extension FleeceValue {
  /// Checks the value and everything in it, and returns the number of values and keys that have
  /// bytes in each of the given ranges.
  func uses(of ranges: [Range<Int>]) throws(FleeceError) -> [Int] {
    var nothing = NoVisitor()
    return try FleeceWalk.run(self, into: &nothing, counting: ranges)
  }
}

/// Visits a value only for the checks.
private struct NoVisitor: FleeceVisitor {
  // Values of size zero do not have distinct addresses, so the thread sanitizer would report false
  // races between them.
  private let size: UInt8 = 0

  func null() {}
  func boolean(_ value: Bool) {}
  func integer(_ value: Int64) {}
  func unsigned(_ value: UInt64) {}
  func double(_ value: Double) {}
  func text(_ value: UnsafeRawBufferPointer) {}
  func data(_ value: UnsafeRawBufferPointer) {}
  func key(_ value: UnsafeRawBufferPointer) {}
  func beginArray() {}
  func endArray() {}
  func beginDictionary() {}
  func endDictionary() {}
}
