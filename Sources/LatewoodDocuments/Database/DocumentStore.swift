import Dispatch
import LatewoodDevice
import LatewoodStore
import Synchronization

/// An open database of documents, in one file.
///
/// ```
/// DocumentStore            open, close, collections, batches, snapshots
///   DocumentCollection     a name and its keyspaces: documents, sequences, bodies, ...
///   DocumentWriter         what a batch does: save, insert, purge, expiry, local documents
///   DocumentReads          what is there: winners, revisions, bodies, changes, queries
///   ChangeHub              who is told of it, after the commit
///   BlobWriter, BlobHandle blobs in and out, in chunks
/// ```
///
/// Invariants, which ``verify()`` checks:
/// 1. Each document has one entry in the feed of its collection, at the sequence that its record
///    says, and each entry is a document's.
/// 2. The body of a leaf that has one is there. A body that is no leaf's is there just as long as
///    `superseded` lists it.
/// 3. The indexes (marks, expiry, references, uses) say what records and bodies say, and counters
///    count it.
/// 4. A blob that a body refers to is there, whole.
///
/// Every change of these is one transaction of the store, so that no crash leaves them half done.
/// The same file opened twice in one process is the same database underneath; it closes with the
/// last handle.
///
/// Thread safety: all calls from any thread.
package final class DocumentStore: Sendable {
  private let core: DocumentCore
  private let isClosed = Atomic<Bool>(false)
  package let isReadOnly: Bool

  /// Of the observers that were added by this handle.
  let handle: UInt64
  /// Of batches of this handle that say nothing else.
  private let durability: Durability

  private init(_ core: DocumentCore, isReadOnly: Bool, _ options: DocumentOptions) {
    self.core = core
    self.isReadOnly = isReadOnly
    handle = core.hub.openHandle()
    durability = options.store.durability
  }

  deinit {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    core.hub.closeHandle(handle)
    // Nobody is left to be told of an error; what was acknowledged is in the log all the same.
    let release: @Sendable () -> Void = { [core] in
      do throws(DocumentError) { try OpenStores.shared.release(core) } catch {}
    }
    // The last reference may go in a batch of this very database, which closing would wait for.
    if core.isWorkingHere { DispatchQueue.global().async(execute: release) } else { release() }
  }

  // MARK: Opening

  /// Opens a database file, or shares the one that this process has open already.
  ///
  /// Opened for writing, it first forgets what has expired meanwhile. Of one that is shared, the
  /// options of the first open count, but for the durability, which each handle has for what it
  /// writes.
  ///
  /// - Throws: ``DocumentError``: what the store throws; `wrongFormat` if the file holds something
  ///   else than documents, `tooNew`; `badArgument` if it is shared and a compaction policy is
  ///   asked for that is neither the default nor that of the first open.
  package static func open(
    at path: String, mode: Store.OpenMode = .openOrCreate, options: DocumentOptions = DocumentOptions()
  ) throws(DocumentError) -> DocumentStore {
    let name: String
    do { name = try FileVolume().resolved(path) } catch { throw DocumentError.from(error) }
    if mode == .readOnly {
      if let core = try OpenStores.shared.shareExisting(name) {
        return DocumentStore(core, isReadOnly: true, options)
      }
      return try open(at: path, on: FileVolume(), mode: mode, options: options, sharedPath: nil)
    }
    var isNew = false
    let core = try OpenStores.shared.share(name) { () throws(DocumentError) in
      isNew = true
      return try makeCore(at: path, on: FileVolume(), mode: mode, options: options, sharedPath: name)
    }
    let store = DocumentStore(core, isReadOnly: false, options)
    guard isNew else {
      if mode == .createNew {
        throw DocumentError(.alreadyExists, "there is a database already, and it is open")
      }
      let policy = options.store.compaction
      guard policy == CompactionPolicy() || policy == core.options.store.compaction else {
        throw DocumentError(
          .badArgument,
          "the database is open already, with another compaction policy: use that, or the default, which is taken for any"
        )
      }
      return store
    }
    try core.startExpiring()
    return store
  }

  /// A database that lives in memory.
  package static func inMemory(
    options: DocumentOptions = DocumentOptions()
  ) throws(DocumentError) -> DocumentStore {
    try open(at: "memory", on: MemoryVolume(), mode: .createNew, options: options, sharedPath: nil)
  }

  /// Opens on any volume, shared with nobody: the seam for simulated disks.
  package static func open(
    at path: String, on volume: any Volume, mode: Store.OpenMode, options: DocumentOptions
  ) throws(DocumentError) -> DocumentStore {
    try open(at: path, on: volume, mode: mode, options: options, sharedPath: nil)
  }

  private static func open(
    at path: String, on volume: any Volume, mode: Store.OpenMode, options: DocumentOptions,
    sharedPath: String?
  ) throws(DocumentError) -> DocumentStore {
    let core = try makeCore(at: path, on: volume, mode: mode, options: options, sharedPath: sharedPath)
    let store = DocumentStore(core, isReadOnly: mode == .readOnly, options)
    try core.startExpiring()
    return store
  }

  private static func makeCore(
    at path: String, on volume: any Volume, mode: Store.OpenMode, options: DocumentOptions,
    sharedPath: String?
  ) throws(DocumentError) -> DocumentCore {
    let store: Store
    do {
      store = try Store.open(
        at: path, on: volume, mode: mode, options: options.store, environment: options.environment)
    } catch { throw DocumentError(error) }
    let core = try DocumentCore(store, options: options, sharedPath: sharedPath)
    core.prepareCompactions()
    return core
  }

  /// Closes this handle, and with the last one the database, which waits for the batches that are
  /// running. Idempotent.
  ///
  /// - Throws: ``DocumentError`` `busy` inside of a batch, and in a closure of a compaction, copy
  ///   or backup: then the handle stays open. What the last checkpoint throws; then it is closed
  ///   all the same.
  package func close() throws(DocumentError) {
    if isClosed.load(ordering: .acquiring) { return }
    if core.isWorkingHere {
      throw DocumentError(
        .busy, "a database is closed inside of its own batch or compaction, which must end first")
    }
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    core.hub.closeHandle(handle)
    try OpenStores.shared.release(core)
  }

  /// The open database, for a call of this handle.
  func opened() throws(DocumentError) -> DocumentCore {
    if isClosed.load(ordering: .acquiring) { throw DocumentError(.notOpen, "the database has been closed") }
    return core
  }

  /// The same, for a call that reads: of a database that another process writes, the newest that it
  /// has committed.
  func openedForReading() throws(DocumentError) -> DocumentCore {
    let core = try opened()
    try core.catchUp()
    return core
  }

  func openedForWriting() throws(DocumentError) -> DocumentCore {
    let core = try opened()
    if isReadOnly { throw DocumentError(.notWritable, "the database was opened to be read only") }
    return core
  }

  /// Whether this process has the file at a path open for writing: then it must not be deleted or
  /// replaced.
  package static func isOpen(at path: String) throws(DocumentError) -> Bool {
    do { return OpenStores.shared.isOpen(try FileVolume().resolved(path)) } catch {
      throw DocumentError.from(error)
    }
  }

  private var usual: BatchDurability { BatchDurability(usual: durability) }

  // MARK: Facts

  /// The store below.
  package var store: Store { core.store }

  /// 16 random bytes that no other database has. A copy gets new ones with ``renewIdentity()``.
  package func identity() throws(DocumentError) -> [UInt8] {
    let core = try openedForReading()
    let spaces = core.shared.withLock { $0 }
    do {
      return try core.source().get(DatabaseFacts.identityKey, in: spaces.database) ?? []
    } catch { throw DocumentError(error) }
  }

  /// Gives the database other random bytes: for a copy.
  package func renewIdentity() throws(DocumentError) {
    let core = try openedForWriting()
    let random = core.options.environment.random
    try core.batch(usual) { (writer) throws(DocumentError) in
      try writer.putFact(
        DatabaseFacts.identityKey, SequenceEntry.key(random()) + SequenceEntry.key(random()))
    }
  }

  /// Generations of revisions that are kept. A batch that changes it sees the change when it has
  /// been committed.
  package var depth: Int { core.depth.withLock { $0 } }

  /// Keeps this many generations from now on, at least 1. A document is pruned when it is changed
  /// next, all others by the next sweep.
  package func setDepth(_ depth: Int) throws(DocumentError) {
    let core = try openedForWriting()
    let depth = min(max(1, depth), 1 << 30)
    try core.batch(usual) { (writer) throws(DocumentError) in
      try writer.setDepth(depth)
    }
  }

  /// Makes everything committed so far survive a power cut.
  package func sync() throws(DocumentError) {
    do { try opened().store.sync() } catch { throw DocumentError.from(error) }
  }

  /// Takes in what another process has committed since, if this database is only read. True if
  /// there was anything new.
  ///
  /// Reads do so by themselves when 10 ms have passed since the last time, and observers are told
  /// within 100 ms. Throws what the store throws, and then so do reads, until it succeeds.
  @discardableResult
  package func refresh() throws(DocumentError) -> Bool {
    try opened().catchUpNow()
  }

  // MARK: Collections

  /// The collection of a name; nil if there is none.
  package func collection(_ name: String) throws(DocumentError) -> DocumentCollection? {
    try openedForReading().collection(name)
  }

  /// The collection of a name, created if there is none. What a name may be is for the caller to
  /// say.
  ///
  /// In a batch it is part of the batch: if that fails there is no collection, and every use of
  /// this one throws `notFound`.
  package func createCollection(_ name: String) throws(DocumentError) -> DocumentCollection {
    if let existing = try collection(name) { return existing }
    return try openedForWriting().createCollection(name, usual)
  }

  /// The names of all collections, by bytes.
  package func collectionNames() throws(DocumentError) -> [String] {
    let core = try openedForReading()
    if let writer = core.currentWriter { return try core.collectionNames(in: writer.transaction) }
    return try core.collectionNames(in: core.store)
  }

  /// Deletes a collection with all that is in it, at once. False if there was none.
  @discardableResult
  package func dropCollection(_ name: String) throws(DocumentError) -> Bool {
    try openedForWriting().dropCollection(name, usual)
  }

  // MARK: Batches

  /// Runs a batch: all that the closure does is committed together when it returns, or not at all
  /// if it throws.
  ///
  /// A batch inside of a batch of the same thread joins it; if the inner one throws after it has
  /// changed something, the outer one cannot be committed any more, and throws that error when it
  /// ends.
  ///
  /// - Parameters:
  ///   - durability: when the commit counts as done; default: what this handle was opened with.
  ///   - body: the work. Its argument must not escape.
  /// - Throws: what the closure throws; ``DocumentError``.
  @discardableResult
  package func write<R>(
    durability: Durability? = nil, _ body: (DocumentWriter) throws -> R
  ) throws -> R {
    try openedForWriting().write(BatchDurability(asked: durability, usual: self.durability), body)
  }

  /// The same without blocking the caller's thread. Batches of this form run one after the other on
  /// a Dispatch queue, in the order in which they were called, and those that wait at the same time
  /// share a sync.
  @discardableResult
  package func write<R: Sendable>(
    durability: Durability? = nil, _ body: @escaping @Sendable (DocumentWriter) throws -> R
  ) async throws -> R {
    try await openedForWriting().write(
      BatchDurability(asked: durability, usual: self.durability), body)
  }

  /// Runs calls of this database that may block, and begin no batch, on a Dispatch queue.
  package func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await opened().perform(body)
  }

  /// Has a closure called when the batch of this thread has ended, with whether it was committed;
  /// outside of a batch now, with true.
  package func atEndOfBatch(_ action: @escaping (_ isCommitted: Bool) -> Void) {
    if let writer = core.currentWriter { writer.atEnd(action) } else { action(true) }
  }

  // MARK: Reading

  /// The newest state of a collection; it stays that state for as long as the value is kept. For
  /// short reads: ``snapshot()`` for longer ones.
  package func reads(_ collection: DocumentCollection) throws(DocumentError) -> DocumentReads {
    let core = try openedForReading()
    if let writer = core.currentWriter { return try writer.reads(collection) }
    do {
      return try DocumentReads(.state(HeldState(try core.store._reader())), collection, now: core.now)
    } catch { throw DocumentError.from(error) }
  }

  /// Holds the newest state of all collections.
  package func snapshot() throws(DocumentError) -> DocumentSnapshot {
    let core = try openedForReading()
    do { return DocumentSnapshot(try core.store.snapshot(), core) } catch { throw DocumentError(error) }
  }
}
