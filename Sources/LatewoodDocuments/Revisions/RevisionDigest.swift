/// The part of a revision id that tells revisions of one generation apart: 1 to 32 bytes, compared
/// as bytes.
///
/// The digests that this library makes start with a byte that names the algorithm: ``Algorithm``.
/// Those of other databases may be any bytes.
package struct RevisionDigest: Sendable, Hashable {
  /// The algorithm that made a digest. On disk and in replicas: never renumbered.
  package enum Algorithm: UInt8, Sendable {
    /// This byte, then 19 bytes of BLAKE2b (RFC 7693, digest length 19).
    case blake2b152 = 1
  }

  static let maximumCount = 32
  /// The number of bytes in a digest that is made here.
  static let usualCount = 20

  /// The bytes as big-endian words, padded with zeros: comparing words and then lengths is the same
  /// as comparing bytes.
  private let words: Words
  private let length: UInt8

  private struct Words: Sendable, Hashable {
    var a, b, c, d: UInt64
  }

  /// Returns nil unless there are 1 to 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    let count = bytes.count
    guard count >= 1, count <= RevisionDigest.maximumCount else { return nil }
    var list = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    for (index, byte) in bytes.enumerated() {
      let shifted = UInt64(byte) &<< UInt64(56 &- 8 &* (index & 7))
      switch index >> 3 {
      case 0: list.0 |= shifted
      case 1: list.1 |= shifted
      case 2: list.2 |= shifted
      default: list.3 |= shifted
      }
    }
    words = Words(a: list.0, b: list.1, c: list.2, d: list.3)
    length = UInt8(count)
  }

  /// Creates a digest from big-endian words; the bytes past `count` must be zero.
  init(words a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, count: Int) {
    words = Words(a: a, b: b, c: c, d: d)
    length = UInt8(count)
  }

  package var count: Int { Int(length) }

  package var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// The bytes as big-endian words; those past the end are zero.
  var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) { (words.a, words.b, words.c, words.d) }

  subscript(_ index: Int) -> UInt8 {
    let word =
      switch index >> 3 {
      case 0: words.a
      case 1: words.b
      case 2: words.c
      default: words.d
      }
    return UInt8(truncatingIfNeeded: word &>> UInt64(56 &- 8 &* (index & 7)))
  }
}

extension RevisionDigest: Comparable {
  package static func < (a: RevisionDigest, b: RevisionDigest) -> Bool {
    if a.words.a != b.words.a { return a.words.a < b.words.a }
    if a.words.b != b.words.b { return a.words.b < b.words.b }
    if a.words.c != b.words.c { return a.words.c < b.words.c }
    if a.words.d != b.words.d { return a.words.d < b.words.d }
    return a.length < b.length
  }
}
