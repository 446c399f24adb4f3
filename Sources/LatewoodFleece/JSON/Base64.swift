import LatewoodBytes

/// Base64 of RFC 4648, section 4: the standard alphabet, always padded.
package enum Base64 {
  private static let alphabet: StaticString =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

  static func append(_ bytes: UnsafeRawBufferPointer, to output: inout GrowingBytes) {
    output.reserve((bytes.count + 2) / 3 * 4)
    for first in stride(from: 0, to: bytes.count, by: 3) {
      let rest = bytes.count - first
      var group = UInt32(bytes[first]) << 16
      if rest > 1 { group |= UInt32(bytes[first + 1]) << 8 }
      if rest > 2 { group |= UInt32(bytes[first + 2]) }
      for digit in 0..<4 {
        let index = Int(group >> UInt32(18 - 6 * digit) & 63)
        // SAFETY: the index is below 64, and the alphabet has 64 bytes.
        output.append(digit <= rest ? alphabet.utf8Start[index] : UInt8(ascii: "="))
      }
    }
  }

  package static func encode(_ bytes: [UInt8]) -> String {
    var output = GrowingBytes()
    bytes.withUnsafeBytes { append($0, to: &output) }
    return String(decoding: output.bytes, as: UTF8.self)
  }

  /// Decodes a text; nil unless it is exactly the output of `encode` for some bytes.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 4) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var digits = 0
    var padding = 0
    for character in text {
      if character == UInt8(ascii: "=") {
        padding += 1
        group <<= 6
      } else {
        guard padding == 0, let digit = value(of: character) else { return nil }
        group = group << 6 | digit
      }
      digits += 1
      guard digits.isMultiple(of: 4) else { continue }
      // Padding is only valid at the end, and bits after the last byte must be zero: otherwise two
      // texts would represent the same bytes.
      guard padding <= 2, group & (1 << UInt32(8 * padding) - 1) == 0 else { return nil }
      for place in 0..<(3 - padding) {
        bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * place)))
      }
      group = 0
    }
    return bytes
  }

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
