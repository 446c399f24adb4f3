/// The form of a value in one short line.
enum ValueText {
  /// Returns as much of a value as fits into `width` columns: as text with collapsed white space,
  /// or in hexadecimal. Long values are not read to their end.
  static func shown(_ value: RawSpan, in width: Int) -> String {
    // A character takes at most four bytes. The cut may be inside a character, so up to three bytes
    // at the end may be dropped.
    let length = min(value.byteCount, width * 4 + 4)
    let bytes = value.bytes(upTo: length)
    for dropped in 0...(length < value.byteCount ? 3 : 0) where dropped <= bytes.count {
      let spaced = bytes.dropLast(dropped).map {
        $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\t") ? UInt8(ascii: " ") : $0
      }
      if spaced.isEmpty { return "" }
      guard let text = KeyText.readableText(spaced) else { continue }
      return DisplayWidth.fitted(length < value.byteCount ? text + "…" : text, to: width)
    }
    return DisplayWidth.fitted(KeyText.hexMark + Hex.encode(bytes), to: width)
  }
}

extension ValueText {
  /// Returns as much of a text as fits into `width` columns: with white space as single spaces, and
  /// with escapes for characters that a terminal would obey.
  static func shown(text: [UInt8], in width: Int) -> String {
    // As above, a character takes at most four bytes.
    let length = min(text.count, width * 4 + 4)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length)
    for (index, byte) in text[..<length].enumerated() {
      switch byte {
      case UInt8(ascii: "\r") where index + 1 < text.count && text[index + 1] == UInt8(ascii: "\n"): break
      case UInt8(ascii: "\n"), UInt8(ascii: "\t"), UInt8(ascii: "\r"): bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    guard length < text.count else {
      return DisplayWidth.fitted(TerminalText.escapedData(String(decoding: bytes, as: UTF8.self)), to: width)
    }
    // The cut may be inside a character.
    if let start = bytes.lastIndex(where: { $0 & 0xC0 != 0x80 }), bytes[start] >= 0xC0 {
      bytes.removeSubrange(start...)
    }
    let shown = TerminalText.escapedData(String(decoding: bytes, as: UTF8.self))
    return DisplayWidth.fitted(shown + "…", to: width)
  }
}

extension RawSpan {
  /// Returns a copy of the bytes.
  func bytes() -> [UInt8] { bytes(upTo: byteCount) }

  func bytes(upTo count: Int) -> [UInt8] {
    // SAFETY: the pointer is used only inside the call, and the copy is bounded by the buffer.
    withUnsafeBytes { Array($0.prefix(count)) }
  }
}
