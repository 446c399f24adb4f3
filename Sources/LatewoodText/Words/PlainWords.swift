/// Divides a text in UTF-8 into words that consist of ASCII letters and digits, and pieces that
/// need the rules of Unicode Standard Annex 29.
///
/// Most words of most texts are plain: the characters beside them are spaces and punctuation, and
/// no rule joins these to a word. Anything else, such as an apostrophe between letters or a letter
/// outside of ASCII, belongs to a piece that reaches from the beginning of a word, or from the
/// first such character, to a space before an ASCII character. No rule looks across either end.
struct PlainWords {
  enum Piece: Equatable {
    case word(Range<Int>)
    /// A part of the text for ``TextWords``.
    case other(Range<Int>)
  }

  /// A longer word is left to ``TextWords``.
  static let wordLimit = 100

  private var at = 0

  /// Returns the next word or piece, of the same text in each call.
  mutating func next(in text: UnsafeBufferPointer<UInt8>) -> Piece? {
    // SAFETY: every index is compared with `text.count` before it is used.
    while at < text.count, text[at] < 0x80, !PlainWords.isWordCharacter(text[at]) { at += 1 }
    guard at < text.count else { return nil }
    let start = at
    var end = start
    while end < text.count, PlainWords.isLetterOrDigit(text[end]) { end += 1 }
    at = end
    if end > start, end - start <= PlainWords.wordLimit, PlainWords.isBoundary(end, in: text) {
      return .word(start..<end)
    }
    while at < text.count {
      if text[at] == 0x20, at + 1 == text.count || text[at + 1] < 0x80 { break }
      at += 1
    }
    return .other(start..<at)
  }

  /// Whether no rule joins the letters and digits before an offset to what follows.
  private static func isBoundary(_ end: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard end < text.count else { return true }
    let next = text[end]
    if next >= 0x80 || next == underscore { return false }
    guard isMiddle(next), end + 1 < text.count else { return true }
    return text[end + 1] < 0x80 && !isWordCharacter(text[end + 1])
  }

  private static let underscore: UInt8 = 0x5F

  @inline(__always) static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
  }

  private static func isWordCharacter(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || byte == underscore
  }

  /// Whether a character may join the letters or digits on both sides of it: `'`, `,`, `.`, `:` or
  /// `;`.
  private static func isMiddle(_ byte: UInt8) -> Bool {
    byte == 0x27 || byte == 0x2C || byte == 0x2E || byte == 0x3A || byte == 0x3B
  }
}
