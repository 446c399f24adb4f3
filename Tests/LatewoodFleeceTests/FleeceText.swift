@testable import LatewoodFleece

/// Bytes and texts in the notation of the tests.
enum FleeceText {
  /// Parses `43 66 6f` and so on; white space is ignored.
  static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    precondition(digits.count.isMultiple(of: 2), hexadecimal)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Returns a JSON text as Fleece.
  static func fleece(_ text: String) throws -> [UInt8] { try JSON.fleece(from: text) }

  /// Returns Fleece bytes as JSON text.
  static func json(_ bytes: [UInt8], _ style: JSONOutput.Style = .canonical) throws -> String {
    String(decoding: try JSON.text(of: bytes, style), as: UTF8.self)
  }

  /// Returns a text after conversion to Fleece and back.
  static func canonical(_ text: String) throws -> String { try json(fleece(text)) }
}
