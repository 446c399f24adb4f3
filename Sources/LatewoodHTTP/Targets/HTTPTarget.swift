/// The target of a request: the segments of a path and the items of a query, decoded.
package struct HTTPTarget: Sendable, Equatable {
  package struct Item: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The segments between slashes. A path that ends with a slash has an empty last segment.
  package var segments: [String]
  package var query: [Item]

  package init(_ segments: [String], query: [Item] = []) {
    self.segments = segments
    self.query = query
  }

  /// Parses a target in origin form; nil if it is not valid.
  ///
  /// - Parameter plusIsSpace: whether `+` represents a space in the path, too, as for CouchDB.
  package init?(parsing text: String, plusIsSpace: Bool = false) {
    let bytes = Array(text.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let path = parts.first, path.first == UInt8(ascii: "/") else { return nil }
    segments = []
    query = []
    for segment in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let segment = PercentCoding.decode(segment, plusIsSpace: plusIsSpace) else { return nil }
      segments.append(segment)
    }
    guard parts.count > 1 else { return }
    for item in parts[1].split(separator: UInt8(ascii: "&")) {
      let pair = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentCoding.decode(pair[0], plusIsSpace: true),
        let value = PercentCoding.decode(pair.count > 1 ? pair[1] : [], plusIsSpace: true)
      else { return nil }
      query.append(Item(name, value))
    }
  }

  /// The value of the first item with a name.
  package subscript(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// The target as the text of a request.
  package var text: String {
    var text = "/" + segments.map(PercentCoding.encode).joined(separator: "/")
    var separator = "?"
    for item in query {
      text += "\(separator)\(PercentCoding.encode(item.name))=\(PercentCoding.encode(item.value))"
      separator = "&"
    }
    return text
  }
}
