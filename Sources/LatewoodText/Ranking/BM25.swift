#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The rank of documents for a query, by Okapi BM25 as FTS5 computes it.
///
/// For a query of phrases, `N` documents of `L` words in all, and a document of `l` words:
///
/// ```
/// score  = sum over phrases of  boost * idf * f * (k1 + 1) / (f + k1 * (1 - b + b * l / (L / N)))
/// f      = sum over fields of  weight * number of times that the phrase is in the field
/// idf    = ln((N - n + 0.5) / (n + 0.5)), or 0.000001 if that is not positive
/// ```
///
/// `n` is the number of documents with the phrase, `k1` is 1.2 and `b` 0.75. The length of a
/// document includes all fields of the index, even fields that the query leaves out. A higher score
/// is better; FTS5 returns its negative.
package struct BM25: Equatable, Sendable {
  package static let k1 = 1.2
  package static let b = 0.75

  /// `N`
  package var documentCount: Int
  /// `L`
  package var totalLength: Int

  package init(documentCount: Int, totalLength: Int) {
    self.documentCount = documentCount
    self.totalLength = totalLength
  }

  /// The weight of a phrase that occurs in `count` documents.
  package func idf(_ count: Int) -> Double {
    let idf = log((Double(documentCount) - Double(count) + 0.5) / (Double(count) + 0.5))
    return idf > 0 ? idf : 1e-6
  }

  /// The contribution of a phrase to the score, without its boost.
  ///
  /// - Parameters:
  ///   - frequency: `f`
  ///   - length: the number of words of the document.
  package func part(idf: Double, frequency: Double, length: Int) -> Double {
    idf * (frequency * (BM25.k1 + 1)) / (frequency + BM25.k1 * scale(length))
  }

  private func scale(_ length: Int) -> Double {
    guard documentCount > 0, totalLength > 0 else { return 1 }
    return 1 - BM25.b + BM25.b * (Double(length) / (Double(totalLength) / Double(documentCount)))
  }
}
