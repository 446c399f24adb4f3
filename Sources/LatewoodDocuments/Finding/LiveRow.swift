/// A row without its value: the document and its sort key.
///
/// The code that keeps rows in order needs no more, so it is not generic over the type of the
/// value, which makes it several times faster.
// SAFETY: immutable. The only subclass is in this file, and its value is sendable.
package class LiveRowKey: @unchecked Sendable {
  package let id: String
  /// The sort key. Rows with equal keys are sorted by id.
  let key: [UInt8]
  /// The first bytes of the key, which distinguish most rows.
  private let start: UInt64

  fileprivate init(_ id: String, _ key: [UInt8]) {
    self.id = id
    self.key = key
    start = key.sortingStart
  }

  final func precedes(_ other: LiveRowKey) -> Bool {
    start == other.start ? precedes(other.key, other.id) : start < other.start
  }

  /// Returns whether this row sorts before one with another key and id.
  final func precedes(_ other: [UInt8], _ otherID: String) -> Bool {
    key == other ? SortKey.isLess(id, otherID) : key.lexicographicallyPrecedes(other)
  }
}

/// A row of a live result: a document and its value.
package final class LiveRow<Value: Sendable>: LiveRowKey, @unchecked Sendable {
  package let value: Value
  private let revision: RevisionID
  /// `DocumentRecord.Head.body`.
  private let body: UInt64
  /// The score that the value has; nil if the value has none.
  private let score: Double?

  init(
    _ id: String, _ head: DocumentRecord.Head, key: [UInt8], score: Double? = nil, value: Value
  ) {
    self.value = value
    self.score = score
    revision = head.winner
    body = head.body
    super.init(id, key)
  }

  /// Returns the row with another sort key, or itself if the key is nil or the same.
  func moved(to key: [UInt8]?, _ head: DocumentRecord.Head) -> LiveRow {
    guard let key, key != self.key else { return self }
    return LiveRow(id, head, key: key, score: score, value: value)
  }

  /// Returns whether a document is unchanged since the row was created.
  func isCurrent(_ head: DocumentRecord.Head) -> Bool { head.winner == revision && head.body == body }

  func hasScore(_ score: Double) -> Bool { self.score == score }
}
