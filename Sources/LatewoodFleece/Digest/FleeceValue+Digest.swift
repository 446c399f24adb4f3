extension FleeceValue {
  /// Adds the value, with everything in it, to a hash. Equal values have the same hash in any
  /// encoding. A whole number has the same hash as an integer and as a double, but negative zero
  /// differs from zero.
  ///
  /// - Throws: `FleeceError` if the value or something in it breaks a rule of the format.
  package func digest(into hash: inout ValueHash) throws(FleeceError) {
    if let whole = try DigestWalk.run(self, hash) {
      hash = whole
    } else {
      try digestByWalk(into: &hash)
    }
  }

  /// Does the same by a `FleeceWalk`, which is slower but accepts every form of a value.
  package func digestByWalk(into hash: inout ValueHash) throws(FleeceError) {
    var visitor = DigestVisitor(hash: hash)
    try FleeceWalk.run(self, into: &visitor)
    hash = visitor.hash
  }
}

/// Adds the pieces of a value to a hash.
private struct DigestVisitor: FleeceVisitor {
  var hash: ValueHash

  mutating func null() { hash.absorb(.null) }
  mutating func boolean(_ value: Bool) { hash.absorb(value ? .yes : .no) }
  mutating func integer(_ value: Int64) { hash.absorb(.integer(value)) }
  mutating func unsigned(_ value: UInt64) { hash.absorb(.unsigned(value)) }
  mutating func double(_ value: Double) { hash.absorb(.double(value)) }
  mutating func text(_ value: UnsafeRawBufferPointer) { hash.absorb(.text, value) }
  mutating func data(_ value: UnsafeRawBufferPointer) { hash.absorb(.data, value) }
  mutating func key(_ value: UnsafeRawBufferPointer) { hash.absorb(.name, value) }
  mutating func beginArray() { hash.absorb(.beginArray) }
  mutating func endArray() { hash.absorb(.endArray) }
  mutating func beginDictionary() { hash.absorb(.beginDictionary) }
  mutating func endDictionary() { hash.absorb(.endDictionary) }
}
