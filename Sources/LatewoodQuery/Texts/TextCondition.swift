import LatewoodConcurrency
import LatewoodFleece
import LatewoodText

/// A condition on the words of a document, by the rules of a full-text index.
///
/// It depends on nothing but the document and the definition of the index: a search without the
/// words of the index leads to the same result, only later.
package struct TextCondition: Sendable {
  /// The text of a query.
  package enum Words: Sendable, Hashable {
    /// A query in the syntax of ``TextQueryParser``.
    case query(String)
    /// The words of any text, without syntax: see ``TextQuery/words(_:any:lastIsPrefix:)``.
    case words(String, any: Bool, lastIsPrefix: Bool)

    package var text: String {
      switch self {
      case .query(let text), .words(let text, _, _): text
      }
    }

    /// Throws ``TextQueryError`` if the text of a query is malformed.
    package func query() throws(TextQueryError) -> TextQuery {
      switch self {
      case .query(let text): try TextQueryParser.parse(text)
      case .words(let text, let any, let lastIsPrefix):
        TextQuery.words(text, any: any, lastIsPrefix: lastIsPrefix)
      }
    }
  }

  /// The name of the index.
  package let index: String
  package let words: Words
  /// The query for the definition of the index; nil until the condition is bound to it.
  package var search: TextSearch?

  package init(index: String, _ words: Words) {
    self.index = index
    self.words = words
  }

  /// Returns whether a document matches. Throws `misuse` if the condition is not bound.
  func matches(_ document: some FieldSource) throws(FleeceError) -> Bool {
    guard let search else {
      throw FleeceError(.misuse, "the condition on the full-text index \(index) is not bound to it")
    }
    return try search.occurrences(in: document).isMatch
  }
}

/// A query for words, bound to the definition of a full-text index.
package final class TextSearch: Sendable {
  /// The name of the index.
  package let index: String
  package let definition: TextDefinition
  package let query: BoundTextQuery
  /// Analyzers that no thread uses. Each keeps the stems of the words that it has met, which a copy
  /// for each document would forget.
  private let analyzers: Guarded<[TextAnalyzer]>

  /// Throws `invalidText` if the query is malformed, or names a field that the index does not
  /// have.
  package init(
    _ words: TextCondition.Words, in index: String, _ definition: TextDefinition
  ) throws(QueryError) {
    self.index = index
    self.definition = definition
    var analyzer = TextAnalyzer(definition.options)
    let parsed: TextQuery
    do throws(TextQueryError) { parsed = try words.query() } catch {
      throw QueryError(
        .invalidText, error.reason, position: TextPosition(offset: error.offset, in: Array(words.text.utf8)))
    }
    do throws(BoundTextQuery.UnknownField) {
      query = try BoundTextQuery(parsed, fields: definition.names, &analyzer)
    } catch {
      let place = TextQueryParser.offset(ofField: error.name, in: words.text)
      throw QueryError(
        .invalidText,
        "the full-text index \(index) does not have the field \(error.name)\(place.map { " (at byte \($0) of the query)" } ?? ""),"
          + " only \(definition.names.joined(separator: ", "))")
    }
    analyzers = Guarded([analyzer])
  }

  /// Returns the occurrences of the query in the texts of a document.
  package func occurrences(in document: some FieldSource) throws(FleeceError) -> TextOccurrences {
    TextOccurrences(of: query, in: try words(of: document).fields.map(\.tokens))
  }

  /// Returns the words of a document in each field of the index.
  package func words(of document: some FieldSource) throws(FleeceError) -> DocumentWords {
    let texts = try definition.texts(of: document)
    var analyzer = analyzers.withLock { $0.popLast() } ?? TextAnalyzer(definition.options)
    let words = DocumentWords(texts, &analyzer)
    analyzers.withLock { $0.append(analyzer) }
    return words
  }
}

/// The words of a document, by field, at the positions that they have in an index.
package struct DocumentWords: Sendable {
  /// A text, with its place among the words of its field.
  package struct Part: Sendable {
    package let text: String
    /// The offset that is added to the ranges of its tokens.
    package let start: Int
    /// Its tokens in ``Field/tokens``.
    package let tokens: Range<Int>

    /// The bytes of the text, by the ranges of its tokens.
    package var range: Range<Int> { start..<(start + text.utf8.count) }
  }

  /// The texts of a field. The ranges of tokens are offsets in all texts, one after the other.
  package struct Field: Sendable {
    package fileprivate(set) var parts: [Part] = []
    package fileprivate(set) var tokens: [TextToken] = []
  }

  package let fields: [Field]

  fileprivate init(_ texts: TextIndexWriter.Texts, _ analyzer: inout TextAnalyzer) {
    var fields: [Field] = []
    for list in texts {
      var field = Field()
      var (position, start) = (0, 0)
      for text in list {
        let first = field.tokens.count
        let count = analyzer.forEachToken(of: text) { token in
          var token = token
          token.position += position
          token.range = (token.range.lowerBound + start)..<(token.range.upperBound + start)
          field.tokens.append(token)
        }
        field.parts.append(Part(text: text, start: start, tokens: first..<field.tokens.count))
        position += count + TextIndexWriter.textGap
        start += text.utf8.count
      }
      fields.append(field)
    }
    self.fields = fields
  }
}

extension Predicate {
  /// Returns the condition with each text condition of a document replaced.
  package func mapTexts<Failure: Error>(
    _ body: (TextCondition) throws(Failure) -> TextCondition
  ) throws(Failure) -> Predicate {
    switch self {
    case .always, .fields, .field: return self
    case .text(let condition): return .text(try body(condition))
    case .not(let part): return .not(try part.mapTexts(body))
    case .all(let parts): return .all(try Predicate.map(parts, body))
    case .any(let parts): return .any(try Predicate.map(parts, body))
    }
  }

  private static func map<Failure: Error>(
    _ parts: [Predicate], _ body: (TextCondition) throws(Failure) -> TextCondition
  ) throws(Failure) -> [Predicate] {
    var mapped: [Predicate] = []
    mapped.reserveCapacity(parts.count)
    for part in parts { mapped.append(try part.mapTexts(body)) }
    return mapped
  }

  /// Whether there is a text condition of a document in it.
  package var hasText: Bool {
    switch self {
    case .always, .fields, .field: false
    case .text: true
    case .not(let part): part.hasText
    case .all(let parts), .any(let parts): parts.contains { $0.hasText }
    }
  }
}
