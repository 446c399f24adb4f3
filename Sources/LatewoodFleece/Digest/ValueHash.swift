import LatewoodBytes

/// A hash of 128 bits over a sequence of pairs of words. `FORMAT.md` defines it, because its
/// results are the names of revisions: they never change.
///
/// ```
/// absorb(x, y):  round    += 0x9E3779B97F4A7C15
///                high, low = (a ^ x ^ round) * (b ^ y ^ round rotated by 32)
///                                                   the product of 128 bits
///                a, b      = (b + high) ^ x, (a + low) ^ y
/// ```
///
/// The multiplication mixes the words, as in Wang Yi's wyhash and in XXH3. The words are then added
/// again, so that a factor of zero does not hide the other word. Each round is different, and the
/// halves change places: otherwise a run of equal words, such as the elements of `[0, 0, 0, …]`,
/// would lead to a state that more of them no longer change.
///
/// The hash takes about one instruction for each byte. It distinguishes contents, but does not
/// resist attacks: an attacker who chooses the contents can find two with the same hash.
package struct ValueHash {
  private var a: UInt64 = 0x243F_6A88_85A3_08D3
  private var b: UInt64 = 0x1319_8A2E_0370_7344
  private var round: UInt64 = 0

  package init() {}

  /// Adds two words.
  @inline(__always) package mutating func absorb(_ x: UInt64, _ y: UInt64) {
    round &+= 0x9E37_79B9_7F4A_7C15
    let rotated = round &<< 32 | round &>> 32
    let product = (a ^ x ^ round).multipliedFullWidth(by: b ^ y ^ rotated)
    (a, b) = ((b &+ product.high) ^ x, (a &+ product.low) ^ y)
  }

  /// Adds a tag, the number of bytes, and the bytes, as little-endian words. The last word is
  /// filled with zeros, and so is the last pair of words.
  @inline(__always) package mutating func absorb(_ tag: ValueTag, _ bytes: UnsafeRawBufferPointer) {
    let head = UInt64(tag.rawValue) | UInt64(truncatingIfNeeded: bytes.count) &<< 8
    guard let start = bytes.baseAddress else { return absorb(head, 0) }
    if bytes.count <= 8 { return absorb(head, ValueHash.word(start, 0, bytes.count)) }
    // SAFETY: all reads lie within the bytes.
    absorb(head, start.u64(0))
    absorbRest(start, bytes.count)
  }

  /// Adds the bytes after the first eight of more than eight bytes.
  private mutating func absorbRest(_ start: UnsafeRawPointer, _ count: Int) {
    var at = 8
    // SAFETY: all reads lie within the bytes.
    while at &+ 32 <= count {
      absorb(start.u64(at), start.u64(at &+ 8))
      absorb(start.u64(at &+ 16), start.u64(at &+ 24))
      at &+= 32
    }
    if at &+ 16 <= count {
      absorb(start.u64(at), start.u64(at &+ 8))
      at &+= 16
    }
    if at &+ 8 < count {
      absorb(start.u64(at), ValueHash.word(start, at &+ 8, count))
    } else if at < count {
      absorb(ValueHash.word(start, at, count), 0)
    }
  }

  /// Returns the bytes from an offset to the end, at most eight, as a little-endian word.
  @inline(__always) private static func word(_ start: UnsafeRawPointer, _ at: Int, _ end: Int) -> UInt64 {
    let count = end &- at
    // SAFETY: all reads lie between the start and `end`. Two reads may overlap.
    if end >= 8 {
      return count == 0 ? 0 : start.u64(end &- 8) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* count)
    }
    if count >= 4 {
      let last = UInt64(start.u32(end &- 4)) &<< UInt64(truncatingIfNeeded: 8 &* (count &- 4))
      return UInt64(start.u32(at)) | last
    }
    var word: UInt64 = 0
    for index in 0..<max(count, 0) {
      word |= UInt64(start.u8(at &+ index)) &<< UInt64(truncatingIfNeeded: 8 &* index)
    }
    return word
  }

  /// Returns the hash.
  package consuming func finish() -> (first: UInt64, second: UInt64) {
    absorb(0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89)
    absorb(0x4528_21E6_38D0_1377, 0xBE54_66CF_34E9_0C6C)
    absorb(0xC0AC_29B7_C97C_50DD, 0x3F84_D5B5_B547_0917)
    return (a, b)
  }
}

/// The kinds of pieces that a value consists of when it is hashed. These numbers are part of the
/// definition of the hash.
package enum ValueTag: UInt8 {
  case null = 1
  case no = 2
  case yes = 3
  /// An integer that 64 bits with a sign can represent.
  case integer = 4
  /// An integer from 2^63 to 2^64 - 1.
  case unsigned = 5
  /// Any other number, and negative zero.
  case double = 6
  case text = 8
  case data = 9
  case name = 10
  case beginArray = 11
  case endArray = 12
  case beginDictionary = 13
  case endDictionary = 14
  /// The information about a revision that precedes its body.
  case revision = 15
}
