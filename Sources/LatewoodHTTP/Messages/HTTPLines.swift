/// Collects lines that end with CR LF from pieces of any size. A CR or LF alone is refused as soon
/// as it is read, so that the result never depends on how the bytes arrived.
struct HTTPLines {
  private(set) var line: [UInt8] = []
  private var hasReturn = false

  /// Reads to the end of the line; returns false if the piece ends first.
  ///
  /// - Parameters:
  ///   - limit: the greatest length of the line without its end.
  ///   - subject: the subject of an error's description.
  mutating func read(
    _ piece: borrowing [UInt8], _ offset: inout Int, limit: Int, _ subject: StaticString
  ) throws(HTTPError) -> Bool {
    while offset < piece.count {
      let byte = piece[offset]
      offset += 1
      if hasReturn {
        guard byte == HTTPSyntax.lineFeed else {
          throw HTTPError(.malformed, "\(subject) has a CR without LF")
        }
        hasReturn = false
        return true
      }
      if byte == HTTPSyntax.carriageReturn {
        hasReturn = true
      } else if byte == HTTPSyntax.lineFeed {
        throw HTTPError(.malformed, "\(subject) has an LF without CR")
      } else {
        guard line.count < limit else {
          throw HTTPError(.tooLarge, "\(subject) is longer than \(limit) bytes")
        }
        line.append(byte)
      }
    }
    return false
  }

  var isEmpty: Bool { line.isEmpty && !hasReturn }

  mutating func removeAll() { line.removeAll(keepingCapacity: true) }
}

/// Collects the fields of a header, a trailer or a part up to the empty line.
struct HTTPFieldLines {
  private var lines = HTTPLines()
  private var fields = HTTPFields()
  private var length = 0

  /// Returns the fields when the empty line has been read; nil if the piece ends first.
  mutating func read(
    _ piece: borrowing [UInt8], _ offset: inout Int, _ limits: HTTPLimits
  ) throws(HTTPError) -> HTTPFields? {
    while try lines.read(piece, &offset, limit: limits.fields - length, "a header") {
      if lines.line.isEmpty {
        let result = fields
        fields = HTTPFields()
        length = 0
        return result
      }
      guard fields.list.count < limits.fieldCount else {
        throw HTTPError(.tooLarge, "a header has more than \(limits.fieldCount) fields")
      }
      length += lines.line.count
      let field = try HTTPFields.field(of: lines.line[...])
      fields.add(field.name, field.value)
      lines.removeAll()
    }
    return nil
  }
}
