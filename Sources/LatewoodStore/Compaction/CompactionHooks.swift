import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree

/// The closures of the layers above that take part in compactions and copies.
///
/// Thread safety: any thread. No closure is called, and none is released, under the lock: it may
/// hold the last reference to an object of the caller.
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
