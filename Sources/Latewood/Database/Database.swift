import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// A database of documents in one file.
///
/// ```swift
/// let database = try await Database.open(at: "people.latewood")
/// let people = try database["people"]
/// try await people.save(MutableDocument(id: "anna", ["name": "Anna", "city": "Porto"]))
/// let city = try await people.document("anna")?["city"].string
/// ```
///
/// Outside of async functions, the same calls without `await` block the thread.
///
/// Every save is one transaction: after a crash, the file contains all of it or nothing. When
/// `save` returns, the change survives a power failure, unless the configuration specifies
/// otherwise. Several saves can share one wait for the disk: see ``inBatch(_:)-7xlss``.
///
/// Thread safety: all calls from any thread. Reads never wait for writers. Opening the same file
/// twice in one process creates two handles of one database, which closes with the last handle.
/// Only one process can have it open for writing.
///
/// While the database is open, other processes can open the file with the mode `.readOnly`. Their
/// reads see commits of the writing process after 10 ms, their feeds and listeners after 100 ms,
/// plus the time that it takes to read the commits from the log. If new commits cannot be read,
/// reads throw that error until they can be.
public final class Database: Sendable {
  /// The settings for opening a database.
  ///
  /// If this process has the file open already, a second open treats them as follows:
  ///
  /// - `durability` applies to saves through the second handle; in a batch that both handles join,
  ///   the stricter one applies.
  /// - `isStrict` applies to saves through the second handle.
  /// - `revisionDepth` has no effect, as for every existing file: see
  ///   ``Database/setRevisionDepth(_:)-2og89``. The same applies to `documentFormat`.
  /// - `reading` has no effect.
  /// - `lockTimeout` has none either, except while the first open itself still waits.
  /// - `onEvent` has no effect.
  /// - `encryptionKey` must be the key of the database. `cipherSuite` has no effect.
  /// - `compaction`: the default accepts the policy of the first open; any other policy is refused
  ///   unless it is the same.
  public struct Configuration: Sendable {
    /// The durability of saves. Default: `.synchronous`, so that a save that has returned survives
    /// a power failure.
    public var durability = Durability.synchronous
    /// Whether all members whose names start with an underscore are refused, not only the reserved
    /// ones. Default: false.
    public var isStrict = false
    /// The number of generations of revisions that a new database keeps of each document, one at
    /// least. Default: 20.
    public var revisionDepth = 20
    /// The format of the documents of a new database. Default: the newest. An existing database
    /// keeps its format: see ``Database/upgradeDocumentFormat()``.
    public var documentFormat = DocumentFormat.newest
    /// The policy for automatic compactions.
    public var compaction = CompactionPolicy()
    /// The way in which the file is read. Default: mapped, unless the system cannot do that or the
    /// file is known to be on another machine.
    public var reading = Store.Options().reading

    /// The longest time for which an open for writing waits if another process has the database
    /// open for writing. Default: 0, because a program that keeps its database open would let
    /// others wait in vain. See <doc:SeveralProcesses>.
    ///
    /// Opens that wait get the database in the order in which they came. When the time is over, the
    /// error `busy` names the process that has it, if the system tells. The blocking form of `open`
    /// blocks the thread while it waits; the async form stops waiting when its task is cancelled.
    public var lockTimeout = Duration.zero
    /// A closure that receives the events in the background of the database, for logs and alerts:
    /// automatic compactions that have finished, and those that have failed. Default: nil.
    ///
    /// It is called on the queue of automatic compactions, one event at a time, and the next
    /// compaction waits until it returns. No lock is held, so it may use the database in every way,
    /// and close it. Hold the database weakly in it. The event of a compaction that closing needed
    /// arrives after the database has been closed, perhaps after `close` has returned.
    public var onEvent: (@Sendable (StoreEvent) -> Void)?

    /// The key of an encrypted database. A database that is created with a key is encrypted; an
    /// existing one opens only with its key. Default: nil. See <doc:EncryptingADatabase>.
    ///
    /// ```swift
    /// var configuration = Database.Configuration()
    /// configuration.encryptionKey = .password("correct horse battery staple")
    /// let database = try await Database.open(at: "diary.latewood", configuration: configuration)
    /// ```
    ///
    /// A second handle in this process needs the key too. A database in memory is not encrypted.
    public var encryptionKey: EncryptionKey? = Store.Options().encryptionKey
    /// The ciphers of a database that is encrypted by this open, or later by
    /// `Database.changeEncryptionKey`. An encrypted file states its
    /// own. Default: `.aes256`. `.chaCha20` is about twice as fast.
    public var cipherSuite: CipherSuite = Store.Options().cipherSuite
    /// A state from which the state of an encrypted database must descend: an anchor that
    /// `Database.anchor` returned earlier. Opening throws `rolledBack` if it does not, because the
    /// file is an older copy or was continued from one; `notFound` if there is no file; and
    /// `notEncrypted` if the database is not encrypted. Default: nil, any state. See
    /// <doc:EncryptingADatabase>.
    public var expectedAnchor: StateAnchor?

    /// Creates the default settings.
    public init() {}
  }

  /// Whether the file is created, or must exist.
  public typealias OpenMode = Store.OpenMode

  /// The path of the file; nil for a database in memory.
  public let path: String?
  package let documents: DocumentStore
  let configuration: Configuration
  /// Handles of saved blobs that no saved document refers to yet, one for each call of `saveBlob`.
  /// They keep compactions from removing the blobs.
  let heldBlobs = Guarded<[BlobDigest: [BlobHandle]]>([:])

  init(_ documents: DocumentStore, path: String?, configuration: Configuration) {
    self.documents = documents
    self.path = path
    self.configuration = configuration
  }

  // MARK: Opening

  /// Opens a database, creating it if there is none.
  ///
  /// - Parameters:
  ///   - path: the path of the file, in an existing directory; a tilde at its start is not
  ///     expanded. The file must stay where it is as long as the database is open: once it is found
  ///     removed, renamed or replaced, every save throws `notWritable`.
  ///   - mode: default: open for writing, and create the file if there is none.
  ///   - configuration: settings for this open; those that are stored in the file are not changed.
  /// - Throws: ``DatabaseError`` `notFound`; `busy` if another process has it open for writing, and
  ///   still has when ``Configuration/lockTimeout`` is over, or if this thread is in a batch of it
  ///   while another thread closes it; `wrongFormat`, `tooNew`,
  ///   `corruptData`, `notWritable`, `inputOutput`; `conflict` if a new database was asked for and
  ///   the file exists; `invalidParameter` if it is open in this process with another compaction
  ///   policy; `keyNeeded`, `wrongKey` or `notEncrypted` if ``Configuration/encryptionKey`` does
  ///   not fit the file.
  public static func open(
    at path: String, mode: OpenMode = .openOrCreate, configuration: Configuration = Configuration()
  ) throws -> Database {
    try open(
      at: path, mode: mode, configuration: configuration, waiting: LockWait(configuration.lockTimeout))
  }

  /// Opens a database; the wait for the writer lock can be cancelled.
  static func open(
    at path: String, mode: OpenMode, configuration: Configuration, waiting wait: LockWait
  ) throws -> Database {
    let documents = try naming(path) { () throws(DatabaseError) in
      try DocumentStore.open(at: path, mode: mode, options: configuration.options, waiting: wait)
    }
    return Database(documents, path: path, configuration: configuration)
  }

  /// Opens a database on any volume: the seam for simulated disks.
  package static func open(
    at path: String, on volume: any Volume, mode: OpenMode, configuration: Configuration
  ) throws -> Database {
    let documents = try naming(path) { () throws(DatabaseError) in
      try DocumentStore.open(at: path, on: volume, mode: mode, options: configuration.options)
    }
    return Database(documents, path: path, configuration: configuration)
  }

  /// Creates a database in memory, which is freed with the last reference to it.
  ///
  /// - Throws: ``DatabaseError`` `inputOutput` if the system has no memory for it.
  public static func inMemory(
    configuration: Configuration = Configuration()
  ) throws -> Database {
    let documents = try DocumentStore.inMemory(options: configuration.options)
    return Database(documents, path: nil, configuration: configuration)
  }

  /// Opens a database; nil if there is none.
  ///
  /// - Throws: the errors of `open`.
  public static func existing(
    at path: String, configuration: Configuration = Configuration()
  ) throws -> Database? {
    guard try exists(at: path) else { return nil }
    return try open(at: path, mode: .openExisting, configuration: configuration)
  }

  /// Returns whether there is a file at a path.
  ///
  /// - Throws: ``DatabaseError`` `notWritable` or `inputOutput` if the system does not report it.
  public static func exists(at path: String) throws -> Bool {
    do { return try Store.exists(at: path) } catch { throw DatabaseError.translated(error) }
  }

  /// Deletes a database that is not open for writing, and its lock file. Returns false if there was
  /// none. Readers that have it open can continue. The key of an encrypted database is not needed.
  ///
  /// - Throws: ``DatabaseError`` `busy` if it is open for writing, here or in another process;
  ///   `wrongFormat` if the file is not a database.
  @discardableResult
  public static func delete(at path: String) throws -> Bool {
    do { return try Store.delete(at: path) } catch { throw DatabaseError.translated(error) }
  }

  /// Installs a prebuilt database: makes a compact copy, which has a new identity and is writable
  /// by the current user regardless of the permissions of the source. The source may be open.
  ///
  /// The copy appears at `target` once it is complete, durable, and has its identity; after a crash
  /// at any time it exists completely or not at all. It does not contain the content of revisions
  /// that are not current, except for unresolved conflicts. While this runs, the directory of
  /// `target` needs disk space for the source's live data and once more for the copy.
  ///
  /// - Throws: ``DatabaseError`` `notFound`; `conflict` if there is a file at `target`; `busy` if
  ///   another process is creating a database at `target`; `inputOutput`, `notWritable`.
  public static func copy(from source: String, to target: String) throws {
    try copy(from: source, to: target, encryptionKey: Configuration().encryptionKey)
  }

  /// Installs a prebuilt database that is encrypted, and whose copy has the same key. Otherwise
  /// like ``copy(from:to:)-1f2b3``. Both files are encrypted with the same file key, so whoever can
  /// open one can read the other, too, even after a change of the password. To make the copy
  /// independent, open it and call `changeEncryptionKey` with `renewingFileKey`.
  ///
  /// - Parameters:
  ///   - source: the path of the database to copy.
  ///   - target: the path of the new database.
  ///   - encryptionKey: the key of the database to copy; nil if it is not encrypted.
  /// - Throws: the errors of the form without a key; ``DatabaseError`` `keyNeeded`, `wrongKey` or
  ///   `notEncrypted` if the key does not fit the source.
  public static func copy(
    from source: String, to target: String, encryptionKey: EncryptionKey?
  ) throws {
    try withSource(source, encryptionKey) { (original) throws(DatabaseError) in
      try original.install(at: target)
    }
  }

  /// Replaces a closed database with a copy of another one, to restore a backup or to update a
  /// prebuilt database. The database to replace need not exist.
  ///
  /// ```swift
  /// try Database.replace(at: "survey.latewood", with: "backup.latewood")
  /// ```
  ///
  /// As with ``copy(from:to:)-1f2b3``, the copy is compact, has a new identity, and is writable by
  /// the current user. It replaces the old file once it is complete and durable; after a crash at
  /// any time the file is either the complete old database or the complete new one. The source may
  /// be open, and is not changed. While this runs, the directory of the file needs disk space for
  /// the old database and for twice the live data of the source.
  ///
  /// - Parameters:
  ///   - path: the path of the database to replace, which may be damaged. If it is a symbolic link,
  ///     the file that the link refers to is replaced.
  ///   - source: the path of the database to copy.
  /// - Throws: ``DatabaseError`` `notFound` if the source does not exist; `busy` if the database to
  ///   replace is open, here or in another process, for writing or for reading; `wrongFormat` if
  ///   the file at `path` is not a database; `tooNew`; `corruptData` if the source is damaged;
  ///   `inputOutput`, `notWritable`. The old database is then unchanged.
  public static func replace(at path: String, with source: String) throws {
    try replace(at: path, with: source, encryptionKey: Configuration().encryptionKey)
  }

  /// Replaces a closed database with a copy of an encrypted one. The copy has the same
  /// key. The key of the old database is not needed. Otherwise like ``replace(at:with:)-89x3l``.
  ///
  /// - Parameters:
  ///   - path: the path of the database to replace.
  ///   - source: the path of the database to copy.
  ///   - encryptionKey: the key of the database to copy; nil if it is not encrypted.
  /// - Throws: the errors of the form without a key; ``DatabaseError`` `keyNeeded`, `wrongKey` or
  ///   `notEncrypted` if the key does not fit the source. The old database is then unchanged.
  public static func replace(
    at path: String, with source: String, encryptionKey: EncryptionKey?
  ) throws {
    try withSource(source, encryptionKey) { (original) throws(DatabaseError) in
      try original.replace(at: path)
    }
  }

  private static func withSource(
    _ path: String, _ key: EncryptionKey?, _ body: (DocumentStore) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    try naming(path) { () throws(DatabaseError) in
      var options = DocumentOptions()
      options.store.encryptionKey = key
      let original = try DocumentStore.open(at: path, mode: .readOnly, options: options)
      try body(original)
      try original.close()
    }
  }

  /// Closes this handle once its running batches have ended. The file closes with the last handle.
  /// Idempotent. Every later call throws `notOpen`.
  ///
  /// - Throws: ``DatabaseError`` `busy` inside a batch, and in the `progress` closure of a
  ///   compaction: the handle then stays open. `inputOutput`, `notWritable` if the last checkpoint
  ///   failed: the handle is closed nevertheless, and all commits are in the file.
  public func close() throws {
    try documents.close()
    // Handles are released outside the lock.
    let held = heldBlobs.withLock { held in
      defer { held = [:] }
      return held
    }
    withExtendedLifetime(held) {}
  }

  /// Closes this handle and deletes the file, like ``delete(at:)-2jvij``. All later calls throw
  /// `notOpen`. A database in memory is only closed.
  ///
  /// - Throws: ``DatabaseError`` `busy` inside a batch: nothing is done then. `busy` if another
  ///   handle, here or in another process, has the database open for writing: this handle is then
  ///   closed, but the file is kept. `notWritable` if it was opened read-only.
  public func delete() throws {
    if isReadOnly {
      throw DatabaseError(.notWritable, "a database that was opened read-only cannot be deleted")
    }
    try close()
    if let path { try Database.delete(at: path) }
  }

  // MARK: Facts

  /// The name of the database, as in ``DatabaseDirectory``: the name of its file without the
  /// extension `.latewood`; `memory` for a database in memory.
  public var name: String {
    guard let path else { return "memory" }
    return DatabaseDirectory.name(
      ofFile: String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]))
  }

  /// Whether the database was opened read-only.
  public var isReadOnly: Bool { documents.isReadOnly }

  /// The identity of the database: 32 hexadecimal digits that no other database has. A copy has a
  /// different identity.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var identity: String {
    get throws {
      try documents.identity()
        .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }

  /// The number of generations of revisions that are kept of each document. Stored in the file.
  public var revisionDepth: Int { documents.depth }

  /// Sets the number of generations to keep, at least 1. A document is pruned at its next change,
  /// or otherwise by the next compaction.
  ///
  /// - Throws: ``DatabaseError`` like every change.
  public func setRevisionDepth(_ depth: Int) throws {
    try documents.setDepth(depth)
  }

  // MARK: Batches

  /// Commits everything that a closure saves, deletes and purges as one transaction: all or
  /// nothing, and far faster than one by one.
  ///
  /// Reads inside the batch see its changes; others see them once it is committed. Batches of other
  /// threads wait. If the closure throws, nothing is changed.
  ///
  /// **A batch inside a batch** joins it: both are committed together, at the end of the outer one.
  /// If the inner one throws before it has changed anything, the outer one can catch the error and
  /// continue. If it throws after a change, that change cannot be undone alone, so the outer batch
  /// changes nothing either: its closure can still run to its end, but `inBatch` then throws the
  /// error of the inner one, even if it was caught. A save that is refused, for example as a
  /// conflict, changes nothing and can be caught.
  ///
  /// - Throws: any error of the closure, unchanged; ``DatabaseError``.
  @discardableResult
  public func inBatch<R>(_ body: () throws -> R) throws -> R {
    try documents.write { _ in try body() }
  }

  /// Commits everything that a closure changes as one transaction, and checks unique indexes at a
  /// given time. Otherwise like the form without it.
  ///
  /// ```swift
  /// try database.inBatch(uniqueness: .atEnd) {
  ///   try seats.update("anna") { $0["seat"] = 12 }           // for now, both have this seat
  ///   try seats.update("ben") { $0["seat"] = 7 }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - uniqueness: the time. A batch inside another one inherits the time, unless it names its
  ///     own; with `UniquenessCheck.atEnd` it is checked at its own end, if the outer one
  ///     checks each save.
  ///   - body: the changes.
  /// - Throws: any error of the closure, unchanged; ``DatabaseError`` `notUnique`, which names both
  ///   documents, if two of them have the same values at the end: then nothing is changed.
  @discardableResult
  public func inBatch<R>(uniqueness: UniquenessCheck, _ body: () throws -> R) throws -> R {
    do {
      return try documents.write(uniqueness: uniqueness) { _ in try body() }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Syncs the file, so that everything saved with `.relaxed` durability survives a power failure.
  ///
  /// - Throws: ``DatabaseError`` `inputOutput` or `notWritable` if the sync fails or the file is
  ///   gone: after that, nothing can be saved until the database is opened again. `notOpen` once it
  ///   is closed.
  public func sync() throws {
    try documents.sync()
  }
}

extension Database.Configuration {
  var options: DocumentOptions {
    var options = DocumentOptions()
    options.store.durability = durability
    options.store.compaction = compaction
    options.store.reading = reading
    options.store.lockTimeout = lockTimeout
    options.store.onEvent = onEvent
    options.store.encryptionKey = encryptionKey
    options.store.cipherSuite = cipherSuite
    options.store.expectedAnchor = expectedAnchor
    options.depth = max(1, revisionDepth)
    options.format = documentFormat
    return options
  }
}

/// Adds the path of a database to errors that name none.
private func naming<R>(
  _ path: String, _ body: () throws(DatabaseError) -> R
) throws(DatabaseError) -> R {
  do { return try body() } catch {
    var named = error
    named.path = error.path ?? path
    throw named
  }
}
