/// The header fields of a message or part, in their order. Names are compared without regard to
/// case.
package struct HTTPFields: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: String
  }

  package private(set) var list: [Field] = []

  package init() {}

  /// Creates fields from constants of the program; see `add`.
  package init(_ fields: [(String, String)]) { for (name, value) in fields { add(name, value) } }

  /// Appends a field. `HTTPEncoding` refuses to write it if its name or value is not valid.
  package mutating func add(_ name: String, _ value: String) { list.append(Field(name: name, value: value)) }

  /// Replaces all fields with a name.
  package mutating func set(_ name: String, _ value: String) {
    list.removeAll { HTTPSyntax.equalsIgnoringCase($0.name, name) }
    add(name, value)
  }

  package mutating func removeAll(_ name: String) {
    list.removeAll { HTTPSyntax.equalsIgnoringCase($0.name, name) }
  }

  /// The value of the first field with a name.
  package subscript(_ name: String) -> String? {
    list.first { HTTPSyntax.equalsIgnoringCase($0.name, name) }?.value
  }

  /// Returns the values of all fields with a name.
  package func values(_ name: String) -> [String] {
    list.filter { HTTPSyntax.equalsIgnoringCase($0.name, name) }.map(\.value)
  }

  /// Returns the tokens in the values of all fields with a name, in lower case. Each value is a
  /// list.
  package func tokens(_ name: String) -> [String] {
    values(name).flatMap { value in
      Array(value.utf8).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true)
        .map { String(decoding: HTTPSyntax.trimmed($0).map(HTTPSyntax.lowercased), as: UTF8.self) }
        .filter { !$0.isEmpty }
    }
  }

  /// Parses a line without its end.
  static func field(of line: ArraySlice<UInt8>) throws(HTTPError) -> Field {
    if let first = line.first, HTTPSyntax.isSpace(first) {
      throw HTTPError(.malformed, "a header field is folded into a second line")
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw HTTPError(.malformed, "a header field has no colon")
    }
    let name = line[..<colon]
    guard HTTPSyntax.isToken(name) else {
      throw HTTPError(.malformed, "the name of a header field has a byte that is not allowed there")
    }
    let value = HTTPSyntax.trimmed(line[(colon + 1)...])
    guard value.allSatisfy(HTTPSyntax.isFieldValue) else {
      throw HTTPError(.malformed, "the value of a header field has a control character")
    }
    return Field(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
  }
}
