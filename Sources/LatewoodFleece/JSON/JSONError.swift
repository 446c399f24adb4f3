/// An error in a JSON text and its offset, small enough not to slow down the parser. The message is
/// created only when the error leaves the module.
struct JSONError: Error {
  enum Reason {
    case endInsteadOfValue, noValue, noWord, somethingFollows, noCommaInObject, noCommaInArray, noName,
      noColon
    case endInString, controlInString, lineBreakInString, notUTF8, unknownEscape, fourDigits, loneSurrogate
    case superfluousZero, noDigit, numberTooLarge, tooDeep
  }

  let reason: Reason
  let offset: Int

  init(_ reason: Reason, _ offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// Returns the error with its line and column. O(offset).
  func located(in text: UnsafeRawBufferPointer) -> FleeceError {
    var position = TextPosition()
    position.pass(UnsafeRawBufferPointer(rebasing: text.prefix(offset)))
    let found = offset < text.count ? JSON.shown(text[offset]) : nil
    return FleeceError(
      reason == .tooDeep ? .tooDeep : .invalidJSON, sentence(found), offset: offset,
      line: position.line, column: position.column)
  }

  private func sentence(_ found: String?) -> String {
    let here = found ?? "the end of the text"
    return switch reason {
    case .endInsteadOfValue: "expected a value, but found the end of the text"
    case .noValue: "\(here) cannot start a value"
    case .noWord: "only true, false and null are written without quotes"
    case .somethingFollows: "expected the end of the text after the value, but found \(here)"
    case .noCommaInObject: "expected a comma or }, but found \(here)"
    case .noCommaInArray: "expected a comma or ], but found \(here)"
    case .noName: "expected the name of a member in double quotes, but found \(here)"
    case .noColon: "expected a colon after the name of a member, but found \(here)"
    case .endInString: "the text ends inside a string"
    case .controlInString: "\(here) inside a string must be written as an escape"
    case .lineBreakInString: "a string is not closed on its line; a line break inside is written \\n"
    case .notUTF8: "\(here) is not UTF-8"
    case .unknownEscape: "a backslash starts no escape that JSON knows"
    case .fourDigits: "\\u needs four hexadecimal digits"
    case .loneSurrogate: "an escape is half of a surrogate pair, without the other half"
    case .superfluousZero: "a number starts with a superfluous 0"
    case .noDigit: "expected a digit, but found \(here)"
    case .numberTooLarge: "the number is larger than any that can be stored"
    case .tooDeep: "arrays and objects are nested more than \(FleeceLimits.depth) levels deep"
    }
  }
}

extension JSON {
  /// Returns a byte of a text as it is named in an error.
  package static func shown(_ byte: UInt8) -> String {
    if byte > 0x20, byte < 0x7F { return String(UnicodeScalar(byte)) }
    return "byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }
}
