import Dispatch
import LatewoodConcurrency
import LatewoodStore
import Synchronization

/// The state that all handles of one open database share.
///
/// Thread safety: all methods may be called from any thread. One batch runs at a time, under the
/// store's writer lock; `writing` identifies the thread that holds it, so that nested batches join
/// it.
///
/// Locks are taken in this order:
/// 1. `sweeping`: held for a whole sweep, which is many batches. In a read-only database,
///    `following`: held by the one thread that looks for new commits.
/// 2. The store's locks: checkpoints, the writer lock. The closure of a batch runs under the writer
///    lock. It is the only code of a caller that runs under a lock of this library, so it must not
///    wait for another thread that begins a batch. (A compaction is not a lock: a sweep is part of
///    it.)
/// 3. All others (`OpenStores`, listeners, pins, collections and so on) are held only for a moment
///    and one at a time, except that `ChangeHub` takes its listeners' locks under its own, and
///    `OpenStores` the lock in a `LockWait`. Threads do no long work while they hold one, and never
///    run code of a caller: neither a handler nor a `deinit`. A reference that may be the last one
///    to a caller's object (a handler, an error) is moved out of the lock before it is released.
///
/// Closing waits for the running batch without any lock. The thread of that batch does not wait for
/// a database that is being closed: see `isWorkingHere`.
final class DocumentCore: Sendable {
  let store: Store
  let options: DocumentOptions
  let shared: DatabaseSpaces
  /// The path under which other opens in this process find the database; nil if it is not shared.
  let sharedPath: String?
  let collections = CollectionHandles()
  let views = ViewRegistry()
  let hub = ChangeHub()
  let pins = BlobPins()
  let alarm = ExpiryAlarm()
  /// Nil if this process writes the database itself.
  let following: Following?
  /// The number of generations to keep, as of the newest commit. A batch uses the value in its
  /// transaction instead.
  let depth: Guarded<Int>
  /// The number of the format, as of the newest commit.
  let format: Atomic<UInt64>
  /// The number of calls that have changed the depth.
  let depthChanges = Guarded<UInt64>(0)
  /// Runs reads for callers that must not block.
  let queue = DispatchQueue(label: "latewood.reads", qos: .userInitiated, attributes: .concurrent)
  /// The number of superseded bodies that the last sweep has left in each collection, because a
  /// merge may need them.
  let keptBodies = Guarded<[String: UInt64]>([:])
  /// Held during a sweep.
  let sweeping = Monitor()
  let writing = Guarded<DocumentBatch?>(nil)
  /// The thread that runs a batch, or 0. A thread finds its own number here only while it runs a
  /// batch itself. Any other value may be stale.
  let writingThread = Atomic<UInt>(0)

  init(_ store: Store, options: DocumentOptions, sharedPath: String?) throws(DatabaseError) {
    self.store = store
    self.options = options
    self.sharedPath = sharedPath
    following = store.isReadOnly ? Following() : nil
    let (spaces, format, depth) = try DatabaseError.typed {
      if try store.existingKeyspace("database") == nil {
        guard !store.isReadOnly, try store.keyspaces().isEmpty else {
          throw DatabaseError(.wrongFormat, "the file holds keys and values, but no documents")
        }
        try DocumentCore.create(in: store, options)
      }
      let spaces = try DatabaseSpaces { name in try store.keyspace(name) }
      let format = try DatabaseRecords.format(in: spaces, store)
      return (spaces, format, try DatabaseRecords.depth(in: spaces, store))
    }
    self.format = Atomic(format.rawValue)
    self.depth = Guarded(depth)
    shared = spaces
  }

  private static func create(in store: Store, _ options: DocumentOptions) throws {
    try store.write { transaction in
      let spaces = try DatabaseSpaces { name in try transaction.keyspace(name) }
      let identity =
        SequenceEntry.key(options.environment.random()) + SequenceEntry.key(options.environment.random())
      try transaction.put(DatabaseRecords.identityKey, identity, in: spaces.database)
      try transaction.put(
        DatabaseRecords.formatKey, DatabaseRecords.encoded(options.format.rawValue), in: spaces.database)
      let depth = DatabaseRecords.encoded(UInt64(max(1, options.depth)))
      try transaction.put(DatabaseRecords.depthKey, depth, in: spaces.database)
      try transaction.put(DatabaseRecords.deepestKey, depth, in: spaces.database)
      let collection = CollectionIdentity(random: options.environment.random)
      try createCollection(CollectionHandle.defaultName, collection, transaction, spaces)
    }
  }

  /// Creates the keyspaces of a new collection.
  @discardableResult
  static func createCollection(
    _ name: String, _ identity: CollectionIdentity, _ transaction: Transaction, _ shared: DatabaseSpaces
  ) throws -> CollectionSpaces {
    let spaces = try CollectionSpaces(name) { name in try transaction.keyspace(name) }
    try transaction.put(CollectionState.key(name), CollectionState(identity).encoded(), in: shared.database)
    return spaces
  }

  /// Whether this thread runs a batch of this database or a closure of its compaction, in which
  /// case waiting for its end would be a deadlock.
  var isWorkingHere: Bool { store.isWorkingHere }

  /// The state that this thread reads: its batch, or the newest commit.
  func source() throws(DatabaseError) -> ReadSource {
    if let batch = currentBatch { return .batch(batch) }
    return .state(try store.pinned())
  }

  /// The algorithm that names the revisions of a batch that begins now.
  var algorithm: RevisionDigest.Algorithm {
    (DocumentFormat(rawValue: format.load(ordering: .acquiring)) ?? .newest).digestAlgorithm
  }

  var now: UInt64 { options.environment.now() / 1_000_000 }

  /// Returns the source from which listeners read the changes of a collection again.
  func changes(of collection: CollectionHandle) -> ChangeSource {
    let clock = options.environment.now
    return ChangeSource(store: store, collection: collection, now: { clock() / 1_000_000 })
  }

  func shutDown() throws(DatabaseError) {
    alarm.cancel()
    try DatabaseError.typed { try store.close() }
  }
}
