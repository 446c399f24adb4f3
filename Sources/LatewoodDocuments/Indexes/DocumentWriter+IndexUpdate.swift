import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// The transaction that changes a document also changes its index entries, so every state of the
/// database is consistent.
extension DocumentWriter {
  /// Updates the index entries of a document. Must be called before the document itself changes,
  /// because the old entries are derived from the old body.
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
    // Reused for each key.
    var memory = CollationKey(limit: IndexKey.lengthLimit)
    var before = RevisionKeys()
    if let old { before = try oldKeys(id, old, indexes, work, in: &memory) }
    var after = RevisionKeys()
    if let new { after = try keys(id, new, indexes, work, in: &memory) }
    if isLocal, let new, indexes.contains(where: { $0.definition.isUnique }) {
      for (place, index) in indexes.enumerated() where index.definition.isUnique {
        let added = after.entries(ofIndex: place).filter { !before.contains($0, of: after, inIndex: place) }
        try refuseDuplicates(of: added.map { after.key($0) }, id, new, index, work)
      }
    }
    try DocumentError.typed {
      for (place, index) in indexes.enumerated() { try replace(before, with: after, in: index, place) }
    }
  }

  /// Replaces the entries of one revision in an index with those of another. Entries that both have
  /// stay.
  ///
  /// - Parameter place: the number of the index.
  private func replace(
    _ before: RevisionKeys, with after: RevisionKeys, in index: CollectionIndex, _ place: Int
  ) throws {
    let (entries, isReady) = (index.entries, index.isReady)
    var (isRemoved, isAdded) = (false, false)
    for entry in before.entries(ofIndex: place) where !after.contains(entry, of: before, inIndex: place) {
      isRemoved = true
      try before.withEntry(entry) { bytes, _ in
        // While an index is built, it may lack the removed keys.
        if isReady {
          try transaction.delete(bytes, in: entries, existed: true)
        } else {
          try transaction.delete(bytes, in: entries)
        }
      }
    }
    for entry in after.entries(ofIndex: place) where !before.contains(entry, of: after, inIndex: place) {
      isAdded = true
      try after.withEntry(entry) { bytes, keyCount in
        try transaction.put(
          bytes, IndexEntry.Value(keyCount, isCut: entry.isCut), in: entries, existed: false)
      }
    }
    if isAdded { changeCount += 1 } else if isRemoved { noteRemoval() }
  }

  /// Returns the indexes of a collection in the state of this batch.
  func indexes(_ work: CollectionWork) throws(DocumentError) -> [CollectionIndex] {
    if let indexes = work.indexes { return indexes }
    let load = { [transaction, shared] () throws(DocumentError) in
      try CollectionIndex.load(of: work.name, in: shared.database, transaction)
    }
    // Uncommitted indexes must not enter the shared cache.
    let indexes =
      work.state.indexChanges == work.startState.indexChanges
      ? try work.collection.indexes(at: work.state.indexChanges, load).all : try load()
    work.indexes = indexes
    return indexes
  }

  /// Returns the keys of a revision in each index.
  ///
  /// - Parameter memory: reused for each key.
  private func keys(
    _ id: String, _ revision: IndexedRevision, _ indexes: [CollectionIndex], _ work: CollectionWork,
    in memory: inout CollationKey
  ) throws(DocumentError) -> RevisionKeys {
    var keys = RevisionKeys(indexCount: indexes.count)
    try id.withBytes { (id) throws(DocumentError) in
      _ = try withDocument(id, revision, work) { (document) throws(FleeceError) in
        for index in indexes {
          try index.definition.forEachKey(of: document, root: document.body, in: &memory) { key in
            keys.add(key.bytes, id, isCut: key.isCut, lacksValue: key.lacksValue)
          }
          keys.endIndex()
        }
      }
    }
    return keys
  }

  /// Returns the keys of a revision in one index, without cutting them.
  private func wholeKeys(
    _ id: String, _ revision: IndexedRevision, _ index: CollectionIndex, _ work: CollectionWork
  ) throws(DocumentError) -> [IndexKey] {
    try id.withBytes { (id) throws(DocumentError) in
      try withDocument(id, revision, work) { (document) throws(FleeceError) in
        try index.definition.keys(of: document, limit: .max)
      } ?? []
    }
  }

  /// Calls `body` with each key of a stored revision in one index.
  ///
  /// - Parameters:
  ///   - record: the record that `head` was read from.
  ///   - memory: reused for each document.
  func forEachKey(
    of id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head, in record: UnsafeRawBufferPointer,
    _ index: CollectionIndex, _ work: CollectionWork, in memory: inout CollationKey,
    _ body: (IndexKeyInPlace) -> Void
  ) throws(DocumentError) {
    let stored = head.body(in: record)
    _ = try withDocument(id, IndexedRevision(head), stored: stored, work) { (document) throws(FleeceError) in
      try index.definition.forEachKey(of: document, root: document.body, in: &memory, body)
    }
  }

  /// Calls `body` with a revision as a document; returns nil if it is deleted or has no body.
  ///
  /// - Parameter stored: its body, if that is in the record of the document.
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

  /// Returns the keys of a revision that is being replaced. If its body cannot be read, collects
  /// them by scanning the indexes for entries of the document.
  private func oldKeys(
    _ id: String, _ revision: IndexedRevision, _ indexes: [CollectionIndex], _ work: CollectionWork,
    in memory: inout CollationKey
  ) throws(DocumentError) -> RevisionKeys {
    do throws(DocumentError) {
      return try keys(id, revision, indexes, work, in: &memory)
    } catch {
      guard error.code == .corruptData else { throw error }
    }
    var all = RevisionKeys(indexCount: indexes.count)
    for index in indexes {
      try forEachEntry(of: index) { entry in
        guard entry.id == id else { return true }
        entry.withStored { all.add($0.key, $0.idBytes, isCut: $0.isCut, lacksValue: false) }
        return true
      }
      all.endIndex()
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

  /// Throws `notUnique` if another document has one of the keys in a unique index.
  ///
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
        // This purges an expired document.
        guard let found = try record(other, work).flatMap({ IndexedRevision($0) }) else { continue }
        if key.isCut, try !share(id, revision, other, found, index, work) { continue }
        throw DocumentError(
          .notUnique,
          "the document \(other) has the same values in the unique index \(index.name) as \(id) would")
      }
    }
  }

  /// Returns whether two documents have an uncut key in common.
  private func share(
    _ id: String, _ revision: IndexedRevision, _ other: String, _ otherRevision: IndexedRevision,
    _ index: CollectionIndex, _ work: CollectionWork
  ) throws(DocumentError) -> Bool {
    let mine = try wholeKeys(id, revision, index, work)
    let theirs = try wholeKeys(other, otherRevision, index, work)
    return mine.contains { theirs.contains($0) }
  }
}
