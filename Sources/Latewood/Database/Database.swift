import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// A database of documents in one file.
///
/// ```swift
/// let database = try Database.open(at: "people.latewood")
/// let people = try database.defaultCollection
/// var anna = try MutableDocument(id: "anna", ["name": "Anna", "city": "Porto"])
/// try people.save(anna)
/// let city = try people.document("anna")?["city"].string
/// ```
///
/// Everything that a save changes is one transaction: after a crash all of it is there or nothing.
/// When `save` returns, it survives a power cut, unless the configuration says otherwise; several
/// saves share the wait in ``inBatch(_:)-7xlss``.
///
/// Thread safety: all calls from any thread. Reads never wait for writers. The same file opened
/// twice in one process is the same database underneath; it closes with the last one of them. Of
/// several processes one can write.
///
/// Others can open the file with the mode `.readOnly` meanwhile. What the writing process has
/// committed is seen by their reads after 10 ms, and by their feeds and listeners after 100 ms,
/// plus the time that it takes to read it from the log. If what is new cannot be read, reads throw
/// that until it can.
public final class Database: Sendable {
  /// How a database is opened.
  ///
  /// Of a file that this process has open already:
  ///
  /// | setting | of a second open | | --- | --- | | `durability` | counts for what is saved through
  /// it; in a batch of several the strictest counts | | `isStrict` | counts for what is saved
  /// through it | | `revisionDepth` | has no effect, as of every file that exists; see
  /// ``Database/setRevisionDepth(_:)`` | | `compaction` | the default takes what the first open
  /// asked for; another one than that is refused |
  public struct Configuration: Sendable {
    /// When a save counts as done. Default: `.synchronous`, when it survives a power cut.
    public var durability = Durability.synchronous
    /// Whether members whose names start with an underscore are all refused, not only those that
    /// are reserved. Default: false.
    public var isStrict = false
    /// How many generations of revisions a new database keeps of each document, at least 1.
    /// Default: 20.
    public var revisionDepth = 20
    /// When the file is compacted by itself.
    public var compaction = CompactionPolicy()

    public init() {}
  }

  /// Whether a file is made, or must exist.
  public typealias OpenMode = Store.OpenMode

  /// Of the file; nil for a database in memory.
  public let path: String?
  let documents: DocumentStore
  let configuration: Configuration
  /// Blobs that were saved and that no saved document refers to yet, a handle for each time: held,
  /// so that no compaction takes them away.
  let heldBlobs = Guarded<[BlobDigest: [BlobHandle]]>([:])

  init(_ documents: DocumentStore, path: String?, configuration: Configuration) {
    self.documents = documents
    self.path = path
    self.configuration = configuration
  }

  // MARK: Opening

  /// Opens a database, and makes it if there is none.
  ///
  /// - Parameters:
  ///   - path: of the file, in a directory that exists; a tilde at its start means nothing. As long
  ///     as the database is open the file must stay where it is: once it is found removed, renamed
  ///     or replaced, every save throws `notWritable`.
  ///   - mode: default: for writing, made if there is no file.
  ///   - configuration: of this open; what is kept in the file is not changed by it.
  /// - Throws: ``DatabaseError`` `notFound`, `busy` if another process writes to it, or if this
  ///   thread is in a batch of it while another thread closes it; `wrongFormat`, `tooNew`,
  ///   `corruptData`, `notWritable`, `inputOutput`; `conflict` if a new one was asked for and there
  ///   is one; `invalidParameter` if it is open in this process with another compaction policy.
  public static func open(
    at path: String, mode: OpenMode = .openOrCreate, configuration: Configuration = Configuration()
  ) throws(DatabaseError) -> Database {
    let documents = try translating(path) { () throws(DocumentError) in
      try DocumentStore.open(at: path, mode: mode, options: configuration.options)
    }
    return Database(documents, path: path, configuration: configuration)
  }

  /// A database that lives in memory and goes with its last reference.
  public static func inMemory(
    configuration: Configuration = Configuration()
  ) throws(DatabaseError) -> Database {
    let documents = try translating { () throws(DocumentError) in
      try DocumentStore.inMemory(options: configuration.options)
    }
    return Database(documents, path: nil, configuration: configuration)
  }

  /// Opens a database; nil if there is none. Throws as ``open(at:mode:configuration:)``.
  public static func existing(
    at path: String, configuration: Configuration = Configuration()
  ) throws(DatabaseError) -> Database? {
    guard try exists(at: path) else { return nil }
    return try open(at: path, mode: .openExisting, configuration: configuration)
  }

  /// Whether there is a file of this name.
  public static func exists(at path: String) throws(DatabaseError) -> Bool {
    do { return try FileVolume().exists(path) } catch {
      throw DatabaseError(StoreError(error, path: path))
    }
  }

  /// Deletes a database that nobody has open for writing. False if there is none. What reads it
  /// goes on reading.
  ///
  /// The lock file beside it stays: to remove it could take it from under a process that is just
  /// locking it.
  ///
  /// - Throws: ``DatabaseError`` `busy` if it is open for writing, here or in another process;
  ///   `wrongFormat` if the file is no database.
  @discardableResult
  public static func delete(at path: String) throws(DatabaseError) -> Bool {
    guard try exists(at: path) else { return false }
    do {
      let store = try Store.open(at: path, mode: .readOnly)
      try store.close()
      let volume = FileVolume()
      let path = try volume.resolved(path)
      let lock: any FileLock
      do throws(Fault) { lock = try volume.lockForWriting(path) } catch {
        var fault = error
        fault.advice = "Close the database first, here and in other processes."
        throw fault
      }
      defer { lock.unlock() }
      try volume.remove(path)
      try volume.syncDirectory(containing: path)
      return true
    } catch let error as StoreError {
      throw DatabaseError(error)
    } catch let error as Fault {
      throw DatabaseError(StoreError(error, path: path))
    } catch {
      throw DatabaseError(.inputOutput, "\(error)")
    }
  }

  /// Installs a prebuilt database: a compacted copy with an identity of its own, which this user
  /// can write to, whatever the permissions of the source are. The source may be open.
  ///
  /// The copy is at `target` when it is whole, durable, and has its identity; after a crash at any
  /// moment it is there whole or not at all. Content of revisions that are not current does not
  /// come along, that of unresolved conflicts excepted. While this runs it takes room on the disk
  /// beside `target` for the source's live data, and once more for the copy.
  ///
  /// - Throws: ``DatabaseError`` `notFound`; `conflict` if there is a file at `target`; `busy` if
  ///   another process makes one there; `inputOutput`, `notWritable`.
  public static func copy(from source: String, to target: String) throws(DatabaseError) {
    try translating(source) { () throws(DocumentError) in
      let original = try DocumentStore.open(at: source, mode: .readOnly)
      try original.install(at: target, on: FileVolume())
      try original.close()
    }
  }

  /// Closes it; the file closes with the last of those who have opened it, after the batches that
  /// are running. Idempotent. Every call after that throws `notOpen`.
  ///
  /// - Throws: ``DatabaseError`` `busy` inside of a batch, and in the `progress` of a compaction:
  ///   then it stays open. `inputOutput`, `notWritable` if the file could not be brought to rest;
  ///   then it is closed all the same, and what was committed is in it.
  public func close() throws(DatabaseError) {
    try translating { () throws(DocumentError) in try documents.close() }
    // Handles go outside of the lock.
    let held = heldBlobs.withLock { held in
      defer { held = [:] }
      return held
    }
    withExtendedLifetime(held) {}
  }

  // MARK: Facts

  /// Whether it was opened to be read only.
  public var isReadOnly: Bool { documents.isReadOnly }

  /// 32 hexadecimal digits that no other database has; a copy has its own.
  public var identity: String {
    get throws(DatabaseError) {
      try translating { () throws(DocumentError) in try documents.identity() }
        .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }

  /// How many generations of revisions are kept of each document; kept in the file.
  public var revisionDepth: Int { documents.depth }

  /// Changes how many generations are kept, at least 1. A document is pruned when it is changed
  /// next.
  public func setRevisionDepth(_ depth: Int) throws(DatabaseError) {
    try translating { () throws(DocumentError) in try documents.setDepth(depth) }
  }

  // MARK: Batches

  /// Commits all that a closure saves, deletes and purges together, in one transaction: far faster
  /// than one by one, and all or nothing.
  ///
  /// Reads inside see what the batch has changed; others see it when it has been committed. Batches
  /// of other threads wait. A batch inside a batch joins it. If the closure throws, nothing has
  /// happened.
  ///
  /// - Throws: what the closure throws, unchanged; ``DatabaseError``.
  @discardableResult
  public func inBatch<R>(_ body: () throws -> R) throws -> R {
    do { return try documents.write { _ in try body() } } catch { throw DatabaseError.translated(error) }
  }

  /// Makes what was saved with `.relaxed` durability survive a power cut.
  public func sync() throws(DatabaseError) {
    try translating { () throws(DocumentError) in try documents.sync() }
  }
}

extension Database.Configuration {
  var options: DocumentOptions {
    var options = DocumentOptions()
    options.store.durability = durability
    options.store.compaction = compaction
    options.depth = max(1, revisionDepth)
    return options
  }
}
