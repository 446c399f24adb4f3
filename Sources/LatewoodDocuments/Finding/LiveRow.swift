/// A row without its value: the document, and the key by which it is sorted.
///
/// The code that keeps rows in order needs no more. So it is compiled for one type of row, not for
/// each type of value, which makes it several times faster.
// SAFETY: nothing of it changes. The only subclass is in this file, and its value is sendable.
package class LiveRowKey: @unchecked Sendable {
  package let id: String
  /// The sort key. Rows with equal keys are sorted by id.
  let key: [UInt8]
  /// The first bytes of the key, by which most rows can be told apart.
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
    key == other ? BestKeys.isLess(id, otherID) : key.lexicographicallyPrecedes(other)
  }
}

/// A row of a result that is kept up to date: a document and its value.
package final class LiveRow<Value: Sendable>: LiveRowKey, @unchecked Sendable {
  package let value: Value
  private let revision: RevisionID
  /// The body that `DocumentRecord.Head` names.
  private let body: UInt64

  init(_ id: String, _ head: DocumentRecord.Head, key: [UInt8], value: Value) {
    self.value = value
    revision = head.winner
    body = head.body
    super.init(id, key)
  }

  /// Returns whether a document is unchanged since the row was made.
  func isCurrent(_ head: DocumentRecord.Head) -> Bool { head.winner == revision && head.body == body }
}
