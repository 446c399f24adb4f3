import LatewoodQuery
import LatewoodText

/// The documents with the words of a condition, according to a full-text index.
///
/// A class, because plans are copied for every query, and few of them read words.
final class TextScan: Sendable {
  let index: CollectionText
  let search: TextSearch
  /// The other conditions of the request.
  let rest: [Predicate]

  private init(_ index: CollectionText, _ search: TextSearch, rest: [Predicate]) {
    self.index = index
    self.search = search
    self.rest = rest
  }

  /// Returns the words of all conditions that must hold and whose index is ready.
  static func all(for conditions: Conjunction, _ indexes: CollectionIndexes) -> [TextScan] {
    var scans: [TextScan] = []
    for (place, part) in conditions.parts.enumerated() {
      guard case .text(let condition) = part, let search = condition.search,
        let index = indexes.texts.first(where: { $0.name == condition.index }), index.isReady
      else { continue }
      var rest = conditions.parts
      rest.remove(at: place)
      scans.append(TextScan(index, search, rest: rest))
    }
    return scans
  }
}

extension FindRequest {
  /// Returns the request with its conditions on words bound to their full-text indexes.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if there is no such index; `invalidParameter` if the
  ///   text of a condition is not valid, or the request cannot be ranked.
  func bound(to indexes: CollectionIndexes) throws(DatabaseError) -> FindRequest {
    var request = self
    if hasText {
      let predicate = try predicate.mapTexts { (condition) throws(DatabaseError) in
        let index = try indexes.text(named: condition.index)
        var bound = TextCondition(index: index.name, condition.words)
        do throws(QueryError) {
          bound.search = try TextSearch(condition.words, in: index.name, index.definition)
        } catch { throw DatabaseError(inWords: error) }
        return bound
      }
      request = with(predicate)
    }
    if let ranking { request.ranking = try request.searchedIndex(named: ranking) }
    return request
  }

  /// Returns the index of the first condition on words that must hold.
  ///
  /// - Parameter name: the name of the index; empty for any.
  private func searchedIndex(named name: String) throws(DatabaseError) -> String {
    for case .text(let condition) in Conjunction(predicate).parts
    where name.isEmpty || condition.index == name {
      return condition.index
    }
    throw DatabaseError(
      .invalidParameter,
      name.isEmpty
        ? "documents are to be ranked, and no condition is on their words"
        : "documents are to be ranked by the full-text index \(name), and no condition is on its words",
      advice: "Add a condition that matches words, and join it to the others by AND.")
  }
}

extension CollectionIndexes {
  /// Returns the full-text index with a name. An empty name is the name of the only one.
  func text(named name: String) throws(DatabaseError) -> CollectionText {
    if name.isEmpty, texts.count == 1 { return texts[0] }
    guard let index = texts.first(where: { $0.name == name }) else {
      if name.isEmpty, texts.count > 1 {
        throw DatabaseError(
          .invalidParameter, "the collection has several full-text indexes",
          advice: "Name one of them: \(texts.map(\.name).joined(separator: ", ")).")
      }
      throw DatabaseError(
        .notFound, "there is no full-text index\(name.isEmpty ? "" : " \(name)")",
        advice: "Create the index first, or correct its name.")
    }
    return index
  }
}

extension DatabaseError {
  /// Creates the error of a full-text query.
  package init(inWords error: QueryError) {
    self.init(
      .invalidParameter, "the full-text query is not valid: \(error.reason)",
      advice: error.position == nil ? nil : "Correct the query at that position.")
    line = error.position?.line
    column = error.position?.column
    offset = error.position?.offset
  }
}

extension DocumentReads {
  /// Returns a request with its conditions on words bound to the full-text indexes of this state.
  func bound(_ request: FindRequest) throws(DatabaseError) -> FindRequest {
    request.hasText ? try request.bound(to: indexes()) : request
  }

  /// Returns the number of documents with the words of a scan, including expired ones.
  func count(_ words: TextScan) throws(DatabaseError) -> Int {
    try DatabaseError.typed { try textReader(words.index).count(of: words.search.query) }
  }

  /// Returns about how many documents a scan finds, which takes a few reads.
  func estimate(_ words: TextScan) throws(DatabaseError) -> Int {
    try DatabaseError.typed {
      let reader = try textReader(words.index)
      guard let root = words.search.query.root else { return 0 }
      return try estimate(root, words.search.query, reader)
    }
  }

  private func estimate(
    _ node: BoundTextQuery.Node, _ query: BoundTextQuery, _ reader: TextIndexReader
  ) throws -> Int {
    switch node {
    case .phrase(let number):
      var least = reader.statistics.documentCount
      for term in query.phrases[number].terms {
        // The terms with a prefix are not counted: there can be many.
        let count =
          term.prefix == nil ? try reader.frequencies(of: term.bytes).documents : least / 4 + 1
        least = min(least, count)
      }
      return least
    case .near(let numbers, _):
      return try numbers.map { try estimate(.phrase($0), query, reader) }.min() ?? 0
    case .all(let parts): return try parts.map { try estimate($0, query, reader) }.min() ?? 0
    case .any(let parts):
      let sum = try parts.reduce(0) { try $0 + estimate($1, query, reader) }
      return min(sum, reader.statistics.documentCount)
    case .without(let part, _): return try estimate(part, query, reader)
    }
  }

  /// Calls a closure with the id of each document with the words of a scan, in the order of the
  /// index.
  func forEachID(_ words: TextScan, _ body: (String) throws -> Void) throws {
    let reader = try textReader(words.index)
    try reader.forEachMatch(of: words.search.query) { number in
      try body(String(decoding: try reader.id(of: number), as: UTF8.self))
      return true
    }
  }

  /// Calls a closure with the documents with the words of a scan, the best first, until it returns
  /// false. It has to test the other conditions. Of documents with equal scores, the first to be
  /// indexed precedes the others.
  ///
  /// - Parameter needed: the number of documents that are probably enough; nil for all.
  func forEachRanked(
    _ words: TextScan, needed: Int?, _ body: (MatchedDocument, _ score: Double) throws -> Bool
  ) throws {
    let reader = try textReader(words.index)
    var known = 0
    var limit = needed ?? .max
    // Other conditions will hold for a part of the documents.
    if !words.rest.isEmpty { limit = max(limit, 16).saturating(times: 4) }
    while true {
      let best = try reader.best(limit, of: words.search.query, weights: words.search.definition.weights)
      for match in best.dropFirst(known) {
        try QuerySteps.current?.spend(1)
        let goesOn = try withDocument(try reader.id(of: match.number)) { document in
          try body(document, match.score)
        }
        if goesOn == false { return }
      }
      if best.count < limit { return }
      known = best.count
      limit = limit.saturating(times: 4)
    }
  }
}

extension Int {
  fileprivate func saturating(times factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
