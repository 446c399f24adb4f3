import LatewoodBytes

/// Parses JSON texts strictly by RFC 8259 into Fleece.
///
/// Choices that the RFC leaves open:
/// - If members have the same name, the last one is used.
/// - An integer that fits into 64 bits, signed or unsigned, is exact; every other number becomes
///   the nearest double. A number beyond the range of doubles, such as `1e999`, is refused.
/// - Escapes that are half of a surrogate pair are refused, as is invalid UTF-8.
/// - Arrays and objects may be nested `FleeceLimits.depth` levels deep.
/// - A byte order mark at the start is skipped.
///
/// Not recursive. A parser can be reused, and keeps its memory.
package struct JSONParser: ~Copyable {
  private var builder = TapeBuilder()
  private var layout = FleeceLayout()

  package init() {}

  /// Converts a text to Fleece.
  package mutating func parse(_ text: UnsafeRawBufferPointer) throws(FleeceError) -> [UInt8] {
    try prepare(text)
    return converted
  }

  /// Converts a text to Fleece, which is then `converted`. The caller can give up the memory of the
  /// text before it gets the result, so that both need not be in memory together with a copy.
  package mutating func prepare(_ text: UnsafeRawBufferPointer) throws(FleeceError) {
    // The text is not valid for longer than this call.
    defer { builder.removeAll() }
    try builder.tape.checkLimit(for: text.count)
    do throws(JSONError) {
      try text.withStartThrowing { start, count throws(JSONError) in
        // Offsets of strings have 32 bits, which must suffice for the text and, in addition, for
        // the unescaped strings.
        builder.tape.strings.hold(start, count)
        var reader = JSONReader(start: start, end: count)
        reader.skipByteOrderMark()
        try reader.value(into: &builder)
        reader.skipSpace()
        if !reader.isAtEnd { throw reader.refusal(.somethingFollows) }
      }
    } catch {
      throw error.located(in: text)
    }
    try layout.prepare(&builder.tape)
  }

  /// The value that the last call has converted.
  package var converted: [UInt8] { layout.converted }

  /// Returns an estimate of the memory in bytes, other than that of the text, for converting a
  /// text: parts of the value, and the result twice.
  ///
  /// - Parameter values: the number of values in it.
  package static func memory(forTextOf length: Int, values: Int) -> Int {
    // A part is a node of the tape, perhaps a string, and an item of the layout, in lists that
    // double.
    2 * length + length / 8 + 2 * values
      * (MemoryLayout<ValueTape.Node>.stride + MemoryLayout<StringTable.Entry>.stride
        + MemoryLayout<FleeceLayout.Item>.stride)
  }

  package mutating func parse(_ text: [UInt8]) throws(FleeceError) -> [UInt8] {
    try text.withUnsafeBytes { bytes in
      Result { () throws(FleeceError) -> [UInt8] in try parse(bytes) }
    }.get()
  }

  package mutating func parse(_ text: String) throws(FleeceError) -> [UInt8] {
    var text = text
    return try text.withUTF8 { bytes in
      Result { () throws(FleeceError) -> [UInt8] in try parse(UnsafeRawBufferPointer(bytes)) }
    }.get()
  }
}

/// Builds a tape from the tokens of a text, which the tape holds.
private struct TapeBuilder: ~Copyable, JSONBuilder {
  var tape = ValueTape()
  /// The open collections, the innermost last.
  private var open = GrowingList<UInt32>(capacity: 8)
  private var unescaped = GrowingBytes()

  mutating func removeAll() {
    tape.removeAll()
    open.removeAll()
  }

  @inline(__always) var depth: Int { open.count }
  @inline(__always) var depthLimit: Int { FleeceLimits.depth }

  @inline(__always) func isObject(_ collection: UInt32) -> Bool {
    tape.nodes[Int(collection)].kind == .dictionary
  }

  @inline(__always) mutating func key(_ reader: inout JSONReader) throws(JSONError) -> UInt32 {
    UInt32(truncatingIfNeeded: try string(&reader, isKey: true))
  }

  @inline(__always) mutating func string(
    _ reader: inout JSONReader, in parent: UInt32, key: UInt32
  ) throws(JSONError) {
    add(.string, try string(&reader, isKey: false), parent, key)
  }

  @inline(__always) mutating func number(
    _ reader: inout JSONReader, in parent: UInt32, key: UInt32
  ) throws(JSONError) {
    let (kind, payload) = try reader.number()
    add(kind, payload, parent, key)
  }

  @inline(__always) mutating func word(_ kind: ValueTape.Kind, in parent: UInt32, key: UInt32) {
    add(kind, 0, parent, key)
  }

  @inline(__always) mutating func add(isObject: Bool, in parent: UInt32, key: UInt32) -> UInt32 {
    add(isObject ? .dictionary : .array, ValueTape.noChildren, parent, key)
  }

  @inline(__always) mutating func enter(_ collection: UInt32) { open.append(collection) }

  @inline(__always) mutating func leave() -> UInt32 {
    open.removeLast()
    return open.last ?? ValueTape.none
  }

  @inline(__always) @discardableResult private mutating func add(
    _ kind: ValueTape.Kind, _ payload: UInt64, _ parent: UInt32, _ key: UInt32
  ) -> UInt32 {
    tape.append(kind, payload, to: parent, key: key, depth: UInt16(truncatingIfNeeded: open.count))
  }

  /// Reads a string as the payload of a node. A string without escapes is not copied out of the
  /// text.
  @inline(__always) private mutating func string(_ reader: inout JSONReader, isKey: Bool) throws(JSONError)
    -> UInt64
  {
    let start = reader.at &+ 1
    if try reader.skipPlainString() {
      // SAFETY: the string lies within the text, between the opening quote and the closing one;
      // `at` is after the closing quote.
      let length = reader.at &- 1 &- start
      return isKey
        ? UInt64(tape.strings.intern(reader.start + start, length, at: start))
        : tape.string(reader.start + start, length, at: start)
    }
    unescaped.removeAll()
    // SAFETY: as above; `at` is at the first escape.
    unescaped.append(reader.start + start, reader.at &- start)
    try reader.unescape(into: &unescaped)
    return isKey
      ? UInt64(tape.key(unescaped.start, unescaped.count)) : tape.string(unescaped.start, unescaped.count)
  }
}

extension UnsafeRawBufferPointer {
  /// Like `withStart`, for closures that throw.
  func withStartThrowing<R, E: Error>(_ body: (_ start: UnsafeRawPointer, _ count: Int) throws(E) -> R)
    throws(E) -> R
  {
    if let start = baseAddress { return try body(start, count) }
    return try withUnsafePointer(to: count) { other in
      Result { () throws(E) -> R in try body(UnsafeRawPointer(other), 0) }
    }.get()
  }
}
