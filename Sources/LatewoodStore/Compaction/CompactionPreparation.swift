import LatewoodBytes

/// The work of a layer above before a compaction: it deletes entries that it kept only until then.
struct CompactionPreparation: Sendable {
  /// Returns the number of bytes that `prepare` would delete.
  let reclaimable: @Sendable () -> UInt64
  /// Deletes those bytes, in separate transactions.
  let prepare: @Sendable () throws -> Void

  /// Runs `prepare`. Rethrows a `StoreError` as a fault of the same kind, any other error as
  /// `cancelled`.
  func run() throws(Fault) {
    do {
      try prepare()
    } catch let error as StoreError where error.code == .cancelled {
      throw CompactionControl.cancelled
    } catch {
      let what = "the work before the compaction failed"
      guard let error = error as? StoreError, let kind = Fault.Kind(rawValue: error.code.rawValue) else {
        throw Fault(.cancelled, "\(what): \(error)")
      }
      throw Fault(
        kind, "\(what): \(error.message)", offset: error.offset, errno: error.systemError, path: error.path,
        advice: error.advice)
    }
  }
}

extension Store {
  /// Sets the work to do before each compaction, automatic or not, and tells the policy how many
  /// bytes it would free.
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
    do throws(Fault) { try engine.compaction.checkCancellation() } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
