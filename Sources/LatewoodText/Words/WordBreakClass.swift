/// The role of a scalar between words: its property `Word_Break` and three bits.
struct WordBreakClass: Equatable {
  let bits: UInt8

  init(_ scalar: UInt32) { bits = UnicodeTables.wordBreaks[scalar] }

  /// The property `Word_Break`.
  var kind: Kind { Kind(rawValue: bits & 0x1F) ?? .other }

  /// Whether a scalar begins an emoji (`Extended_Pictographic`).
  var isPictographic: Bool { bits & 0x20 != 0 }

  /// Whether a scalar makes its segment a word: a letter or a number.
  var isLetter: Bool { bits & 0x40 != 0 }

  /// Whether a scalar belongs to a script that is written without spaces.
  var isUnspaced: Bool { bits & 0x80 != 0 }

  /// In the order of Tests/text/generate.py.
  enum Kind: UInt8 {
    case other, carriageReturn, lineFeed, newline, extend, zeroWidthJoiner, format, regionalIndicator
    case katakana, hebrewLetter, letter, singleQuote, doubleQuote, midNumberLetter, midLetter, midNumber
    case numeric, extendNumberLetter, space

    /// Whether rule WB4 skips a scalar.
    var isIgnored: Bool { self == .extend || self == .zeroWidthJoiner || self == .format }
    var isNewline: Bool { self == .carriageReturn || self == .lineFeed || self == .newline }
    /// `AHLetter`
    var isLetter: Bool { self == .letter || self == .hebrewLetter }
    /// `MidNumLetQ`
    var isMiddle: Bool { self == .midNumberLetter || self == .singleQuote }
  }
}
