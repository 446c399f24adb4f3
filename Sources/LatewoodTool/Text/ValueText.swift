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

extension RawSpan {
  /// Returns a copy of the bytes.
  func bytes() -> [UInt8] { bytes(upTo: byteCount) }

  func bytes(upTo count: Int) -> [UInt8] {
    // SAFETY: the pointer is used only inside the call, and the copy is bounded by the buffer.
    withUnsafeBytes { Array($0.prefix(count)) }
  }
}
