import LatewoodStore

/// Collections in the state of the batch, which sees the commits of others even before readers do.
extension DocumentBatch {
  /// Returns the collection with a name; nil if it does not exist.
  func collection(_ name: String) throws(DatabaseError) -> CollectionHandle? {
    if let collection = newHandles[name] { return collection }
    guard let state = try DatabaseRecords.state(of: name, in: shared, transaction) else { return nil }
    if let known = core.collections[name], known.identity == state.identity { return known }
    let collection = CollectionHandle(name, state.identity, try CollectionSpaces(name, in: transaction))
    give(collection)
    return collection
  }

  /// Returns the collection with a name, creating it if it does not exist. If the batch fails,
  /// every use of a created collection throws `notFound`.
  func createCollection(_ name: String) throws -> CollectionHandle {
    if let existing = try collection(name) { return existing }
    changeCount += 1
    let identity = CollectionIdentity(random: core.options.environment.random)
    let collection = CollectionHandle(
      name, identity, try DocumentCore.createCollection(name, identity, transaction, shared))
    give(collection)
    return collection
  }

  /// Drops a collection and returns it; nil if it does not exist.
  func dropCollection(_ name: String) throws -> CollectionHandle? {
    guard let collection = try collection(name) else { return nil }
    let spaces = try collection.spaces
    let part = try part(for: collection)
    var defined: [any DefinedData] = []
    for kind in DerivedKinds.all.reversed() { defined += try kind.init(self, part).defined() }
    noteRemoval()
    for data in defined { try remove(data, of: name) }
    for keyspace in spaces.all { try transaction.dropKeyspace(keyspace) }
    try transaction.delete(CollectionState.key(name), in: shared.database)
    dropped(collection)
    return collection
  }

  /// Shares a handle with others once the batch has been committed.
  private func give(_ collection: CollectionHandle) {
    newHandles[collection.name] = collection
    let (core, dropCount) = (core, core.collections.dropCount)
    onCompletion { isCommitted in
      guard isCommitted else { return collection.abandon() }
      _ = core.collections.keep(collection, asOf: dropCount)
    }
  }
}
