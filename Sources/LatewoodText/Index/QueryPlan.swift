/// Makes cursors for a query.
///
/// The score of a phrase depends on the number of documents that have it. For one term in all
/// fields or in a single field, the entry of the term has that number, and the postings are read as
/// far as they are needed. The documents with any other phrase are put into a list first, if there
/// are to be scores.
struct QueryPlan {
  private let query: BoundTextQuery
  private let reader: TextIndexReader
  /// Nil to find documents without their scores.
  private let weights: [Double]?
  private let ranking: BM25

  init(_ query: BoundTextQuery, _ reader: TextIndexReader, weights: [Double]?) {
    self.query = query
    self.reader = reader
    self.weights = weights
    ranking = BM25(
      documentCount: reader.statistics.documentCount, totalLength: reader.statistics.totalLength)
  }

  private var space: any TextIndexSpace { reader.space }
  private var fieldCount: Int { reader.fieldCount }

  /// Returns a cursor for the query; nil if it has no words.
  func cursor() throws -> (any DocumentCursor)? { try query.root.map { try cursor($0) } }

  private func cursor(_ node: BoundTextQuery.Node) throws -> any DocumentCursor {
    switch node {
    case .phrase(let number): return try phrase(number, withPlaces: false).cursor
    case .near(let numbers, let distance):
      let phrases = try numbers.map { try phrase($0, withPlaces: true) }
      return NearCursor(
        phrases.map(\.cursor), lengths: numbers.map { query.phrases[$0].length }, distance: distance,
        ranks: phrases.compactMap(\.rank), fieldCount: fieldCount)
    case .all(let nodes): return AllCursor(try nodes.map { try cursor($0) })
    case .any(let nodes): return AnyCursor(try nodes.map { try cursor($0) })
    case .without(let node, let excluded):
      // Excluded documents need no scores.
      let plan = QueryPlan(query, reader, weights: nil)
      return WithoutCursor(try cursor(node), try plan.cursor(excluded))
    }
  }

  /// Returns the number of documents with a phrase, if an entry contains that number.
  func knownCount(ofPhrase number: Int) throws -> Int? {
    let phrase = query.phrases[number]
    guard phrase.terms.count == 1, phrase.terms[0].prefix == nil else { return nil }
    if phrase.fields.map({ $0.count == fieldCount }) ?? true {
      return try reader.documentCount(of: phrase.terms[0].bytes)
    }
    return knownCount(
      phrase, try IndexedTerm(phrase.terms[0].bytes, in: reader, withPlaces: false).counts)
  }

  private func knownCount(_ phrase: BoundTextQuery.Phrase, _ counts: TermCounts) -> Int? {
    guard let fields = phrase.fields, fields.count < fieldCount else { return counts.documents }
    guard fields.count == 1, let field = fields.first else { return fields.isEmpty ? 0 : nil }
    return counts.fieldDocuments[field]
  }

  // MARK: Phrases

  private func phrase(
    _ number: Int, withPlaces: Bool
  ) throws -> (cursor: any PhraseOccurrences, rank: PhraseRank?) {
    let phrase = query.phrases[number]
    let fields = phrase.fields.flatMap { (fields) in
      fields.count < fieldCount ? (0..<fieldCount).map { fields.contains($0) } : nil
    }
    if phrase.terms.count == 1, phrase.terms[0].prefix == nil {
      let term = try IndexedTerm(phrase.terms[0].bytes, in: reader, withPlaces: withPlaces)
      let count = knownCount(phrase, term.counts)
      if weights == nil || count != nil, fields == nil || !withPlaces {
        let rank = rank(number, count ?? 0, fields)
        return (try term.cursor(in: space, fields: fields, withPlaces: withPlaces, rank: rank), rank)
      }
    }
    let cursor = try occurrences(of: phrase, fields, withPlaces: withPlaces)
    guard weights != nil else { return (cursor, nil) }
    var postings = Postings(fieldCount: fieldCount)
    while true {
      try cursor.advance(to: cursor.number + 1)
      guard cursor.number < TextIndexKey.infinite else { break }
      if withPlaces {
        var places: [Int] = []
        try cursor.readPlaces(to: &places)
        postings.append(cursor.number, places: places)
      } else {
        postings.append(cursor.number, frequencies: cursor.frequencies)
      }
    }
    let rank = rank(number, postings.count, fields)
    return (ListCursor(postings, rank: rank), rank)
  }

  private func rank(_ number: Int, _ count: Int, _ fields: [Bool]?) -> PhraseRank? {
    guard let weights else { return nil }
    return PhraseRank(
      phrase: number, ranking, documentCount: count, boost: query.phrases[number].boost,
      weights: zip(0..., weights).map { (field, weight) in fields?[field] == false ? 0 : weight })
  }

  /// Returns the occurrences of a phrase without scores.
  private func occurrences(
    of phrase: BoundTextQuery.Phrase, _ fields: [Bool]?, withPlaces: Bool
  ) throws -> any PhraseOccurrences {
    let needPlaces = withPlaces || phrase.terms.count > 1 || fields != nil
    let parts = try phrase.terms.map { (term) -> (cursor: any PhraseOccurrences, offset: Int) in
      if term.prefix != nil {
        return (ListCursor(try postings(of: term, withPlaces: needPlaces), rank: nil), term.offset)
      }
      let indexed = try IndexedTerm(term.bytes, in: reader, withPlaces: needPlaces)
      return (
        try indexed.cursor(in: space, fields: nil, withPlaces: needPlaces, rank: nil), term.offset
      )
    }
    if parts.count == 1, fields == nil { return parts[0].cursor }
    return PhraseCursor(parts, fields: fields, fieldCount: fieldCount)
  }

  /// Returns the postings of all terms that a prefix matches.
  private func postings(of term: BoundTextQuery.Term, withPlaces: Bool) throws -> Postings {
    var lists: [Postings] = []
    let prefix = term.prefix ?? term.bytes
    try reader.forEachTerm(from: prefix, withPlaces: withPlaces) { (key, value, changes) in
      guard key.starts(with: prefix) else { return false }
      let indexed = try IndexedTerm(
        key, value, changes, fieldCount: fieldCount, withPlaces: withPlaces)
      lists.append(try indexed.postings(in: space, withPlaces: withPlaces))
      return true
    }
    if !term.bytes.starts(with: prefix) {
      let indexed = try IndexedTerm(term.bytes, in: reader, withPlaces: withPlaces)
      lists.append(try indexed.postings(in: space, withPlaces: withPlaces))
    }
    return try Postings.union(lists, fieldCount: fieldCount)
  }
}
