/// A counter for the memory of a run.
struct SQLMemory {
  /// The approximate cost of a key besides its bytes.
  static let entry = 64

  private let limit: Int
  private var used = 0

  init(limit: Int) { self.limit = limit }

  /// Counts more bytes. Throws `tooLarge` if that exceeds the limit.
  mutating func take(_ count: Int) throws(QueryError) {
    used += count
    if used > limit {
      throw QueryError(
        .tooLarge,
        "the rows to be sorted, grouped or told apart take more than \(limit) bytes. "
          + "Ask for fewer rows: narrow WHERE, or give ORDER BY a LIMIT")
    }
  }

  mutating func give(_ count: Int) { used -= count }
}
