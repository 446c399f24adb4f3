import Dispatch
import LatewoodDevice
import LatewoodStore
import Synchronization

/// What all handles of one open database share.
///
/// Thread safety: everything from any thread. One batch runs at a time, under the store's writer
/// lock; `writing` says which thread has it, so that batches inside of batches join.
///
/// Locks are taken in this order:
/// 1. `sweeping`: one sweep at a time, which is many batches. And `following`, of a database that
///    is only read: one thread at a time looks for what is new.
/// 2. The store's: what a compaction waits for, checkpoints, and the writer lock. The closure of a
///    batch runs under the last of these: the one code of a caller that runs under a lock of ours,
///    and so it must not wait for another thread that begins a batch.
/// 3. All others are taken for a moment, alone: of the open databases (`OpenStores`), of observers,
///    pins, collections and so on. Nothing waits under them, and no code of a caller runs: not a
///    handler, and not a `deinit` either, so what may be the last reference to something of a
///    caller's (a handler, an error) is moved out from under the lock before it goes.
///
/// Closing waits for the running batch without any lock. The thread of that batch does not wait for
/// a database that is being closed: see `isWorkingHere`.
final class DocumentCore: Sendable {
  let store: Store
  let options: DocumentOptions
  let shared: Guarded<DatabaseSpaces>
  /// Under what it is found by others in this process; nil: by nobody.
  let sharedPath: String?
  let collections = CollectionHandles()
  let hub = ChangeHub()
  let pins = BlobPins()
  let alarm = ExpiryAlarm()
  /// Nil if this process writes the database itself.
  let following: Following?
  /// Generations that are kept, as the newest commit that others see says. A batch asks its
  /// transaction.
  let depth: Guarded<Int>
  /// How often somebody has asked for another depth.
  let depthChanges = Guarded<UInt64>(0)
  /// Where reads of callers run that must not block.
  let queue = DispatchQueue(label: "latewood.reads", qos: .userInitiated, attributes: .concurrent)
  /// One sweep at a time.
  let sweeping = Monitor()
  let writing = Guarded<DocumentWriter?>(nil)
  /// The thread that runs a batch, or 0. Whoever is that thread has written it here; all others
  /// find another number, whichever.
  let writingThread = Atomic<UInt>(0)

  init(_ store: Store, options: DocumentOptions, sharedPath: String?) throws(DocumentError) {
    self.store = store
    self.options = options
    self.sharedPath = sharedPath
    following = store.isReadOnly ? Following() : nil
    do {
      if try store.existingKeyspace("database") == nil {
        guard !store.isReadOnly, try store.keyspaces().isEmpty else {
          throw DocumentError(.wrongFormat, "the file holds keys and values, but no documents")
        }
        try DocumentCore.create(in: store, options)
      }
      let spaces = try DatabaseSpaces { (name) throws(StoreError) in try store.keyspace(name) }
      let format = try DatabaseFacts.number(DatabaseFacts.formatKey, in: spaces, store)
      guard let format else {
        throw DocumentError(.wrongFormat, "the file does not say in what format its documents are")
      }
      guard format <= DatabaseFacts.format else {
        throw DocumentError(
          .tooNew, "the documents are in format \(format), this is for \(DatabaseFacts.format)")
      }
      depth = Guarded(try DatabaseFacts.depth(in: spaces, store))
      shared = Guarded(spaces)
    } catch {
      throw DocumentError.from(error)
    }
  }

  private static func create(in store: Store, _ options: DocumentOptions) throws(DocumentError) {
    try DocumentError.typed {
      try store.write { transaction in
        let spaces = try DatabaseSpaces { (name) throws(StoreError) in try transaction.keyspace(name) }
        let identity =
          SequenceEntry.key(options.environment.random()) + SequenceEntry.key(options.environment.random())
        try transaction.put(DatabaseFacts.identityKey, identity, in: spaces.database)
        try transaction.put(
          DatabaseFacts.formatKey, DatabaseFacts.encoded(DatabaseFacts.format), in: spaces.database)
        let depth = DatabaseFacts.encoded(UInt64(max(1, options.depth)))
        try transaction.put(DatabaseFacts.depthKey, depth, in: spaces.database)
        try transaction.put(DatabaseFacts.deepestKey, depth, in: spaces.database)
        let collection = CollectionIdentity(random: options.environment.random)
        try createCollection(DocumentCollection.defaultName, collection, transaction, spaces)
      }
    }
  }

  /// Makes the keyspaces of a collection that does not exist.
  @discardableResult
  static func createCollection(
    _ name: String, _ identity: CollectionIdentity, _ transaction: Transaction, _ shared: DatabaseSpaces
  ) throws(StoreError) -> CollectionSpaces {
    let spaces = try CollectionSpaces(name) { (name) throws(StoreError) in try transaction.keyspace(name) }
    try transaction.put(CollectionState.key(name), CollectionState(identity).encoded(), in: shared.database)
    return spaces
  }

  /// Whether this thread runs a batch of this database, or a closure of its compaction: then it
  /// must not wait for the end of that.
  var isWorkingHere: Bool { store.isWorkingHere }

  /// What this thread reads: its batch, or the newest commit.
  func source() throws(StoreError) -> ReadSource {
    if let writer = currentWriter { return .transaction(writer.transaction) }
    return .state(HeldState(try store._reader()))
  }

  var now: UInt64 { options.environment.now() / 1_000_000 }

  /// Where the changes of a collection are read by those who observe it.
  func changes(of collection: DocumentCollection) -> ChangeSource {
    let clock = options.environment.now
    return ChangeSource(store: store, collection: collection, now: { clock() / 1_000_000 })
  }

  func shutDown() throws(DocumentError) {
    alarm.cancel()
    do { try store.close() } catch { throw DocumentError(error) }
  }
}
