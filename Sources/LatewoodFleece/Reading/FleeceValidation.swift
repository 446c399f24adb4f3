extension FleeceValue {
  /// Walks through the value and everything in it and throws the first thing that is wrong.
  package func validate() throws(FleeceError) {
    var nothing = NoVisitor()
    try FleeceWalk.run(self, into: &nothing)
  }
}

/// Visits for the sake of the checks.
private struct NoVisitor: FleeceVisitor {
  // What has no size has no address of its own: all of them are one to the thread sanitizer, which
  // then tells of a race.
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
