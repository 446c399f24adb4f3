import LatewoodBytes

/// What a layer above does before the file is compacted: it deletes what it has kept only until
/// then.
struct CompactionPreparation: Sendable {
  /// Bytes that `prepare` would delete.
  let reclaimable: @Sendable () -> UInt64
  /// Deletes them, in transactions of its own.
  let prepare: @Sendable () throws -> Void

  /// Throws what the store threw, of the same kind, or else `cancelled`; with what was thrown.
  func run() throws(Fault) {
    do {
      try prepare()
    } catch {
      let what = "what had to be done before the compaction failed"
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
  /// Has something done before each compaction, whoever asks for it, and tells the policy of
  /// automatic ones how much that would bring.
  ///
  /// - Parameters:
  ///   - reclaimable: how many of the live bytes `prepare` would delete: they count as dead. Asked
  ///     after checkpoints, from any thread; it must not take long.
  ///   - prepare: called on the thread that compacts, before the compaction begins. It may use the
  ///     store; to compact, copy, back up or close it there is `invalidRange`. A `StoreError` that
  ///     it throws ends the compaction with its own code, any other error with `cancelled`.
  package func setCompactionPreparation(
    reclaimable: @escaping @Sendable () -> UInt64, prepare: @escaping @Sendable () throws -> Void
  ) {
    let preparation = CompactionPreparation(reclaimable: reclaimable, prepare: prepare)
    // The one before goes outside of the lock.
    let old = engine.preparation.withLock { current in
      defer { current = preparation }
      return current
    }
    withExtendedLifetime(old) {}
  }
}
