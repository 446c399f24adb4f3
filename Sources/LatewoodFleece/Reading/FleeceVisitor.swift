/// Receives a value piece by piece, in the order of canonical text: members arrive in the order of
/// their keys.
///
/// Texts and keys are valid UTF-8, and remain valid only during the call.
package protocol FleeceVisitor: ~Copyable {
  mutating func null() throws(FleeceError)
  mutating func boolean(_ value: Bool) throws(FleeceError)
  mutating func integer(_ value: Int64) throws(FleeceError)
  mutating func unsigned(_ value: UInt64) throws(FleeceError)
  mutating func double(_ value: Double) throws(FleeceError)
  mutating func text(_ value: UnsafeRawBufferPointer) throws(FleeceError)
  mutating func data(_ value: UnsafeRawBufferPointer) throws(FleeceError)
  mutating func key(_ value: UnsafeRawBufferPointer) throws(FleeceError)
  mutating func beginArray() throws(FleeceError)
  mutating func endArray() throws(FleeceError)
  mutating func beginDictionary() throws(FleeceError)
  mutating func endDictionary() throws(FleeceError)
}
