/// The latest change of a document of a ``TypedCollection``.
public struct TypedChange<Value: Codable & Identifiable & Sendable>: Sendable where Value.ID: Sendable {
  /// The change without the type: sequence, id, revision.
  public let entry: DocumentFeedEntry
  /// The document after the change; nil if it is deleted.
  public let document: Stored<Value>?

  /// The sequence of the change, counted in its collection from 1.
  public var sequence: UInt64 { entry.sequence }
  /// The id of the document.
  public var documentID: String { entry.id }
  /// Whether the document is deleted.
  public var isDeleted: Bool { entry.isDeleted }

  init(_ entry: DocumentFeedEntry, in collection: TypedCollection<Value>) throws {
    self.entry = entry
    document = try entry.isDeleted ? nil : entry.document.map { try collection.stored($0) }
  }
}

extension TypedCollection {
  private static var options: FeedOptions { FeedOptions(includesDocuments: true) }

  /// The last sequence that was assigned. Purges do not lower it.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var lastSequence: UInt64 { get throws { try documents.lastSequence } }

  /// Returns the changes after a sequence, all from one state of the database. O(log n + entries).
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin; 0 for all changes.
  ///   - limit: the maximum number of changes to return.
  /// - Throws: ``DatabaseError`` like every read; the `DecodingError` of a document that is not of
  ///   the type.
  public func changes(since: UInt64 = 0, limit: Int = .max) throws -> [TypedChange<Value>] {
    try documents.changes(since: since, limit: limit, Self.options).map { try TypedChange($0, in: self) }
  }

  /// Returns the changes after a sequence, followed by new ones as they are committed: see
  /// ``DocumentCollection/feed(since:_:where:)``.
  ///
  /// ```swift
  /// for try await change in people.feed(since: last) {
  ///   if let person = change.document { show(person.value) } else { remove(change.documentID) }
  ///   last = change.sequence
  /// }
  /// ```
  public func feed(since: UInt64 = 0) -> TypedFeed<Value> {
    TypedFeed(feed: documents.feed(since: since, Self.options), collection: self)
  }
}

/// A live feed of values: see ``TypedCollection/feed(since:)``. It ends with a `DecodingError` at a
/// document that is not of the type.
public struct TypedFeed<Value: Codable & Identifiable & Sendable>: AsyncSequence, Sendable
where Value.ID: Sendable {
  /// The latest change of a document.
  public typealias Element = TypedChange<Value>
  let feed: DocumentFeed
  let collection: TypedCollection<Value>

  /// Starts at the first change of the feed.
  public func makeAsyncIterator() -> Iterator {
    Iterator(feed: feed.makeAsyncIterator(), collection: collection)
  }

  /// A position in the feed.
  public struct Iterator: AsyncIteratorProtocol {
    var feed: DocumentFeed.Iterator
    let collection: TypedCollection<Value>

    /// Waits for the next change and returns it; nil if the task is cancelled.
    ///
    /// - Throws: ``DatabaseError`` like every read; the `DecodingError` of a document that is not
    ///   of the type.
    public mutating func next() async throws -> TypedChange<Value>? {
      try await feed.next().map { try TypedChange($0, in: collection) }
    }
  }
}

extension TypedFeed {
  /// Returns a feed with a result for each change: the change, or the error of a document that
  /// cannot be decoded, which otherwise ends the feed.
  public func asResults() -> AsyncThrowingMapSequence<DocumentFeed, Result<Element, UndecodableDocument>> {
    feed.map { [collection] entry in
      do {
        return .success(try TypedChange(entry, in: collection))
      } catch let error as DatabaseError {
        throw error
      } catch {
        return .failure(
          UndecodableDocument(collection: collection.name, documentID: entry.id, error))
      }
    }
  }
}
