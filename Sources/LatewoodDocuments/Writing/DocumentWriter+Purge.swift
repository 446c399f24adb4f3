import LatewoodStore

/// Purging and expiry.
extension DocumentWriter {
  /// Removes a document and all its revisions without a trace, and without replicating the removal.
  /// Returns false if the document did not exist.
  @discardableResult
  package func purge(_ id: String, in collection: CollectionHandle) throws -> Bool {
    let part = try batch.part(for: collection)
    guard let old = try record(id, part) else { return false }
    try purgeDocument(id, part, old, .purged)
    return true
  }

  /// Removes some leaves, each with its ancestors, up to the nearest ancestor shared with another
  /// branch. Ids that are not leaves are ignored. Removing the last leaf removes the document.
  ///
  /// - Returns: the removed leaves.
  @discardableResult
  package func purge(
    _ id: String, in collection: CollectionHandle, leaves: [RevisionID]
  ) throws -> [RevisionID] {
    let part = try batch.part(for: collection)
    guard let old = try record(id, part) else { return [] }
    var tree = old.tree
    let purged = tree.purge(leaves)
    if purged.isEmpty { return [] }
    if tree.isEmpty {
      try purgeDocument(id, part, old, .purged)
      return purged
    }
    // Ancestors that were kept for a removed leaf can be too far from the remaining ones.
    tree.prune(to: try batch.depth())
    // The remaining leaves were already leaves, so no body is superseded.
    try store(id, part, old, tree, sequence: part.takeSequence(), body: nil, added: nil, kind: .purged)
    // Remove the bodies only now, because indexing needs them.
    for node in old.tree.nodes where node.body != 0 && !tree.contains(node.id) {
      try Bodies(batch, part).remove(node.body)
    }
    return purged
  }

  func purgeDocument(
    _ id: String, _ part: CollectionBatch, _ old: DocumentRecord, _ kind: CollectionChange.Reason
  ) throws {
    try batch.apply(RevisionChange(id, from: old, to: nil, kind), part)
  }

  /// Sets or clears the expiry of a document. This creates no revision and is not replicated.
  ///
  /// - Parameter seconds: the time in seconds since 1970-01-01 00:00 UTC; nil for never. If that
  ///   time has passed, the document expires soon.
  /// - Throws: ``DatabaseError`` `notFound` if the document does not exist or is deleted.
  package func setExpiry(
    of id: String, in collection: CollectionHandle, _ seconds: UInt64?
  ) throws {
    let part = try batch.part(for: collection)
    guard var record = try record(id, part), record.head?.isDeleted == false else {
      throw DatabaseError(.notFound, "the document \(id) does not exist, so it cannot expire")
    }
    if record.expiry == seconds { return }
    batch.changeCount += 1
    let expiry = part.spaces.expiry
    if let old = record.expiry {
      try batch.transaction.delete(CollectionSpaces.expiryKey(old, id), in: expiry)
    }
    record.expiry = seconds
    try batch.transaction.put(id, record.encoded(), in: part.spaces.documents, existed: true)
    if let seconds {
      try batch.transaction.put(CollectionSpaces.expiryKey(seconds, id), [UInt8](), in: expiry)
      batch.firstExpiry = min(batch.firstExpiry ?? seconds, seconds)
    }
  }
}
