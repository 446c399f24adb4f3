import LatewoodStore

extension DocumentCore {
  /// Returns a collection as this thread's batch sees it or, outside a batch, the newest commit;
  /// nil if there is none.
  func collection(_ name: String) throws(DatabaseError) -> CollectionHandle? {
    if let batch = currentBatch { return try batch.collection(name) }
    while true {
      let dropCount = collections.dropCount
      let known = collections[name]
      // Only this process writes, unless the database is read-only: then another may have dropped
      // it.
      if let known, !store.isReadOnly { return known }
      let found = try lookedUp(name)
      if let known, known.identity == found?.identity { return known }
      guard let found else { return nil }
      if let kept = collections.keep(found, asOf: dropCount) { return kept }
    }
  }

  private func lookedUp(_ name: String) throws(DatabaseError) -> CollectionHandle? {
    // Use one state for all lookups.
    let source = try store.pinned()
    guard let state = try DatabaseRecords.state(of: name, in: shared, source) else { return nil }
    return CollectionHandle(name, state.identity, try CollectionSpaces(name, in: source))
  }

  /// Returns the names that begin with a prefix, in the order of their bytes.
  func collectionNames(
    in source: some Readable, beginningWith prefix: String = ""
  ) throws(DatabaseError) -> [String] {
    var names: [String] = []
    try source.visit(in: shared.database, .prefix(CollectionState.key(prefix))) { key, _ in
      key.withUnsafeBytes { bytes in
        names.append(String(decoding: bytes.dropFirst(CollectionState.keyPrefix.utf8.count), as: UTF8.self))
      }
      return true
    }
    return names
  }

  /// Creates a collection, in the batch that this thread runs, or in a separate one.
  func createCollection(
    _ name: String, _ durability: BatchDurability
  ) throws(DatabaseError) -> CollectionHandle {
    let created = try batch(durability) { batch in try batch.createCollection(name)
    }
    if currentBatch != nil { return created }
    // Another thread may have looked up the collection since the commit: in that case all share its
    // handle.
    return try collection(name) ?? created
  }

  func dropCollection(_ name: String, _ durability: BatchDurability) throws(DatabaseError) -> Bool {
    try refuseInBatch("a collection is dropped")
    let dropped = try batch(durability) { batch in
      try batch.dropCollection(name)
    }
    return forget(dropped)
  }

  /// Drops a collection in its turn, without blocking the caller's thread.
  ///
  /// - Parameter check: called under the writer lock, before and after the change. If it throws,
  ///   nothing is changed.
  func dropCollection(
    _ name: String, _ durability: BatchDurability, check: @escaping @Sendable () throws -> Void
  ) async throws -> Bool {
    let dropped = try await write(durability) { batch in
      try check()
      let dropped = try batch.dropCollection(name)
      try check()
      return dropped
    }
    return forget(dropped)
  }

  private func forget(_ dropped: CollectionHandle?) -> Bool {
    guard let dropped else { return false }
    views.forget(dropped.identity)
    collections.forget(dropped)
    return true
  }

  func refuseInBatch(_ what: String) throws(DatabaseError) {
    guard currentBatch != nil else { return }
    throw DatabaseError(
      .busy, "\(what) inside of a batch, which must end first", advice: "Make the call after the batch.")
  }
}
