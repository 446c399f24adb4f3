import LatewoodDocuments
import LatewoodQuery
import LatewoodText

/// The words that a condition looks for.
///
/// The text of a query has the syntax of SQLite's FTS5, with the boosts of Lucene:
///
/// ```
/// blue sky               both words, anywhere in the texts
/// "blue sky"             next to each other
/// blue OR red            either word; AND, NOT and parentheses work alike
/// sk*                    words that begin with it
/// title:sky              in one field; {title plot}:sky in one of two
/// NEAR(blue sky, 5)      with at most 5 words in between
/// sky^3                  counts three times when results are ranked
/// ```
///
/// Use ``words(_:any:completing:)`` for what somebody has typed into a search field: it accepts any
/// text.
public struct FullTextQuery: Sendable, Hashable, ExpressibleByStringLiteral {
  let words: TextCondition.Words

  private init(_ words: TextCondition.Words) { self.words = words }

  /// Creates a query from its text. A malformed text is an error of the condition that uses it.
  public init(_ text: String) { self.init(.query(text)) }

  /// Creates a query from its text. A malformed text is an error of the condition that uses it.
  public init(stringLiteral text: String) { self.init(text) }

  /// Returns a query for the words of any text, which has no syntax. It is never malformed.
  ///
  /// - Parameters:
  ///   - text: the text. Only its first 64 words are used.
  ///   - any: whether one of the words suffices.
  ///   - completing: whether the last word may be the beginning of a word, as while somebody types.
  public static func words(
    _ text: String, any: Bool = false, completing: Bool = false
  ) -> FullTextQuery {
    FullTextQuery(.words(text, any: any, lastIsPrefix: completing))
  }
}

extension QueryDocument {
  /// Returns a condition that holds if the document has words, by the rules of a full-text index.
  ///
  /// ```swift
  /// let found = films.query(Film.self).where { $0.matches("by text", "blue sky") && $0.year >= 1975 }
  /// let typed = films.query(Film.self).where { $0.matches("by text", .words(field.text)) }
  /// ```
  ///
  /// The query throws `notFound` when it runs if there is no such index, and `invalidParameter` if
  /// the text is malformed or names a field that the index does not have. Until the index is built,
  /// the query reads the texts of documents instead.
  ///
  /// - Parameters:
  ///   - index: the name of the index.
  ///   - query: the words.
  public func matches(_ index: String, _ query: FullTextQuery) -> QueryCondition {
    do throws(TextQueryError) { _ = try query.words.query() } catch {
      return QueryCondition(.failure(DatabaseError(inWords: error)))
    }
    return QueryCondition(.success(.text(TextCondition(index: index, query.words))))
  }

  /// Returns a condition that holds if the document has words, by the rules of a full-text index.
  /// Otherwise like the form for a ``FullTextQuery``.
  ///
  /// - Parameters:
  ///   - index: the name of the index.
  ///   - query: the text of the query.
  @_disfavoredOverload
  public func matches(_ index: String, _ query: String) -> QueryCondition {
    matches(index, FullTextQuery(query))
  }
}

extension DatabaseError {
  /// Creates the error of a malformed query.
  init(inWords error: TextQueryError) {
    self.init(
      .invalidParameter, "the full-text query is not valid: \(error.reason)",
      advice: "Correct the query at that position.")
    offset = error.offset
  }
}
