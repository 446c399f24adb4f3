/// A counter of the memory for what a run must keep to its end.
struct SQLMemory {
  /// The approximate cost of a key besides its bytes.
  static let entry = 64

  private let limit: Int
  private(set) var used = 0

  init(limit: Int) { self.limit = limit }

  /// Counts more bytes for the rows of DISTINCT. Throws `tooLarge` if that exceeds the limit.
  mutating func take(_ count: Int) throws(QueryError) {
    used += count
    if used > limit {
      throw QueryError(
        .tooLarge,
        "the rows of SELECT DISTINCT need more than \(limit) bytes of memory. "
          + "Add an ORDER BY, which finds them in parts, or select fewer rows with WHERE")
    }
  }
}
