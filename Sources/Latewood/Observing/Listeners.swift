import Dispatch
import LatewoodDocuments

/// The documents that a commit changed in one collection.
public struct CollectionChange: Sendable, Equatable {
  /// The reason why a document is listed.
  public enum Reason: Sendable, Equatable {
    /// A revision was saved. It may be a deletion, or may have lost to the current revision.
    case saved
    /// The document, or a branch of it, was purged.
    case purged
    /// The document was purged because it had expired.
    case expired
  }

  /// One document, as the commit left it.
  public struct Entry: Sendable, Equatable {
    /// The id of the document.
    public let id: String
    /// The sequence of the change; nil if the document is gone.
    public let sequence: UInt64?
    /// The id of the current revision; nil if the document is gone.
    public let revisionID: String?
    /// Whether the current revision deletes the document.
    public let isDeleted: Bool
    /// Whether other revisions are waiting to be merged with the current one.
    public let hasConflicts: Bool
    /// The reason why the document is listed.
    public let reason: Reason
    /// The id of the revision that the change added. If it lost, it is not the current revision. If
    /// the commit added several, this is the last. Nil if the reason is not `saved`; if the change
    /// added only ancestors or the content of a known revision; or if it was read from the
    /// collection afterwards (``CollectionChange/isComplete``).
    public let addedRevisionID: String?
    /// Whether the added revision was made by another replica and inserted here.
    public let isFromReplica: Bool
  }

  /// The name of the collection.
  public let collection: String
  /// The changed documents in the order of the changes, each once. Empty if `isDropped`.
  public let entries: [Entry]
  /// Whether the collection was dropped.
  public let isDropped: Bool
  /// Whether `entries` lists all changed documents. If not, purged documents may be missing.
  ///
  /// It is false if the entries were read from the collection afterwards, because more than 4,096
  /// documents were waiting for a slow handler, or because another process made the changes. The
  /// entries then cover several commits, with each document at its latest change and the reason
  /// `saved`. The list is empty if the collection could not be read.
  public let isComplete: Bool

  init(_ event: CollectionEvent) {
    collection = event.collection
    isDropped = event.kind == .dropped
    isComplete = event.isComplete
    entries = event.changes.map { change in
      Entry(
        id: change.id, sequence: change.sequence == 0 ? nil : change.sequence,
        revisionID: change.revision?.description, isDeleted: change.isDeleted,
        hasConflicts: change.hasConflicts, reason: Reason(change.kind),
        addedRevisionID: change.added?.description, isFromReplica: change.isFromReplica)
    }
  }
}

extension CollectionChange.Reason {
  init(_ kind: DocumentChange.Kind) {
    self =
      switch kind {
      case .saved: .saved
      case .purged: .purged
      case .expired: .expired
      }
  }
}

/// The handle of a listener, which ends with ``cancel()`` or with the last reference to the token.
public final class ListenerToken: Sendable {
  private let token: LatewoodDocuments.ListenerToken

  init(_ token: LatewoodDocuments.ListenerToken) { self.token = token }

  deinit { token.cancel() }

  /// Ends the listener. Once this returns on the listener's queue, the handler is not called again.
  /// Idempotent.
  public func cancel() { token.cancel() }
}

extension Database {
  /// Calls a handler after each commit that has changed documents, once for each changed
  /// collection; never inside a batch.
  ///
  /// Up to 4,096 documents, or one commit if that is larger, wait for a slow handler; beyond that
  /// several commits are combined: see ``CollectionChange/isComplete``. If the database is opened
  /// read-only and another process writes to it, the handler is called within 100 ms after a
  /// commit. Once the database handle through which it was added is closed, the handler is not
  /// called again, even if other handles of the same file are open.
  ///
  /// - Parameters:
  ///   - queue: the queue for the calls. On a serial queue they are in the order of the commits.
  ///     Default: a separate serial queue for each listener.
  ///   - handler: may use the database, even to save.
  /// - Returns: a token, which the caller must retain: the listener ends with it.
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `corruptData` or
  ///   `inputOutput` if it was opened read-only and the file cannot be read.
  public func addListener(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws -> ListenerToken {
    try listen(to: nil, on: queue, handler)
  }

  fileprivate func listen(
    to collection: String?, on queue: DispatchQueue?,
    _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    // A queue without a target would have a thread of its own whenever its listener is called.
    let queue = queue ?? DispatchQueue(label: "latewood.listener", target: .global())
    return try translating { () throws(DocumentError) in
      ListenerToken(
        try documents.addListener(collection: collection, on: queue) { event in
          if event.kind != .closed { handler(CollectionChange(event)) }
        })
    }
  }
}

extension DocumentCollection {
  /// Calls a handler after each commit that has changed documents of this collection. Otherwise
  /// like ``Database/addListener(on:_:)``.
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped, even if another one has its name; `corruptData` or `inputOutput` if
  ///   the file cannot be read.
  public func addListener(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws -> ListenerToken {
    try listen(on: queue, handler)
  }

  /// Calls a handler after each commit that has changed one document. Otherwise like
  /// ``Database/addListener(on:_:)``.
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped, even if another one has its name; `corruptData` or `inputOutput` if
  ///   the file cannot be read.
  public func addListener(
    for id: String, on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (CollectionChange.Entry) -> Void
  ) throws -> ListenerToken {
    let bytes = Array(id.utf8)
    return try listen(on: queue) { change in
      for entry in change.entries where entry.id.utf8.elementsEqual(bytes) { handler(entry) }
    }
  }

  private func listen(
    on queue: DispatchQueue?, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    let token = try database.listen(to: name, on: queue, handler)
    // The collection is checked afterwards, because a later drop notifies the listener.
    do throws(DatabaseError) { try checkExists() } catch {
      token.cancel()
      throw error
    }
    return token
  }

  /// Throws `notFound` if the collection has been dropped.
  private func checkExists() throws(DatabaseError) {
    let reads = try reads()
    _ = try translating { () throws(DocumentError) in try reads.lastSequence() }
  }
}
