import LatewoodStore

/// The documents to list and their order.
package struct DocumentQuery: Sendable, Equatable {
  /// The range of ids, in the order of their bytes: ``KeyRange/between(_:_:)``,
  /// ``KeyRange/prefix(_:)``, ...
  package var range = KeyRange.all
  package var limit = Int.max
  package var descending = false
  /// Whether documents whose winner is a tombstone are included.
  package var includesDeleted = false
  /// Whether to list only documents with undeleted revisions other than the winner.
  package var onlyConflicts = false

  package init() {}
}
