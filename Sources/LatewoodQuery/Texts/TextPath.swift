import LatewoodFleece

/// A path to the texts of a document. A pair of brackets stands for each element of an array.
///
/// ```
/// plot                  the text in the member `plot`
/// tags[]                each text in the array `tags`
/// chapters[].title      the titles of all chapters
/// ```
///
/// Only strings are texts. Other values are left out, and so is an array without brackets in the
/// path.
package struct TextPath: Sendable, Hashable {
  /// The paths between the brackets. Only the last can be empty.
  private let parts: [FieldPath]

  /// Parses a path. A backslash before a bracket makes it a part of the name.
  package init(parsing text: String) throws(QueryError) {
    var parts: [FieldPath] = []
    var piece = String.UnicodeScalarView()
    var isEscaped = false
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      if scalar == "[", !isEscaped, rest.first == "]" {
        rest.removeFirst()
        parts.append(try TextPath.part(String(piece), after: parts, of: text))
        piece = String.UnicodeScalarView()
        continue
      }
      isEscaped = scalar == "\\" && !isEscaped
      piece.append(scalar)
    }
    if piece.isEmpty, !parts.isEmpty {
      parts.append(.root)
    } else {
      parts.append(try TextPath.part(String(piece), after: parts, of: text))
    }
    guard parts.reduce(parts.count, { $0 + $1.steps.count }) <= FieldPath.depthLimit else {
      throw QueryError(.invalidPath, "the path \"\(text)\" has too many levels")
    }
    self.parts = parts
  }

  private static func part(
    _ piece: String, after parts: [FieldPath], of text: String
  ) throws(QueryError) -> FieldPath {
    if parts.isEmpty { return try FieldPath(parsing: piece) }
    // Brackets may follow brackets: the elements of arrays in an array.
    if piece.isEmpty { return .root }
    guard piece.first == "." else {
      throw QueryError(.invalidPath, "a dot must follow the brackets of each element in the path \"\(text)\"")
    }
    return try FieldPath(parsing: String(piece.dropFirst()))
  }

  /// The text form, which `init(parsing:)` parses.
  package var text: String {
    var text = parts[0].text
    for part in parts.dropFirst() { text += part.steps.isEmpty ? "[]" : "[].\(part.text)" }
    return text
  }

  /// Calls a closure with each text of a document, in order.
  package func forEachText(
    in document: some FieldSource, _ body: (String) -> Void
  ) throws(FleeceError) {
    try document.withField(parts[0]) { (lookup) throws(FleeceError) in
      if let value = lookup.value { try visit(value, 1, body) }
    }
  }

  /// - Parameter place: the number of the part that follows the value.
  private func visit(
    _ value: FleeceValue, _ place: Int, _ body: (String) -> Void
  ) throws(FleeceError) {
    guard place < parts.count else {
      if let text = try value.string() { body(text) }
      return
    }
    guard let array = try value.array() else { return }
    for index in 0..<array.count {
      try QuerySteps.count(index)
      if let inner = try parts[place].lookup(in: array.value(at: index)).value {
        try visit(inner, place + 1, body)
      }
    }
  }
}
