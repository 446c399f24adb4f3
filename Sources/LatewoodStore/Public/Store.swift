import Dispatch
import LatewoodBytes
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
/// One process writes; any number of processes read beside it. In the writing process all calls may
/// come from any thread: one transaction runs at a time, and reads never wait for it nor it for
/// them. Reads on the store itself see the newest commit, each call for itself; a ``Snapshot``
/// holds one state for many reads.
///
/// The store closes when the last reference to it goes, but then no error of the last checkpoint
/// can be reported: call ``close()``.
public final class Store: Sendable {
  let engine: Engine

  init(engine: Engine) { self.engine = engine }

  deinit {
    // Nobody is left to be told of an error; what was acknowledged is in the log all the same.
    do throws(Fault) { try engine.close() } catch {}
  }

  // MARK: Opening

  /// Opens a database file.
  ///
  /// Opening for writing applies what the log holds since the last checkpoint: milliseconds after a
  /// clean close, about a second for 64 MiB of log after a crash.
  ///
  /// - Parameters:
  ///   - path: of the file, in a directory that exists; a tilde at its start means nothing.
  ///     Symbolic links are followed once. Beside the file lies its lock, named as the file and
  ///     ".lock". Do not remove, rename or replace the file, nor give it a second name, while a
  ///     store has it open: what finds it gone throws `fileMoved`, as does every write from then
  ///     on.
  ///   - mode: default: for writing, created if there is no file.
  ///   - options: see ``Options``.
  /// - Throws: ``StoreError``: `notFound`, `alreadyExists`, `isDirectory`, `permissionDenied`,
  ///   `readOnlyMedia`, `emptyFile`, `notADatabase`, `tooNew`, `invalidName` if the path is too
  ///   long, `lockedByThisProcess`, `lockedByOtherProcess`; `damaged` if acknowledged data cannot
  ///   be read.
  public static func open(
    at path: String, mode: OpenMode = .openOrCreate, options: Options = Options()
  ) throws(StoreError) -> Store {
    try open(at: path, on: FileVolume(), mode: mode, options: options, environment: .system)
  }

  /// A database that lives in memory and is gone when the store goes.
  ///
  /// - Throws: ``StoreError`` `outOfMemory` if the system has no address space for it.
  public static func inMemory(options: Options = Options()) throws(StoreError) -> Store {
    try open(
      at: "memory", on: MemoryVolume(), mode: .createNew, options: options, environment: .system)
  }

  /// Opens on any volume: the seam for simulated disks.
  package static func open(
    at path: String, on volume: any Volume, mode: OpenMode, options: Options, environment: Environment
  ) throws(StoreError) -> Store {
    do throws(Fault) {
      let options = options.clamped
      if mode != .readOnly { try SystemTimers.prepare() }
      let exists = try volume.exists(path)
      switch mode {
      case .createNew where exists:
        throw Fault(.alreadyExists, "there is a file already", path: path)
      case .openExisting where !exists, .readOnly where !exists:
        throw Fault(.notFound, "there is no such file", path: path)
      case .openOrCreate where !exists, .createNew:
        do throws(Fault) {
          try LogFile.create(
            on: volume, path: path, environment: environment, permissions: options.permissions)
        } catch {
          // Another process or thread has made it meanwhile; that is as good, unless it had to be
          // new.
          guard mode == .openOrCreate, error.kind == .alreadyExists else { throw error }
        }
      default: break
      }
      let log = try LogFile.open(
        on: volume, path: path, readOnly: mode == .readOnly, environment: environment)
      let engine = try Engine(
        log: log, path: path, isReadOnly: mode == .readOnly, options: options, environment: environment)
      engine.compactLater()
      return Store(engine: engine)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Closes the store. Idempotent.
  ///
  /// Waits for the transaction that is running, writes a checkpoint of what is not in one yet, and
  /// gives the file free. Later calls on the store throw `closed`, and so do reads on its
  /// snapshots.
  ///
  /// - Throws: ``StoreError`` if the checkpoint could not be written. The store is closed all the
  ///   same, and what was acknowledged is in the file: the next open finds it in the log.
  ///   `invalidRange` inside the closure of a transaction or of a compaction; then it stays open.
  public func close() throws(StoreError) {
    do { try engine.close() } catch { throw StoreError(error, path: engine.path) }
  }

  /// What opening found.
  public var recovery: RecoveryReport { engine.recovery }

  /// Whether it was opened to be read only.
  public var isReadOnly: Bool { engine.isReadOnly }

  /// Whether this thread is in the closure of a transaction, or of a compaction, copy or backup, so
  /// that it must not wait for its end.
  package var isWorkingHere: Bool { engine.isInTransaction || engine.compaction.isRunningHere }

  // MARK: Durability

  /// Makes everything committed so far survive a power cut. One sync.
  ///
  /// - Throws: ``StoreError`` `inputOutput` or `outOfSpace`; then the store is `poisoned` for
  ///   writing. `fileMoved` if the file is not at its path any more.
  public func sync() throws(StoreError) {
    do { try engine.sync() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Merges what the log has brought since the last checkpoint into the tree, and waits for it.
  ///
  /// Checkpoints run by themselves; this is for whoever wants a short recovery, or the smallest
  /// memory, now. Writers and readers go on. O(changes x log n).
  ///
  /// - Throws: ``StoreError`` `damaged` if the log is not what was written. Nothing of it is merged
  ///   then, and the store is `poisoned` for writing: commits after the damage would be out of
  ///   reach for whoever opens the file. `outOfSpace`, after which it can be tried again;
  ///   `inputOutput`, `poisoned`, `fileMoved`, `readOnly`, `closed`.
  public func checkpoint() throws(StoreError) {
    do { try engine.requestCheckpoint() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Of a store that was opened to be read only: takes in what another process has committed since.
  ///
  /// - Returns: whether there was anything new.
  @discardableResult
  public func refresh() throws(StoreError) -> Bool {
    do { return try engine.refresh() } catch { throw StoreError(error, path: engine.path) }
  }
}
