import LatewoodBytes

/// Functions on strings. Characters are Unicode scalars.
enum SQLText {
  static func compare(_ left: String, _ right: String) -> Int {
    var (left, right) = (left, right)
    return left.withUTF8 { a in
      right.withUTF8 { b in
        guard let first = a.baseAddress, let second = b.baseAddress else { return a.count - b.count }
        // SAFETY: the passed lengths are the lengths of the buffers.
        return KeyOrder.compare(UnsafeRawPointer(first), a.count, UnsafeRawPointer(second), b.count)
      }
    }
  }

  /// Returns the byte offset of a text in another. O(length of both): the Knuth–Morris–Pratt
  /// algorithm.
  static func find(_ needle: [UInt8], in text: [UInt8], from start: Int = 0) -> Int? {
    guard !needle.isEmpty else { return start }
    var borders = [0]
    var matched = 0
    for index in 1..<max(1, needle.count) {
      while matched > 0, needle[index] != needle[matched] { matched = borders[matched - 1] }
      if needle[index] == needle[matched] { matched += 1 }
      borders.append(matched)
    }
    matched = 0
    for index in start..<max(start, text.count) {
      while matched > 0, text[index] != needle[matched] { matched = borders[matched - 1] }
      if text[index] == needle[matched] { matched += 1 }
      if matched == needle.count { return index + 1 - matched }
    }
    return nil
  }

  static func scalarCount(_ bytes: some Sequence<UInt8>) -> Int {
    bytes.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
  }

  /// Returns a text without white space at the beginning, at the end, or both.
  static func trimmed(_ text: String, start: Bool, end: Bool) -> String {
    var scalars = Substring(text).unicodeScalars
    while start, let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while end, let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return String(scalars)
  }
}

/// The pattern of a LIKE: `%` matches any characters, `_` matches one, and a backslash makes the
/// next character literal.
struct SQLPattern {
  private enum Part: Equatable {
    case any, one
    case byte(UInt8)
  }

  private var parts: [Part] = []

  init(_ text: String) {
    var isEscaped = false
    for byte in text.utf8 {
      switch byte {
      case _ where isEscaped:
        parts.append(.byte(byte))
        isEscaped = false
      case UInt8(ascii: "\\"): isEscaped = true
      case UInt8(ascii: "%"): if parts.last != .any { parts.append(.any) }
      case UInt8(ascii: "_"): parts.append(.one)
      default: parts.append(.byte(byte))
      }
    }
    if isEscaped { parts.append(.byte(UInt8(ascii: "\\"))) }
  }

  /// The prefix of all matching texts, and the kind of the remaining pattern.
  var beginning: (text: String, rest: Rest) {
    var bytes: [UInt8] = []
    for part in parts {
      guard case .byte(let byte) = part else { break }
      bytes.append(byte)
    }
    let text = String(decoding: bytes, as: UTF8.self)
    switch parts.count - bytes.count {
    case 0: return (text, .nothing)
    case 1 where parts.last == .any: return (text, .anything)
    default: return (text, .more)
    }
  }

  enum Rest { case nothing, anything, more }

  /// Returns whether a text matches; nil if the match takes more than `steps`. Subtracts the steps
  /// taken: at most the product of both lengths.
  ///
  /// - Parameter check: throws if the run is to end.
  func matches(_ text: String, steps: inout Int, _ check: () throws -> Void = {}) throws -> Bool? {
    let text = Array(text.utf8)
    var (at, place) = (0, 0)
    /// The index in the pattern after the last `%`, and the index in the text from which the rest
    /// of the pattern has been tried.
    var retry: (place: Int, at: Int)?
    while at < text.count {
      steps -= 1
      guard steps >= 0 else { return nil }
      if steps & 0x1FFF == 0 { try check() }
      let part = place < parts.count ? parts[place] : nil
      if part == .any {
        place += 1
        retry = (place, at)
      } else if part == .one {
        at = SQLPattern.next(at, text)
        place += 1
      } else if part == .byte(text[at]) {
        at += 1
        place += 1
      } else if let from = retry {
        at = SQLPattern.next(from.at, text)
        place = from.place
        retry = (place, at)
      } else {
        return false
      }
    }
    return parts[place...].allSatisfy { $0 == .any }
  }

  /// Returns the index after the character at an index.
  private static func next(_ at: Int, _ text: [UInt8]) -> Int {
    var next = at + 1
    while next < text.count, text[next] & 0xC0 == 0x80 { next += 1 }
    return next
  }
}
