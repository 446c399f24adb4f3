import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece

/// A replication from one peer to another.
///
/// It works in sessions. A session finds the sequence to start after, and transfers the changes of
/// the source in batches. A transient error ends the session; after a delay, the next session
/// continues.
///
/// ```
/// information, local documents   the sequence up to which both sides have everything
/// changes                        a batch of documents with their leaves
///   missing                      the ones that the target lacks
///   revisions                    these, with histories and attachments
///   insert                       an outcome for each
/// ensureDurable                  of both sides, then
/// putLocalDocument               the checkpoint: at the source, then at the target
/// ```
///
/// Invariants:
/// 1. A checkpoint names a sequence only if every revision up to it is durable at the target, or
///    was permanently refused and reported.
/// 2. A revision is sent only after the target has reported it missing, so a repeated session does
///    not send anything twice.
/// 3. A checkpoint is not written again while its sequence is unchanged.
///
/// Thread safety: `run` is called once; the rest from any task.
package final class Replication: Sendable {
  let source: any ReplicationPeer
  let target: any ReplicationPeer
  let setup: ReplicationSetup
  private let reporter: Reporter

  /// - Parameters:
  ///   - onStatus: called after each change of the status, by one task at a time.
  ///   - onFailure: called for each revision that could not be transferred.
  package init(
    from source: any ReplicationPeer, to target: any ReplicationPeer,
    _ setup: ReplicationSetup = ReplicationSetup(),
    onStatus: @escaping @Sendable (ReplicationStatus) -> Void = { _ in },
    onFailure: @escaping @Sendable (ReplicationFailure) -> Void = { _ in }
  ) {
    self.source = source
    self.target = target
    self.setup = setup
    reporter = Reporter(onStatus: onStatus, onFailure: onFailure)
  }

  package var status: ReplicationStatus { reporter.status }

  /// Replicates until everything has been transferred, or, if continuous, until the task is
  /// cancelled.
  ///
  /// - Returns: the status at the end.
  /// - Throws: ``ReplicationError`` if the error is permanent, or has lasted longer than the
  ///   setup's `retries` allow; `CancellationError`. Revisions that were already transferred stay.
  @discardableResult
  package func run() async throws -> ReplicationStatus {
    var failures = 0
    do {
      while true {
        let before = reporter.progress
        do {
          try await ReplicationSession(source, target, setup, reporter).run()
          reporter.update { $0.activity = .stopped }
          return status
        } catch let error as ReplicationError where error.isTransient {
          failures = reporter.progress == before ? failures + 1 : 1
          let pause = setup.retries.delay(afterFailures: failures, random: setup.environment.random())
          guard let pause else { throw error }
          reporter.update {
            $0.activity = .offline
            $0.error = error
          }
          try await setup.sleep(max(pause, error.retryAfter ?? .zero))
        }
      }
    } catch {
      reporter.update {
        $0.activity = .stopped
        $0.error = error as? ReplicationError
      }
      throw error
    }
  }
}

/// The status of a replication, which its sessions change and which others read.
final class Reporter: Sendable {
  private let state = Guarded(ReplicationStatus())
  private let onStatus: @Sendable (ReplicationStatus) -> Void
  private let onFailure: @Sendable (ReplicationFailure) -> Void

  init(
    onStatus: @escaping @Sendable (ReplicationStatus) -> Void,
    onFailure: @escaping @Sendable (ReplicationFailure) -> Void
  ) {
    self.onStatus = onStatus
    self.onFailure = onFailure
  }

  var status: ReplicationStatus { state.withLock { $0 } }

  /// The progress that the next session keeps. Comparing the same changes again does not count.
  struct Progress: Equatable {
    var written: Int
    var keptPlace: PeerSequence?
  }

  var progress: Progress {
    state.withLock { Progress(written: $0.written, keptPlace: $0.keptPlace) }
  }

  func update(_ change: (inout ReplicationStatus) -> Void) {
    let (old, new) = state.withLock { status in
      let old = status
      change(&status)
      return (old, status)
    }
    if old != new { onStatus(new) }
  }

  func report(_ failure: ReplicationFailure) { onFailure(failure) }
}
