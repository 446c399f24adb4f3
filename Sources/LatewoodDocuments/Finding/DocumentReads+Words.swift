import LatewoodQuery
import LatewoodText

/// Reads of words themselves, and of the scores of documents.
extension DocumentReads {
  /// Calls a closure with each document that a ranked request finds, its score and the search that
  /// it is ranked by, the best first, until it returns false.
  package func findRanked(
    _ prepared: PreparedFind, _ body: (MatchedDocument, _ score: Double, TextSearch) throws -> Bool
  ) throws {
    let planner = try FindPlanner(self, prepared)
    let request = planner.request
    guard request.limit > 0, let words = try planner.best().ranked else { return }
    var (passed, taken) = (0, 0)
    let rest = Predicate.all(words.rest)
    try forEachRanked(words, needed: request.needed) { document, score in
      guard try words.rest.isEmpty || rest.matches(document) else { return true }
      passed += 1
      if passed <= request.skip { return true }
      taken += 1
      return try body(document, score, words.search) && taken < request.limit
    }
  }

  /// Returns how the score of a document in a ranked request comes about; nil if the words of the
  /// request do not find it.
  package func explainScore(of id: String, _ prepared: PreparedFind) throws -> TextScore? {
    guard let words = try FindPlanner(self, prepared).best().ranked else { return nil }
    let reader = try textReader(words.index)
    guard try head(of: id).map({ !$0.isDeleted }) == true,
      let number = try reader.number(of: Array(id.utf8))
    else { return nil }
    return try reader.explain(number, for: words.search.query, weights: words.search.definition.weights)
  }

  /// Returns words that begin with a text, the most frequent first.
  package func completions(of text: String, in index: String, limit: Int) throws -> [TextTerm] {
    let index = try readyText(index)
    let prefix = TextAnalyzer(index.definition.options).prefix(of: text)
    return try textReader(index).completions(of: prefix, limit: limit)
  }

  /// Returns words that are spelled like a word: the most similar first, then the most frequent.
  package func suggestions(
    for word: String, in index: String, distance: Int, limit: Int
  ) throws -> [TextSuggestion] {
    let index = try readyText(index)
    let folded = TextAnalyzer(index.definition.options).prefix(of: word)
    return try textReader(index).suggestions(for: folded, distance: distance, limit: limit)
  }

  /// Returns a reader of the words of an index that is built.
  func readyReader(_ name: String) throws -> TextIndexReader { try textReader(readyText(name)) }

  /// Returns a full-text index that is built.
  private func readyText(_ name: String) throws(DatabaseError) -> CollectionText {
    let index = try indexes().text(named: name)
    guard index.isReady else {
      throw DatabaseError(
        .invalidParameter, "the full-text index \(name) is not built",
        advice: "Create the index again, which continues its build.")
    }
    return index
  }
}
