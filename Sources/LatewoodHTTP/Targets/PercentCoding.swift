/// Percent-coding of paths and queries: RFC 3986, section 2.
package enum PercentCoding {
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Encodes one segment of a path, or one name or value of a query. Only unreserved characters
  /// remain unencoded, so that an id with `/`, `?` or `+` is one segment.
  package static func encode(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isUnreserved(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Decodes a segment; nil if a `%` is not followed by two hexadecimal digits, or if the result is
  /// not UTF-8.
  ///
  /// - Parameter plusIsSpace: whether `+` represents a space, as in queries.
  package static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      if byte == UInt8(ascii: "%") {
        guard let high = iterator.next().flatMap(HTTPSyntax.hexDigit),
          let low = iterator.next().flatMap(HTTPSyntax.hexDigit)
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    HTTPSyntax.isLetter(byte) || HTTPSyntax.isDigit(byte) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
  }
}
