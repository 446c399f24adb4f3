/// A query for words in texts.
///
/// Its phrases are unchanged parts of the text. ``BoundTextQuery`` makes terms of them, according
/// to the options of an index.
package indirect enum TextQuery: Equatable, Sendable {
  case phrase(Phrase)
  /// Phrases with at most `distance` words between the first and the last of them.
  case near([Phrase], distance: Int)
  case all([TextQuery])
  case any([TextQuery])
  /// Documents that meet the first query, but not the second.
  case without(TextQuery, TextQuery)
  /// A query in some fields only.
  case fields([String], TextQuery)
  /// A query whose contribution to the score is multiplied.
  case boost(Double, TextQuery)

  /// Neighbouring words.
  package struct Phrase: Equatable, Sendable {
    package var text: String
    /// Whether the last word matches all words that begin with it.
    package var isPrefix: Bool

    package init(_ text: String, isPrefix: Bool = false) {
      self.text = text
      self.isPrefix = isPrefix
    }
  }

  /// The maximum number of levels of parentheses and fields.
  package static let depthLimit = 64
  /// The maximum number of phrases in a query.
  package static let phraseLimit = 1000
  /// The maximum length of the text of a query, in bytes.
  package static let lengthLimit = 65_536
  /// The number of words between the phrases of a `NEAR` without a number.
  package static let usualDistance = 10
  /// The maximum number of words of a text that ``words(_:any:lastIsPrefix:)`` uses.
  package static let wordLimit = 64

  /// Returns a query for the words of any text, such as the contents of a search field. The text
  /// has no syntax: `AND` is a word, and quotes and stars are ignored.
  ///
  /// - Parameters:
  ///   - any: whether one of the words suffices.
  ///   - lastIsPrefix: whether the last word may be the beginning of a word, such as one that is
  ///     still being typed.
  package static func words(
    _ text: String, any: Bool = false, lastIsPrefix: Bool = false
  ) -> TextQuery {
    var scalars: [UInt32] = []
    for scalar in text.unicodeScalars.prefix(lengthLimit) { scalars.append(scalar.value) }
    var phrases: [Phrase] = []
    var end = 0
    for word in TextWords(scalars[...]).prefix(wordLimit) {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars[word.range].lazy.compactMap(Unicode.Scalar.init))
      phrases.append(Phrase(String(view)))
      end = word.range.upperBound
    }
    // A space after the last word has ended it.
    if lastIsPrefix, end == scalars.count, !phrases.isEmpty {
      phrases[phrases.count - 1].isPrefix = true
    }
    let queries = phrases.map { TextQuery.phrase($0) }
    return queries.count == 1 ? queries[0] : any ? .any(queries) : .all(queries)
  }
}

/// An error in the text of a query for words.
package struct TextQueryError: Error, Equatable, CustomStringConvertible {
  /// A description that tells what to write instead.
  package var reason: String
  /// The offset in the text, in UTF-8.
  package var offset: Int

  package var description: String { "\(reason) (at byte \(offset) of the query)" }
}
