/// Values as one short line.
enum ValueText {
  /// As much of a value as fits into `width` columns: as text, white space drawn together, or in
  /// hexadecimal. Long values are not read to their end.
  static func shown(_ value: RawSpan, in width: Int) -> String {
    // A character takes four bytes at most. What is cut may be cut inside a character, so its last
    // bytes may go.
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
  /// A copy.
  func bytes() -> [UInt8] { bytes(upTo: byteCount) }

  func bytes(upTo count: Int) -> [UInt8] {
    // SAFETY: the pointer is used only inside the call, and the copy is bounded by the buffer.
    withUnsafeBytes { Array($0.prefix(count)) }
  }
}
