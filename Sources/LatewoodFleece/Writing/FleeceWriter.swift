/// Writes one value as Fleece, piece by piece.
///
/// ```swift
/// var writer = FleeceWriter()
/// try writer.beginDictionary()
/// try writer.key("foo")
/// try writer.integer(123)
/// try writer.endDictionary()
/// let bytes = try writer.finish()
/// ```
///
/// The same value always produces the same bytes, regardless of the order in which its members are
/// written. If members have the same key, the last one is used. A writer can be reused after
/// `finish`, and keeps its memory.
package struct FleeceWriter: ~Copyable {
  private var tape = ValueTape()
  private var layout = FleeceLayout()
  /// The open collections, the innermost last.
  private var open = GrowingList<UInt32>(capacity: 8)
  private var pendingKey = ValueTape.none

  package init() {}

  package mutating func null() throws(FleeceError) { try add(.null, 0) }
  package mutating func undefined() throws(FleeceError) { try add(.undefined, 0) }
  package mutating func boolean(_ value: Bool) throws(FleeceError) { try add(value ? .yes : .no, 0) }

  package mutating func integer(_ value: Int64) throws(FleeceError) {
    try add(.integer, UInt64(bitPattern: value))
  }

  package mutating func unsigned(_ value: UInt64) throws(FleeceError) {
    let (kind, payload) = ValueTape.Kind.number(value)
    try add(kind, payload)
  }

  /// Writes a number; an integral one is stored as an integer, so that equal numbers have equal
  /// bytes. Throws `notFinite` if it is not a finite number.
  package mutating func double(_ value: Double) throws(FleeceError) {
    guard value.isFinite else {
      throw FleeceError(.notFinite, "\(value) cannot be stored: it is not a finite number")
    }
    let (kind, payload) = ValueTape.Kind.number(value)
    try add(kind, payload)
  }

  package mutating func string(_ value: String) throws(FleeceError) {
    try tape.checkLimit(for: value.utf8.count)
    try add(.string, tape.string(value))
  }

  package mutating func data(_ value: UnsafeRawBufferPointer) throws(FleeceError) {
    try tape.checkLimit(for: value.count)
    try add(.data, value.withStart { UInt64(tape.strings.add($0, $1)) })
  }

  package mutating func data(_ value: [UInt8]) throws(FleeceError) {
    try value.withUnsafeBytes { bytes in Result { () throws(FleeceError) in try data(bytes) } }.get()
  }

  package mutating func beginArray() throws(FleeceError) { try begin(.array) }
  package mutating func endArray() throws(FleeceError) { try end(.array) }
  package mutating func beginDictionary() throws(FleeceError) { try begin(.dictionary) }
  package mutating func endDictionary() throws(FleeceError) { try end(.dictionary) }

  /// Writes the key of the next value.
  package mutating func key(_ key: String) throws(FleeceError) {
    try expectKey(of: key.utf8.count)
    pendingKey = tape.key(key)
  }

  private func expectKey(of length: Int) throws(FleeceError) {
    guard let innermost = open.last, tape.nodes[Int(innermost)].kind == .dictionary,
      pendingKey == ValueTape.none
    else { throw FleeceError(.misuse, "a key is written where no key can be") }
    try tape.checkLimit(for: length)
  }

  /// Writes a value that is already Fleece, with everything in it.
  package mutating func value(_ value: FleeceValue) throws(FleeceError) {
    try FleeceWalk.run(value, into: &self)
  }

  /// Returns the value as Fleece. The writer is empty afterwards, even if this throws.
  package mutating func finish() throws(FleeceError) -> [UInt8] {
    defer { removeAll() }
    guard !tape.isEmpty, open.isEmpty else {
      throw FleeceError(.misuse, "a writer ends before its value does")
    }
    return try layout.encode(&tape)
  }

  /// Discards everything that was written.
  package mutating func removeAll() {
    tape.removeAll()
    open.removeAll()
    pendingKey = ValueTape.none
  }

  private mutating func begin(_ kind: ValueTape.Kind) throws(FleeceError) {
    guard open.count < FleeceLimits.depth else { throw FleeceError.tooDeep() }
    open.append(try add(kind, ValueTape.noChildren))
  }

  private mutating func end(_ kind: ValueTape.Kind) throws(FleeceError) {
    guard let innermost = open.last, tape.nodes[Int(innermost)].kind == kind, pendingKey == ValueTape.none
    else { throw FleeceError(.misuse, "a collection ends that is not the innermost, or after a key") }
    open.removeLast()
  }

  @discardableResult private mutating func add(_ kind: ValueTape.Kind, _ payload: UInt64) throws(FleeceError)
    -> UInt32
  {
    let parent = open.last ?? ValueTape.none
    if parent == ValueTape.none {
      guard tape.isEmpty else { throw FleeceError(.misuse, "a second value follows the first") }
    } else if (tape.nodes[Int(parent)].kind == .dictionary) != (pendingKey != ValueTape.none) {
      throw FleeceError(.misuse, "a value in a dictionary needs a key")
    }
    try tape.checkLimit(for: 0)
    let key = pendingKey
    pendingKey = ValueTape.none
    return tape.append(kind, payload, to: parent, key: key, depth: UInt16(truncatingIfNeeded: open.count))
  }
}

extension FleeceError {
  @inline(never) static func tooDeep(offset: Int? = nil) -> FleeceError {
    FleeceError(
      .tooDeep, "arrays and dictionaries are nested more than \(FleeceLimits.depth) levels deep",
      offset: offset)
  }
}

/// Methods that write values read from other Fleece.
extension FleeceWriter: FleeceVisitor {
  package mutating func text(_ value: UnsafeRawBufferPointer) throws(FleeceError) {
    try tape.checkLimit(for: value.count)
    try add(.string, value.withStart { tape.string($0, $1) })
  }

  package mutating func key(_ value: UnsafeRawBufferPointer) throws(FleeceError) {
    try expectKey(of: value.count)
    pendingKey = value.withStart { tape.key($0, $1) }
  }
}

extension ValueTape {
  /// Adds a string and returns its number, as the payload of a node.
  mutating func string(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { bytes in UnsafeRawBufferPointer(bytes).withStart { string($0, $1) } }
  }

  /// Adds a key and returns its number.
  mutating func key(_ text: String) -> UInt32 {
    var text = text
    return text.withUTF8 { bytes in UnsafeRawBufferPointer(bytes).withStart { key($0, $1) } }
  }
}

extension UnsafeRawBufferPointer {
  /// Calls `body` with the address of the first byte and the number of bytes. For an empty buffer
  /// the address is unrelated and must not be read.
  @inline(__always) func withStart<R>(_ body: (_ start: UnsafeRawPointer, _ count: Int) -> R) -> R {
    if let start = baseAddress { return body(start, count) }
    return withUnsafePointer(to: count) { body(UnsafeRawPointer($0), 0) }
  }
}
