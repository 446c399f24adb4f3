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
  private var tape = ValueTape()
  private var layout = FleeceLayout()
  /// The open collections, the innermost last.
  private var open = GrowingList<UInt32>(capacity: 8)
  private var unescaped = GrowingBytes()

  package init() {}

  /// Converts a text to Fleece.
  package mutating func parse(_ text: UnsafeRawBufferPointer) throws(FleeceError) -> [UInt8] {
    tape.removeAll()
    open.removeAll()
    try tape.checkLimit(for: text.count)
    do throws(JSONError) {
      try text.withStartThrowing { start, count throws(JSONError) in
        // Offsets of strings have 32 bits, which must suffice for the text and, in addition, for
        // the unescaped strings.
        tape.strings.hold(start, count)
        var reader = JSONReader(start: start, end: count)
        try document(&reader)
      }
    } catch {
      throw error.located(in: text)
    }
    return try layout.encode(&tape)
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

  private mutating func document(_ reader: inout JSONReader) throws(JSONError) {
    reader.skipByteOrderMark()
    try value(&reader)
    reader.skipSpace()
    if !reader.isAtEnd { throw reader.refusal(.somethingFollows) }
  }

  /// Reads one value with everything in it.
  private mutating func value(_ reader: inout JSONReader) throws(JSONError) {
    var parent = ValueTape.none
    var isMember = false
    while true {
      let key = isMember ? try name(&reader) : ValueTape.none
      reader.skipSpace()
      switch reader.peek {
      case UInt8(ascii: "\""):
        let payload = try string(&reader, isKey: false)
        add(.string, payload, parent, key)
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        let (kind, payload) = try reader.number()
        add(kind, payload, parent, key)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let isObject = reader.peek == UInt8(ascii: "{")
        guard open.count < FleeceLimits.depth else { throw reader.refusal(.tooDeep) }
        reader.at &+= 1
        reader.skipSpace()
        let node = add(isObject ? .dictionary : .array, ValueTape.noChildren, parent, key)
        if reader.peek == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")), !reader.isAtEnd {
          reader.at &+= 1
        } else {
          open.append(node)
          parent = node
          isMember = isObject
          continue
        }
      case UInt8(ascii: "t"):
        try reader.word("true")
        add(.yes, 0, parent, key)
      case UInt8(ascii: "f"):
        try reader.word("false")
        add(.no, 0, parent, key)
      case UInt8(ascii: "n"):
        try reader.word("null")
        add(.null, 0, parent, key)
      default: throw reader.refusal(reader.isAtEnd ? .endInsteadOfValue : .noValue)
      }
      guard let follows = try nextFollows(&reader, &parent) else { return }
      isMember = follows
    }
  }

  /// Closes the collections that end after a value. Returns nil after the outermost value.
  /// Otherwise another value follows after a comma, and the result is whether it is a member of an
  /// object.
  @inline(__always) private mutating func nextFollows(_ reader: inout JSONReader, _ parent: inout UInt32)
    throws(JSONError) -> Bool?
  {
    while parent != ValueTape.none {
      let isObject = tape.nodes[Int(parent)].kind == .dictionary
      reader.skipSpace()
      switch reader.peek {
      case UInt8(ascii: ","):
        reader.at &+= 1
        return isObject
      case UInt8(ascii: "}") where isObject, UInt8(ascii: "]") where !isObject:
        reader.at &+= 1
        open.removeLast()
        parent = open.last ?? ValueTape.none
      default: throw reader.refusal(isObject ? .noCommaInObject : .noCommaInArray)
      }
    }
    return nil
  }

  @inline(__always) @discardableResult private mutating func add(
    _ kind: ValueTape.Kind, _ payload: UInt64, _ parent: UInt32, _ key: UInt32
  ) -> UInt32 {
    tape.append(kind, payload, to: parent, key: key, depth: UInt16(truncatingIfNeeded: open.count))
  }

  /// Reads the name of a member and the colon after it.
  @inline(__always) private mutating func name(_ reader: inout JSONReader) throws(JSONError) -> UInt32 {
    reader.skipSpace()
    guard reader.peek == UInt8(ascii: "\"") else { throw reader.refusal(.noName) }
    let key = try string(&reader, isKey: true)
    reader.skipSpace()
    guard reader.peek == UInt8(ascii: ":") else { throw reader.refusal(.noColon) }
    reader.at &+= 1
    return UInt32(truncatingIfNeeded: key)
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
