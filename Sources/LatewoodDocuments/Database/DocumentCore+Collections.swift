import LatewoodStore

extension DocumentCore {
  func collection(_ name: String) throws(DocumentError) -> DocumentCollection? {
    if let created = currentWriter?.created[name] { return created }
    if let known = collections.withLock({ $0[name] }) { return known }
    do {
      guard try store.contains(CollectionState.key(name), in: shared.withLock { $0 }.database) else {
        return nil
      }
      // Not found in the store, and it is read-only: then that is what it throws.
      let spaces = try CollectionSpaces(name) { (name) throws(StoreError) in try store.keyspace(name) }
      return collections.withLock { known in
        if let other = known[name] { return other }
        let collection = DocumentCollection(name, spaces)
        known[name] = collection
        return collection
      }
    } catch { throw DocumentError.from(error) }
  }

  func collectionNames(in source: some Readable) throws(DocumentError) -> [String] {
    var names: [String] = []
    try DocumentError.typed {
      try source.forEach(in: shared.withLock { $0 }.database, .prefix(CollectionState.keyPrefix)) { key, _ in
        key.withUnsafeBytes { bytes in
          names.append(String(decoding: bytes.dropFirst(CollectionState.keyPrefix.utf8.count), as: UTF8.self))
        }
        return true
      }
    }
    return names
  }

  /// Makes a collection, in the batch that this thread runs or in one of its own.
  func createCollection(_ name: String) throws(DocumentError) -> DocumentCollection {
    let created = try batch(nil) { (writer) throws(DocumentError) in try writer.createCollection(name) }
    if currentWriter != nil { return created }
    // Another thread may have asked for it since it was committed: then all have that handle.
    return try collection(name) ?? created
  }

  /// After a commit: others find what it has made.
  func publish(_ created: [String: DocumentCollection]) throws(DocumentError) {
    for (name, collection) in created {
      // What a transaction gives is looked up on every use; this is not.
      do throws(StoreError) {
        try collection.refresh(from: store)
        // Dropped already by somebody who was faster.
        guard try store.contains(CollectionState.key(name), in: shared.withLock { $0 }.database) else {
          continue
        }
      } catch { throw DocumentError(error) }
      collections.withLock { known in known[name] = known[name] ?? collection }
    }
  }

  func dropCollection(_ name: String) throws(DocumentError) -> Bool {
    try refuseInBatch("a collection is dropped")
    guard let collection = try collection(name) else { return false }
    try batch(nil) { (writer) throws(DocumentError) in
      do throws(StoreError) {
        for keyspace in collection.spaces.all { try writer.transaction.dropKeyspace(keyspace) }
        try writer.transaction.delete(CollectionState.key(name), in: writer.shared.database)
      } catch { throw DocumentError(error) }
      writer.dropped(collection)
    }
    do throws(StoreError) {
      let others = collections.withLock { known in
        if known[name] === collection { known[name] = nil }
        return Array(known.values)
      }
      for other in others { try other.refresh(from: store) }
      let fresh = try DatabaseSpaces { (name) throws(StoreError) in try store.keyspace(name) }
      shared.withLock { $0 = fresh }
    } catch { throw DocumentError(error) }
    return true
  }

  private func refuseInBatch(_ what: String) throws(DocumentError) {
    if currentWriter != nil { throw DocumentError(.busy, "\(what) inside of a batch, which must end first") }
  }
}

extension DocumentWriter {
  /// The collection of a name, made if there is none. If the batch fails, every use of it throws `notFound`.
  func createCollection(_ name: String) throws(DocumentError) -> DocumentCollection {
    if let existing = try core.collection(name) { return existing }
    changeCount += 1
    do throws(StoreError) {
      let collection = DocumentCollection(
        name, try DocumentCore.createCollection(name, transaction, shared))
      created[name] = collection
      return collection
    } catch { throw DocumentError(error) }
  }
}
