/// Text from files and arguments on its way to a terminal.
///
/// A terminal obeys control characters: they move the cursor, hide text or type for the user.
/// Characters for the direction of writing make text look like other text. Both are shown as
/// escapes of JSON, such as `\u001b` or `\u202e`, so JSON stays the same JSON. All output to a
/// terminal passes `TerminalFilter`, except that of `Output.control`.
enum TerminalText {
  /// Whether a character is shown as an escape. Line breaks and tabs are harmless, and the joiners
  /// belong to emoji and to Arabic and Indic text.
  static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII {
      return (scalar.value < 0x20 && scalar != "\n" && scalar != "\t") || scalar.value == 0x7F
    }
    if scalar == "\u{200C}" || scalar == "\u{200D}" { return false }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  /// Returns text with escapes. What `Style` adds stays.
  static func escaped(_ text: String) -> String { escaped(text, keepsStyle: true) }

  /// Returns text with escapes, to which `Style` has added nothing.
  static func escapedData(_ text: String) -> String { escaped(text, keepsStyle: false) }

  private static func escaped(_ text: String, keepsStyle: Bool) -> String {
    var filter = TerminalFilter(keepsStyle: keepsStyle)
    // No line break follows, so a carriage return at the end is one that the terminal would obey.
    return String(decoding: filter.filtered(Array(text.utf8)) + filter.rest(), as: UTF8.self)
  }

  static func escape(of scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.map { unit in
      "\\u" + Hex.encode([UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit)])
    }.joined()
  }
}

/// Makes a stream of UTF-8 harmless for a terminal, in pieces of any length. Bytes that are not
/// UTF-8 become U+FFFD.
struct TerminalFilter {
  private let keepsStyle: Bool
  /// The start of a character, or a carriage return, that the next piece may continue.
  private var pending: [UInt8] = []

  /// - Parameter keepsStyle: whether the codes that `Style` writes stay as they are.
  init(keepsStyle: Bool = true) { self.keepsStyle = keepsStyle }

  mutating func filtered(_ bytes: [UInt8]) -> [UInt8] {
    if pending.isEmpty, bytes.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == UInt8(ascii: "\n") }) {
      return bytes
    }
    let all = pending + bytes
    pending = []
    var result: [UInt8] = []
    result.reserveCapacity(all.count)
    var at = 0
    while at < all.count {
      guard let count = take(all[at...], into: &result) else {
        pending = Array(all[at...])
        break
      }
      at += count
    }
    return result
  }

  /// Returns the last bytes at the end of the text.
  mutating func rest() -> [UInt8] {
    defer { pending = [] }
    return pending.first.map { byte in
      Array((byte < 0x80 ? TerminalText.escape(of: Unicode.Scalar(byte)) : "\u{FFFD}").utf8)
    } ?? []
  }

  /// Appends the safe form of the next character; returns the number of its bytes, or nil if it is
  /// not complete.
  private func take(_ bytes: ArraySlice<UInt8>, into result: inout [UInt8]) -> Int? {
    let first = bytes[bytes.startIndex]
    if first == UInt8(ascii: "\r") {
      guard bytes.count > 1 else { return nil }
      if bytes[bytes.startIndex + 1] == UInt8(ascii: "\n") {
        result.append(first)
        return 1
      }
    }
    if first == 0x1B, keepsStyle, let code = Style.code(at: bytes) {
      result += code
      return code.count
    }
    let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    let character = bytes.prefix(length)
    if let text = String(validating: character, as: UTF8.self), let scalar = text.unicodeScalars.first {
      if TerminalText.isEscaped(scalar) {
        result += Array(TerminalText.escape(of: scalar).utf8)
      } else {
        result += character
      }
      return length
    }
    let isContinued = character.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 }
    if character.count < length, (0xC2..<0xF5).contains(first), isContinued { return nil }
    result += Array("\u{FFFD}".utf8)
    return 1
  }
}
