import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// The current revision of a document as indexes see it.
struct IndexedRevision {
  var head: DocumentRecord.Head
  /// The body if it is known; nil if it has to be looked up by its place.
  var body: [UInt8]?

  init(_ head: DocumentRecord.Head, body: [UInt8]? = nil) {
    self.head = head
    self.body = body
  }

  /// The winner of a document; nil if it has no revisions.
  init?(_ record: DocumentRecord) {
    guard let head = record.head else { return nil }
    self.init(head, body: record.body)
  }

  /// - Parameter record: the record that `head` was read from.
  init(_ head: DocumentRecord.Head, in record: UnsafeRawBufferPointer) {
    self.init(head, body: head.body(in: record).map { Array($0) })
  }
}

/// The change of a document's keys in one index.
private struct IndexChange {
  let index: CollectionIndex
  let removed: [IndexKey]
  let added: [IndexKey]
}

/// Indexes change in the transaction that changes the document, so every state of the database is
/// consistent.
extension DocumentWriter {
  /// Updates the index entries of a document. Must be called before the document changes otherwise,
  /// because the old entries follow from the old body.
  ///
  /// - Parameters:
  ///   - old: the revision that was current; nil if there was no document.
  ///   - new: the revision that will be current; nil if there will be none.
  ///   - isLocal: whether unique indexes may refuse the change.
  /// - Throws: ``DocumentError`` `notUnique`, before anything has changed; `corruptData` if the new
  ///   body is damaged. A damaged old body does not prevent its replacement.
  func index(
    _ id: String, _ work: CollectionWork, from old: IndexedRevision?, to new: IndexedRevision?,
    isLocal: Bool
  ) throws(DocumentError) {
    if let old = old?.head, let new, old.winner == new.head.winner, old.isDeleted == new.head.isDeleted {
      return
    }
    let indexes = try self.indexes(work)
    let before = try old.map { (revision) throws(DocumentError) in
      try oldKeys(id, revision, indexes, work)
    }
    let after = try new.map { (revision) throws(DocumentError) in
      try keys(of: id, revision, indexes, work)
    }
    var changes: [IndexChange] = []
    for (place, index) in indexes.enumerated() {
      let (had, has) = (before?[place] ?? [], after?[place] ?? [])
      if had == has { continue }
      let change = IndexChange(
        index: index, removed: had.filter { !has.contains($0) }, added: has.filter { !had.contains($0) })
      if isLocal, index.definition.isUnique, let new {
        try refuseDuplicates(of: change.added, id, new, index, work)
      }
      changes.append(change)
    }
    for change in changes { try apply(change, id) }
  }

  private func apply(_ change: IndexChange, _ id: String) throws(DocumentError) {
    if change.added.isEmpty { noteRemoval() } else { changeCount += 1 }
    try DocumentError.typed {
      let entries = change.index.entries
      // While an index is built, it may lack the removed keys.
      let isReady = change.index.isReady
      for key in change.removed {
        let key = IndexEntry.key(key, id)
        if isReady {
          try transaction.delete(key, in: entries, wasThere: true)
        } else {
          try transaction.delete(key, in: entries)
        }
      }
      for key in change.added {
        try transaction.put(IndexEntry.key(key, id), IndexEntry.value(key), in: entries, wasThere: false)
      }
    }
  }

  /// The indexes of a collection as this batch sees them.
  func indexes(_ work: CollectionWork) throws(DocumentError) -> [CollectionIndex] {
    if let indexes = work.indexes { return indexes }
    let load = { [transaction, shared] () throws(DocumentError) in
      try CollectionIndex.load(of: work.name, in: shared.database, transaction)
    }
    // Uncommitted indexes must not get into the cache that all share.
    let indexes =
      work.state.indexChanges == work.startState.indexChanges
      ? try work.collection.indexes(at: work.state.indexChanges, load).all : try load()
    work.indexes = indexes
    return indexes
  }

  /// Returns the keys of a revision in each index.
  func keys(
    of id: String, _ revision: IndexedRevision, _ indexes: [CollectionIndex], _ work: CollectionWork,
    limit: Int = IndexKey.lengthLimit
  ) throws(DocumentError) -> [[IndexKey]] {
    let none = [[IndexKey]](repeating: [], count: indexes.count)
    guard !indexes.isEmpty else { return none }
    return try id.withBytes { (id) throws(DocumentError) in
      try withDocument(id, revision, work) { (document) throws(FleeceError) in
        var keys: [[IndexKey]] = []
        keys.reserveCapacity(indexes.count)
        for index in indexes { keys.append(try index.definition.keys(of: document, limit: limit)) }
        return keys
      } ?? none
    }
  }

  /// Calls `body` with each key of a stored revision in one index.
  ///
  /// - Parameters:
  ///   - record: the record that `head` was read from.
  ///   - memory: used again for each document.
  func forEachKey(
    of id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head, in record: UnsafeRawBufferPointer,
    _ index: CollectionIndex, _ work: CollectionWork, in memory: inout CollationKey,
    _ body: (IndexKeyInPlace) -> Void
  ) throws(DocumentError) {
    let stored = head.body(in: record)
    _ = try withDocument(id, IndexedRevision(head), stored: stored, work) { (document) throws(FleeceError) in
      try index.definition.forEachKey(of: document, in: &memory, body)
    }
  }

  /// Calls `body` with a revision as a document; returns nil if it is deleted or has no body.
  ///
  /// - Parameter stored: its body in the record of the document, if it stands there.
  private func withDocument<R>(
    _ id: UnsafeRawBufferPointer, _ revision: IndexedRevision, stored: UnsafeRawBufferPointer? = nil,
    _ work: CollectionWork,
    _ body: (FoundDocument) throws(FleeceError) -> R
  ) throws(DocumentError) -> R? {
    let head = revision.head
    guard !head.isDeleted, head.body != 0 else { return nil }
    func read(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) -> R {
      do throws(FleeceError) { return try body(try FoundDocument(id, head, bytes)) } catch {
        let id = String(decoding: id, as: UTF8.self)
        throw DocumentError(.corruptData, "the body of the document \(id) is damaged: \(error)")
      }
    }
    if let stored { return try read(stored) }
    if let body = revision.body {
      return try body.withUnsafeBytes { bytes in
        Result { () throws(DocumentError) in try read(bytes) }
      }.get()
    }
    let result = try DocumentError.typed {
      try transaction.withBody(at: head.body, of: work.spaces) { bytes in try read(bytes) }
    }
    if let result { return result }
    let id = String(decoding: id, as: UTF8.self)
    throw DocumentError(.corruptData, "the body of the document \(id) is missing")
  }

  /// Returns the keys of a revision that is being replaced. If its body cannot be read, searches
  /// the indexes for entries of the document.
  private func oldKeys(
    _ id: String, _ revision: IndexedRevision, _ indexes: [CollectionIndex], _ work: CollectionWork
  ) throws(DocumentError) -> [[IndexKey]] {
    do throws(DocumentError) {
      return try keys(of: id, revision, indexes, work)
    } catch {
      guard error.code == .corruptData else { throw error }
    }
    var all: [[IndexKey]] = []
    for index in indexes {
      var keys: [IndexKey] = []
      try forEachEntry(of: index) { entry in
        if entry.id == id {
          keys.append(IndexKey(bytes: Array(entry.key), isCut: entry.isCut, lacksValue: false))
        }
        return true
      }
      all.append(keys)
    }
    return all
  }

  private func forEachEntry(
    of index: CollectionIndex, _ range: KeyRange = .all, _ body: (IndexEntry) throws -> Bool
  ) throws(DocumentError) {
    try DocumentError.typed {
      try transaction.forEach(in: index.entries, range) { key, value in
        try body(try IndexEntry(key: key, value: value))
      }
    }
  }

  // MARK: Uniqueness

  /// - Parameter keys: the keys that are new in the revision.
  func refuseDuplicates(
    of keys: [IndexKey], _ id: String, _ revision: IndexedRevision, _ index: CollectionIndex,
    _ work: CollectionWork
  ) throws(DocumentError) {
    for key in keys where !key.lacksValue {
      var others: [String] = []
      try forEachEntry(of: index, .prefix(key.bytes)) { entry in
        if entry.id != id { others.append(entry.id) }
        return true
      }
      for other in others {
        // A document that has expired is purged here.
        guard let found = try record(other, work).flatMap({ IndexedRevision($0) }) else { continue }
        if key.isCut, try !share(id, revision, other, found, index, work) { continue }
        throw DocumentError(
          .notUnique,
          "the document \(other) has the same values in the unique index \(index.name) as \(id) would")
      }
    }
  }

  /// Whether two documents have a key in common that is not cut.
  private func share(
    _ id: String, _ revision: IndexedRevision, _ other: String, _ otherRevision: IndexedRevision,
    _ index: CollectionIndex, _ work: CollectionWork
  ) throws(DocumentError) -> Bool {
    let mine = try keys(of: id, revision, [index], work, limit: .max)[0]
    let theirs = try keys(of: other, otherRevision, [index], work, limit: .max)[0]
    return mine.contains { theirs.contains($0) }
  }
}
