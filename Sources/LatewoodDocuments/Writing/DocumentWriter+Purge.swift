import LatewoodStore

/// Forgetting, and documents that forget themselves.
extension DocumentWriter {
  /// Forgets a document and all its revisions, as if it had never been. It is not told to other
  /// replicas. False if there is none.
  @discardableResult
  package func purge(_ id: String, in collection: DocumentCollection) throws(DocumentError) -> Bool {
    let work = try work(collection)
    guard let old = try record(id, work) else { return false }
    try forget(id, work, old, .purged)
    return true
  }

  /// Forgets single leaves, each with its ancestors back to where another branch leaves. What is
  /// not a leaf is left alone.
  ///
  /// - Returns: those that were there. With the last one the document is gone.
  @discardableResult
  package func purge(
    _ id: String, in collection: DocumentCollection, leaves: [RevisionID]
  ) throws(DocumentError) -> [RevisionID] {
    let work = try work(collection)
    guard let old = try record(id, work) else { return [] }
    var tree = old.tree
    let purged = tree.purge(leaves)
    if purged.isEmpty { return [] }
    if tree.isEmpty {
      try forget(id, work, old, .purged)
      return purged
    }
    // What was a leaf and is there still is one, so no body is superseded.
    try store(id, work, old, tree, sequence: work.takeSequence(), body: nil, kind: .purged)
    // After that: indexes ask the body what they know it by.
    for node in old.tree.nodes where node.body != 0 && !tree.contains(node.id) {
      try removeBody(node.body, work)
    }
    return purged
  }

  func forget(
    _ id: String, _ work: CollectionWork, _ old: DocumentRecord, _ kind: DocumentChange.Kind
  ) throws(DocumentError) {
    if work.state.indexes > 0 { try index(id, work, from: old.head, to: nil, isLocal: false) }
    for node in old.tree.nodes where node.body != 0 { try removeBody(node.body, work) }
    changeCount += 1
    do throws(StoreError) {
      try transaction.delete(SequenceEntry.key(old.sequence), in: work.spaces.sequences, wasThere: true)
      try transaction.delete(id, in: work.spaces.documents, wasThere: true)
      if let expiry = old.expiry {
        try transaction.delete(CollectionSpaces.expiryKey(expiry, id), in: work.spaces.expiry)
      }
      try mark(id, work, old.head, nil)
    } catch { throw DocumentError(error) }
    work.changed(DocumentChange(gone: id, kind), old: old.sequence)
  }

  /// Removes an entry of the index alone.
  func forgetExpiry(_ seconds: UInt64, _ id: String, _ work: CollectionWork) throws(DocumentError) {
    changeCount += 1
    do throws(StoreError) {
      try transaction.delete(CollectionSpaces.expiryKey(seconds, id), in: work.spaces.expiry)
    } catch { throw DocumentError(error) }
  }

  /// Sets when a document is forgotten, or that it is not. That is no edit: it makes no revision,
  /// and other replicas are not told.
  ///
  /// - Parameter seconds: since 1970-01-01 00:00 UTC; nil for never. A time that has passed: soon.
  /// - Throws: ``DocumentError`` `notFound` if there is no such document or it is deleted.
  package func setExpiry(
    of id: String, in collection: DocumentCollection, _ seconds: UInt64?
  ) throws(DocumentError) {
    let work = try work(collection)
    guard var record = try record(id, work), record.head?.isDeleted == false else {
      throw DocumentError(.notFound, "there is no document \(id) that could expire")
    }
    if record.expiry == seconds { return }
    changeCount += 1
    do throws(StoreError) {
      let expiry = work.spaces.expiry
      if let old = record.expiry {
        try transaction.delete(CollectionSpaces.expiryKey(old, id), in: expiry)
      }
      record.expiry = seconds
      try transaction.put(id, record.encoded(), in: work.spaces.documents, wasThere: true)
      if let seconds {
        try transaction.put(CollectionSpaces.expiryKey(seconds, id), [UInt8](), in: expiry)
        firstExpiry = min(firstExpiry ?? seconds, seconds)
      }
    } catch { throw DocumentError(error) }
  }
}
