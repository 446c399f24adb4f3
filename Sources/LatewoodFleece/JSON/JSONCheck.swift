import LatewoodBytes

/// Checks values by the grammar of JSON and finds their ends, without converting them: escapes that
/// are half of a surrogate pair and numbers beyond the range of doubles are JSON, although a
/// `JSONParser` refuses them.
///
/// The text need not be complete: it can arrive in pieces.
package struct JSONCheck: ~Copyable {
  /// A value or string that has been found.
  package struct Extent: Equatable {
    /// The offset of the byte after it.
    package let end: Int
    /// Whether it has white space between its tokens.
    package let hasSpace: Bool
  }

  private var tokens = Tokens()

  package init() {}

  /// The number of values in the last value that was found, and the value itself.
  package var valueCount: Int { tokens.valueCount }

  /// Finds the end of a value. Returns nil if more of the text is needed.
  ///
  /// - Parameters:
  ///   - text: a text, or its first part.
  ///   - isComplete: whether this is the whole text.
  ///   - depthLimit: the greatest depth of nested arrays and objects.
  /// - Throws: `FleeceError` `invalidJSON` or `tooDeep`, with an offset in `text`.
  package mutating func value(
    at offset: Int = 0, of text: UnsafeRawBufferPointer, isComplete: Bool = true,
    depthLimit: Int = FleeceLimits.depth
  ) throws(FleeceError) -> Extent? {
    tokens.open.removeAll()
    tokens.length = 0
    tokens.valueCount = 0
    tokens.depthLimit = depthLimit
    return try extent(at: offset, of: text, isComplete) { (reader, tokens) throws(JSONError) in
      try reader.value(into: &tokens)
    }
  }

  /// Finds the end of a member's name and the colon after it. Returns nil if more of the text is
  /// needed.
  package mutating func name(
    at offset: Int = 0, of text: UnsafeRawBufferPointer, isComplete: Bool = true
  ) throws(FleeceError) -> Extent? {
    try extent(at: offset, of: text, isComplete) { (reader, tokens) throws(JSONError) in
      _ = try reader.name(&tokens)
    }
  }

  /// The distance from the end within which a text that is only a first part is refused: an escape
  /// may be cut off.
  private static let uncertainLength = 12

  private mutating func extent(
    at offset: Int, of text: UnsafeRawBufferPointer, _ isComplete: Bool,
    _ read: (inout JSONReader, inout Tokens) throws(JSONError) -> Void
  ) throws(FleeceError) -> Extent? {
    do throws(JSONError) {
      return try text.withStartThrowing { start, count throws(JSONError) in
        var reader = JSONReader(start: start, end: count)
        reader.at = offset
        try read(&reader, &tokens)
        // The next byte may belong to a number.
        if reader.isAtEnd, !isComplete { return nil }
        return Extent(end: reader.at, hasSpace: tokens.length != reader.at - offset)
      }
    } catch {
      if !isComplete, error.offset >= text.count - JSONCheck.uncertainLength { return nil }
      throw error.located(in: text)
    }
  }

  /// Skips all tokens and counts their bytes.
  private struct Tokens: ~Copyable, JSONBuilder {
    /// 1 for each open object, 0 for each open array.
    var open = GrowingList<UInt32>(capacity: 16)
    var depthLimit = FleeceLimits.depth
    /// The number of bytes of the tokens.
    var length = 0
    var valueCount = 0

    var depth: Int { open.count }

    @inline(__always) func isObject(_ collection: UInt32) -> Bool { collection == 1 }

    @inline(__always) mutating func key(_ reader: inout JSONReader) throws(JSONError) -> UInt32 {
      try skip(&reader) { reader throws(JSONError) in try reader.skipString() }
      length &+= 1  // The colon.
      return 0
    }

    @inline(__always) mutating func string(
      _ reader: inout JSONReader, in parent: UInt32, key: UInt32
    ) throws(JSONError) {
      count(in: parent)
      try skip(&reader) { reader throws(JSONError) in try reader.skipString() }
    }

    @inline(__always) mutating func number(
      _ reader: inout JSONReader, in parent: UInt32, key: UInt32
    ) throws(JSONError) {
      count(in: parent)
      try skip(&reader) { reader throws(JSONError) in try reader.skipNumber() }
    }

    @inline(__always) mutating func word(_ kind: ValueTape.Kind, in parent: UInt32, key: UInt32) {
      count(in: parent)
      length &+= kind == .no ? 5 : 4
    }

    @inline(__always) mutating func add(isObject: Bool, in parent: UInt32, key: UInt32) -> UInt32 {
      count(in: parent)
      length &+= 2
      return isObject ? 1 : 0
    }

    @inline(__always) mutating func enter(_ collection: UInt32) {
      open.append(collection)
      // The first value follows without a comma.
      length &-= 1
    }

    @inline(__always) mutating func leave() -> UInt32 {
      open.removeLast()
      return open.last ?? ValueTape.none
    }

    /// Counts a value and the comma before it, which `enter` has deducted for the first one.
    @inline(__always) private mutating func count(in parent: UInt32) {
      valueCount &+= 1
      if parent != ValueTape.none { length &+= 1 }
    }

    @inline(__always) private mutating func skip(
      _ reader: inout JSONReader, _ body: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
      let start = reader.at
      try body(&reader)
      length &+= reader.at &- start
    }
  }
}

extension JSON {
  /// Returns a text without the white space between its tokens; nil if it is not one JSON value.
  package static func compact(_ text: [UInt8]) -> [UInt8]? {
    var check = JSONCheck()
    let extent = text.withUnsafeBytes { bytes -> (Int, JSONCheck.Extent)? in
      do throws(FleeceError) {
        let start = bytes.count - space(bytes)
        guard let extent = try check.value(at: start, of: bytes),
          space(UnsafeRawBufferPointer(rebasing: bytes[extent.end...])) == 0
        else { return nil }
        return (start, extent)
      } catch { return nil }
    }
    guard let (start, extent) = extent else { return nil }
    if start == 0, extent.end == text.count, !extent.hasSpace { return text }
    var compact = Array(text[start..<extent.end])
    let length = compact.withUnsafeMutableBytes { JSON.compact(checked: $0) }
    compact.removeLast(compact.count - length)
    return compact
  }

  /// Returns the number of bytes after the white space at the start.
  private static func space(_ text: UnsafeRawBufferPointer) -> Int {
    text.withStart { start, count in
      var reader = JSONReader(start: start, end: count)
      reader.skipSpace()
      return count - reader.at
    }
  }

  /// Removes the white space between the tokens of a value that a `JSONCheck` has accepted, and
  /// returns its new length.
  package static func compact(checked text: UnsafeMutableRawBufferPointer) -> Int {
    guard let target = text.baseAddress else { return 0 }
    let start = UnsafeRawPointer(target)
    var (from, to) = (0, 0)
    // SAFETY: `to <= from <= text.count`, so every read and write lies within the text, and no byte
    // is overwritten before it is read.
    while from < text.count {
      let byte = start.u8(from)
      if byte <= 0x20 {
        from &+= 1
        continue
      }
      var end = from &+ 1
      if byte == UInt8(ascii: "\"") {
        end = endOfString(start, end, text.count)
      } else {
        while end < text.count, start.u8(end) > 0x20, start.u8(end) != UInt8(ascii: "\"") { end &+= 1 }
      }
      if to != from { (target + to).copyMemory(from: start + from, byteCount: end &- from) }
      to &+= end &- from
      from = end
    }
    return to
  }

  /// Returns the offset after the closing quote of a string.
  private static func endOfString(_ start: UnsafeRawPointer, _ at: Int, _ end: Int) -> Int {
    var at = at
    while at < end {
      at = UTF8Text.plainEnd(start, at, end)
      if at == end { break }
      switch start.u8(at) {
      case UInt8(ascii: "\""): return at &+ 1
      case UInt8(ascii: "\\"): at = min(at &+ 2, end)
      default: at &+= 1
      }
    }
    return at
  }
}
