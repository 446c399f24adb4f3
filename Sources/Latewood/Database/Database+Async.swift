import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodQuery
import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Calls that do not block the caller's thread: they run on Dispatch queues.
extension Database {
  /// Opens a database, creating it if there is none, without blocking the caller's thread.
  /// Otherwise like the blocking form. If the task is cancelled before the database is open, it
  /// stops waiting for another process, or is closed again, and this throws `CancellationError`.
  ///
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   the database is open.
  public static func open(
    at path: String, mode: OpenMode = .openOrCreate, configuration: Configuration = Configuration()
  ) async throws -> Database {
    try Task.checkCancellation()
    let wait = LockWait(configuration.lockTimeout)
    let database: Database
    do {
      database = try await withTaskCancellationHandler {
        try await fileQueue.perform {
          try Database.open(at: path, mode: mode, configuration: configuration, waiting: wait)
        }
      } onCancel: {
        wait.cancel()
      }
    } catch {
      if wait.isCancelled { throw CancellationError() }
      throw error
    }
    guard !Task.isCancelled else {
      try await database.close()
      throw CancellationError()
    }
    return database
  }

  /// Opens a database without blocking the caller's thread; nil if there is none. If the task is
  /// cancelled before the database is open, it is closed again, and this throws
  /// `CancellationError`.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the database is open.
  public static func existing(
    at path: String, configuration: Configuration = Configuration()
  ) async throws -> Database? {
    guard try await exists(at: path) else { return nil }
    return try await open(at: path, mode: .openExisting, configuration: configuration)
  }

  /// Returns whether there is a file at a path, without blocking the caller's thread.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public static func exists(at path: String) async throws -> Bool {
    try await performing { try exists(at: path) }
  }

  /// Deletes a database that is not open for writing, without blocking the caller's thread.
  /// Otherwise like the blocking form. Returns false if there was none.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  @discardableResult
  public static func delete(at path: String) async throws -> Bool {
    try await performing { try delete(at: path) }
  }

  /// Installs a prebuilt database without blocking the caller's thread. Otherwise like the blocking
  /// form. A copy that has begun continues when the task is cancelled.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public static func copy(from source: String, to target: String) async throws {
    try await performing { try copy(from: source, to: target) }
  }

  /// Replaces a closed database with a copy of another one, without blocking the caller's thread.
  /// Otherwise like the blocking form. A replacement that has begun continues when the task is
  /// cancelled.
  ///
  /// - Parameters:
  ///   - path: the path of the database to replace.
  ///   - source: the path of the database to copy.
  /// - Throws: like every async call; see ``DatabaseError``.
  public static func replace(at path: String, with source: String) async throws {
    try await performing { try replace(at: path, with: source) }
  }

  /// Closes this handle without blocking the caller's thread. Otherwise like the blocking form;
  /// also closes it if the task is cancelled.
  ///
  /// - Throws: the errors of the blocking form.
  public func close() async throws { try await Self.fileQueue.perform { try self.close() } }

  /// Closes this handle and deletes the file, without blocking the caller's thread. Otherwise like
  /// the blocking form.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   it begins: the handle is then still open, and the file still exists.
  public func delete() async throws {
    try await Self.performing { try self.delete() }
  }

  /// Syncs the file, so that everything saved with `.relaxed` durability survives a power failure,
  /// without blocking the caller's thread.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public func sync() async throws { try await performing { try self.sync() } }

  /// Returns sizes and counts of the file without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func statistics() async throws -> Statistics {
    try await performing { try self.statistics() }
  }

  /// Sets the number of generations to keep, without blocking the caller's thread. Otherwise like
  /// the blocking form.
  ///
  /// - Parameter depth: the number of generations, at least 1.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func setRevisionDepth(_ depth: Int) async throws {
    try await inBatch { try self.setRevisionDepth(depth) }
  }

  // MARK: Collections

  /// Returns the collection with a given name, creating it if there is none, without blocking the
  /// caller's thread.
  ///
  /// - Parameter name: 1 to 251 of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`; preceded by
  ///   the name of a scope and a period, if the collection is in one.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func createCollection(_ name: String) async throws -> DocumentCollection {
    if let existing = try await performing({ try self.collection(name) }) { return existing }
    return try await inBatch { try self.createCollection(name) }
  }

  /// Immediately deletes a collection with all its documents, without blocking the caller's thread.
  /// Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func dropCollection(_ name: String) async throws -> Bool {
    try CollectionName.check(name)
    return try await cancellable { database, check in
      try await database.documents.dropCollection(name, check: check)
    }
  }

  // MARK: Batches

  /// Commits everything that a closure saves, deletes and purges as one transaction, without
  /// blocking the caller's thread. Otherwise like the blocking form; the closure runs on a Dispatch
  /// queue.
  ///
  /// If the task is cancelled before the closure has returned, nothing is changed, and this throws
  /// `CancellationError`.
  ///
  /// - Throws: any error of the closure, unchanged; ``DatabaseError``; `CancellationError` if the
  ///   task is cancelled before the closure has returned.
  @discardableResult
  public func inBatch<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await cancellable { database, check in
      try await database.documents.write { _ in
        try check()
        let result = try body()
        try check()
        return result
      }
    }
  }

  /// Commits everything that a closure changes as one transaction, without blocking the caller's
  /// thread, and checks unique indexes at a given time. Otherwise like the blocking form; the
  /// closure runs on a Dispatch queue.
  ///
  /// - Parameters:
  ///   - uniqueness: the time.
  ///   - body: the changes.
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   the closure has returned.
  @discardableResult
  public func inBatch<R: Sendable>(
    uniqueness: UniquenessCheck, _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await cancellable { database, check in
      try await database.documents.write(uniqueness: uniqueness) { _ in
        try check()
        let result = try body()
        try check()
        return result
      }
    }
  }

  // MARK: Upkeep

  /// Compacts the file without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// If the task is cancelled, the compaction is cancelled at its next step: the database continues
  /// to use the old file, and the unfinished one is removed. Only old content may have been removed
  /// by then. If the call is waiting for a compaction that another caller has begun, that
  /// compaction continues.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: the maximum number of bytes to write per second; nil for no limit.
  ///   - progress: called periodically, on a Dispatch queue. If it throws, the compaction is
  ///     cancelled in the same way. An error thrown by the last call, with the fraction 1, is too
  ///     late to cancel it.
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the new file has replaced the old one.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: (@Sendable (CompactionProgress) throws -> Void)? = nil
  ) async throws -> CompactionReport {
    try Task.checkCancellation()
    return try await documents.compact(bytesPerSecond: bytesPerSecond, progress: progress)
  }

  /// Creates or updates a backup without blocking the caller's thread. Otherwise like the blocking
  /// form. A backup that has begun continues when the task is cancelled.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  @discardableResult
  public func backup(
    to path: String, bytesPerSecond: UInt64? = nil, progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> BackupReport {
    try await performing { try self.backup(to: path, bytesPerSecond: bytesPerSecond, progress: progress) }
  }

  /// Verifies the entire file without blocking the caller's thread. Otherwise like the blocking
  /// form. A verification that has begun continues when the task is cancelled.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public func verify(
    progress: (@Sendable (VerifyProgress) -> Void)? = nil
  ) async throws -> DatabaseVerification {
    try await performing { try self.verify(progress: progress) }
  }

  /// Runs a call that may block, but begins no batch, on a Dispatch queue; also throws the errors
  /// of the caller's closures. Its queries end when the task is cancelled.
  func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await cancellable { database, check in
      try await database.documents.perform {
        try check()
        return try QuerySteps(check).run(body)
      }
    }
  }

  /// The queue on which files are opened, closed, copied and deleted for async callers.
  static let fileQueue = DispatchQueue(label: "latewood.files", attributes: .concurrent)

  /// Runs a call that may block, and needs no open database, on a Dispatch queue, unless the task
  /// has already been cancelled.
  static func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try Task.checkCancellation()
    return try await fileQueue.perform(body)
  }

  /// Runs a call that stops when its task is cancelled.
  ///
  /// - Parameter run: the call. Its second argument throws `CancellationError` once the task is
  ///   cancelled.
  func cancellable<R: Sendable>(
    _ run: (Database, @escaping @Sendable () throws -> Void) async throws -> R
  ) async throws -> R {
    let isCancelled = Guarded(Task.isCancelled)
    return try await withTaskCancellationHandler {
      do {
        return try await run(self) {
          if isCancelled.withLock({ $0 }) { throw CancellationError() }
        }
      } catch { throw DatabaseError.translated(error) }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }
}
