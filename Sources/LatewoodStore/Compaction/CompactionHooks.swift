import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree

/// The closures of the layers above that take part in compactions and copies.
///
/// Thread safety: any thread. Closures are neither called nor released under the lock, because they
/// may hold the last reference to an object of the caller.
final class CompactionHooks: Sendable {
  private let entryRewriters = Guarded<[UInt32: Rewriter]>([:])
  private let work = Guarded<CompactionPreparation?>(nil)

  /// The rewriters of entries, by the number of the keyspace.
  var rewriters: [UInt32: Rewriter] { entryRewriters.withLock { $0 } }

  func setRewriter(_ rewriter: Rewriter?, forKeyspace number: UInt32) {
    let old = entryRewriters.withLock { rewriters in
      defer { rewriters[number] = rewriter }
      return rewriters[number]
    }
    withExtendedLifetime(old) {}
  }

  /// The work of a layer above before a compaction.
  var preparation: CompactionPreparation? { work.withLock { $0 } }

  func setPreparation(_ preparation: CompactionPreparation) {
    let old = work.withLock { current in
      defer { current = preparation }
      return current
    }
    withExtendedLifetime(old) {}
  }
}

/// The work of a layer above before a compaction: it deletes entries that it kept only until then.
struct CompactionPreparation: Sendable {
  /// Returns the number of bytes that `prepare` would delete.
  let reclaimable: @Sendable () -> UInt64
  /// Deletes those bytes, in separate transactions.
  let prepare: @Sendable () throws -> Void

  /// Runs `prepare`. Rethrows a `StoreError` as a `StorageError` of the same kind, any other error
  /// as `cancelled`.
  func run() throws(StorageError) {
    do {
      try prepare()
    } catch let error as StoreError where error.code == .cancelled {
      throw CompactionControl.cancelled
    } catch {
      let what = "the work before the compaction failed"
      guard let error = error as? StoreError, let kind = StorageError.Kind(rawValue: error.code.rawValue)
      else {
        throw StorageError(.cancelled, "\(what): \(error)")
      }
      throw StorageError(
        kind, "\(what): \(error.message)", offset: error.offset, errno: error.systemError, path: error.path,
        advice: error.advice)
    }
  }
}

extension Store {
  /// Sets the work to do before each compaction, automatic or not, and provides the policy with the
  /// number of bytes that it would free.
  ///
  /// - Parameters:
  ///   - reclaimable: returns the number of live bytes that `prepare` would delete; they count as
  ///     dead. Called after checkpoints, from any thread; it must return quickly.
  ///   - prepare: called on the compacting thread before the compaction begins. It may use the
  ///     store, but `compact`, `copy`, `backup` and `close` throw `invalidRange` there. If it
  ///     throws a `StoreError`, the compaction ends with the same code; with any other error,
  ///     `cancelled`.
  package func setCompactionPreparation(
    reclaimable: @escaping @Sendable () -> UInt64, prepare: @escaping @Sendable () throws -> Void
  ) {
    engine.hooks.setPreparation(CompactionPreparation(reclaimable: reclaimable, prepare: prepare))
  }

  /// Throws ``StoreError`` `cancelled` if the running compaction has been cancelled. Meant for the
  /// steps of the work that precedes it.
  package func checkCompaction() throws {
    do throws(StorageError) { try engine.compaction.checkCancellation() } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
