import LatewoodDocuments

/// The latest change of a document.
///
/// Every change of a document takes the next sequence of its collection; a feed has one entry for
/// each document, at its latest.
public struct DocumentFeedEntry: Sendable {
  /// Counted in its collection from 1.
  public let sequence: UInt64
  public let id: String
  /// Whether the document is deleted.
  public let isDeleted: Bool
  /// Whether other revisions wait to be merged with the current one.
  public let hasConflicts: Bool
  /// The current revision, if the feed was asked to bring documents.
  public internal(set) var document: Document?
  /// Ids of all revisions that nothing follows from, the current one first, if the feed was asked
  /// for them.
  public internal(set) var leaves: [String] = []
  private let revision: RevisionID

  init(_ entry: SequenceEntry) {
    sequence = entry.sequence
    id = entry.id
    isDeleted = entry.isDeleted
    hasConflicts = entry.hasConflicts
    revision = entry.revision
  }

  /// Of the current revision, `generation-digest`.
  public var revisionID: String { revision.description }
}

/// What a feed is asked for.
public struct FeedOptions: Sendable {
  /// Whether entries bring the document's current revision, a deleted one too.
  public var includesDocuments = false
  /// Whether entries bring the ids of all leaves, those of conflicts and deleted ones.
  public var includesAllLeaves = false

  public init(includesDocuments: Bool = false, includesAllLeaves: Bool = false) {
    self.includesDocuments = includesDocuments
    self.includesAllLeaves = includesAllLeaves
  }
}

/// The feed of a collection.
extension DocumentCollection {
  /// The last sequence that was given out. Purges do not take it back.
  public var lastSequence: UInt64 {
    get throws(DatabaseError) {
      let reads = try reads()
      return try translating { () throws(DocumentError) in try reads.lastSequence() }
    }
  }

  /// The changes after a sequence, of one moment. O(log n + entries).
  ///
  /// - Parameters:
  ///   - since: the first is the one after it; 0 for all.
  ///   - limit: how many at most.
  ///   - descending: from the latest to the earliest.
  ///   - options: what entries bring along.
  ///   - filter: which entries; those it refuses do not count for the limit.
  public func changes(
    since: UInt64 = 0, limit: Int = .max, descending: Bool = false, _ options: FeedOptions = FeedOptions(),
    where filter: ((DocumentFeedEntry) throws -> Bool)? = nil
  ) throws -> [DocumentFeedEntry] {
    var list: [DocumentFeedEntry] = []
    try forEachChange(since: since, descending: descending, options) { entry in
      guard list.count < limit else { return false }
      if try filter?(entry) ?? true { list.append(entry) }
      return list.count < limit
    }
    return list
  }

  /// Calls a closure with the changes after a sequence, of one moment, until it returns false.
  /// Holds one at a time in memory.
  public func forEachChange(
    since: UInt64 = 0, descending: Bool = false, _ options: FeedOptions = FeedOptions(),
    _ body: (DocumentFeedEntry) throws -> Bool
  ) throws {
    let reads = try reads()
    do {
      try reads.forEachChange(since: since, descending: descending) { entry in
        try body(try self.entry(entry, reads, options))
      }
    } catch { throw DatabaseError.translated(error) }
  }

  /// The changes after a sequence, and then each one when it has been committed: a loop over it
  /// goes on until its task is cancelled.
  ///
  /// ```swift
  /// for try await change in collection.feed(since: last) {
  ///   print(change.id)
  ///   last = change.sequence
  /// }
  /// ```
  ///
  /// None is missed or comes twice, also not where it goes over from what was there to what comes.
  /// A document that changes faster than the loop runs comes at its latest change, and a document
  /// that an entry brings along is that of its `revisionID`, always. Purged documents are in no
  /// feed. Of a database that is opened to be read only, changes by another process come within 100
  /// ms. It throws `notOpen` when the database is closed through which it was made, and `notFound`
  /// when the collection is dropped.
  public func feed(since: UInt64 = 0, _ options: FeedOptions = FeedOptions()) -> DocumentFeed {
    DocumentFeed(changes: documents.liveChanges(of: spaces, since: since), collection: self, options: options)
  }

  /// Of a feed that goes on: what an entry brings along is read when it is asked for. Nil if the
  /// document has been changed since, or purged: then what there is now is not what the entry tells
  /// of, and the entry of that change is still to come.
  fileprivate func entry(
    _ entry: SequenceEntry, _ options: FeedOptions
  ) throws(DatabaseError) -> DocumentFeedEntry? {
    guard options.includesDocuments || options.includesAllLeaves else { return DocumentFeedEntry(entry) }
    let reads = try reads()
    let isCurrent = try translating { () throws(DocumentError) in
      try reads.head(of: entry.id)?.sequence == entry.sequence
    }
    return isCurrent ? try self.entry(entry, reads, options) : nil
  }

  /// - Parameter reads: the state that the entry is of.
  fileprivate func entry(
    _ entry: SequenceEntry, _ reads: DocumentReads, _ options: FeedOptions
  ) throws(DatabaseError) -> DocumentFeedEntry {
    var result = DocumentFeedEntry(entry)
    guard options.includesDocuments || options.includesAllLeaves else { return result }
    try translating { () throws(DocumentError) in
      if options.includesDocuments, let head = try reads.head(of: entry.id),
        let body = try reads.body(at: head.body)
      {
        result.document = Document(entry.id, head, body)
      }
      if options.includesAllLeaves, let record = try reads.record(of: entry.id) {
        result.leaves = record.tree.leaves.map(\.id.description)
      }
    }
    return result
  }
}

/// A feed that goes on: see ``DocumentCollection/feed(since:_:)``.
public struct DocumentFeed: AsyncSequence, Sendable {
  public typealias Element = DocumentFeedEntry
  let changes: LiveChanges
  let collection: DocumentCollection
  let options: FeedOptions

  public func makeAsyncIterator() -> Iterator {
    Iterator(changes: changes.makeAsyncIterator(), collection: collection, options: options)
  }

  /// A place in the feed.
  public struct Iterator: AsyncIteratorProtocol {
    var changes: LiveChanges.Iterator
    let collection: DocumentCollection
    let options: FeedOptions

    /// The next change; waits for it. Nil if the task is cancelled.
    public mutating func next() async throws -> DocumentFeedEntry? {
      do {
        while let entry = try await changes.next() {
          if let entry = try collection.entry(entry, options) { return entry }
        }
        return nil
      } catch { throw DatabaseError.translated(error) }
    }
  }
}
