import LatewoodBytes

/// Writes JSON text piece by piece: canonical, unless it is indented.
///
/// Canonical means: no white space; members in the order of their keys' bytes; only the escapes
/// that RFC 8259 requires, in the short form if there is one; integers of 64 bits in full; other
/// numbers with the fewest digits that read back as the same double, in Swift's notation. Therefore
/// two values have the same text if and only if they are equal. Binary data, which JSON cannot
/// represent, becomes a base64 string (RFC 4648, section 4, with padding), which a reader cannot
/// distinguish from other strings.
///
/// Text goes to `sink` in chunks of about 64 KiB, so that memory stays bounded.
package struct JSONOutput: ~Copyable {
  package enum Style: Sendable, Equatable {
    case canonical
    /// One line for each member and element, with two spaces for each level.
    case indented
  }

  /// Receives the next bytes of the text, which are valid only during the call.
  package typealias Sink = (UnsafeRawBufferPointer) throws(FleeceError) -> Void

  private static let chunk = 65536
  private var buffer = GrowingBytes(capacity: 4096)
  private let style: Style
  private let sink: Sink?
  private var depth = 0
  /// Whether the next value or key is the first of its collection.
  private var isFirst = true
  private var followsKey = false

  /// - Parameter sink: receives the text; without a sink, the text is kept for `take`.
  package init(_ style: Style = .canonical, sink: Sink? = nil) {
    self.style = style
    self.sink = sink
  }

  /// Writes a value with everything in it.
  package mutating func value(_ value: FleeceValue) throws(FleeceError) {
    try FleeceWalk.run(value, into: &self)
  }

  /// Ends a line, after which another value may follow.
  package mutating func lineBreak() {
    buffer.append(UInt8(ascii: "\n"))
    isFirst = true
  }

  /// Passes the remaining text to the sink.
  package mutating func flush() throws(FleeceError) {
    guard let sink else { return }
    if buffer.count > 0 { try sink(buffer.bytes) }
    buffer.removeAll()
  }

  /// Returns the text since the last call.
  package mutating func take() -> [UInt8] {
    defer { buffer.removeAll() }
    return buffer.array()
  }

  @inline(__always) private mutating func startValue() throws(FleeceError) {
    if followsKey {
      followsKey = false
    } else {
      try startItem()
    }
  }

  @inline(__always) private mutating func startItem() throws(FleeceError) {
    if !isFirst { buffer.append(UInt8(ascii: ",")) }
    isFirst = false
    if depth > 0, style == .indented { startLine() }
    if sink != nil, buffer.count >= JSONOutput.chunk { try flush() }
  }

  private mutating func startLine() {
    buffer.append(UInt8(ascii: "\n"))
    for _ in 0..<depth { buffer.append("  ") }
  }

  private mutating func begin(_ bracket: UInt8) throws(FleeceError) {
    try startValue()
    buffer.append(bracket)
    depth += 1
    isFirst = true
  }

  private mutating func end(_ bracket: UInt8) {
    depth -= 1
    if !isFirst, style == .indented { startLine() }
    buffer.append(bracket)
    isFirst = false
  }
}

extension JSONOutput: FleeceVisitor {
  package mutating func null() throws(FleeceError) {
    try startValue()
    buffer.append("null")
  }

  package mutating func boolean(_ value: Bool) throws(FleeceError) {
    try startValue()
    if value { buffer.append("true") } else { buffer.append("false") }
  }

  package mutating func integer(_ value: Int64) throws(FleeceError) {
    try startValue()
    if value < 0 { buffer.append(UInt8(ascii: "-")) }
    digits(value.magnitude)
  }

  package mutating func unsigned(_ value: UInt64) throws(FleeceError) {
    try startValue()
    digits(value)
  }

  package mutating func double(_ value: Double) throws(FleeceError) {
    guard value.isFinite else { throw FleeceError(.notFinite, "\(value) cannot be represented in JSON") }
    // Another writer may have stored an integer as a double: it is the same number, so it has the
    // same text.
    let (kind, payload) = ValueTape.Kind.number(value)
    switch kind {
    case .integer: return try integer(Int64(bitPattern: payload))
    case .unsigned: return try unsigned(payload)
    default: break
    }
    try startValue()
    // -0.0, 1e+20, 0.1, 5e-324: Swift's description of a finite number is valid JSON.
    buffer.append(value.description)
  }

  package mutating func text(_ value: UnsafeRawBufferPointer) throws(FleeceError) {
    try startValue()
    quoted(value)
  }

  package mutating func data(_ value: UnsafeRawBufferPointer) throws(FleeceError) {
    try startValue()
    buffer.append(UInt8(ascii: "\""))
    Base64.append(value, to: &buffer)
    buffer.append(UInt8(ascii: "\""))
  }

  package mutating func key(_ value: UnsafeRawBufferPointer) throws(FleeceError) {
    try startItem()
    quoted(value)
    buffer.append(UInt8(ascii: ":"))
    if style == .indented { buffer.append(UInt8(ascii: " ")) }
    followsKey = true
  }

  package mutating func beginArray() throws(FleeceError) { try begin(UInt8(ascii: "[")) }
  package mutating func endArray() { end(UInt8(ascii: "]")) }
  package mutating func beginDictionary() throws(FleeceError) { try begin(UInt8(ascii: "{")) }
  package mutating func endDictionary() { end(UInt8(ascii: "}")) }

  /// Writes text in quotes, with only the escapes that JSON requires.
  @inline(__always) private mutating func quoted(_ text: UnsafeRawBufferPointer) {
    buffer.append(UInt8(ascii: "\""))
    text.withStart { start, count in
      var from = 0
      var at = 0
      while true {
        // SAFETY: reads stay before `count`.
        at = UTF8Text.plainEnd(start, at, count)
        if at == count { break }
        let byte = start.u8(at)
        if byte < 0x80 {
          buffer.append(start + from, at - from)
          escape(byte)
          from = at + 1
        }
        at &+= 1
      }
      buffer.append(start + from, count - from)
    }
    buffer.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    buffer.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer.append(byte)
    case 0x08: buffer.append(UInt8(ascii: "b"))
    case 0x09: buffer.append(UInt8(ascii: "t"))
    case 0x0A: buffer.append(UInt8(ascii: "n"))
    case 0x0C: buffer.append(UInt8(ascii: "f"))
    case 0x0D: buffer.append(UInt8(ascii: "r"))
    default:
      let low = byte & 0x0F
      buffer.append("u00")
      buffer.append(0x30 + byte >> 4)
      buffer.append(low < 10 ? 0x30 + low : 0x57 + low)
    }
  }

  /// Writes a number in decimal digits.
  @inline(__always) private mutating func digits(_ value: UInt64) {
    buffer.reserve(20)
    var length = 1
    var rest = value
    while rest >= 10 {
      rest /= 10
      length &+= 1
    }
    buffer.appendDecimal(value, length: length)
  }
}

extension GrowingBytes {
  /// Appends a number of `length` decimal digits.
  @inline(__always) mutating func appendDecimal(_ value: UInt64, length: Int) {
    reserveAndCount(length)
    var rest = value
    var at = count
    for _ in 0..<length {
      at &-= 1
      // SAFETY: the digits lie within the bytes that have just been added to the count.
      start.set(UInt8(truncatingIfNeeded: rest % 10) &+ 0x30, at: at)
      rest /= 10
    }
  }
}
