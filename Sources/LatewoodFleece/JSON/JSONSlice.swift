import LatewoodBytes

/// A value in a JSON text, as it is written there: no digit, escape or order changes. Valid only as
/// long as the text is.
///
/// Nothing is known about the bytes: text that is not JSON has no members and no string.
package struct JSONSlice {
  package let bytes: UnsafeRawBufferPointer

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The first byte, which determines the kind of the value; 0 if there are no bytes.
  package var first: UInt8 { bytes.first ?? 0 }

  package func isEqual(_ text: StaticString) -> Bool {
    bytes.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Returns the members of an object, in order: the name with its quotes, and the value. Returns
  /// nil for any other text.
  package func members() -> [(name: JSONSlice, value: JSONSlice)]? {
    guard first == UInt8(ascii: "{") else { return nil }
    var check = JSONCheck()
    var members: [(name: JSONSlice, value: JSONSlice)] = []
    do throws(FleeceError) {
      var at = skipSpace(from: 1)
      while at < bytes.count, bytes[at] != UInt8(ascii: "}") {
        if !members.isEmpty {
          guard bytes[at] == UInt8(ascii: ",") else { return nil }
          at = skipSpace(from: at + 1)
        }
        guard let name = try check.name(at: at, of: bytes) else { return nil }
        let start = skipSpace(from: name.end)
        guard let value = try check.value(at: start, of: bytes) else { return nil }
        // The name ends with its last quote, before the colon.
        let quote = bytes[at..<name.end].lastIndex(of: UInt8(ascii: "\"")) ?? at
        members.append((slice(at..<quote + 1), slice(start..<value.end)))
        at = skipSpace(from: value.end)
      }
      return at < bytes.count ? members : nil
    } catch { return nil }
  }

  /// Returns the value at a path of names; nil if it does not exist. If members have the same name,
  /// the last one counts.
  package func value(at path: [[UInt8]]) -> JSONSlice? {
    var value = self
    for name in path {
      guard let member = value.members()?.last(where: { $0.name.string() == name }) else { return nil }
      value = member.value
    }
    return value
  }

  /// Returns the content of a string as UTF-8; nil if it is not a string, or has half of a
  /// surrogate pair, which UTF-8 cannot express.
  package func string() -> [UInt8]? {
    guard first == UInt8(ascii: "\"") else { return nil }
    do throws(JSONError) {
      return try bytes.withStartThrowing { start, count throws(JSONError) -> [UInt8]? in
        var reader = JSONReader(start: start, end: count)
        if try reader.skipPlainString() { return Array(bytes[1..<reader.at - 1]) }
        var content = GrowingBytes(capacity: count)
        // SAFETY: `at` is at the first escape, after the opening quote.
        content.append(start + 1, reader.at &- 1)
        try reader.unescape(into: &content)
        return content.array()
      }
    } catch { return nil }
  }

  /// Returns an object with the given members.
  package static func object(_ members: [(name: JSONSlice, value: JSONSlice)]) -> [UInt8] {
    var text = [UInt8(ascii: "{")]
    text.reserveCapacity(members.reduce(2) { $0 + $1.name.bytes.count + $1.value.bytes.count + 2 })
    for member in members {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text.append(bytes: member.name.bytes)
      text.append(UInt8(ascii: ":"))
      text.append(bytes: member.value.bytes)
    }
    text.append(UInt8(ascii: "}"))
    return text
  }

  private func slice(_ range: Range<Int>) -> JSONSlice {
    JSONSlice(UnsafeRawBufferPointer(rebasing: bytes[range]))
  }

  private func skipSpace(from offset: Int) -> Int {
    bytes.withStart { start, count in
      var reader = JSONReader(start: start, end: count)
      reader.at = min(offset, count)
      reader.skipSpace()
      return reader.at
    }
  }
}
