/// The scores of single documents for a query, in one state of an index.
///
/// The scores of documents in ascending order of their numbers are found in one pass over the
/// postings, which leaves out the documents between them. A document with a lower number than the
/// one before it begins another pass.
package struct TextScorer {
  private let query: BoundTextQuery
  private let reader: TextIndexReader
  private let weights: [Double]
  private var cursor: (any DocumentCursor)?
  private var lengths = TextLengthReader()
  /// The number of the document before.
  private var last: UInt64 = 0
  /// The number of passes that have begun.
  package private(set) var passCount = 0

  /// - Parameter weights: the weight of each field, finite and not negative.
  package init(_ reader: TextIndexReader, _ query: BoundTextQuery, weights: [Double]) {
    self.query = query
    self.reader = reader
    self.weights = weights
  }

  /// The number of passes that take about as long as it takes to compute the scores of all
  /// documents. O(terms).
  ///
  /// A pass for words reads only their entries when it begins. For a prefix, a phrase or several
  /// fields, it reads all their postings.
  package var affordablePassCount: Int {
    guard query.phrases.allSatisfy({ $0.terms.count == 1 && $0.terms[0].prefix == nil && $0.fields == nil })
    else { return 1 }
    return max(32, (cursor?.estimate ?? 0) / 64)
  }

  /// Returns the score of a document; nil if the query does not find it.
  package mutating func score(of number: UInt64) throws -> Double? {
    guard 1..<TextIndexKey.numberLimit ~= number else { return nil }
    if passCount == 0 || number < last {
      passCount += 1
      cursor = try reader.cursor(for: query, weights: weights)
    }
    last = number
    guard let cursor else { return nil }
    // It can already be further if the query does not find the documents in between.
    if cursor.number < number { try cursor.advance(to: number) }
    guard cursor.number == number else { return nil }
    return cursor.score(try reader.length(of: number, &lengths))
  }
}
