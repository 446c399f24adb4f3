import LatewoodFleece
import LatewoodQuery
import LatewoodText

/// The words of documents in one run of a statement.
///
/// The scores of a few documents are computed one by one. If a statement needs many in no
/// favourable order, the scores of all documents with the words are computed and kept.
final class StatementWords: SQLWords {
  private let reads: DocumentReads
  /// The request of the statement, bound to the full-text indexes.
  private let request: FindRequest
  private let program: SQLProgram
  private var searches: [String: TextSearch] = [:]
  private var scores: [String: Scores] = [:]

  /// The scores for the search of one index.
  private struct Scores {
    let reader: TextIndexReader
    var scorer: TextScorer
    /// The scores of all documents; nil while scores are computed one by one.
    var all: [UInt64: Double]?
  }

  init(_ reads: DocumentReads, _ request: FindRequest, _ program: SQLProgram) {
    self.reads = reads
    self.request = request
    self.program = program
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
      guard let search = try searched(index),
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

  /// Returns the search of the first MATCH with an index that is not negated.
  private func searched(_ index: String) throws -> TextSearch? {
    if let search = request.predicate.firstSearch(in: index) { return search }
    return try program.firstMatch(in: index).map { try search(index, $0) }
  }

  private func score(of document: MatchedDocument, _ index: String) throws -> Double? {
    guard let search = try searched(index) else { return nil }
    var known = try scores.removeValue(forKey: index) ?? scores(for: search, index)
    defer { scores[index] = known }
    guard let number = try known.reader.number(of: Array(document.id.utf8)) else { return nil }
    if let all = known.all { return all[number] }
    let score = try known.scorer.score(of: number)
    if known.scorer.passCount > known.scorer.affordablePassCount {
      var all: [UInt64: Double] = [:]
      try known.reader.forEachScore(of: search.query, weights: search.definition.weights) { match in
        try QuerySteps.current?.spend(1)
        all[match.number] = match.score
        return true
      }
      known.all = all
    }
    return score
  }

  private func scores(for search: TextSearch, _ index: String) throws -> Scores {
    let reader = try reads.readyReader(index)
    return Scores(
      reader: reader,
      scorer: TextScorer(reader, search.query, weights: search.definition.weights), all: nil)
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
