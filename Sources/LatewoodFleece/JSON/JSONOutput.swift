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
/// The caller may also write a text in pieces, in the order of its calls: single members, numbers
/// in a given notation, and values of Fleece.
package struct JSONOutput: ~Copyable {
  /// The layout of a text.
  package struct Style: Sendable {
    /// Whether each member and element is on a separate line, with two spaces for each level.
    var isIndented = false
    /// Whether control characters that JSON allows in strings, but that a terminal may obey, become
    /// escapes.
    var escapesControls = false
    var colours: Colours?

    package static let canonical = Style()
    package static let indented = Style(isIndented: true)

    /// Indented text for people, who may read it on a terminal.
    package static func readable(_ colours: Colours? = nil) -> Style {
      Style(isIndented: true, escapesControls: true, colours: colours)
    }
  }

  /// The codes that precede and follow coloured parts of a text on a terminal.
  package struct Colours: Sendable {
    let key: String
    let string: String
    let null: String
    let end: String

    package init(key: String, string: String, null: String, end: String) {
      self.key = key
      self.string = string
      self.null = null
      self.end = end
    }
  }

  private var buffer = GrowingBytes(capacity: 4096)
  private let isIndented: Bool
  /// Whether strings need more than `quoted`.
  private let isReadable: Bool
  private let style: Style
  private var depth = 0
  /// Whether the next value or key is the first of its collection.
  private var isFirst = true
  private var followsKey = false

  package init(_ style: Style = .canonical) {
    self.style = style
    isIndented = style.isIndented
    isReadable = style.escapesControls || style.colours != nil
  }

  /// Writes a value with everything in it.
  package mutating func value(_ value: FleeceValue) throws(FleeceError) {
    try FleeceWalk.run(value, into: &self)
  }

  /// Writes the root of a body with everything in it.
  package mutating func value(_ body: FleeceBody) throws(FleeceError) {
    try body.withRoot { root throws(FleeceError) in try value(root) }
  }

  /// Writes a text that is valid JSON in the desired layout, such as a number, without a change.
  package mutating func raw(_ text: UnsafeRawBufferPointer) {
    startValue()
    text.withStart { buffer.append($0, $1) }
  }

  package mutating func raw(_ text: [UInt8]) { text.withUnsafeBytes { raw($0) } }

  package mutating func text(_ value: String) {
    var value = value
    value.withUTF8 { text(UnsafeRawBufferPointer($0)) }
  }

  package mutating func key(_ value: String) {
    var value = value
    value.withUTF8 { key(UnsafeRawBufferPointer($0)) }
  }

  /// Ends a line, after which another value may follow.
  package mutating func lineBreak() {
    buffer.append(UInt8(ascii: "\n"))
    isFirst = true
  }

  /// The number of bytes since the last call of `take`.
  package var count: Int { buffer.count }

  /// Returns the text since the last call.
  package mutating func take() -> [UInt8] {
    defer { buffer.removeAll() }
    return buffer.array()
  }

  @inline(__always) private mutating func startValue() {
    if followsKey {
      followsKey = false
    } else {
      startItem()
    }
  }

  @inline(__always) private mutating func startItem() {
    if !isFirst { buffer.append(UInt8(ascii: ",")) }
    isFirst = false
    if depth > 0, isIndented { startLine() }
  }

  private mutating func startLine() {
    buffer.append(UInt8(ascii: "\n"))
    for _ in 0..<depth { buffer.append("  ") }
  }

  private mutating func begin(_ bracket: UInt8) {
    startValue()
    buffer.append(bracket)
    depth += 1
    isFirst = true
  }

  private mutating func end(_ bracket: UInt8) {
    depth -= 1
    if !isFirst, isIndented { startLine() }
    buffer.append(bracket)
    isFirst = false
  }
}

extension JSONOutput: FleeceVisitor {
  package mutating func null() {
    startValue()
    if let colours = style.colours {
      buffer.append(colours.null + "null" + colours.end)
    } else {
      buffer.append("null")
    }
  }

  package mutating func boolean(_ value: Bool) {
    startValue()
    if value { buffer.append("true") } else { buffer.append("false") }
  }

  package mutating func integer(_ value: Int64) {
    startValue()
    if value < 0 { buffer.append(UInt8(ascii: "-")) }
    digits(value.magnitude)
  }

  package mutating func unsigned(_ value: UInt64) {
    startValue()
    digits(value)
  }

  package mutating func double(_ value: Double) throws(FleeceError) {
    guard value.isFinite else { throw FleeceError(.notFinite, "\(value) cannot be represented in JSON") }
    // Another writer may have stored an integer as a double: it is the same number, so it has the
    // same text.
    let (kind, payload) = ValueTape.Kind.number(value)
    switch kind {
    case .integer: return integer(Int64(bitPattern: payload))
    case .unsigned: return unsigned(payload)
    default: break
    }
    startValue()
    // -0.0, 1e+20, 0.1, 5e-324: Swift's description of a finite number is valid JSON.
    buffer.append(value.description)
  }

  package mutating func text(_ value: UnsafeRawBufferPointer) {
    startValue()
    if isReadable { readable(value, style.colours?.string) } else { quoted(value) }
  }

  package mutating func data(_ value: UnsafeRawBufferPointer) {
    startValue()
    if let colours = style.colours { buffer.append(colours.string) }
    buffer.append(UInt8(ascii: "\""))
    Base64.append(value, to: &buffer)
    buffer.append(UInt8(ascii: "\""))
    if let colours = style.colours { buffer.append(colours.end) }
  }

  package mutating func key(_ value: UnsafeRawBufferPointer) {
    startItem()
    if isReadable { readable(value, style.colours?.key) } else { quoted(value) }
    buffer.append(UInt8(ascii: ":"))
    if isIndented { buffer.append(UInt8(ascii: " ")) }
    followsKey = true
  }

  package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  package mutating func endArray() { end(UInt8(ascii: "]")) }
  package mutating func beginDictionary() { begin(UInt8(ascii: "{")) }
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

  /// Writes text in quotes for people: in colour, and with escapes for the control characters that
  /// JSON allows.
  @inline(never) private mutating func readable(_ text: UnsafeRawBufferPointer, _ colour: String?) {
    if let colour { buffer.append(colour) }
    if style.escapesControls {
      let start = buffer.count
      quoted(text)
      escapeControls(from: start)
    } else {
      quoted(text)
    }
    if colour != nil, let colours = style.colours { buffer.append(colours.end) }
  }

  /// Replaces DEL and the characters U+0080 to U+009F after an offset by escapes.
  private mutating func escapeControls(from start: Int) {
    let text = UnsafeRawBufferPointer(rebasing: buffer.bytes[start...])
    guard text.contains(where: { $0 == 0x7F || $0 == 0xC2 }) else { return }
    let old = Array(text)
    buffer.truncate(to: start)
    var at = 0
    while at < old.count {
      let isC1 = old[at] == 0xC2 && at + 1 < old.count && old[at + 1] < 0xA0
      if isC1 { at += 1 }
      if isC1 || old[at] == 0x7F {
        buffer.append(UInt8(ascii: "\\"))
        escapeCode(old[at])
      } else {
        buffer.append(old[at])
      }
      at += 1
    }
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
    default: escapeCode(byte)
    }
  }

  /// Writes `u` and four hexadecimal digits.
  private mutating func escapeCode(_ byte: UInt8) {
    let low = byte & 0x0F
    buffer.append("u00")
    buffer.append(0x30 + byte >> 4)
    buffer.append(low < 10 ? 0x30 + low : 0x57 + low)
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
