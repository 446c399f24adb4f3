import LatewoodFleece

/// Builds compact JSON text, member by member; keeps only the bytes since the last `take`.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  mutating func beginObject() { open("{") }
  mutating func endObject() { close("}") }
  mutating func beginArray() { open("[") }
  mutating func endArray() { close("]") }

  mutating func name(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  mutating func string(_ text: String) {
    separate()
    Self.append(text.utf8, to: &bytes)
    needsComma = true
  }

  /// Writes bytes as a string if they are UTF-8, else as `{"base64":"…"}`: the form of keys and
  /// values in all output of the tool.
  mutating func data(_ data: [UInt8]) {
    guard let text = String(validating: data, as: UTF8.self) else {
      beginObject()
      name("base64")
      string(Base64.encode(data))
      endObject()
      return
    }
    string(text)
  }

  /// Writes existing JSON text.
  mutating func raw(_ text: some Sequence<UInt8>) {
    separate()
    bytes.append(contentsOf: text)
    needsComma = true
  }

  mutating func number(_ number: some BinaryInteger) { raw(String(number).utf8) }
  mutating func boolean(_ value: Bool) { raw(value ? "true".utf8 : "false".utf8) }
  mutating func null() { raw("null".utf8) }

  mutating func member(_ name: String, _ value: String) {
    self.name(name)
    string(value)
  }
  mutating func member(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    number(value)
  }
  mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    boolean(value)
  }
  mutating func member(_ name: String, data value: [UInt8]) {
    self.name(name)
    data(value)
  }

  mutating func lineBreak() { bytes.append(UInt8(ascii: "\n")) }

  /// Returns the bytes so far, and empties the writer.
  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }

  private mutating func open(_ bracket: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: bracket))
    needsComma = false
  }

  private mutating func close(_ bracket: Unicode.Scalar) {
    bytes.append(UInt8(ascii: bracket))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  /// Appends text in quotes, with only the escapes that JSON requires.
  static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
      case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
      case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
      case ..<0x20: bytes += Array("\\u00\(Hex.encode([byte]))".utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
