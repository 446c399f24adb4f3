/// A range of bytes with a single meaning, described in the words of FORMAT.md.
package struct AnnotatedRow: Equatable, Sendable {
  package var range: Range<UInt64>
  package var meaning: String
  /// Whether the bytes violate FORMAT.md.
  package var isFault = false
}

/// Collects the rows of a range of the file.
///
/// Invariant: the rows are contiguous, in the order of the file and not empty, and they start where
/// the range starts.
struct AnnotatedRows {
  let wanted: Range<UInt64>
  private(set) var rows: [AnnotatedRow] = []
  /// The end of the rows so far.
  private(set) var position: UInt64

  init(_ wanted: Range<UInt64>) {
    self.wanted = wanted
    position = wanted.lowerBound
  }

  var isComplete: Bool { position >= wanted.upperBound }

  /// Adds a row for the wanted part of a range that is not yet explained, preceded by a row for
  /// skipped bytes without meaning.
  mutating func add(_ range: Range<UInt64>, _ meaning: String, isFault: Bool = false) {
    let end = min(range.upperBound, wanted.upperBound)
    guard range.lowerBound < end, end > position else { return }
    if range.lowerBound > position {
      rows.append(AnnotatedRow(range: position..<range.lowerBound, meaning: "no meaning"))
      position = range.lowerBound
    }
    rows.append(AnnotatedRow(range: position..<end, meaning: meaning, isFault: isFault))
    position = end
  }
}
