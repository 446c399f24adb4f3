/// Functions on JSON text in the checked, compact form of `JSONScanner`: no white space, all
/// brackets closed.
enum JSONText {
  /// Returns the members of an object, in order, as slices: the name with its quotes, and the
  /// value. Returns nil for any other text.
  static func members(of text: ArraySlice<UInt8>) -> [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)]? {
    guard text.first == UInt8(ascii: "{") else { return nil }
    var members: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] = []
    var at = text.startIndex + 1
    while at < text.endIndex, text[at] != UInt8(ascii: "}") {
      if text[at] == UInt8(ascii: ",") { at += 1 }
      let nameEnd = end(ofValueAt: at, in: text)
      let valueStart = min(nameEnd + 1, text.endIndex)
      let valueEnd = end(ofValueAt: valueStart, in: text)
      members.append((text[at..<nameEnd], text[valueStart..<valueEnd]))
      at = valueEnd
    }
    return members
  }

  /// Returns an object without the members of the given name; returns any other text unchanged.
  static func without(_ name: [UInt8], _ text: [UInt8]) -> [UInt8] {
    guard let members = members(of: text[...]) else { return text }
    var rest = Array("{".utf8)
    for member in members where string(member.name) != name {
      if rest.count > 1 { rest.append(UInt8(ascii: ",")) }
      rest += member.name
      rest.append(UInt8(ascii: ":"))
      rest += member.value
    }
    return rest + [UInt8(ascii: "}")]
  }

  /// Returns the value at a path of names; nil if it does not exist. If members have the same name,
  /// the last one counts.
  static func value(at path: [[UInt8]], in text: [UInt8]) -> ArraySlice<UInt8>? {
    var value = text[...]
    for name in path {
      guard let members = members(of: value),
        let member = members.last(where: { string($0.name) == name })
      else { return nil }
      value = member.value
    }
    return value
  }

  /// Returns the content of a string as UTF-8; nil if it is not a string, or has half of a
  /// surrogate pair, which UTF-8 cannot express.
  static func string(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count >= 2, text.first == UInt8(ascii: "\"") else { return nil }
    let inside = text.dropFirst().dropLast()
    guard inside.contains(UInt8(ascii: "\\")) else { return Array(inside) }
    var result: [UInt8] = []
    var at = inside.startIndex
    while at < inside.endIndex {
      guard inside[at] == UInt8(ascii: "\\"), at + 1 < inside.endIndex else {
        result.append(inside[at])
        at += 1
        continue
      }
      let code = inside[at + 1]
      at += 2
      switch code {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"):
        guard let scalar = scalar(at: &at, in: inside) else { return nil }
        result.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
      default: result.append(code)
      }
    }
    return result
  }

  /// Reads the four digits at `at`, and the second `\u` escape if they are the first half of a
  /// surrogate pair.
  private static func scalar(at: inout Int, in text: ArraySlice<UInt8>) -> Unicode.Scalar? {
    guard let first = unit(at: at, in: text) else { return nil }
    at += 4
    guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(UInt32(first)) }
    guard at + 2 <= text.endIndex, text[at] == UInt8(ascii: "\\"), text[at + 1] == UInt8(ascii: "u"),
      let second = unit(at: at + 2, in: text), UTF16.isTrailSurrogate(second)
    else { return nil }
    at += 6
    return Unicode.Scalar(0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF)))
  }

  private static func unit(at: Int, in text: ArraySlice<UInt8>) -> UInt16? {
    guard at + 4 <= text.endIndex, let bytes = Hex.decode(text[at..<at + 4]) else { return nil }
    return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
  }

  /// Returns the end of the value that starts at `start`.
  private static func end(ofValueAt start: Int, in text: ArraySlice<UInt8>) -> Int {
    var depth = 0
    var at = start
    while at < text.endIndex {
      switch text[at] {
      case UInt8(ascii: "\""):
        at += 1
        while at < text.endIndex, text[at] != UInt8(ascii: "\"") {
          at += text[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        at = min(at + 1, text.endIndex)
        if depth == 0 { return at }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        at += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return at }
        depth -= 1
        at += 1
        if depth == 0 { return at }
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { return at }
        at += 1
      default: at += 1
      }
    }
    return at
  }
}

extension JSONText {
  /// Returns a JSON text in compact form; nil if it is not valid JSON.
  static func compact(_ text: [UInt8]) -> [UInt8]? {
    var scanner = JSONScanner(input: JSONInput(text, pieceLength: max(1, min(text.count, 65536))))
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    do throws(Failure) {
      try scanner.value(into: &result)
      try scanner.input.skipSpace()
      return try scanner.input.peek() == nil ? result : nil
    } catch { return nil }
  }
}
