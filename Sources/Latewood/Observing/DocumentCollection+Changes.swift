import LatewoodDocuments

/// The latest change of a document.
///
/// Every change of a document gets the next sequence of its collection. A feed has one entry for
/// each document, at the sequence of its latest change.
public struct DocumentFeedEntry: Sendable {
  /// The sequence of the change, counted in its collection from 1.
  public let sequence: UInt64
  /// The id of the document.
  public let id: String
  /// Whether the document is deleted.
  public let isDeleted: Bool
  /// Whether other revisions are waiting to be merged with the current one.
  public let hasConflicts: Bool
  /// The current revision, if the feed includes documents.
  public internal(set) var document: Document?
  /// The ids of all leaves (revisions without children), with the current one first; empty unless
  /// the feed includes them.
  public internal(set) var leaves: [String] = []
  private let revision: RevisionID

  init(_ entry: SequenceEntry) {
    sequence = entry.sequence
    id = entry.id
    isDeleted = entry.isDeleted
    hasConflicts = entry.hasConflicts
    revision = entry.revision
  }

  /// The id of the current revision, `generation-digest`.
  public var revisionID: String { revision.description }
}

/// The parts of a feed's entries that cost extra reads.
public struct FeedOptions: Sendable {
  /// Whether entries include the document's current revision, even if it is deleted.
  public var includesDocuments = false
  /// Whether entries include the ids of all leaves, including those of conflicting and deleted
  /// ones.
  public var includesAllLeaves = false

  /// Creates options; by default, entries have no extra parts.
  public init(includesDocuments: Bool = false, includesAllLeaves: Bool = false) {
    self.includesDocuments = includesDocuments
    self.includesAllLeaves = includesAllLeaves
  }
}

/// The feed of a collection.
extension DocumentCollection {
  /// The last sequence that was assigned. Purges do not lower it.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var lastSequence: UInt64 {
    get throws {
      let reads = try reads()
      return try reads.lastSequence()
    }
  }

  /// Returns the changes after a sequence, all from one state of the database. O(log n + entries).
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin; 0 for all changes.
  ///   - limit: the maximum number of entries to return.
  ///   - descending: whether to go from the latest change to the earliest.
  ///   - options: the parts of the entries that cost extra reads.
  ///   - filter: the entries to return; refused entries do not count towards the limit.
  /// - Throws: errors of the filter; ``DatabaseError`` like every read.
  public func changes(
    since: UInt64 = 0, limit: Int = .max, descending: Bool = false, _ options: FeedOptions = FeedOptions(),
    where filter: ((DocumentFeedEntry) throws -> Bool)? = nil
  ) throws -> [DocumentFeedEntry] {
    var list: [DocumentFeedEntry] = []
    let reads = try reads()
    do {
      try reads.forEachChange(since: since, descending: descending) { entry in
        guard list.count < limit else { return false }
        let entry = try self.entry(entry, reads, options)
        if try filter?(entry) ?? true { list.append(entry) }
        return list.count < limit
      }
    } catch { throw DatabaseError.translated(error) }
    return list
  }

  /// Calls a closure with the changes after a sequence, all from one state of the database, until
  /// it returns false. Keeps one in memory at a time.
  ///
  /// The closure may save and delete documents. Also in a batch, it gets the changes of the state
  /// in which the call began; there, they are all kept in memory.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` like every read.
  public func forEachChange(
    since: UInt64 = 0, descending: Bool = false, _ options: FeedOptions = FeedOptions(),
    _ body: (DocumentFeedEntry) throws -> Bool
  ) throws {
    let reads = try reads()
    do {
      try reads.forEachKeptChange(since: since, descending: descending) { entry in
        try body(try self.entry(entry, reads, options))
      }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Returns the changes after a sequence, all from one state of the database, without blocking the
  /// caller's thread. Otherwise like the blocking form; the filter runs on a Dispatch queue.
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin; 0 for all changes.
  ///   - limit: the maximum number of entries to return.
  ///   - descending: whether to go from the latest change to the earliest.
  ///   - options: the parts of the entries that cost extra reads.
  ///   - filter: the entries to return; refused entries do not count towards the limit.
  /// - Throws: like every async read; see ``DatabaseError``.
  public func changes(
    since: UInt64 = 0, limit: Int = .max, descending: Bool = false, _ options: FeedOptions = FeedOptions(),
    where filter: (@Sendable (DocumentFeedEntry) throws -> Bool)? = nil
  ) async throws -> [DocumentFeedEntry] {
    try await database.performing { [self] in
      try changes(since: since, limit: limit, descending: descending, options, where: filter)
    }
  }

  /// Returns the changes after a sequence, followed by new ones as they are committed. A loop over
  /// the feed continues until its task is cancelled.
  ///
  /// ```swift
  /// for try await change in collection.feed(since: last) {
  ///   print(change.id)
  ///   last = change.sequence
  /// }
  /// ```
  ///
  /// No change is missed or repeated, not even between the past changes and the first new ones. A
  /// document that changes faster than the loop runs appears at its latest change, and the document
  /// in an entry is always the revision `revisionID`. Purged documents do not appear in feeds. If
  /// the database is opened read-only, changes by another process arrive within 100 ms. The feed
  /// throws `notOpen` when the database handle that created it is closed, and `notFound` when the
  /// collection is dropped.
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin; 0 for all changes.
  ///   - options: the parts of the entries that cost extra reads.
  ///   - filter: the entries to return. If it throws, the feed ends with that error.
  public func feed(
    since: UInt64 = 0, _ options: FeedOptions = FeedOptions(),
    where filter: (@Sendable (DocumentFeedEntry) throws -> Bool)? = nil
  ) -> DocumentFeed {
    DocumentFeed(
      changes: documents.continuousFeed(of: handle, since: since), collection: self, options: options,
      filter: filter)
  }

  /// Returns an entry of a live feed with the requested parts, which are read now. Returns nil if
  /// the document has been changed or purged since: its current state then differs from the entry,
  /// and the entry of the later change will follow.
  fileprivate func entry(_ entry: SequenceEntry, _ options: FeedOptions) throws -> DocumentFeedEntry? {
    guard options.includesDocuments || options.includesAllLeaves else { return DocumentFeedEntry(entry) }
    let reads = try reads()
    let isCurrent = try reads.head(of: entry.id)?.sequence == entry.sequence
    return isCurrent ? try self.entry(entry, reads, options) : nil
  }

  /// - Parameter reads: the state that contains the entry.
  fileprivate func entry(
    _ entry: SequenceEntry, _ reads: DocumentReads, _ options: FeedOptions
  ) throws(DatabaseError) -> DocumentFeedEntry {
    var result = DocumentFeedEntry(entry)
    guard options.includesDocuments || options.includesAllLeaves else { return result }
    if options.includesDocuments, let (head, body) = try reads.winner(of: entry.id), let body {
      // The closure of a loop in a batch may have changed the document.
      if head.sequence == entry.sequence {
        result.document = Document(entry.id, head, body)
      } else if let record = try reads.record(of: entry.id),
        let old = try reads.body(of: entry.revision, in: record)
      {
        let flags: DocumentFlags = entry.isDeleted ? .deleted : []
        result.document = Document(
          id: entry.id, revision: entry.revision, sequence: entry.sequence, flags: flags, body: old)
      }
    }
    if options.includesAllLeaves, let record = try reads.record(of: entry.id) {
      result.leaves = record.tree.leaves.map(\.id.description)
    }
    return result
  }
}

/// A live feed: see ``DocumentCollection/feed(since:_:where:)``.
public struct DocumentFeed: AsyncSequence, Sendable {
  /// The latest change of a document.
  public typealias Element = DocumentFeedEntry
  let changes: ContinuousFeed
  let collection: DocumentCollection
  let options: FeedOptions
  let filter: (@Sendable (DocumentFeedEntry) throws -> Bool)?

  /// Starts at the first change of the feed.
  public func makeAsyncIterator() -> Iterator {
    Iterator(
      changes: changes.makeAsyncIterator(), collection: collection, options: options, filter: filter)
  }

  /// A position in the feed.
  public struct Iterator: AsyncIteratorProtocol {
    var changes: ContinuousFeed.Iterator
    let collection: DocumentCollection
    let options: FeedOptions
    let filter: (@Sendable (DocumentFeedEntry) throws -> Bool)?

    /// Waits for the next change and returns it; nil if the task is cancelled.
    ///
    /// - Throws: errors of the filter; ``DatabaseError`` like every read.
    public mutating func next() async throws -> DocumentFeedEntry? {
      do {
        while let entry = try await changes.next() {
          guard let entry = try collection.entry(entry, options), try filter?(entry) ?? true else {
            continue
          }
          return entry
        }
        return nil
      } catch { throw DatabaseError.translated(error) }
    }
  }
}
