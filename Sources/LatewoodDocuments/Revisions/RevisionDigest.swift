/// The part of a revision id that tells revisions of one generation apart.
///
/// Most digests are 1 to 32 bytes, which a revision id spells as lowercase hexadecimal digits, two
/// for each. Those that this library makes start with a byte that names the algorithm:
/// ``Algorithm``. Other databases also name revisions with texts that are not such digits, as
/// `5ac`, `5AC` or `abc-def`: such a digest is kept as the text, 1 to 64 bytes of UTF-8 without
/// control characters.
///
/// Digests are ordered by how a revision id spells them, byte by byte. Among digests of one kind
/// that is the order of their bytes.
package struct RevisionDigest: Sendable, Hashable {
  /// The algorithm that made a digest. On disk and in replicas: never renumbered.
  package enum Algorithm: UInt8, Sendable {
    /// This byte, then 19 bytes of BLAKE2b (RFC 7693, digest length 19).
    case blake2b152 = 1
  }

  /// The maximum number of bytes in a digest that is no text.
  static let maximumCount = 32
  /// The maximum number of bytes in the text of a digest, however it is kept.
  package static let maximumTextCount = 2 * maximumCount
  /// The number of bytes in a digest that is made here.
  static let usualCount = 20

  /// The first 32 bytes as big-endian words, padded with zeros. No text has a byte 0, so comparing
  /// words and then lengths is the same as comparing bytes.
  private let words: Words
  /// The other bytes of a text; zeros if there are none.
  private let more: Words
  private let length: UInt8
  /// Whether the bytes are the text itself, because it is not pairs of lowercase hexadecimal
  /// digits.
  package let isText: Bool

  private struct Words: Sendable, Hashable {
    var a, b, c, d: UInt64

    static let zero = Words(a: 0, b: 0, c: 0, d: 0)

    /// The words of up to 32 bytes.
    init(_ bytes: some Collection<UInt8>) {
      self = .zero
      for (index, byte) in bytes.enumerated() {
        let shifted = UInt64(byte) &<< UInt64(56 &- 8 &* (index & 7))
        switch index >> 3 {
        case 0: a |= shifted
        case 1: b |= shifted
        case 2: c |= shifted
        default: d |= shifted
        }
      }
    }

    init(a: UInt64, b: UInt64, c: UInt64, d: UInt64) { (self.a, self.b, self.c, self.d) = (a, b, c, d) }
  }

  /// Creates a digest that is no text. Returns nil unless there are 1 to 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    let count = bytes.count
    guard count >= 1, count <= RevisionDigest.maximumCount else { return nil }
    words = Words(bytes)
    more = .zero
    length = UInt8(count)
    isText = false
  }

  /// Creates a digest from big-endian words; the bytes past `count` must be zero.
  init(words a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, count: Int) {
    words = Words(a: a, b: b, c: c, d: d)
    more = .zero
    length = UInt8(count)
    isText = false
  }

  /// Creates the digest that a revision id spells. Returns nil if no digest has this text: if it is
  /// empty, has more than 64 bytes, is not UTF-8, or contains a control character.
  ///
  /// - Parameter text: the text after the dash of the id, in UTF-8.
  package init?(text: some Collection<UInt8>) {
    let count = text.count
    guard count >= 1, count <= RevisionDigest.maximumTextCount else { return nil }
    if count % 2 == 0, let digits = RevisionDigest.pairs(text) {
      self.init(digits)
      return
    }
    let string = String(decoding: text, as: UTF8.self)
    guard string.utf8.elementsEqual(text),
      !string.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    self.init(checkedText: text)
  }

  private init(checkedText text: some Collection<UInt8>) {
    words = Words(text.prefix(RevisionDigest.maximumCount))
    more = Words(text.dropFirst(RevisionDigest.maximumCount))
    length = UInt8(text.count)
    isText = true
  }

  /// The number of bytes that are kept.
  package var count: Int { Int(length) }

  /// The bytes that are kept.
  package var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// Whether all bytes are in ``bigEndianWords``.
  var isShort: Bool { length <= 32 }

  /// The first 32 bytes as big-endian words; those past the end are zero.
  var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) { (words.a, words.b, words.c, words.d) }

  /// The next 32 bytes as big-endian words; those past the end are zero.
  var laterBigEndianWords: (UInt64, UInt64, UInt64, UInt64) { (more.a, more.b, more.c, more.d) }

  subscript(_ index: Int) -> UInt8 {
    let word =
      switch index >> 3 {
      case 0: words.a
      case 1: words.b
      case 2: words.c
      case 3: words.d
      case 4: more.a
      case 5: more.b
      case 6: more.c
      default: more.d
      }
    return UInt8(truncatingIfNeeded: word &>> UInt64(56 &- 8 &* (index & 7)))
  }
}

/// The text of a digest.
extension RevisionDigest {
  /// The number of bytes in the text.
  var textCount: Int { isText ? count : 2 * count }

  /// Returns a byte of the text.
  func textByte(at index: Int) -> UInt8 {
    if isText { return self[index] }
    let byte = self[index >> 1]
    return RevisionDigest.hexDigit(index & 1 == 0 ? byte >> 4 : byte & 15)
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  /// Returns the bytes that pairs of lowercase hexadecimal digits spell; nil if others are among
  /// them.
  private static func pairs(_ digits: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
      guard let value = hexValue(digit) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }

  private static func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

extension RevisionDigest: Comparable {
  package static func < (a: RevisionDigest, b: RevisionDigest) -> Bool {
    if a.isText != b.isText { return isSpelledBefore(a, b) }
    if a.words != b.words { return less(a.words, b.words) }
    if a.more != b.more { return less(a.more, b.more) }
    return a.length < b.length
  }

  private static func less(_ a: Words, _ b: Words) -> Bool {
    if a.a != b.a { return a.a < b.a }
    if a.b != b.b { return a.b < b.b }
    if a.c != b.c { return a.c < b.c }
    return a.d < b.d
  }

  /// Compares the texts of digests of different kinds, which are never equal.
  private static func isSpelledBefore(_ a: RevisionDigest, _ b: RevisionDigest) -> Bool {
    for index in 0..<min(a.textCount, b.textCount) {
      let (first, second) = (a.textByte(at: index), b.textByte(at: index))
      if first != second { return first < second }
    }
    return a.textCount < b.textCount
  }
}
