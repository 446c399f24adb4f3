/// The numbers of a collection that tell two of its states apart: they are equal if no document was
/// saved, deleted or purged, and none has expired, between the two.
package struct CollectionMark: Sendable, Equatable {
  private let lastSequence: UInt64
  private let documents: UInt64
  private let tombstones: UInt64

  fileprivate init(_ state: CollectionState) {
    (lastSequence, documents, tombstones) = (state.lastSequence, state.documents, state.tombstones)
  }
}

extension DocumentReads {
  /// Returns the mark of the collection's state. In a batch, what it has changed so far does not
  /// count. O(log n).
  ///
  /// - Throws: ``DocumentError`` `notFound` if this state of the database has no such collection.
  package func mark() throws(DocumentError) -> CollectionMark { CollectionMark(try state()) }
}
