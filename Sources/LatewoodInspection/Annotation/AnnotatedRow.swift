/// Bytes of the file that mean one thing, and what, in the words of FORMAT.md.
package struct AnnotatedRow: Equatable, Sendable {
  package var range: Range<UInt64>
  package var meaning: String
  /// Something here is not as FORMAT.md says.
  package var isFault = false
}

/// Collects the rows of a stretch of the file.
///
/// Invariant: the rows are contiguous, in the order of the file, none is empty, and they start
/// where the stretch starts.
struct AnnotatedRows {
  let wanted: Range<UInt64>
  private(set) var rows: [AnnotatedRow] = []
  /// Up to where the stretch has been explained.
  private(set) var position: UInt64

  init(_ wanted: Range<UInt64>) {
    self.wanted = wanted
    position = wanted.lowerBound
  }

  var isComplete: Bool { position >= wanted.upperBound }

  /// Adds what is wanted of a range and was not explained before; bytes left out before it are said
  /// to have no meaning.
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
