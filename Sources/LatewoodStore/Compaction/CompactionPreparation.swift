import LatewoodBytes

/// What a layer above does before the file is compacted: it deletes what it has kept only until then.
struct CompactionPreparation: Sendable {
  /// Bytes that `prepare` would delete.
  let reclaimable: @Sendable () -> UInt64
  /// Deletes them, in transactions of its own.
  let prepare: @Sendable () throws -> Void

  /// Throws `cancelled` with what was thrown.
  func run() throws(Fault) {
    do {
      try prepare()
    } catch {
      throw Fault(.cancelled, "what had to be done before the compaction failed: \(error)")
    }
  }
}

extension Store {
  /// Has something done before each compaction, whoever asks for it, and tells the policy of automatic ones how much that would bring.
  ///
  /// - Parameters:
  ///   - reclaimable: how many of the live bytes `prepare` would delete: they count as dead. Asked after checkpoints, from any thread;
  ///     it must not take long.
  ///   - prepare: called on the thread that compacts, before the compaction begins. It may use the store, but neither compact nor copy it.
  ///     What it throws ends the compaction with `cancelled`.
  package func setCompactionPreparation(
    reclaimable: @escaping @Sendable () -> UInt64, prepare: @escaping @Sendable () throws -> Void
  ) {
    engine.preparation.withLock { $0 = CompactionPreparation(reclaimable: reclaimable, prepare: prepare) }
  }
}
