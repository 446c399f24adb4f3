import LatewoodStore

/// Prunes trees that are deeper than the current depth, left over from a time when the depth was
/// greater.
extension DocumentCore {
  func prune(
    _ names: [String], _ check: () throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    let changes = depthChanges.withLock { $0 }
    let spaces = shared
    let depth = try DatabaseRecords.depth(in: spaces, store)
    let deepest = try DatabaseRecords.number(DatabaseRecords.deepestKey, in: spaces, store)
    guard deepest ?? .max > UInt64(depth) else { return }
    for name in names {
      guard let collection = try collection(name) else { continue }
      do throws(DatabaseError) {
        var last: [UInt8]?
        repeat {
          try check()
          last = try prune(collection, after: last, to: depth)
        } while last != nil
      } catch {
        // The collection was dropped in the meantime.
        if error.code != .notFound { throw error }
      }
    }
    // If the depth was changed in the meantime, all trees must be examined again.
    try batch(.usual) { batch in
      guard depthChanges.withLock({ $0 }) == changes, try batch.depth() == depth else { return }
      try batch.putRecord(DatabaseRecords.deepestKey, DatabaseRecords.encoded(UInt64(depth)))
    }
  }

  /// - Returns: the last id of this part; nil after the last part.
  private func prune(
    _ collection: CollectionHandle, after last: [UInt8]?, to depth: Int
  ) throws(DatabaseError) -> [UInt8]? {
    try batch(.relaxed) { (batch) -> [UInt8]? in
      let part = try batch.part(for: collection)
      let range = last.map { KeyRange(lower: .excluded($0)) } ?? .all
      let keys = try batch.keys(in: part.spaces.documents, range, DocumentCore.sweepSize)
      for key in keys { try batch.prune(key, part, to: depth) }
      return keys.count < DocumentCore.sweepSize ? nil : keys.last
    }
  }
}

extension DocumentBatch {
  func setDepth(_ depth: Int) throws {
    let deepest = try DatabaseRecords.number(DatabaseRecords.deepestKey, in: shared, transaction)
    core.depthChanges.withLock { $0 += 1 }
    try putRecord(DatabaseRecords.depthKey, DatabaseRecords.encoded(UInt64(depth)))
    try putRecord(DatabaseRecords.deepestKey, DatabaseRecords.encoded(max(deepest ?? .max, UInt64(depth))))
    cachedDepth = depth
    onCompletion { [core] isCommitted in if isCommitted { core.depth.withLock { $0 = depth } } }
  }

  /// Prunes one document. Leaves are never dropped, so neither the feed nor an index changes.
  ///
  /// - Parameter needed: bodies whose documents are not pruned.
  /// - Returns: the tree afterwards, and the number of revisions that it has lost; nil if the
  ///   document does not exist.
  @discardableResult
  func prune(
    _ key: [UInt8], _ part: CollectionBatch, to depth: Int, keeping needed: Set<UInt64> = []
  ) throws -> (tree: RevisionTree, removed: Int)? {
    let documents = part.spaces.documents
    let record = try transaction.mapValue(key, in: documents) { value in
      try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord(bytes) }
    }
    guard var record else { return nil }
    let before = record.tree.nodes.count
    guard !record.tree.hasBody(among: needed), record.tree.prune(to: depth) else { return (record.tree, 0) }
    noteRemoval()
    try transaction.put(key, record.encoded(), in: documents)
    return (record.tree, before - record.tree.nodes.count)
  }
}
