import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile
import LatewoodTree

/// A key-value database in one file.
///
/// ```swift
/// let store = try Store.open(at: "fruit.latewood")
/// let fruit = try store.keyspace("fruit")
/// try store.write { transaction in
///   try transaction.put("apple", "red", in: fruit)
///   try transaction.put("pear", "green", in: fruit)
/// }
/// let colour = try store.get("apple", in: fruit)          // the bytes of "red"
/// for entry in try store.entries(in: fruit, .prefix("p")) { print(entry.key, entry.value) }
/// ```
///
/// One process writes while any number of processes read. All methods may be called from any
/// thread: one transaction runs at a time, and reads and transactions never wait for each other.
/// Each read on the store itself sees the newest commit; a ``Snapshot`` keeps one state for many
/// reads.
///
/// The store closes with the last reference to it, but then an error of the last checkpoint cannot
/// be reported: call ``close()``.
public final class Store: Sendable {
  @usableFromInline let engine: Engine

  init(engine: Engine) { self.engine = engine }

  deinit {
    // An error cannot be reported from here. Acknowledged commits are in the log in any case.
    do throws(StorageError) { try engine.close() } catch {}
  }

  // MARK: Opening

  /// Opens a database file.
  ///
  /// Opening for writing replays the log since the last checkpoint. That takes milliseconds after a
  /// clean close, and about a second for 64 MiB of log after a crash.
  ///
  /// - Parameters:
  ///   - path: path of the file, in a directory that exists. A tilde at its start is not expanded.
  ///     Symbolic links are followed once. The lock file is next to the file, with the suffix
  ///     ".lock". Do not remove, rename or replace the file, or give it a second name, while a
  ///     store has it open: a call that notices this throws `fileMoved`, and so does every later
  ///     write.
  ///   - mode: default: for writing, created if there is no file.
  ///   - options: see ``Options``.
  /// - Throws: ``StoreError``: `notFound`, `alreadyExists`, `isDirectory`, `permissionDenied`,
  ///   `readOnlyMedia`, `emptyFile`, `notADatabase`, `tooNew`, `invalidName` if the path is too
  ///   long; `lockedByThisProcess` or `lockedByOtherProcess` if another open has it for writing,
  ///   and still has when ``Options/lockTimeout`` is over; `damaged` if acknowledged data cannot be
  ///   read; `keyNeeded`, `wrongKey` or `notEncrypted` if ``Options/encryptionKey`` does not fit
  ///   the file; `rolledBack` if it does not descend from ``Options/expectedAnchor``.
  public static func open(
    at path: String, mode: OpenMode = .openOrCreate, options: Options = Options()
  ) throws -> Store {
    try open(at: path, on: FileVolume(), mode: mode, options: options, environment: .system)
  }

  /// Creates a database in memory, which exists as long as the store.
  ///
  /// - Throws: ``StoreError`` `outOfMemory` if the system has no address space for it.
  public static func inMemory(options: Options = Options()) throws -> Store {
    var options = options
    options.reading = .mapped
    options.encryptionKey = nil
    options.expectedAnchor = nil
    return try open(
      at: "memory", on: MemoryVolume(), mode: .createNew, options: options, environment: .system)
  }

  /// Opens a database on any volume, for tests with simulated disks.
  ///
  /// - Parameter wait: how long to wait for the writer lock; default: the timeout of the options,
  ///   from now.
  package static func open(
    at path: String, on volume: any Volume, mode: OpenMode, options: Options, environment: Environment,
    waiting wait: LockWait? = nil
  ) throws(StoreError) -> Store {
    do throws(StorageError) {
      let options = options.clamped
      let wait = wait ?? LockWait(options.lockTimeout)
      let volume = ReadingVolume(volume, options.reading.ofFile)
      if mode != .readOnly { try SystemTimers.prepare() }
      let file = try file(at: path, on: volume, mode, options, environment, wait)
      // The open file has its own key; the caller's is not needed again.
      var engineOptions = options
      engineOptions.encryptionKey = nil
      let engine = try Engine(
        file: file, path: path, isReadOnly: mode == .readOnly, options: engineOptions,
        environment: environment)
      engine.scheduleCompaction()
      return Store(engine: engine)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  private static func file(
    at path: String, on volume: any Volume, _ mode: OpenMode, _ options: Options, _ environment: Environment,
    _ wait: LockWait
  ) throws(StorageError) -> DatabaseFile {
    while true {
      let exists = try volume.exists(path)
      switch mode {
      case .createNew where exists:
        throw StorageError(.alreadyExists, "there is already a file", path: path)
      case .openExisting where !exists, .readOnly where !exists:
        throw StorageError(.notFound, "the file does not exist", path: path)
      // A new file does not descend from any state.
      case .createNew where options.expectedAnchor != nil,
        .openOrCreate where !exists && options.expectedAnchor != nil:
        throw StorageError(.notFound, "the file with the expected state does not exist", path: path)
      case .openOrCreate where !exists, .createNew:
        do throws(StorageError) {
          try DatabaseFile.create(
            on: volume, path: path, environment: environment, permissions: options.permissions,
            encryption: options.encryption, waiting: wait)
        } catch {
          // Another process or thread has created the file in the meantime, which is fine unless
          // the file must be new.
          guard mode == .openOrCreate, error.kind == .alreadyExists else { throw error }
        }
      default: break
      }
      do throws(StorageError) {
        return try DatabaseFile.open(
          on: volume, path: path, readOnly: mode == .readOnly, environment: environment,
          key: options.encryption?.key, expecting: options.expectedAnchor, waiting: wait)
      } catch {
        // Only the key that every store of a test has.
        if error.kind == .notEncrypted, options.encryption == NewEncryption.usual,
          options.expectedAnchor == nil
        {
          return try DatabaseFile.open(
            on: volume, path: path, readOnly: mode == .readOnly, environment: environment, waiting: wait)
        }
        // Deleted while this waited for the lock.
        guard mode == .openOrCreate, error.kind == .notFound, !wait.isOver else { throw error }
      }
    }
  }

  /// Closes the store. Idempotent.
  ///
  /// Waits for the running transaction, checkpoints pending commits, then releases the file. Later
  /// calls on the store, and reads on its snapshots, throw `closed`.
  ///
  /// If earlier sessions have left much dead space, or the disk is full, this also reclaims it: see
  /// ``CompactionPolicy``. O(changes x log n); now and then O(live bytes), of at most 256 MiB, so
  /// that the average does not depend on the size of the file.
  ///
  /// - Throws: ``StoreError`` if the checkpoint could not be written. The store is closed
  ///   nevertheless, and acknowledged commits are in the file: the next open finds them in the log.
  ///   `invalidRange` inside the closure of a transaction or of a compaction; the store then stays
  ///   open.
  public func close() throws {
    do { try engine.close() } catch { throw StoreError(error, path: engine.path) }
  }

  /// The result of recovery when the store was opened.
  public var recovery: RecoveryReport { engine.recovery }

  /// Whether the store was opened read-only.
  public var isReadOnly: Bool { engine.isReadOnly }

  /// Whether the current thread runs a closure of a transaction, compaction, copy or backup, in
  /// which case waiting for the end of that work would be a deadlock.
  package var isWorkingHere: Bool { engine.head.isInTransaction || engine.compaction.isRunningHere }

  // MARK: Durability

  /// Makes everything committed so far survive a power cut. Costs one sync.
  ///
  /// - Throws: ``StoreError`` `inputOutput` or `outOfSpace`, after which the store is `poisoned`
  ///   for writing. `fileMoved` if the file is no longer at its path.
  public func sync() throws {
    do { try engine.sync() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Merges the commits since the last checkpoint into the tree, and waits for the end of the
  /// merge.
  ///
  /// Checkpoints run automatically; call this to minimize recovery time and memory use now. Writers
  /// and readers continue during the checkpoint. O(changes x log n).
  ///
  /// - Throws: ``StoreError`` `damaged` if the log is damaged, in which case the log is not merged
  ///   and the store is `poisoned` for writing, because recovery would not find commits after the
  ///   damage; `outOfSpace`, after which the call can be repeated; `inputOutput`, `poisoned`,
  ///   `fileMoved`, `readOnly`, `closed`.
  public func checkpoint() throws {
    do { try engine.requestCheckpoint() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Updates a read-only store with the commits of another process.
  ///
  /// - Returns: whether there were new commits.
  /// - Throws: ``StoreError`` `closed`; `damaged` or `inputOutput` if the new commits cannot be
  ///   read. The state then stays unchanged.
  @discardableResult
  public func refresh() throws -> Bool {
    do { return try engine.refresh() } catch { throw StoreError(error, path: engine.path) }
  }
}

extension Store: Readable {
  /// Returns a snapshot of the newest commit.
  ///
  /// - Throws: ``StoreError`` `closed`.
  public func snapshot() throws -> Snapshot {
    do { return Snapshot(engine, try engine.versions.current()) } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  /// The basis of the methods that read a range or the catalog of keyspaces.
  public var readOrigin: ReadOrigin { ReadOrigin(engine) }

  /// Looks up a key for ``get(_:in:)``, ``withValue(_:in:_:)`` and ``contains(_:in:)``, which also
  /// end the read: programs call those. O(log n).
  ///
  /// - Throws: ``StoreError`` like all reads.
  public func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> ValueInPlace {
    do {
      return try engine.find(
        key, in: keyspace, of: { engine.loadVersion($0) }, otherwise: { Engine.closedError })
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
