import LatewoodFleece
import LatewoodText

/// The definition of a full-text index: its fields with their weights, and how it makes words of
/// their texts.
///
/// The name of a field in a query is the text of its path.
package struct TextDefinition: Sendable, Hashable {
  package struct Field: Sendable, Hashable {
    package let path: TextPath
    /// The factor for occurrences in this field when results are ranked.
    package let weight: Double

    package init(_ path: TextPath, weight: Double = 1) {
      self.path = path
      self.weight = weight
    }

    /// Parses a path, optionally with `^` and a weight: `title^3`. A backslash before the `^` makes
    /// it a part of the name.
    package init(parsing text: String) throws(QueryError) {
      let parts = text.utf8.split(separator: UInt8(ascii: "^"), omittingEmptySubsequences: false)
      guard parts.count > 1, let last = parts.last, parts[parts.count - 2].last != UInt8(ascii: "\\") else {
        self.init(try TextPath(parsing: text.replacing("\\^", with: "^")))
        return
      }
      guard let weight = Double(Substring(last)) else {
        throw QueryError(.invalidIndex, "the weight after \"^\" is not a number in the field \"\(text)\"")
      }
      let path = String(Substring(text.utf8.dropLast(last.count + 1)))
      self.init(try TextPath(parsing: path.replacing("\\^", with: "^")), weight: weight)
    }
  }

  /// The maximum number of fields.
  package static let fieldLimit = TextIndexWriter.fieldLimit
  /// The maximum weight of a field.
  package static let weightLimit = 1_000_000.0
  /// The maximum length of all stop words together, in bytes.
  package static let stopWordsLimit = 1 << 16

  package let fields: [Field]
  package let options: TextOptions
  /// The names of the fields in queries.
  package let names: [String]

  /// Throws `invalidIndex` if the definition is not valid.
  package init(_ fields: [Field], _ options: TextOptions = TextOptions()) throws(QueryError) {
    guard (1...TextDefinition.fieldLimit).contains(fields.count) else {
      throw QueryError(
        .invalidIndex,
        "a full-text index must have 1 to \(TextDefinition.fieldLimit) fields, not \(fields.count)")
    }
    guard Set(fields.map(\.path)).count == fields.count else {
      throw QueryError(.invalidIndex, "a field occurs twice in the full-text index")
    }
    for field in fields where !(0...TextDefinition.weightLimit).contains(field.weight) {
      throw QueryError(
        .invalidIndex,
        "the weight of the field \(field.path.text) is \(field.weight), and must be 0 to \(TextDefinition.weightLimit)"
      )
    }
    let length = options.stopWords.reduce(0) { $0 + $1.utf8.count }
    guard length <= TextDefinition.stopWordsLimit else {
      throw QueryError(
        .invalidIndex, "the stop words of a full-text index have \(length) bytes, which is too long")
    }
    self.fields = fields
    self.options = options
    names = fields.map(\.path.text)
  }

  package var weights: [Double] { fields.map(\.weight) }

  /// Whether an index with another definition has the same words: weights are only for ranking.
  package func hasWords(of other: TextDefinition) -> Bool {
    options == other.options && fields.map(\.path) == other.fields.map(\.path)
  }

  /// The fields in their text form, separated by commas.
  package var text: String {
    fields.map { field in
      if field.weight == 1 { return field.path.text }
      let isWhole = field.weight == field.weight.rounded()
      return "\(field.path.text)^\(isWhole ? "\(Int(field.weight))" : "\(field.weight)")"
    }.joined(separator: ", ")
  }

  /// Returns the texts of a document in each field.
  package func texts(of document: some FieldSource) throws(FleeceError) -> TextIndexWriter.Texts {
    var texts: TextIndexWriter.Texts = []
    for field in fields {
      var found: [String] = []
      try field.path.forEachText(in: document) { found.append($0) }
      texts.append(found)
    }
    return texts
  }
}
