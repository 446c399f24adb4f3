import LatewoodDocuments
import LatewoodStore

/// The documents of a collection, read lazily: see ``DocumentCollection/stream(_:)``.
public struct DocumentStream: AsyncSequence, Sendable {
  /// A document.
  public typealias Element = Document
  let collection: DocumentCollection
  let query: AllDocumentsQuery

  /// Starts at the first document, which is not read before it is requested.
  public func makeAsyncIterator() -> Iterator { Iterator(collection, query) }

  /// A position in the sequence. As long as it exists, it pins the state of the database that it
  /// reads, and the space of that state.
  public struct Iterator: AsyncIteratorProtocol {
    private static let pageSize = 100

    private let collection: DocumentCollection
    private var rest: AllDocumentsQuery
    private var state: DocumentSnapshot?
    /// The documents that have been read but not returned yet, the next one last.
    private var page: [Document] = []

    init(_ collection: DocumentCollection, _ query: AllDocumentsQuery) {
      self.collection = collection
      rest = query
    }

    /// Returns the next document; nil after the last.
    ///
    /// - Throws: ``DatabaseError`` like every read; `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> Document? {
      if page.isEmpty { try await readPage() }
      return page.popLast()
    }

    private mutating func readPage() async throws {
      guard rest.limit > 0 else { return }
      let (collection, known) = (collection, state)
      var query = rest
      query.limit = Swift.min(query.limit, Self.pageSize)
      let (state, documents) = try await collection.database.performing { [query] in
        let state = try known ?? collection.documents.snapshot()
        return (state, try collection.list(query, state.reads(collection.handle)))
      }
      self.state = state
      page = documents.reversed()
      if documents.count < query.limit { rest.limit = 0 } else { rest.limit -= documents.count }
      guard rest.limit > 0, let last = documents.last else {
        self.state = nil
        return
      }
      let place = KeyRange.Bound.excluded(Array(last.id.utf8))
      if rest.descending { rest.range.upper = place } else { rest.range.lower = place }
    }
  }
}

extension DocumentCollection {
  /// Returns the documents that match a query as a lazy sequence, which reads about a hundred at a
  /// time, without blocking the caller's thread.
  ///
  /// ```swift
  /// for try await document in people.stream() {
  ///   if document["city"] == "Porto" { break }
  /// }
  /// ```
  ///
  /// All documents of one loop are from the newest state at its start, without the changes of a
  /// running batch. Documents that expire during the loop are left out.
  public func stream(_ query: AllDocumentsQuery = AllDocumentsQuery()) -> DocumentStream {
    DocumentStream(collection: self, query: query)
  }
}

extension TypedCollection {
  /// Returns the documents that match a query as a lazy sequence: see
  /// ``DocumentCollection/stream(_:)``. Deleted documents are always left out.
  public func stream(
    _ query: AllDocumentsQuery = AllDocumentsQuery()
  ) -> some AsyncSequence<Stored<Value>, any Error> & Sendable {
    var query = query
    query.includesDeleted = false
    return documents.stream(query).map { [self] in try stored($0) }
  }
}
