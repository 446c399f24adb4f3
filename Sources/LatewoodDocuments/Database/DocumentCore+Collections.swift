import LatewoodStore

extension DocumentCore {
  func collection(_ name: String) throws(DocumentError) -> DocumentCollection? {
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

  func createCollection(_ name: String) throws(DocumentError) -> DocumentCollection {
    try refuseInBatch("a collection is created")
    try batch(nil) { (writer) throws(DocumentError) in
      do throws(StoreError) {
        let spaces = writer.shared
        if try writer.transaction.contains(CollectionState.key(name), in: spaces.database) { return }
        try DocumentCore.createCollection(name, writer.transaction, spaces)
      } catch { throw DocumentError(error) }
    }
    guard let created = try collection(name) else {
      throw DocumentError(.notFound, "the collection \(name) was dropped while it was created")
    }
    return created
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
