/// A counter of the memory that a run uses.
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
        "sorting, grouping or DISTINCT needs more than \(limit) bytes of memory. "
          + "Select fewer rows: narrow WHERE, or add a LIMIT to ORDER BY")
    }
  }

  mutating func give(_ count: Int) { used -= count }
}
