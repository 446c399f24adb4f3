import LatewoodDocuments
import LatewoodQuery
import LatewoodText

/// Results in the order of their scores.
extension Query {
  /// Returns the query with its results ordered by their scores for the words of a condition, the
  /// best first. Replaces an earlier order, and a later order replaces it. Of documents with equal
  /// scores, the first to be indexed precedes the others.
  ///
  /// A condition with `matches` is required, joined to other conditions by `&&`. With a limit,
  /// parts of the index whose documents cannot be among the best are not read.
  ///
  /// The query throws `invalidParameter` when it runs if there is no such condition, or the index
  /// is not built.
  ///
  /// - Parameter index: the name of the full-text index; nil for the index of the first condition
  ///   on words.
  public func ranked(by index: String? = nil) -> Query {
    var query = unprepared
    query.order = [.scores(index: index ?? "")]
    return query
  }

  /// Returns the matching documents with their scores, the best first, whether or not the query is
  /// ``ranked(by:)``.
  ///
  /// - Throws: ``DatabaseError`` like every query, and `invalidParameter` if the query cannot be
  ///   ranked; the `DecodingError` of a document that is not of the type.
  public func hits() throws -> [FullTextHit<Value>] {
    var hits: [FullTextHit<Value>] = []
    try findRanked { document, score, search in
      hits.append(FullTextHit(try value(of: document), document, score, search))
      return true
    }
    return hits
  }

  /// Returns the matching documents with their scores, the best first, without blocking the
  /// caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func hits() async throws -> [FullTextHit<Value>] {
    try await database.performing { try hits() }
  }

  /// Returns the matching documents with their scores, the best first, and new ones after each
  /// commit that changes them, whether or not the query is ``ranked(by:)``.
  ///
  /// ```swift
  /// for try await update in found.liveHits() { show(update.values) }
  /// ```
  ///
  /// The scores, snippets and highlights of an update belong to the same state as its documents.
  /// The query runs again after each commit. A commit that changes the words of any document
  /// usually changes all scores: a document with another score is both removed and inserted in
  /// ``LiveUpdate/difference``, but not decoded again. To be told only of other documents and of
  /// another order, use ``live()`` with a ranked query. See ``LiveQuery`` for errors.
  public func liveHits() -> LiveQuery<FullTextHit<Value>> {
    liveRanking { document, score in
      try score.known.map { FullTextHit($0, score.value, score.search) }
        ?? FullTextHit(try value(of: document), document, score.value, score.search)
    }
  }

  /// Returns how the score of a document comes about; nil if the words of the query do not find it.
  ///
  /// - Parameter id: the id of the document.
  /// - Throws: ``DatabaseError`` like every query, and `invalidParameter` if the query cannot be
  ///   ranked.
  public func explainScore(of id: String) throws -> FullTextScore? {
    try explainedScore(of: id).map { FullTextScore($0) }
  }
}

/// How the score of a document comes about, by Okapi BM25.
///
/// ```
/// score = sum over phrases of  boost * idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length / average))
/// f     = sum over fields of  weight * number of times that the phrase is in the field
/// idf   = ln((N - n + 0.5) / (n + 0.5)), or 0.000001 if that is not positive
/// ```
///
/// `N` is the number of documents in the index, `n` the number of documents with the phrase.
public struct FullTextScore: Sendable, Equatable {
  /// The score of the document.
  public let score: Double
  /// The number of words of the document, in all fields of the index.
  public let length: Int
  /// The average number of words of the documents in the index.
  public let averageLength: Double
  /// The number of documents in the index.
  public let documentCount: Int
  /// The contributions of the phrases that the document has.
  public let parts: [Part]

  /// The contribution of a phrase.
  public struct Part: Sendable, Equatable {
    /// The phrase as the query spells it.
    public let phrase: String
    /// The number of documents with the phrase.
    public let documentCount: Int
    /// The weight of the phrase, which is greater the fewer documents have it.
    public let idf: Double
    /// The boost of the phrase in the query.
    public let boost: Double
    /// How often the phrase is in each field of the index.
    public let counts: [Int]
    /// The sum of the counts, each multiplied by the weight of its field.
    public let frequency: Double
    /// The contribution to the score.
    public let score: Double
  }

  init(_ score: TextScore) {
    self.score = score.score
    length = score.length
    averageLength = score.documentCount > 0 ? Double(score.totalLength) / Double(score.documentCount) : 0
    documentCount = score.documentCount
    parts = score.parts.map { part in
      Part(
        phrase: part.phrase, documentCount: part.documentCount, idf: part.idf, boost: part.boost,
        counts: part.counts, frequency: part.frequency, score: part.score)
    }
  }
}
