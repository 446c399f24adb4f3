/// The documents that a part of a query finds, in the order of their numbers.
///
/// A cursor begins before the first document and only moves forward. With scores, it skips
/// documents that cannot be among the best: see ``advance(to:above:)``.
protocol DocumentCursor: AnyObject {
  /// The number of the current document: 0 before the first, ``TextIndexKey/infinite`` after the
  /// last.
  var number: UInt64 { get }
  /// An upper bound of the number of documents.
  var estimate: Int { get }

  /// Moves to the first document whose number is not less than `target`, unless the cursor is there
  /// already. May skip documents whose score is not greater than `threshold`.
  func advance(to target: UInt64, above threshold: Double) throws

  /// Returns the number of documents after the current one, and moves behind the last.
  func countRest() throws -> Int

  /// Returns an upper bound of the scores of documents from a number on, and the last number that
  /// the bound is for. Does not read postings, and does not move the cursor. Targets may not
  /// decrease.
  func bound(at target: UInt64) throws -> ScoreBound

  /// The score of the current document, which has `length` words.
  func score(_ length: Int) -> Double

  /// Calls a closure with each phrase that the current document has.
  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void)
}

extension DocumentCursor {
  /// Moves to the first document whose number is not less than `target`.
  func advance(to target: UInt64) throws { try advance(to: target, above: -.infinity) }

  func countRest() throws -> Int { try countOneByOne() }

  func countOneByOne() throws -> Int {
    var count = 0
    while true {
      try advance(to: number + 1)
      if number == TextIndexKey.infinite { return count }
      count += 1
    }
  }
}

/// An upper bound of the scores of documents up to a number.
struct ScoreBound {
  var score: Double
  var through: UInt64

  /// The bound behind the last document.
  static let end = ScoreBound(score: 0, through: TextIndexKey.infinite)
}

/// A cursor that knows the places of a phrase.
protocol PhraseOccurrences: DocumentCursor {
  /// How often the phrase is in each field of the current document.
  var frequencies: ArraySlice<UInt32> { get }
  /// Appends the places of the first term of the phrase to an array.
  func readPlaces(to places: inout [Int]) throws
}

/// The part of a score that depends only on the query and the index.
struct PhraseRank {
  /// The number of the phrase in the query.
  var phrase: Int
  var ranking: BM25
  /// The number of documents with the phrase.
  var documentCount: Int
  var idf: Double
  var boost: Double
  /// The weights of fields; 0 for a field that the phrase leaves out.
  var weights: [Double]

  init(phrase: Int, _ ranking: BM25, documentCount: Int, boost: Double, weights: [Double]) {
    self.phrase = phrase
    self.ranking = ranking
    self.documentCount = documentCount
    idf = ranking.idf(documentCount)
    self.boost = boost
    self.weights = weights
  }

  func frequency(_ frequencies: ArraySlice<UInt32>) -> Double {
    var sum = 0.0
    var field = 0
    for frequency in frequencies {
      if frequency > 0 { sum += weights[field] * Double(frequency) }
      field += 1
    }
    return sum
  }

  func score(_ frequencies: ArraySlice<UInt32>, _ length: Int) -> Double {
    boost * ranking.part(idf: idf, frequency: frequency(frequencies), length: length)
  }
}

/// Several cursors, and the documents that they have in common.
struct CursorGroup {
  /// The cursors, beginning with the rarest.
  private let cursors: [any DocumentCursor]
  /// The same cursors if all are of terms in all fields, as usual.
  private let terms: TermIntersection?

  init(_ cursors: [any DocumentCursor]) {
    let sorted = cursors.sorted { $0.estimate < $1.estimate }
    let terms = sorted.compactMap { ($0 as? TermCursor).flatMap { $0.isOfAllFields ? $0 : nil } }
    self.cursors = sorted
    self.terms = terms.count == sorted.count && !terms.isEmpty ? TermIntersection(terms) : nil
  }

  /// An upper bound of the number of documents.
  var estimate: Int { cursors.first?.estimate ?? 0 }

  /// Moves the cursors to the first document, from a number on, that all of them have.
  func advance(to target: UInt64) throws -> UInt64 {
    if let terms { return try terms.advance(to: target) }
    var target = target
    var (agreeing, index) = (0, 0)
    while agreeing < cursors.count {
      try cursors[index].advance(to: target)
      let number = cursors[index].number
      if number == TextIndexKey.infinite { return number }
      agreeing = number == target ? agreeing + 1 : 1
      target = number
      index = index + 1 == cursors.count ? 0 : index + 1
    }
    return target
  }

  /// Moves the cursors to the first document, from a number on, that all of them have and that
  /// satisfies a condition, which can read the cursors.
  func advance(to target: UInt64, where isFound: () throws -> Bool) throws -> UInt64 {
    var target = target
    while true {
      let number = try advance(to: target)
      if try number == TextIndexKey.infinite || isFound() { return number }
      target = number + 1
    }
  }

  /// Returns the number of documents in common after those that were found, and moves behind the
  /// last; nil if they have to be found one after the other.
  func countRest() throws -> Int? { try terms?.countRest() }
}
