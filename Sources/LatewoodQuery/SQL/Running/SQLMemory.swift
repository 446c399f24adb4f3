/// Estimates of the memory that a run takes.
enum SQLMemory {
  /// The approximate memory of a key in a table, in addition to its bytes.
  static let entry = 64
}
