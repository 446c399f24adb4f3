import LatewoodConcurrency
import LatewoodFile
import Synchronization

/// Tracks free-space pressure on the disk: whether space is low or tight, when to retry freeing
/// some, and the loan of the log's reserve to a compaction.
///
/// ```
/// plenty  ->  low      transactions write smaller checkpoints
///         ->  tight    only the reserve is left: dead space is reclaimed immediately
/// ```
///
/// The log determines the state; see `LogWriter.isLowOnSpace` and `LogWriter.isTight`.
///
/// A transaction passes here twice: `admits` before its closure, and `didCommit` or `didRefuse` at
/// its end. Everything else is done only on a disk that fills up (`Engine+Relief.swift`).
///
/// Thread safety: all methods may be called from any thread.
final class DiskSpace: Sendable {
  private let attempts = Guarded(ReliefAttempts())
  private let low = Atomic<Bool>(false)
  private let tight = Atomic<Bool>(false)
  /// The reserve of the log while a compaction uses it.
  let loan = ReserveLoan()

  var isLow: Bool { low.load(ordering: .relaxed) }
  var isTight: Bool { tight.load(ordering: .relaxed) }

  /// Records the space that the log has found. Called under the writer lock.
  ///
  /// - Returns: whether that changes anything. Then the threshold of checkpoints, and with it the
  ///   price for writers, has changed, too.
  @discardableResult func note(_ file: DatabaseFile) -> Bool {
    let (isLow, isTight) = (file.writer.isLowOnSpace, file.writer.isTight)
    guard isLow != self.isLow || isTight != self.isTight else { return false }
    low.store(isLow, ordering: .relaxed)
    tight.store(isTight, ordering: .relaxed)
    return true
  }

  /// Returns whether a transaction can begin without waiting for space, freeing some or repairing
  /// the log. Called under the writer lock.
  @inline(__always) func admits(to file: DatabaseFile) -> Bool {
    !isTight && !loan.isUnderWay && !file.isInterrupted
  }

  /// Records a commit. Called under the writer lock.
  ///
  /// - Parameters:
  ///   - transaction: the number of its transaction.
  ///   - removes: whether it only freed space.
  /// - Returns: as `note`.
  func didCommit(_ transaction: UInt64, to file: DatabaseFile, removes: Bool) -> Bool {
    let isChanged = note(file)
    if isTight { attempts.withLock { $0.didCommit(transaction, removes: removes) } }
    return isChanged
  }

  /// Records that the commit after a transaction found no space outside the reserve. There may be
  /// space for shorter commits. The next transaction tries to free space. Called under the writer
  /// lock.
  func didRefuse(after transaction: UInt64, by file: DatabaseFile) {
    note(file)
    tight.store(true, ordering: .relaxed)
    attempts.withLock { $0.wasRefused(after: transaction) }
  }

  /// Whether a commit was refused, and may find space after the next transaction has tried to free
  /// some.
  var isReliefHopeful: Bool { attempts.withLock { $0.isHopeful } }

  /// Returns whether freeing space should be tried now, and postpones the next attempt if so.
  func takeAttempt() -> Bool { attempts.withLock { $0.take() } }

  /// Records that the last attempt could not free the space that readers keep. The end of readers
  /// is not announced, so the next refused commit tries again.
  func noteBlockedByReaders() { attempts.withLock { $0.noteBlockedByReaders() } }

  /// Records that the reserve is complete again.
  func noteSpaceRecovered() { attempts.withLock { $0.end() } }
}

/// The events since a full disk was last freed, and the decision to try that again.
///
/// Freeing requires a checkpoint, which may reclaim little. It is therefore tried after the first
/// transaction that removes something, then after twice as many each time. It is also tried after a
/// refused commit, if there were commits since the last attempt or readers hindered that attempt.
struct ReliefAttempts {
  private static let greatestDue = 64

  /// The number of transactions that removed something.
  private var removals = 0
  private var due = 1
  private var isWanted = false
  /// The number of the newest transaction.
  private var newest: UInt64 = 0
  /// The number of the newest transaction at the last attempt; nil if there was no attempt, or
  /// readers hindered it.
  private var tried: UInt64?

  mutating func didCommit(_ transaction: UInt64, removes: Bool) {
    newest = transaction
    if removes { removals += 1 }
  }

  mutating func wasRefused(after transaction: UInt64) {
    newest = transaction
    isWanted = true
  }

  /// Whether a commit was refused, and may find space after another attempt.
  var isHopeful: Bool { isWanted && tried != newest }

  /// Returns whether freeing should be tried now, and postpones the next attempt if so.
  mutating func take() -> Bool {
    let isDue = removals >= due
    guard isDue || isHopeful else { return false }
    if isDue { due = min(2 * due, ReliefAttempts.greatestDue) }
    removals = 0
    isWanted = false
    tried = newest
    return true
  }

  /// Records that readers hindered the last attempt.
  mutating func noteBlockedByReaders() { tried = nil }

  /// Restarts the count, because there is space.
  mutating func end() {
    removals = 0
    due = 1
    isWanted = false
  }
}

/// The period for which a compaction has borrowed the blocks of the log's reserve for its new file.
///
/// During the loan even deletes could fail, so transactions wait for its end. They wait at most ten
/// seconds, because the compaction may itself be waiting for a transaction.
///
/// Thread safety: all methods may be called from any thread; a loan begins under the writer lock.
final class ReserveLoan: Sendable {
  private static let longestWait: UInt64 = 10_000_000_000
  private let monitor = Monitor()
  private let isLent = Atomic<Bool>(false)

  @inline(__always) var isUnderWay: Bool { isLent.load(ordering: .relaxed) }

  func begin() { isLent.store(true, ordering: .relaxed) }

  func end() {
    monitor.withLock {
      isLent.store(false, ordering: .relaxed)
      monitor.broadcast()
    }
  }

  /// Lets waiting threads check again whether the compaction is paused.
  func wake() { monitor.withLock { monitor.broadcast() } }

  /// Waits until the reserve is back. Returns false after ten seconds, or if `isPaused` returns
  /// true; pausing the compaction must be followed by `wake`.
  func waitForEnd(unless isPaused: () -> Bool) -> Bool {
    let began = MonotonicClock.nanoseconds
    monitor.lock()
    defer { monitor.unlock() }
    while isUnderWay {
      let waited = MonotonicClock.nanoseconds - began
      if isPaused() || waited >= ReserveLoan.longestWait { return false }
      _ = monitor.wait(milliseconds: (ReserveLoan.longestWait - waited) / 1_000_000 + 1)
    }
    return true
  }
}
