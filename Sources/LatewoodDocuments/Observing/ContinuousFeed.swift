/// A continuous feed of a collection: the changes since a sequence, and then each change when it is
/// committed.
///
/// Entries are always read from the collection, starting after the last sequence returned;
/// listeners only signal when to read. So changes are never missed or repeated, not even between
/// the past changes and the first new ones. A document that changes faster than the feed is read
/// appears at its latest change.
///
/// The feed ends when its task is cancelled, or with an error when the database is closed or the
/// collection dropped.
package struct ContinuousFeed: AsyncSequence, Sendable {
  package typealias Element = SequenceEntry

  let store: DocumentStore
  let collection: CollectionHandle
  let since: UInt64

  package func makeAsyncIterator() -> Iterator {
    Iterator(store: store, collection: collection, last: since)
  }

  package struct Iterator: AsyncIteratorProtocol {
    private static let pageSize = 256
    private let store: DocumentStore
    private let collection: CollectionHandle
    private var last: UInt64
    private var page: [SequenceEntry] = []
    private var place = 0
    private var bell: ChangeSignal?

    init(store: DocumentStore, collection: CollectionHandle, last: UInt64) {
      self.store = store
      self.collection = collection
      self.last = last
    }

    package mutating func next() async throws -> SequenceEntry? {
      while true {
        if place < page.count {
          defer { place += 1 }
          last = page[place].sequence
          return page[place]
        }
        if Task.isCancelled { return nil }
        // Reset the bell before reading: a commit in between rings it again.
        let bell = try self.bell ?? ChangeSignal(store, collection.name) { _ in }
        self.bell = bell
        bell.mute()
        page = try store.reads(collection).changes(since: last, limit: Self.pageSize)
        place = 0
        if page.isEmpty, await !bell.heard() { return nil }
      }
    }
  }
}

extension DocumentStore {
  /// Returns the changes of a collection since a sequence, followed by each new change when it is
  /// committed.
  package func continuousFeed(of collection: CollectionHandle, since: UInt64 = 0) -> ContinuousFeed {
    ContinuousFeed(store: self, collection: collection, since: since)
  }
}
