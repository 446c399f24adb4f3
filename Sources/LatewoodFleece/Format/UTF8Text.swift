import LatewoodBytes

/// Scans text eight bytes at a time.
enum UTF8Text {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let tops: UInt64 = 0x8080_8080_8080_8080

  /// Returns a word with the top bit set in each byte that is a quote, a backslash, a control
  /// character or not ASCII.
  ///
  /// The first mark is always correct. Bytes above it may be marked wrongly, because a borrow
  /// propagates upwards.
  @inline(__always) private static func special(_ word: UInt64) -> UInt64 {
    let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let slashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
    let hits = (quotes &- ones) | (slashes &- ones) | (word &- ones &* 0x20) | word
    return hits & tops
  }

  /// Returns the first offset, starting at `at`, whose byte is a quote, a backslash, a control
  /// character or not ASCII; `end` if there is none.
  @inline(__always) static func plainEnd(_ start: UnsafeRawPointer, _ at: Int, _ end: Int) -> Int {
    var at = at
    // SAFETY: reads stay before `end`.
    while at &+ 8 <= end {
      let hits = special(start.u64(at))
      if hits != 0 { return at &+ hits.trailingZeroBitCount &>> 3 }
      at &+= 8
    }
    while at < end {
      let byte = start.u8(at)
      if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
      at &+= 1
    }
    return at
  }

  /// Returns the length of the scalar of two to four bytes at an offset, by table 3-7 of the
  /// Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. Returns 0 if there
  /// is no valid scalar. `at` must be less than `end`.
  @inline(__always) static func scalarLength(_ start: UnsafeRawPointer, _ at: Int, _ end: Int) -> Int {
    // SAFETY: reads stay before `end`.
    let first = start.u8(at)
    let room = end &- at
    if first < 0xC2 || room < 2 { return 0 }
    let second = start.u8(at &+ 1)
    if first < 0xE0 { return second & 0xC0 == 0x80 ? 2 : 0 }
    if room < 3 || start.u8(at &+ 2) & 0xC0 != 0x80 { return 0 }
    if first < 0xF0 {
      let lowest: UInt8 = first == 0xE0 ? 0xA0 : 0x80
      let highest: UInt8 = first == 0xED ? 0x9F : 0xBF
      return second >= lowest && second <= highest ? 3 : 0
    }
    if first > 0xF4 || room < 4 || start.u8(at &+ 3) & 0xC0 != 0x80 { return 0 }
    let lowest: UInt8 = first == 0xF0 ? 0x90 : 0x80
    let highest: UInt8 = first == 0xF4 ? 0x8F : 0xBF
    return second >= lowest && second <= highest ? 4 : 0
  }

  /// Returns whether `count` bytes are valid UTF-8.
  @inline(__always) static func isValid(_ start: UnsafeRawPointer, _ count: Int) -> Bool {
    isASCII(start, count) || isValidUnicode(start, count)
  }

  /// Returns whether `count` bytes are ASCII. The last word may overlap with the one before.
  @inline(__always) static func isASCII(_ start: UnsafeRawPointer, _ count: Int) -> Bool {
    // SAFETY: reads stay before `count`.
    if count >= 8 {
      var bits = start.u64(count &- 8)
      var at = 0
      while at &+ 8 < count {
        bits |= start.u64(at)
        at &+= 8
      }
      return bits & tops == 0
    }
    if count >= 4 { return UInt64(start.u32(0) | start.u32(count &- 4)) & tops == 0 }
    if count >= 2 { return UInt64(start.u16(0) | start.u16(count &- 2)) & tops == 0 }
    return count == 0 || start.u8(0) < 0x80
  }

  @inline(never) private static func isValidUnicode(_ start: UnsafeRawPointer, _ count: Int) -> Bool {
    var at = 0
    while at < count {
      // SAFETY: reads stay before `count`.
      if at &+ 8 <= count, start.u64(at) & tops == 0 {
        at &+= 8
      } else if start.u8(at) < 0x80 {
        at &+= 1
      } else {
        let length = scalarLength(start, at, count)
        if length == 0 { return false }
        at &+= length
      }
    }
    return true
  }
}
