import LatewoodFleece
import LatewoodQuery
import LatewoodText

/// The words of documents in one run of a statement.
///
/// The first score that a statement needs computes the scores of all documents with the words of a
/// MATCH.
final class StatementWords: SQLWords {
  private let reads: DocumentReads
  /// The request of the statement, bound to the full-text indexes.
  private let request: FindRequest
  private var searches: [String: TextSearch] = [:]
  private var scores: [String: (reader: TextIndexReader, byNumber: [UInt64: Double])] = [:]

  init(_ reads: DocumentReads, _ request: FindRequest) {
    self.reads = reads
    self.request = request
  }

  func value(_ use: SQLWordUse, of document: any SQLDocument) throws -> SQLLiteral {
    guard let document = document as? MatchedDocument else { return .missing }
    switch use {
    case .match(let index, let query):
      let search = try search(index, query)
      return .boolean(try search.occurrences(in: document).isMatch)
    case .rank(let index):
      guard let score = try score(of: document, index) else { return .null }
      return .number(.double(score))
    case .snippet(let index, let opening, let closing, let wordCount):
      guard let search = searched(index),
        let found = try search.snippet(of: document, field: nil, wordCount: wordCount)
      else { return .null }
      return .string(found.excerpt.marked(in: found.text, opening, closing, dots: "…"))
    }
  }

  /// Returns the search of a MATCH that is tested for each document.
  private func search(_ index: String, _ query: String) throws -> TextSearch {
    let key = "\(index)\u{0}\(query)"
    if let known = searches[key] { return known }
    let text = try reads.indexes().text(named: index)
    do throws(QueryError) {
      let search = try TextSearch(.query(query), in: text.name, text.definition)
      searches[key] = search
      return search
    } catch { throw DatabaseError(inWords: error) }
  }

  /// Returns the search of the first MATCH with an index that finds documents.
  private func searched(_ index: String) -> TextSearch? { request.predicate.firstSearch(in: index) }

  private func score(of document: MatchedDocument, _ index: String) throws -> Double? {
    guard let search = searched(index) else { return nil }
    let known: (reader: TextIndexReader, byNumber: [UInt64: Double])
    if let kept = scores[index] {
      known = kept
    } else {
      let reader = try reads.readyReader(index)
      var byNumber: [UInt64: Double] = [:]
      try reader.forEachScore(of: search.query, weights: search.definition.weights) { match in
        try QuerySteps.current?.spend(1)
        byNumber[match.number] = match.score
        return true
      }
      known = (reader, byNumber)
      scores[index] = known
    }
    return try known.reader.number(of: Array(document.id.utf8)).flatMap { known.byNumber[$0] }
  }
}

extension Predicate {
  /// Returns the first search of an index in it that is not negated.
  fileprivate func firstSearch(in index: String) -> TextSearch? {
    switch self {
    case .text(let condition): return condition.index == index ? condition.search : nil
    case .all(let parts), .any(let parts):
      for part in parts { if let search = part.firstSearch(in: index) { return search } }
      return nil
    case .not, .always, .field, .fields: return nil
    }
  }
}
