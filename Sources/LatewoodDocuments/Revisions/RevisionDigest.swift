/// The part of a revision id that distinguishes revisions of one generation.
///
/// Most digests are 1 to 32 bytes, which a revision id spells as lowercase hexadecimal digits, two
/// for each. The digests that this library creates start with a byte that names the algorithm:
/// ``Algorithm``. Other databases also name revisions with texts that are not such digits, such as
/// `5ac`, `5AC` or `abc-def`. Such a digest is kept as text, 1 to 46 bytes of UTF-8 without control
/// characters.
///
/// Digests are ordered by their spelling in a revision id, byte by byte. Among digests of one kind,
/// that is the order of their bytes.
package struct RevisionDigest: Sendable, Hashable {
  /// The algorithm that created a digest. On disk and in replicas: never renumbered.
  package enum Algorithm: UInt8, Sendable {
    /// This byte, then 19 bytes of BLAKE2b (RFC 7693, digest length 19), over the bytes of the
    /// body.
    case blake2b152 = 1
    /// This byte, then 16 bytes of `ValueHash`, over the value of the body, in any encoding.
    case valueHash = 2
  }

  /// The maximum number of bytes in a digest that is not a text.
  static let maximumCount = 32
  /// The maximum number of bytes in a digest that is a text. It is the capacity of the words, which
  /// make copies cheap: digests are copied often.
  package static let maximumTextCount = 46
  /// The number of bytes in a digest of `Algorithm.blake2b152`, which is not stored in records.
  static let usualCount = 20
  /// The number of bytes in a digest of `Algorithm.valueHash`.
  static let valueHashCount = 17

  /// The first 40 bytes as big-endian words, padded with zeros.
  private let a, b, c, d, e: UInt64
  /// The next 6 bytes, padded with zeros; then the number of bytes, and 1 if they are a text.
  ///
  /// For digests of one kind, comparing words therefore compares the bytes and then the lengths.
  private let last: UInt64

  /// Creates a digest that is not a text. Returns nil unless there are 1 to 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count >= 1, bytes.count <= RevisionDigest.maximumCount else { return nil }
    self.init(checked: bytes, isText: false)
  }

  /// Creates a digest from big-endian words; the bytes past `count` must be zero.
  init(words a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, count: Int) {
    (self.a, self.b, self.c, self.d, e) = (a, b, c, d, 0)
    last = UInt64(truncatingIfNeeded: count) &<< 8
  }

  /// Creates the digest that a revision id spells. Returns nil if no digest has this text: if it is
  /// empty, not UTF-8 or too long, or contains a control character.
  ///
  /// - Parameter text: the text after the dash of the id, in UTF-8.
  package init?(text: some Collection<UInt8>) {
    let count = text.count
    guard count >= 1, count <= 2 * RevisionDigest.maximumCount else { return nil }
    if count % 2 == 0, let digits = RevisionDigest.pairs(text) {
      self.init(digits)
      return
    }
    guard count <= RevisionDigest.maximumTextCount else { return nil }
    let string = String(decoding: text, as: UTF8.self)
    guard string.utf8.elementsEqual(text),
      !string.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    self.init(checked: text, isText: true)
  }

  private init(checked bytes: some Collection<UInt8>, isText: Bool) {
    var words = (UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    for (index, byte) in bytes.enumerated() {
      let shifted = UInt64(byte) &<< UInt64(56 &- 8 &* (index & 7))
      switch index >> 3 {
      case 0: words.0 |= shifted
      case 1: words.1 |= shifted
      case 2: words.2 |= shifted
      case 3: words.3 |= shifted
      case 4: words.4 |= shifted
      default: words.5 |= shifted
      }
    }
    (a, b, c, d, e) = (words.0, words.1, words.2, words.3, words.4)
    last = words.5 | UInt64(bytes.count) &<< 8 | (isText ? 1 : 0)
  }

  /// Whether the bytes are the text itself, because it is not pairs of lowercase hexadecimal
  /// digits.
  package var isText: Bool { last & 1 != 0 }

  /// The number of bytes that are kept.
  package var count: Int { Int(truncatingIfNeeded: last &>> 8 & 0xFF) }

  /// The bytes that are kept.
  package var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// The first 32 bytes as big-endian words; those past the end are zero.
  var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) { (a, b, c, d) }

  /// The next 16 bytes as big-endian words; those past the end are zero.
  var laterBigEndianWords: (UInt64, UInt64) { (e, last & ~0xFFFF) }

  subscript(_ index: Int) -> UInt8 {
    let word =
      switch index >> 3 {
      case 0: a
      case 1: b
      case 2: c
      case 3: d
      case 4: e
      default: last
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

  /// Writes the text to the beginning of a buffer, which has space for ``textCount`` bytes. Returns
  /// its length.
  func writeText(to text: Slice<UnsafeMutableBufferPointer<UInt8>>) -> Int {
    var index = text.startIndex
    for place in 0..<count {
      let byte = self[place]
      if isText {
        text.base[index] = byte
        index &+= 1
      } else {
        text.base[index] = RevisionDigest.hexDigit(byte >> 4)
        text.base[index &+ 1] = RevisionDigest.hexDigit(byte & 15)
        index &+= 2
      }
    }
    return index &- text.startIndex
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    // Without a branch, because the digits are practically random.
    let letter: UInt8 = value > 9 ? UInt8(ascii: "a") - UInt8(ascii: "9") - 1 : 0
    return UInt8(ascii: "0") &+ value &+ letter
  }

  /// Returns the bytes spelled by pairs of lowercase hexadecimal digits; nil if there are other
  /// characters.
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
    if a.a != b.a { return a.a < b.a }
    if a.b != b.b { return a.b < b.b }
    if a.c != b.c { return a.c < b.c }
    if a.d != b.d { return a.d < b.d }
    if a.e != b.e { return a.e < b.e }
    return a.last < b.last
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
