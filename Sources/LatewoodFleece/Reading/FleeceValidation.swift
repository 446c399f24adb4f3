extension FleeceValue {
  /// Checks the value and everything in it, and throws the first error.
  package func validate() throws(FleeceError) {
    var nothing = NoVisitor()
    try FleeceWalk.run(self, into: &nothing)
  }
}

extension FleeceValue {
  /// Checks the value and everything in it, and returns how many values and keys have bytes in each
  /// of some ranges.
  func uses(of ranges: [Range<Int>]) throws(FleeceError) -> [Int] {
    var nothing = NoVisitor()
    return try FleeceWalk.run(self, into: &nothing, counting: ranges)
  }
}

/// Visits a value only for the checks.
private struct NoVisitor: FleeceVisitor {
  // A value of size zero has no address of its own, so the thread sanitizer takes all of them for
  // one and reports a false race.
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
