import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// The indexes of a collection, in a batch.
///
/// The transaction that changes a document also changes its index entries, so every state of the
/// database is consistent. The old entries are derived from the old body.
struct Indexes: DerivedData {
  /// The indexes in the state of a batch.
  struct State {
    /// All indexes by name; nil if they are not loaded, or have changed since.
    var loaded: [CollectionIndex]?
    /// The keys to check at the end of the batch; nil if there are none.
    var uncheckedKeys: UncheckedKeys?
    /// Memory for the keys of a document.
    fileprivate var changedKeys = ChangedKeys()
  }

  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func exist(in state: CollectionState) -> Bool { state.indexes > 0 }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    let new = change.after
    try Indexes(batch, part).update(
      change.id, from: change.before, to: new, isLocal: change.isLocal && new?.body != nil)
  }

  /// Updates the index entries of a document.
  ///
  /// - Parameters:
  ///   - old: the revision that was current; nil if there was no document.
  ///   - new: the revision that will be current; nil if there will be none.
  ///   - isLocal: whether unique indexes may refuse the change, here or at the end of the batch.
  /// - Throws: ``DatabaseError`` `notUnique`, before anything has changed; `corruptData` if the new
  ///   body is damaged. A damaged old body does not prevent its replacement.
  @inline(never) private func update(
    _ id: String, from old: IndexedRevision?, to new: IndexedRevision?, isLocal: Bool
  ) throws {
    if let old = old?.head, let new, old.winner == new.head.winner, old.isDeleted == new.head.isDeleted {
      return
    }
    let indexes = try loaded()
    // Take the keys out, because refusing a duplicate can change another document.
    var keys = ChangedKeys()
    swap(&keys, &part.indexes.changedKeys)
    defer { swap(&keys, &part.indexes.changedKeys) }
    keys.before.begin(indexCount: indexes.count)
    keys.after.begin(indexCount: indexes.count)
    if let old { try addOldKeys(id, old, indexes, to: &keys.before) }
    if let new { try addKeys(id, new, indexes, to: &keys.after) }
    if batch.uniqueness == .atEnd {
      if indexes.contains(where: { $0.definition.isUnique }) {
        if isLocal { try refuseUnusable(indexes, new) }
        try deferCheck(keys, id, indexes, from: old, to: new, isLocal: isLocal)
      }
    } else if isLocal, let new, indexes.contains(where: { $0.definition.isUnique }) {
      try refuseUnusable(indexes, new)
      for (place, index) in indexes.enumerated() where index.definition.isUnique {
        var added: [IndexKey] = []
        for entry in keys.after.entries(ofIndex: place) {
          if try isAdded(entry, to: place, keys, index, id, old, new) {
            added.append(keys.after.list.key(entry))
          }
        }
        try refuseDuplicates(of: added, id, new, index)
      }
    }
    for (place, index) in indexes.enumerated() {
      try replace(keys.before, with: keys.after, in: index, place)
    }
  }

  /// Throws `notWritable` if there is a unique index that cannot be checked.
  private func refuseUnusable(
    _ indexes: [CollectionIndex], _ new: IndexedRevision?
  ) throws(DatabaseError) {
    guard let new, !new.head.isDeleted else { return }
    for index in indexes where index.definition.isUnique {
      guard let problem = index.problem else { continue }
      throw DatabaseError(
        .notWritable, "the unique index \(index.name) cannot be checked, because \(problem)")
    }
  }

  /// Replaces the entries of one revision in an index with the entries of another revision. Common
  /// entries stay.
  ///
  /// - Parameter place: the number of the index.
  private func replace(
    _ before: RevisionKeys, with after: RevisionKeys, in index: CollectionIndex, _ place: Int
  ) throws {
    let (entries, isReady) = (index.entries, index.isReady)
    var (isRemoved, isAdded) = (false, false)
    for entry in before.entries(ofIndex: place) where !after.contains(entry, of: before, inIndex: place) {
      isRemoved = true
      try before.list.withEntry(entry) { bytes in
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
      try after.list.withEntry(entry) { bytes in
        try transaction.put(
          bytes, IndexEntry.Value(entry.keyCount, isCut: entry.isCut), in: entries, existed: false)
      }
    }
    if isAdded { batch.changeCount += 1 } else if isRemoved { batch.noteRemoval() }
  }

  /// Returns the indexes in the state of this batch, by name.
  func loaded() throws(DatabaseError) -> [CollectionIndex] {
    if let indexes = part.indexes.loaded { return indexes }
    let load = { [part, transaction, database] () throws(DatabaseError) in
      try CollectionIndexes(of: part.name, at: part.state.indexChanges, in: database, transaction)
    }
    // Keep uncommitted indexes out of the shared cache.
    let indexes =
      part.state.indexChanges == part.startState.indexChanges
      ? try part.collection.indexes(at: part.state.indexChanges, load).all : try load().all
    part.indexes.loaded = indexes
    return indexes
  }

  /// Adds the keys of a revision in each index.
  private func addKeys(
    _ id: String, _ revision: IndexedRevision, _ indexes: [CollectionIndex],
    to keys: inout RevisionKeys
  ) throws(DatabaseError) {
    try id.withBytes { (id) throws(DatabaseError) in
      _ = try withBody(id, revision) { (body) throws(FleeceError) in
        for index in indexes {
          try index.appendKeys(of: id, revision.head, body, to: &keys.list)
          keys.endIndex()
        }
      }
    }
  }

  /// Returns the keys of a revision in one index, without cutting them.
  private func wholeKeys(
    _ id: String, _ revision: IndexedRevision, _ index: CollectionIndex
  ) throws(DatabaseError) -> [IndexKey] {
    try id.withBytes { (id) throws(DatabaseError) in
      try withBody(id, revision) { (body) throws(FleeceError) in
        try index.definition.keys(of: MatchedDocument(id, revision.head, body), limit: .max)
      } ?? []
    }
  }

  /// Appends the keys of a stored revision in one index.
  ///
  /// - Parameters:
  ///   - record: the record that `head` was read from.
  func appendKeys(
    of id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head, in record: UnsafeRawBufferPointer,
    _ index: CollectionIndex, to keys: inout IndexKeyList
  ) throws(DatabaseError) {
    guard !head.isDeleted else { return }
    guard let body = head.body(in: record) else {
      _ = try withBody(id, IndexedRevision(head)) { (body) throws(FleeceError) in
        try index.appendKeys(of: id, head, body, to: &keys)
      }
      return
    }
    do throws(FleeceError) { try index.appendKeys(of: id, head, body, to: &keys) } catch {
      throw Self.damagedBody(of: id, error)
    }
  }

  /// Adds the keys of a revision that is being replaced. If its body cannot be read, collects them
  /// by scanning the indexes for entries of the document.
  private func addOldKeys(
    _ id: String, _ revision: IndexedRevision, _ indexes: [CollectionIndex],
    to keys: inout RevisionKeys
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      return try addKeys(id, revision, indexes, to: &keys)
    } catch {
      guard error.code == .corruptData else { throw error }
    }
    keys.begin(indexCount: indexes.count)
    for index in indexes {
      try forEachEntry(of: index) { entry in
        guard entry.id == id else { return true }
        entry.withStored { keys.list.append($0.key, $0.idBytes, isCut: $0.isCut, lacksValue: false) }
        return true
      }
      keys.endIndex()
    }
  }

  func forEachEntry(
    of index: CollectionIndex, _ range: KeyRange = .all, _ body: (IndexEntry) throws -> Bool
  ) throws(DatabaseError) {
    try transaction.visit(in: index.entries, range) { key, value in
      try body(try IndexEntry(key: key, value: value))
    }
  }

  // MARK: Uniqueness

  /// Returns whether a change adds a key to an index. Two keys of which only a part is in the index
  /// can differ in the rest.
  func isAdded(
    _ entry: RevisionKeys.Place, to place: Int, _ keys: ChangedKeys, _ index: CollectionIndex, _ id: String,
    _ old: IndexedRevision?, _ new: IndexedRevision?
  ) throws(DatabaseError) -> Bool {
    guard keys.before.contains(entry, of: keys.after, inIndex: place) else { return true }
    guard entry.isCut, let old, let new else { return false }
    do throws(DatabaseError) {
      return try wholeKeys(id, old, index) != wholeKeys(id, new, index)
    } catch {
      // A damaged old body does not prevent its replacement.
      guard error.code == .corruptData else { throw error }
      return true
    }
  }

  /// Throws `notUnique` if another document has one of the keys in a unique index.
  ///
  /// - Parameter keys: the keys that are new in the revision.
  func refuseDuplicates(
    of keys: [IndexKey], _ id: String, _ revision: IndexedRevision, _ index: CollectionIndex
  ) throws {
    for key in keys where !key.lacksValue {
      var others: [String] = []
      try forEachEntry(of: index, .prefix(key.bytes)) { entry in
        if !entry.id.utf8.elementsEqual(id.utf8) { others.append(entry.id) }
        return true
      }
      for other in others {
        // Reading the record purges an expired document.
        guard let found = try DocumentWriter(batch).record(other, part).flatMap({ IndexedRevision($0) })
        else { continue }
        if key.isCut, try !share(id, revision, other, found, index) { continue }
        throw DatabaseError(
          .notUnique,
          "the document \(other) has the same values in the unique index \(index.name) as \(id) would")
      }
    }
  }

  /// Returns whether two documents have an uncut key in common.
  func share(
    _ id: String, _ revision: IndexedRevision, _ other: String, _ otherRevision: IndexedRevision,
    _ index: CollectionIndex
  ) throws(DatabaseError) -> Bool {
    let mine = try wholeKeys(id, revision, index)
    let theirs = try wholeKeys(other, otherRevision, index)
    return mine.contains { theirs.contains($0) }
  }
}
