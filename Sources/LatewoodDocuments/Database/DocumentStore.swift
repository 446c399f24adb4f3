import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodStore
import Synchronization

/// An open database of documents, in one file.
///
/// ```
/// DocumentStore            open, close, collections, batches, snapshots
///   CollectionHandle     a name and its keyspaces: documents, sequences, bodies, ...
///   DocumentBatch          the changes that are committed together, and their outcome
///   DocumentWriter         edits in a batch: save, insert, purge, expiry, local documents
///   DocumentReads          reads: winners, revisions, bodies, changes, queries
///   ChangeHub              tells listeners of changes, after the commit
///   BlobWriter, BlobHandle blobs in and out, in chunks
/// ```
///
/// Invariants, which ``verify()`` checks:
/// 1. Each document has exactly one entry in the feed of its collection, at the sequence in its
///    record, and each entry belongs to a document.
/// 2. If the record of a leaf refers to a body, the body exists. A body that does not belong to a
///    leaf exists exactly as long as `superseded` lists it.
/// 3. The indexes (marks, expiry, references, uses) and the counters agree with records and bodies.
/// 4. A blob that a body refers to is stored completely, or listed as missing.
/// 5. A view has exactly the rows that are listed for its documents, and the sums of their values.
///
/// Every change is one transaction of the store, so that a crash never leaves it incomplete.
/// Opening the same file twice in one process creates two handles of one database, which closes
/// with the last handle.
///
/// Thread safety: all calls from any thread.
package final class DocumentStore: Sendable {
  private let core: DocumentCore
  private let isClosed = Atomic<Bool>(false)
  package let isReadOnly: Bool

  /// The number of this handle, to which the listeners that it added belong.
  let handle: UInt64
  /// The durability of batches that do not specify one.
  let durability: Durability

  private init(_ core: DocumentCore, isReadOnly: Bool, _ options: DocumentOptions) {
    self.core = core
    self.isReadOnly = isReadOnly
    handle = core.hub.openHandle()
    durability = options.store.durability
  }

  deinit {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    core.hub.closeHandle(handle)
    // No caller can receive an error here. Acknowledged commits are in the log in any case.
    let release: @Sendable () -> Void = { [core] in
      do throws(DatabaseError) { try OpenStores.shared.release(core) } catch {}
    }
    // The last reference may be released inside a batch of this database, for which closing would
    // wait.
    if core.isWorkingHere { DispatchQueue.global().async(execute: release) } else { release() }
  }

  // MARK: Opening

  /// Opens a database file, or shares the one that this process has open already.
  ///
  /// Opening for writing first purges documents that have expired. If the file is shared, the
  /// options of the first open apply, except for the durability, which each handle has for its own
  /// writes.
  ///
  /// - Parameter wait: how long to wait for the writer lock; default: the timeout of the options,
  ///   from now.
  /// - Throws: ``DatabaseError``: any error of the store; `wrongFormat` if the file does not hold
  ///   documents; `tooNew`; `conflict` if the file is shared and `mode` is `createNew`;
  ///   `invalidParameter` if the file is shared and `options` asks for a compaction policy that is
  ///   neither the default nor the policy of the first open. The key must fit the file even if it
  ///   is shared.
  package static func open(
    at path: String, mode: Store.OpenMode = .openOrCreate, options: DocumentOptions = DocumentOptions(),
    waiting wait: LockWait? = nil
  ) throws(DatabaseError) -> DocumentStore {
    let wait = wait ?? LockWait(options.store.lockTimeout)
    let name = try resolved(path)
    if mode == .readOnly {
      if let core = try OpenStores.shared.shareExisting(name) {
        let store = DocumentStore(core, isReadOnly: true, options)
        try store.check(options)
        return store
      }
      return try open(at: path, on: FileVolume(), mode: mode, options: options, sharedPath: nil)
    }
    var isNew = false
    let core = try OpenStores.shared.share(name, wait) { () throws(DatabaseError) in
      isNew = true
      return try makeCore(
        at: path, on: FileVolume(), mode: mode, options: options, sharedPath: name, waiting: wait)
    }
    let store = DocumentStore(core, isReadOnly: false, options)
    guard isNew else {
      try store.check(options)
      if mode == .createNew {
        throw DatabaseError(.conflict, "there is a database already, and it is open")
      }
      let policy = options.store.compaction
      guard policy == CompactionPolicy() || policy == core.options.store.compaction else {
        throw DatabaseError(
          .invalidParameter,
          "the database is already open with a different compaction policy: use the same policy or the default"
        )
      }
      return store
    }
    try core.startExpiring()
    return store
  }

  /// Creates a database in memory.
  package static func inMemory(
    options: DocumentOptions = DocumentOptions()
  ) throws(DatabaseError) -> DocumentStore {
    var options = options
    options.store.encryptionKey = nil
    options.store.expectedAnchor = nil
    return try open(
      at: "memory", on: MemoryVolume(), mode: .createNew, options: options, sharedPath: nil)
  }

  /// Opens a database on any volume, without sharing: used for simulated disks.
  package static func open(
    at path: String, on volume: any Volume, mode: Store.OpenMode, options: DocumentOptions
  ) throws(DatabaseError) -> DocumentStore {
    try open(at: path, on: volume, mode: mode, options: options, sharedPath: nil)
  }

  private static func open(
    at path: String, on volume: any Volume, mode: Store.OpenMode, options: DocumentOptions,
    sharedPath: String?
  ) throws(DatabaseError) -> DocumentStore {
    let core = try makeCore(at: path, on: volume, mode: mode, options: options, sharedPath: sharedPath)
    let store = DocumentStore(core, isReadOnly: mode == .readOnly, options)
    try core.startExpiring()
    return store
  }

  private static func makeCore(
    at path: String, on volume: any Volume, mode: Store.OpenMode, options: DocumentOptions,
    sharedPath: String?, waiting wait: LockWait? = nil
  ) throws(DatabaseError) -> DocumentCore {
    let store = try DatabaseError.typed {
      try Store.open(
        at: path, on: volume, mode: mode, options: options.store, environment: options.environment,
        waiting: wait)
    }
    var kept = options
    // The open file has its own key; the caller's is not needed again.
    kept.store.encryptionKey = nil
    kept.store.expectedAnchor = nil
    let core = try DocumentCore(store, options: kept, sharedPath: sharedPath)
    core.prepareCompactions()
    return core
  }

  /// Closes this handle and, with the last handle, the database, which waits for running batches.
  /// Idempotent.
  ///
  /// - Throws: ``DatabaseError`` `busy` inside a batch or a closure of a compaction, copy or
  ///   backup: the handle then stays open. Any error of the last checkpoint: the handle is then
  ///   closed nevertheless.
  package func close() throws(DatabaseError) {
    if isClosed.load(ordering: .acquiring) { return }
    if core.isWorkingHere {
      throw DatabaseError(
        .busy, "cannot close the database inside one of its own batches or compactions",
        advice: "Close it after the batch or compaction.")
    }
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    core.hub.closeHandle(handle)
    try OpenStores.shared.release(core)
  }

  /// Returns the open database; throws `notOpen` if this handle is closed.
  @inline(__always) func opened() throws(DatabaseError) -> DocumentCore {
    if isClosed.load(ordering: .acquiring) { throw DatabaseError(.notOpen, "the database has been closed") }
    return core
  }

  /// Like `opened()`, for reads: if another process writes the database, the result includes its
  /// newest commit.
  @inline(__always) func openedForReading() throws(DatabaseError) -> DocumentCore {
    let core = try opened()
    try core.catchUp()
    return core
  }

  func openedForWriting() throws(DatabaseError) -> DocumentCore {
    let core = try opened()
    if isReadOnly { throw DatabaseError(.notWritable, "the database was opened read-only") }
    return core
  }

  /// Whether this process has the file at a path open for writing, which forbids deleting or
  /// replacing it.
  package static func isOpen(at path: String) throws(DatabaseError) -> Bool {
    OpenStores.shared.isOpen(try resolved(path))
  }

  private static func resolved(_ path: String) throws(DatabaseError) -> String {
    try DatabaseError.typed { try FileVolume().resolved(path) }
  }

  private var usual: BatchDurability { BatchDurability(usual: durability) }

  // MARK: Encryption

  /// Checks that a caller's key and anchor fit the file, which is already open.
  private func check(_ options: DocumentOptions) throws(DatabaseError) {
    let key = options.store.encryptionKey
    // The key that all databases of a test have.
    let isUsual = key == Store.Options().encryptionKey && !core.store.isEncrypted
    try DatabaseError.typed {
      if !isUsual { try core.store.check(key) }
      try core.store.check(options.store.expectedAnchor)
    }
  }

  /// Returns an anchor of the newest state: see `Store.anchor`.
  package func anchor() throws(DatabaseError) -> StateAnchor {
    let core = try openedForWriting()
    return try DatabaseError.typed { try core.store.anchor() }
  }

  package var isEncrypted: Bool { core.store.isEncrypted }

  /// Encrypts the file, decrypts it, or changes its key: see `Store.changeEncryptionKey`.
  package func changeEncryptionKey(
    to key: EncryptionKey?, renewingFileKey: Bool
  ) throws(DatabaseError) {
    let core = try openedForWriting()
    try DatabaseError.typed {
      try core.store.changeEncryptionKey(to: key, renewingFileKey: renewingFileKey)
    }
  }

  // MARK: Facts

  /// The store below.
  package var store: Store { core.store }

  /// Returns 16 random bytes that identify this database. A copy gets new ones with
  /// ``renewIdentity()``.
  package func identity() throws(DatabaseError) -> [UInt8] {
    let core = try openedForReading()
    let spaces = core.shared
    return try core.source().mapValue(DatabaseRecords.identityKey, in: spaces.database) { value in
      value.withUnsafeBytes { Array($0) }
    } ?? []
  }

  /// Gives the database a new identity: for a copy.
  package func renewIdentity() throws(DatabaseError) {
    let core = try openedForWriting()
    let random = core.options.environment.random
    try core.batch(usual) { batch in
      try batch.putRecord(
        DatabaseRecords.identityKey, SequenceEntry.key(random()) + SequenceEntry.key(random()))
    }
  }

  /// Returns the format of the documents, in the state that this thread reads.
  package func format() throws(DatabaseError) -> DocumentFormat {
    let core = try openedForReading()
    let spaces = core.shared
    return try DatabaseRecords.format(in: spaces, core.source())
  }

  /// Upgrades the documents to the newest format. Returns false if they are already in it.
  ///
  /// Stored revisions keep their names. The new algorithm names the revisions of later batches.
  @discardableResult
  package func upgradeFormat() throws(DatabaseError) -> Bool {
    let core = try openedForWriting()
    var isOlder = false
    try core.batch(usual) { batch in
      isOlder = try DatabaseRecords.format(in: batch.shared, batch.transaction) < .newest
      guard isOlder else { return }
      let newest = DocumentFormat.newest.rawValue
      try batch.putRecord(DatabaseRecords.formatKey, DatabaseRecords.encoded(newest))
      batch.onCompletion { [core] isCommitted in
        if isCommitted { core.format.store(newest, ordering: .releasing) }
      }
    }
    return isOlder
  }

  /// The number of generations of revisions that are kept. A batch that changes it sees the new
  /// value only after its commit.
  package var depth: Int { core.depth.withLock { $0 } }

  /// Sets the number of generations to keep, at least 1. A document is pruned at its next change,
  /// all others by the next sweep.
  package func setDepth(_ depth: Int) throws(DatabaseError) {
    let core = try openedForWriting()
    let depth = min(max(1, depth), 1 << 30)
    try core.batch(usual) { batch in
      try batch.setDepth(depth)
    }
  }

  /// Makes all commits so far survive a power failure.
  package func sync() throws(DatabaseError) {
    try DatabaseError.typed { try opened().store.sync() }
  }

  /// Applies the commits of another process, if this database is read-only. Returns whether there
  /// were new commits.
  ///
  /// Reads do this automatically if 10 ms have passed since the last time, and listeners learn of
  /// changes within 100 ms. Throws any error of the store; reads throw it too until a refresh
  /// succeeds.
  @discardableResult
  package func refresh() throws(DatabaseError) -> Bool {
    try opened().catchUpNow()
  }

  // MARK: Collections

  /// Returns the collection with a given name; nil if it does not exist.
  package func collection(_ name: String) throws(DatabaseError) -> CollectionHandle? {
    try openedForReading().collection(name)
  }

  /// Returns the collection with a given name, creating it if it does not exist. The caller checks
  /// the name.
  ///
  /// In a batch, the creation is part of the batch: if the batch fails, the collection does not
  /// exist, and every use of it throws `notFound`.
  package func createCollection(_ name: String) throws(DatabaseError) -> CollectionHandle {
    if let existing = try collection(name) { return existing }
    return try openedForWriting().createCollection(name, usual)
  }

  /// Returns the names of all collections that begin with a prefix, ordered by their bytes.
  /// O(log n) plus the length of the result.
  package func collectionNames(beginningWith prefix: String = "") throws(DatabaseError) -> [String] {
    let core = try openedForReading()
    if let batch = core.currentBatch {
      return try core.collectionNames(in: batch.transaction, beginningWith: prefix)
    }
    return try core.collectionNames(in: core.store, beginningWith: prefix)
  }

  /// Deletes a collection with all its contents, in one step. Returns false if the collection did
  /// not exist.
  @discardableResult
  package func dropCollection(_ name: String) throws(DatabaseError) -> Bool {
    try openedForWriting().dropCollection(name, usual)
  }

  /// Deletes a collection in its turn, without blocking the caller's thread.
  ///
  /// - Parameter check: called before and after the change. If it throws, nothing is changed.
  package func dropCollection(
    _ name: String, check: @escaping @Sendable () throws -> Void
  ) async throws -> Bool {
    try await openedForWriting().dropCollection(name, usual, check: check)
  }

  // MARK: Batches

  /// Runs a batch: all changes of the closure are committed together when it returns, or none if it
  /// throws.
  ///
  /// A batch inside a batch of the same thread joins it. If the inner one throws after it has
  /// changed something, the outer one cannot be committed any more and throws that error at its
  /// end.
  ///
  /// - Parameters:
  ///   - durability: when the commit counts as done; default: the durability of this handle.
  ///   - uniqueness: the time at which unique indexes are checked; default: the time of the
  ///     surrounding batch, or at each save.
  ///   - body: the work. Its argument must not escape.
  /// - Throws: any error of the closure; ``DatabaseError``.
  @discardableResult
  @inlinable package func write<R>(
    durability: Durability? = nil, uniqueness: UniquenessCheck? = nil, _ body: (DocumentWriter) throws -> R
  ) throws -> R {
    var result = ClosureResult<R>()
    try run(durability) { writer in
      result.value = try writer.batch.checkingUniqueness(uniqueness) { try body(writer) }
    }
    return result.get()
  }

  /// Runs a batch without a result.
  package func run(
    _ durability: Durability? = nil, _ body: (DocumentWriter) throws -> Void
  ) throws {
    try openedForWriting().run(BatchDurability(asked: durability, usual: self.durability)) {
      try body(DocumentWriter($0))
    }
  }

  /// Runs a batch without blocking the caller's thread. Batches of this form run one after the
  /// other on a Dispatch queue, in the order of the calls; those that wait at the same time share a
  /// sync.
  @discardableResult
  package func write<R: Sendable>(
    durability: Durability? = nil, uniqueness: UniquenessCheck? = nil,
    _ body: @escaping @Sendable (DocumentWriter) throws -> R
  ) async throws -> R {
    let durability = BatchDurability(asked: durability, usual: self.durability)
    return try await openedForWriting().write(durability) { batch in
      try batch.checkingUniqueness(uniqueness) { try body(DocumentWriter(batch)) }
    }
  }

  /// The queue of `perform`.
  var queue: DispatchQueue { core.queue }

  /// Runs calls that may block but do not begin a batch, on a Dispatch queue.
  package func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await opened().perform(body)
  }

  /// Whether this thread is in a batch of the database.
  package var isInBatch: Bool { core.currentBatch != nil }

  /// Calls a closure at the end of this thread's batch, with whether it was committed; outside a
  /// batch, calls it immediately with true.
  package func atEndOfBatch(_ action: @escaping (_ isCommitted: Bool) -> Void) {
    if let batch = core.currentBatch { batch.onCompletion(action) } else { action(true) }
  }

  // MARK: Reading

  /// Returns the newest state of a collection, which stays fixed while the value is kept. For short
  /// reads; use ``snapshot()`` for longer ones.
  package func reads(_ collection: CollectionHandle) throws(DatabaseError) -> DocumentReads {
    let core = try openedForReading()
    if let batch = core.currentBatch { return try batch.reads(collection) }
    return try DocumentReads(core.store.pinned(), collection, core.options.environment)
  }

  /// Returns a snapshot of the newest state of all collections.
  package func snapshot() throws(DatabaseError) -> DocumentSnapshot {
    let core = try openedForReading()
    return try DatabaseError.typed { DocumentSnapshot(try core.store.snapshot(), core) }
  }
}
