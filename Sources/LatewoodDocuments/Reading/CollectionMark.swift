/// The numbers that distinguish two states of a collection. They are equal if no document was
/// saved, deleted, purged or expired between the two.
package struct CollectionMark: Sendable, Equatable {
  private let lastSequence: UInt64
  private let documents: UInt64
  private let tombstones: UInt64

  /// - Parameter expired: the number of documents that have expired but are not purged yet.
  fileprivate init(_ state: CollectionState, expired: Int) {
    lastSequence = state.lastSequence
    documents = state.documents &- UInt64(expired)
    tombstones = state.tombstones
  }
}

extension DocumentReads {
  /// Returns the mark of the collection's state, ignoring uncommitted changes of a batch. O(log n).
  ///
  /// - Throws: ``DatabaseError`` `notFound` if this state of the database lacks the collection.
  package func mark() throws(DatabaseError) -> CollectionMark {
    CollectionMark(try state(), expired: try expired().count)
  }
}
