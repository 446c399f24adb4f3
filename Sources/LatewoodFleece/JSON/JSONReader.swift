import LatewoodBytes

/// A position in a JSON text, with methods that read the tokens that follow.
///
/// Invariant: `start` has `end` bytes, and `0 <= at <= end`. SAFETY: every read below stays before
/// `end`.
struct JSONReader {
  let start: UnsafeRawPointer
  let end: Int
  var at = 0

  init(start: UnsafeRawPointer, end: Int) {
    self.start = start
    self.end = end
  }

  var isAtEnd: Bool { at == end }

  /// The next byte; 0 at the end, where no token can start.
  @inline(__always) var peek: UInt8 { at < end ? start.u8(at) : 0 }

  @inline(never) func refusal(_ reason: JSONError.Reason) -> JSONError { JSONError(reason, at) }

  mutating func skipByteOrderMark() {
    if end >= 3, start.u8(0) == 0xEF, start.u8(1) == 0xBB, start.u8(2) == 0xBF { at = 3 }
  }

  @inline(__always) mutating func skipSpace() {
    if at < end, start.u8(at) > 0x20 { return }
    skipSomeSpace()
  }

  private mutating func skipSomeSpace() {
    while at < end {
      switch start.u8(at) {
      case UInt8(ascii: "\n"), UInt8(ascii: " "):
        at &+= 1
        // Indented texts have long runs of spaces.
        while at &+ 8 <= end, start.u64(at) == 0x2020_2020_2020_2020 { at &+= 8 }
      case UInt8(ascii: "\t"), UInt8(ascii: "\r"): at &+= 1
      default: return
      }
    }
  }

  mutating func word(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard peek == word.utf8Start[index] else { throw refusal(.noWord) }
      at &+= 1
    }
  }

  /// Skips a string, from its opening quote through the closing one, and returns true. At an
  /// escape, stops before the backslash and returns false.
  @inline(__always) mutating func skipPlainString() throws(JSONError) -> Bool {
    at &+= 1
    return try skipPlain()
  }

  /// Skips a string with any escapes, from its opening quote through the closing one.
  @inline(__always) mutating func skipString() throws(JSONError) {
    at &+= 1
    while try !skipPlain() { try skipEscape() }
  }

  /// Skips the rest of a string and returns true, or stops before a backslash and returns false.
  @inline(__always) private mutating func skipPlain() throws(JSONError) -> Bool {
    while true {
      at = UTF8Text.plainEnd(start, at, end)
      if at == end { throw refusal(.endInString) }
      let byte = start.u8(at)
      if byte == UInt8(ascii: "\"") {
        at &+= 1
        return true
      }
      if byte == UInt8(ascii: "\\") { return false }
      try skipScalars()
    }
  }

  /// Skips characters that are not ASCII.
  @inline(__always) private mutating func skipScalars() throws(JSONError) {
    repeat {
      let byte = start.u8(at)
      if byte < 0x20 { throw refusal(byte == 0x0A ? .lineBreakInString : .controlInString) }
      if byte < 0x80 { return }
      let length = UTF8Text.scalarLength(start, at, end)
      if length == 0 { throw refusal(.notUTF8) }
      at &+= length
    } while at < end
  }

  /// Appends the rest of a string, starting at a backslash, and skips the closing quote.
  mutating func unescape(into output: inout GrowingBytes) throws(JSONError) {
    while true {
      let from = at
      at = UTF8Text.plainEnd(start, at, end)
      output.append(start + from, at &- from)
      if at == end { throw refusal(.endInString) }
      switch start.u8(at) {
      case UInt8(ascii: "\""):
        at &+= 1
        return
      case UInt8(ascii: "\\"): try escape(into: &output)
      default:
        let from = at
        try skipScalars()
        output.append(start + from, at &- from)
      }
    }
  }

  private mutating func escape(into output: inout GrowingBytes) throws(JSONError) {
    let backslash = at
    var code = try escape()
    if code & 0xF800 == 0xD800 {
      guard code < 0xDC00, at &+ 6 <= end, start.u8(at) == UInt8(ascii: "\\"),
        start.u8(at &+ 1) == UInt8(ascii: "u")
      else { throw JSONError(.loneSurrogate, backslash) }
      at &+= 2
      let low = try hexadecimal(backslash)
      guard low & 0xFC00 == 0xDC00 else { throw JSONError(.loneSurrogate, backslash) }
      code = 0x10000 + (code & 0x3FF) << 10 | low & 0x3FF
    }
    JSONReader.append(code, to: &output)
  }

  @inline(never) private mutating func skipEscape() throws(JSONError) { _ = try escape() }

  /// Skips an escape, starting at its backslash, and returns its UTF-16 code unit.
  @inline(__always) private mutating func escape() throws(JSONError) -> UInt32 {
    let backslash = at
    at &+= 1
    if at == end { throw refusal(.endInString) }
    let byte = start.u8(at)
    at &+= 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt32(byte)
    case UInt8(ascii: "b"): return 0x08
    case UInt8(ascii: "f"): return 0x0C
    case UInt8(ascii: "n"): return 0x0A
    case UInt8(ascii: "r"): return 0x0D
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "u"): return try hexadecimal(backslash)
    default: throw JSONError(.unknownEscape, backslash)
    }
  }

  private mutating func hexadecimal(_ backslash: Int) throws(JSONError) -> UInt32 {
    guard at &+ 4 <= end else { throw JSONError(.fourDigits, backslash) }
    var code: UInt32 = 0
    for _ in 0..<4 {
      let digit: UInt8
      switch start.u8(at) {
      case let byte where byte >= 0x30 && byte <= 0x39: digit = byte &- 0x30
      case let byte where byte | 0x20 >= 0x61 && byte | 0x20 <= 0x66: digit = (byte | 0x20) &- 0x57
      default: throw JSONError(.fourDigits, backslash)
      }
      code = code &<< 4 | UInt32(digit)
      at &+= 1
    }
    return code
  }

  /// Appends a scalar as UTF-8.
  @inline(__always) private static func append(_ code: UInt32, to output: inout GrowingBytes) {
    func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(truncatingIfNeeded: code &>> shift) & 0x3F }
    switch code {
    case ..<0x80: output.append(UInt8(truncatingIfNeeded: code))
    case ..<0x800:
      output.append(0xC0 | UInt8(truncatingIfNeeded: code &>> 6))
      output.append(tail(0))
    case ..<0x10000:
      output.append(0xE0 | UInt8(truncatingIfNeeded: code &>> 12))
      output.append(tail(6))
      output.append(tail(0))
    default:
      output.append(0xF0 | UInt8(truncatingIfNeeded: code &>> 18))
      output.append(tail(12))
      output.append(tail(6))
      output.append(tail(0))
    }
  }
}
