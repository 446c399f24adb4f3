import LatewoodStore

/// A batch: changes that are committed together, the collections that they concern, and their
/// outcome.
///
/// Valid only while its closure runs, on its thread, except for `end`. A ``DocumentWriter`` edits
/// documents in it.
package final class DocumentBatch {
  let core: DocumentCore
  let transaction: Transaction
  let shared: DatabaseSpaces
  /// The time when the batch began, in seconds since 1970. Documents that expired before are
  /// treated as absent.
  package let now: UInt64
  /// The algorithm that names the revisions of this batch.
  package let algorithm: RevisionDigest.Algorithm
  private var parts: [String: CollectionBatch] = [:]
  /// The collection of the last call, which is usually also the collection of the next one.
  private var lastPart: CollectionBatch?
  /// The record of the document that is being changed, after the change, and reusable memory for
  /// encoding other values. Encoding never calls the batch, so the exclusivity check at run time is
  /// not needed.
  @exclusivity(unchecked) var record: [UInt8] = []
  @exclusivity(unchecked) var encoded: [UInt8] = []
  /// Collections that are not among the shared handles yet: created by this batch, or by another
  /// one that has just been committed.
  var newHandles: [String: CollectionHandle] = [:]
  private var droppedNames: [String] = []
  /// The number of changes so far: if an inner batch fails after a change, the outer one also
  /// fails.
  var changeCount = 0
  /// The number of changes that free space.
  private var removalCount = 0
  private var failure: (any Error)?
  var cachedDepth: Int?
  /// The time at which unique indexes are checked.
  var uniqueness = UniquenessCheck.atEachSave
  /// Whether a view's map function is running, which must not change the database.
  var isMapping = false
  private var completionHandlers: [(Bool) -> Void] = []
  /// The earliest time, in seconds, at which a document of this batch expires.
  var firstExpiry: UInt64?

  /// The usual durability of the handle that began the batch.
  private let durability: Durability?

  init(_ core: DocumentCore, _ transaction: Transaction, _ durability: Durability?) {
    self.durability = durability
    self.core = core
    self.transaction = transaction
    shared = core.shared
    now = core.now
    algorithm = core.algorithm
  }

  /// Schedules a closure that is called when the outcome of the batch is known. It is called
  /// without locks, before the batch is announced to listeners.
  func onCompletion(_ action: @escaping (_ isCommitted: Bool) -> Void) { completionHandlers.append(action) }

  /// Runs the `onCompletion` closures. Called once, by the owner of the batch.
  func end(isCommitted: Bool) {
    for action in completionHandlers { action(isCommitted) }
    completionHandlers = []
  }

  /// Runs a batch inside this one. The stricter durability of the two applies to both.
  func join(_ other: BatchDurability, _ body: (DocumentBatch) throws -> Void) throws {
    try refuseInMap("the database is changed")
    let needed = other.asked ?? (other.usual == durability ? nil : other.usual)
    if needed == .synchronous { transaction.isSynchronous = true }
    let before = changeCount
    do { try body(self) } catch {
      let error = DatabaseError.translated(error)
      if changeCount != before { failure = failure ?? error }
      throw error
    }
  }

  /// Returns reads of a collection in the state of this batch.
  package func reads(_ collection: CollectionHandle) throws(DatabaseError) -> DocumentReads {
    try DocumentReads(.batch(self), collection, now: now)
  }

  /// The number of generations of revisions to keep.
  func depth() throws(DatabaseError) -> Int {
    if let depth = cachedDepth { return depth }
    let depth = try DatabaseRecords.depth(in: shared, transaction)
    cachedDepth = depth
    return depth
  }

  /// Returns the part of the batch in a collection. Throws if the collection has been dropped.
  func part(for collection: CollectionHandle) throws(DatabaseError) -> CollectionBatch {
    if let lastPart, lastPart.collection === collection { return lastPart }
    let part = try findPart(collection)
    lastPart = part
    return part
  }

  private func findPart(_ collection: CollectionHandle) throws(DatabaseError) -> CollectionBatch {
    if let part = parts[collection.name] {
      guard part.state.identity == collection.identity else { throw collection.gone }
      return part
    }
    let spaces = try collection.spaces
    guard let state = try DatabaseRecords.state(of: collection.name, in: shared, transaction) else {
      let isDropped = try transaction.keyspace(named: spaces.documents.name) == nil
      if isDropped { throw collection.gone }
      throw DatabaseError(.corruptData, "the state of the collection \(collection.name) is missing")
    }
    guard state.identity == collection.identity else { throw collection.gone }
    let part = CollectionBatch(collection, spaces, state)
    parts[collection.name] = part
    return part
  }

  /// The collections that the batch has used, by name.
  var partsInOrder: [CollectionBatch] { parts.values.sorted { $0.name < $1.name } }

  func dropped(_ collection: CollectionHandle) {
    noteRemoval()
    lastPart = nil
    parts[collection.name] = nil
    newHandles[collection.name] = nil
    droppedNames.append(collection.name)
  }

  /// Counts a change that frees space. A batch of only such changes can be committed when the disk
  /// is full.
  func noteRemoval() {
    changeCount += 1
    removalCount += 1
  }

  /// Calls a closure without counting its changes.
  func withoutCounting<R>(_ body: () throws -> R) throws -> R {
    let before = (changeCount, removalCount)
    defer { (changeCount, removalCount) = before }
    return try body()
  }

  func putRecord(_ key: String, _ value: [UInt8]) throws {
    changeCount += 1
    try transaction.put(key, value, in: shared.database)
  }

  /// Writes the last changes of a batch: of derived data, and the states of changed collections.
  func finish() throws {
    if let failure { throw failure }
    transaction.freesSpace = removalCount > 0 && removalCount == changeCount
    for part in parts.values { try finishDerivedData(part) }
    for part in parts.values where part.state != part.startState {
      try transaction.put(CollectionState.key(part.name), part.state.encoded(), in: shared.database)
    }
  }

  /// The announcements for listeners, to be delivered once the batch is committed.
  var announcements: [Announcement] {
    var announcements = droppedNames.map {
      Announcement.event(CollectionChange(kind: .dropped, collection: $0), nil)
    }
    for part in parts.values where !part.changes.isEmpty {
      let event = CollectionChange(
        kind: .changed, collection: part.name, entries: part.newestChanges,
        lastSequence: part.state.lastSequence)
      announcements.append(.event(event, core.changes(of: part.collection)))
    }
    return announcements
  }
}
