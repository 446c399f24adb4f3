import LatewoodFleece

/// Reads values of any type, including arrays and objects. Only for keys in ascending order.
extension CollationReader {
  /// A collection that is not closed yet.
  private struct Open {
    let isArray: Bool
    var wantsName = true
  }

  /// Writes the next value. A missing value is written as null.
  ///
  /// - Returns: false at the end and at bytes that are not a key; the writer may then contain part
  ///   of a value.
  /// - Throws: `tooDeep`, `tooLarge`.
  package mutating func write(to writer: inout FleeceWriter) throws(FleeceError) -> Bool {
    var open: [Open] = []
    repeat {
      guard let first = peek() else { return false }
      if first == 0, let innermost = open.last {
        guard innermost.isArray || innermost.wantsName else { return false }
        advance()
        if innermost.isArray { try writer.endArray() } else { try writer.endDictionary() }
        open.removeLast()
        continue
      }
      if let innermost = open.last, !innermost.isArray {
        if innermost.wantsName {
          guard case .string(let name)? = next(descending: false) else { return false }
          try writer.key(name)
          open[open.count - 1].wantsName = false
          continue
        }
        open[open.count - 1].wantsName = true
      }
      switch first {
      case CollationTag.array.rawValue:
        advance()
        try writer.beginArray()
        open.append(Open(isArray: true))
      case CollationTag.object.rawValue:
        advance()
        try writer.beginDictionary()
        open.append(Open(isArray: false))
      case CollationTag.data.rawValue:
        guard let data = data() else { return false }
        try writer.data(data)
      default:
        guard let scalar = next(descending: false) else { return false }
        try CollationReader.write(scalar, to: &writer)
      }
    } while !open.isEmpty
    return true
  }

  private static func write(_ value: ScalarValue, to writer: inout FleeceWriter) throws(FleeceError) {
    switch value {
    case .missing, .null: try writer.null()
    case .boolean(let value): try writer.boolean(value)
    case .string(let value): try writer.string(value)
    case .number(.integer(let value)): try writer.integer(value)
    case .number(.unsigned(let value)): try writer.unsigned(value)
    case .number(.double(let value)):
      // The key does not record the type of a whole number.
      if let whole = Int64(exactly: value) { try writer.integer(whole) } else { try writer.double(value) }
    }
  }

  /// Skips the next value of any type. Returns false at the end and at bytes that are not a key.
  /// The name of a member is skipped like a value.
  package mutating func skipWhole() -> Bool {
    var depth = 0
    repeat {
      guard let first = peek() else { return false }
      switch first {
      case 0 where depth > 0:
        advance()
        depth -= 1
      case CollationTag.array.rawValue, CollationTag.object.rawValue:
        advance()
        depth += 1
      case CollationTag.data.rawValue:
        guard data() != nil else { return false }
      default:
        guard next(descending: false) != nil else { return false }
      }
    } while depth > 0
    return true
  }
}
