@testable import LatewoodFleece

/// Bytes and texts as the tests write them down.
enum FleeceText {
  /// `43 66 6f` and so on; blanks do not matter.
  static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    precondition(digits.count.isMultiple(of: 2), hexadecimal)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The Fleece of a JSON text.
  static func fleece(_ text: String) throws -> [UInt8] { try JSON.fleece(from: text) }

  /// The JSON text of Fleece bytes.
  static func json(_ bytes: [UInt8], _ style: JSONOutput.Style = .canonical) throws -> String {
    String(decoding: try JSON.text(of: bytes, style), as: UTF8.self)
  }

  /// What a text becomes by way of Fleece.
  static func canonical(_ text: String) throws -> String { try json(fleece(text)) }
}
