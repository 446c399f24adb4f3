import Dispatch
import LatewoodDocuments

/// Documents that one commit has changed in one collection.
public struct CollectionChange: Sendable, Equatable {
  /// Why a document is among them.
  public enum Reason: Sendable, Equatable {
    /// A revision was saved, also a deletion, or one that lost against the current one.
    case saved
    /// It was purged, or a branch of it.
    case purged
    /// It was purged because its time had come.
    case expired
  }

  /// One document, as the commit left it.
  public struct Entry: Sendable, Equatable {
    public let id: String
    /// Of the change; nil if the document is gone.
    public let sequence: UInt64?
    /// Of the current revision; nil if the document is gone.
    public let revisionID: String?
    public let isDeleted: Bool
    public let hasConflicts: Bool
    public let reason: Reason
  }

  /// The name of the collection.
  public let collection: String
  /// In the order of the changes; each document once. Empty if `isDropped`.
  public let entries: [Entry]
  /// Whether the collection is gone.
  public let isDropped: Bool
  /// Whether `entries` has all documents that were changed. If not, some may have been purged that
  /// are not in it.
  ///
  /// It is false where the entries were read from the collection afterwards: because the handler
  /// was slower than the changes for so long that more than 4,096 documents waited for it, or
  /// because another process has made the changes. They then stand for several commits, with each
  /// document at its latest change and the reason `saved`. It has no entries at all if the
  /// collection could not be read.
  public let isComplete: Bool

  init(_ event: CollectionEvent) {
    collection = event.collection
    isDropped = event.kind == .dropped
    isComplete = event.isComplete
    entries = event.changes.map { change in
      Entry(
        id: change.id, sequence: change.sequence == 0 ? nil : change.sequence,
        revisionID: change.revision?.description, isDeleted: change.isDeleted,
        hasConflicts: change.hasConflicts, reason: Reason(change.kind))
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

/// Keeps a listener; it ends with ``cancel()`` or with the last reference to this.
public final class ListenerToken: Sendable {
  private let token: ObserverToken

  init(_ token: ObserverToken) { self.token = token }

  deinit { token.cancel() }

  /// Ends the listener. On the queue of the listener no call comes after this returns. Idempotent.
  public func cancel() { token.cancel() }
}

extension Database {
  /// Calls a handler after each commit that has changed documents, once for each collection that it
  /// changed; never inside a batch.
  ///
  /// What a slow handler has not heard of yet is kept for it up to 4,096 documents, or one commit
  /// if that has changed more; beyond that it is told of several commits at once: see
  /// ``CollectionChange/isComplete``. If the database is opened to be read only and another process
  /// writes it, the handler is called within 100 ms after a commit. It is not called any more when
  /// the database has been closed through which it was added, also if others have the same file
  /// open.
  ///
  /// - Parameters:
  ///   - queue: what the calls run on, in the order of the commits if it is serial; default: a
  ///     serial queue of the listener's own.
  ///   - handler: may use the database, also to save.
  /// - Returns: keep it: the listener ends with it.
  public func addListener(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    try listen(to: nil, on: queue, handler)
  }

  fileprivate func listen(
    to collection: String?, on queue: DispatchQueue?,
    _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    let queue = queue ?? DispatchQueue(label: "latewood.listener")
    return try translating { () throws(DocumentError) in
      ListenerToken(
        try documents.observe(collection: collection, on: queue) { event in
          if event.kind != .closed { handler(CollectionChange(event)) }
        })
    }
  }
}

extension DocumentCollection {
  /// Calls a handler after each commit that has changed documents of this collection. As
  /// ``Database/addListener(on:_:)``.
  public func addListener(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    try database.listen(to: name, on: queue, handler)
  }

  /// Calls a handler after each commit that has changed one document. As
  /// ``Database/addListener(on:_:)``.
  public func addListener(
    for id: String, on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (CollectionChange.Entry) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    let bytes = Array(id.utf8)
    return try database.listen(to: name, on: queue) { change in
      for entry in change.entries where entry.id.utf8.elementsEqual(bytes) { handler(entry) }
    }
  }
}
