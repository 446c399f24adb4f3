import Dispatch
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Calls that do not block the caller's thread: they run on Dispatch queues.
extension Database {
  /// Opens a database, creating it if there is none, without blocking the caller's thread.
  /// Otherwise like the blocking form. If the task is cancelled before the database is open, it is
  /// closed again, and this throws `CancellationError`.
  ///
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   the database is open.
  public static func open(
    at path: String, mode: OpenMode = .openOrCreate, configuration: Configuration = Configuration()
  ) async throws -> Database {
    try Task.checkCancellation()
    let database: Database = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result { try Database.open(at: path, mode: mode, configuration: configuration) })
      }
    }
    guard !Task.isCancelled else {
      try await database.performing { try database.close() }
      throw CancellationError()
    }
    return database
  }

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

  /// Saves binary content without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   the change is committed.
  public func saveBlob(_ content: Data, contentType: String? = nil) async throws -> Blob {
    try await inBatch { try self.saveBlob(content, contentType: contentType) }
  }

  /// Compacts the file without blocking the caller's thread. Otherwise like the blocking form. A
  /// compaction that has begun continues when the task is cancelled.
  ///
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   it begins.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: (@Sendable (CompactionProgress) -> Void)? = nil
  ) async throws -> CompactionReport {
    try await performing { try self.compact(bytesPerSecond: bytesPerSecond, progress: progress) }
  }

  /// Makes or updates a backup without blocking the caller's thread. Otherwise like the blocking
  /// form. A backup that has begun continues when the task is cancelled.
  ///
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   it begins.
  @discardableResult
  public func backup(
    to path: String, bytesPerSecond: UInt64? = nil, progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> BackupReport {
    try await performing { try self.backup(to: path, bytesPerSecond: bytesPerSecond, progress: progress) }
  }

  /// Verifies the whole file without blocking the caller's thread. Otherwise like the blocking
  /// form. A verification that has begun continues when the task is cancelled.
  ///
  /// - Throws: what the blocking form throws; `CancellationError` if the task is cancelled before
  ///   it begins.
  public func verify(
    progress: (@Sendable (VerifyProgress) -> Void)? = nil
  ) async throws -> DatabaseVerification {
    try await performing { try self.verify(progress: progress) }
  }

  /// Runs a call that may block, but begins no batch, on a Dispatch queue; also throws the errors
  /// of the caller's closures.
  func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await cancellable { database, check in
      try await database.documents.perform {
        try check()
        return try body()
      }
    }
  }

  /// Runs a call that gives up when its task is cancelled.
  ///
  /// - Parameter run: the call. Its second argument throws `CancellationError` once the task is
  ///   cancelled.
  private func cancellable<R: Sendable>(
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
