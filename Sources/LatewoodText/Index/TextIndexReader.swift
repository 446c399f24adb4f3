/// Finds documents in an index for words, in one state of it.
package struct TextIndexReader {
  let space: any TextIndexSpace
  let fieldCount: Int
  package let statistics: TextStatistics
  let recent: RecentSegments

  /// Begins to read an index.
  ///
  /// - Parameter fieldCount: the number of fields of the index.
  package init(_ space: any TextIndexSpace, fieldCount: Int) throws {
    precondition(1...Postings.fieldLimit ~= fieldCount, "An index has 1 to \(Postings.fieldLimit) fields")
    self.space = space
    self.fieldCount = fieldCount
    statistics = try TextStatistics.read(from: space, fieldCount: fieldCount)
    recent = try RecentSegments.read(from: space)
  }

  // MARK: Documents

  /// Returns the ID of the document with a number.
  package func id(of number: UInt64) throws -> [UInt8] {
    guard let id = try space.value(of: TextIndexKey.id(of: number)) else {
      throw TextIndexDamage("the ID of a document is missing")
    }
    return id
  }

  /// Returns the number of a document; nil if the document is not in the index.
  package func number(of id: [UInt8]) throws -> UInt64? { try entry(of: id)?.number }

  func entry(of id: [UInt8]) throws -> TextDocumentEntry? {
    try space.value(of: TextIndexKey.document(id)).map {
      try TextDocumentEntry($0, fieldCount: fieldCount)
    }
  }

  // MARK: Finding

  /// Calls a closure with the numbers of the documents that a query finds, in ascending order,
  /// until it returns false.
  package func forEachMatch(
    of query: BoundTextQuery, _ body: (_ number: UInt64) throws -> Bool
  ) throws {
    guard let cursor = try QueryPlan(query, self, weights: nil).cursor() else { return }
    while true {
      try cursor.advance(to: cursor.number + 1)
      guard cursor.number < TextIndexKey.infinite, try body(cursor.number) else { return }
    }
  }

  /// Returns the number of documents that a query finds.
  ///
  /// Reads a single entry for a word in all fields or in one of them, and all postings of the terms
  /// of any other query.
  package func count(of query: BoundTextQuery) throws -> Int {
    if case .phrase(let number) = query.root,
      let count = try QueryPlan(query, self, weights: nil).knownCount(ofPhrase: number)
    {
      return count
    }
    return try QueryPlan(query, self, weights: nil).cursor()?.countRest() ?? 0
  }

  /// Returns the best documents of a query, in descending order of scores. Of documents with equal
  /// scores, the first to be indexed precedes the others.
  ///
  /// Blocks of postings whose documents cannot be among the best are not read.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of documents.
  ///   - weights: the weight of each field, finite and not negative.
  package func best(
    _ limit: Int, of query: BoundTextQuery, weights: [Double]
  ) throws -> [TextMatch] {
    guard limit > 0, let cursor = try cursor(for: query, weights: weights) else { return [] }
    var lengths = TextLengthReader()
    var best = BestMatches(limit: limit)
    while true {
      try cursor.advance(to: cursor.number + 1, above: best.threshold)
      guard cursor.number < TextIndexKey.infinite else { return best.sorted }
      let length = try length(of: cursor.number, &lengths)
      best.add(TextMatch(number: cursor.number, score: cursor.score(length)))
    }
  }

  /// Calls a closure with all documents that a query finds and their scores, in the order of
  /// numbers, until it returns false.
  package func forEachScore(
    of query: BoundTextQuery, weights: [Double], _ body: (TextMatch) throws -> Bool
  ) throws {
    guard let cursor = try cursor(for: query, weights: weights) else { return }
    var lengths = TextLengthReader()
    while true {
      try cursor.advance(to: cursor.number + 1)
      guard cursor.number < TextIndexKey.infinite else { return }
      let length = try length(of: cursor.number, &lengths)
      guard try body(TextMatch(number: cursor.number, score: cursor.score(length))) else { return }
    }
  }

  /// Returns a cursor for a query with scores; nil if the query has no words.
  func cursor(for query: BoundTextQuery, weights: [Double]) throws -> (any DocumentCursor)? {
    precondition(weights.count == fieldCount && weights.allSatisfy { $0 >= 0 && $0.isFinite })
    return try QueryPlan(query, self, weights: weights).cursor()
  }

  func length(of number: UInt64, _ lengths: inout TextLengthReader) throws -> Int {
    guard let length = try lengths.length(of: number, in: space) else {
      throw TextIndexDamage("the length of a document is missing")
    }
    return length
  }

  /// Returns how the score of a document for a query comes about; nil if the query does not find
  /// the document.
  package func explain(
    _ number: UInt64, for query: BoundTextQuery, weights: [Double]
  ) throws -> TextScore? {
    guard 1..<TextIndexKey.numberLimit ~= number, let cursor = try cursor(for: query, weights: weights)
    else { return nil }
    try cursor.advance(to: number)
    guard cursor.number == number else { return nil }
    var lengths = TextLengthReader()
    let length = try length(of: number, &lengths)
    var parts: [TextScore.Part] = []
    cursor.forEachPhrase { (rank, frequencies) in
      parts.append(
        TextScore.Part(
          phrase: query.phrases[rank.phrase].text, documentCount: rank.documentCount, idf: rank.idf,
          boost: rank.boost, counts: frequencies.map(Int.init), frequency: rank.frequency(frequencies),
          score: rank.score(frequencies, length)))
    }
    return TextScore(
      score: cursor.score(length), length: length, documentCount: statistics.documentCount,
      totalLength: statistics.totalLength, weights: weights, parts: parts)
  }
}

/// A document that a query has found.
package struct TextMatch: Equatable, Sendable {
  /// The number of the document in the index.
  package var number: UInt64
  package var score: Double

  package init(number: UInt64, score: Double) {
    self.number = number
    self.score = score
  }
}

/// How the score of a document comes about: see ``BM25``.
package struct TextScore: Equatable, Sendable {
  /// The sum of the scores of the parts.
  package var score: Double
  /// The number of words of the document, in all fields of the index.
  package var length: Int
  /// The number of documents in the index.
  package var documentCount: Int
  /// The number of words of all documents.
  package var totalLength: Int
  package var weights: [Double]
  package var parts: [Part]

  /// The contribution of a phrase that the document has.
  package struct Part: Equatable, Sendable {
    /// The phrase as the query spells it.
    package var phrase: String
    /// The number of documents with the phrase.
    package var documentCount: Int
    package var idf: Double
    package var boost: Double
    /// How often the phrase is in each field. A field that the phrase leaves out may have a count,
    /// but it does not contribute to the frequency.
    package var counts: [Int]
    /// The sum of the counts, each multiplied by the weight of its field.
    package var frequency: Double
    package var score: Double
  }
}

/// The best documents so far: a heap with the worst of them at its root.
private struct BestMatches {
  let limit: Int
  private var heap: [TextMatch] = []

  init(limit: Int) { self.limit = limit }

  /// The score that another document has to exceed. Documents arrive in the order of numbers, so a
  /// later one with an equal score is never better.
  var threshold: Double { heap.count < limit ? -.infinity : heap[0].score }

  var sorted: [TextMatch] { heap.sorted { BestMatches.isWorse($1, than: $0) } }

  private static func isWorse(_ left: TextMatch, than right: TextMatch) -> Bool {
    left.score < right.score || (left.score == right.score && left.number > right.number)
  }

  mutating func add(_ match: TextMatch) {
    if heap.count < limit {
      heap.append(match)
      var index = heap.count - 1
      while index > 0, BestMatches.isWorse(heap[index], than: heap[(index - 1) / 2]) {
        heap.swapAt(index, (index - 1) / 2)
        index = (index - 1) / 2
      }
    } else if match.score > heap[0].score {
      heap[0] = match
      var index = 0
      while true {
        var worst = index
        for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
          if BestMatches.isWorse(heap[child], than: heap[worst]) { worst = child }
        }
        if worst == index { return }
        heap.swapAt(index, worst)
        index = worst
      }
    }
  }
}
