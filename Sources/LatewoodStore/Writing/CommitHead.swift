import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// The state that the next transaction starts from: committed in memory, but perhaps not yet
/// written.
struct Head {
  /// The number of the first version of a write buffer.
  static let first: UInt64 = 1
  /// The number of the version with this state, which may not exist yet.
  var number = Head.first
  var transaction: UInt64 = 0
  var active = BufferState()
  /// The handles known to refer to keyspaces of this state.
  var known = ValidatedKeyspaces()
}

/// The newest committed state of a store, and the writer lock, under which it changes.
///
/// ```
/// transaction    closure, encode, change the write buffer, replace the head
/// maintenance    one step of a checkpoint or compaction: microseconds
/// ```
///
/// Invariants:
/// 1. The head, the trees of write buffers, and everything in the log that is marked "writer" are
///    accessed only under the writer lock.
/// 2. Maintenance precedes the transactions that wait for the lock. The lock is unfair, so
///    maintenance might otherwise never get it.
/// 3. A commit is *settling* from its end under the lock until it is published or has failed. A
///    commit that is in the file but not yet published is never undone.
///
/// Thread safety: all methods may be called from any thread.
final class CommitHead: @unchecked Sendable {
  private let monitor = Monitor()
  // SAFETY: only accessed under `monitor`.
  private var state = Head()
  /// The maintenance steps that wait for the lock or hold it.
  private let maintenance = InFlightCounter()
  private let settling = InFlightCounter()
  /// The thread that runs the closure of a transaction; 0 if no closure is running.
  private let writingThread = Atomic<UInt>(0)
  /// The end of the newest synchronous commit in the log. Stored under the lock.
  private let synchronousEnd = Atomic<UInt64>(0)

  // MARK: The lock

  /// Takes the lock, after any maintenance that waits for it.
  func lock() {
    maintenance.waitForNone()
    monitor.lock()
  }

  func unlock() { monitor.unlock() }

  /// Takes the lock ahead of transactions.
  func lockForMaintenance() {
    maintenance.begin()
    monitor.lock()
  }

  func unlockForMaintenance() {
    monitor.unlock()
    maintenance.end()
  }

  func withMaintenance<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result
  {
    lockForMaintenance()
    defer { unlockForMaintenance() }
    return try body()
  }

  /// Whether maintenance waits for the lock.
  var isMaintenanceWaiting: Bool { !maintenance.isNone }

  /// Records that the current thread runs closures of transactions. Called under the lock.
  func beginClosures() { writingThread.store(Monitor.currentThread, ordering: .relaxed) }

  func endClosures() { writingThread.store(0, ordering: .relaxed) }

  /// Whether the current thread runs the closure of a transaction, and so holds the lock.
  var isInTransaction: Bool { writingThread.load(ordering: .relaxed) == Monitor.currentThread }

  // MARK: The state

  /// The newest state. Accessed under the lock.
  var newest: Head { state }

  /// Replaces the state. Called under the lock.
  func replace(with next: Head) { state = next }

  /// Replaces the write buffer with an empty one, for a checkpoint. Called under the lock.
  ///
  /// - Returns: the full buffer.
  func freeze() -> BufferState {
    defer {
      state.number += 1
      state.active = BufferState()
    }
    return state.active
  }

  // MARK: Settling

  /// Records a commit, or the end of a transaction that found an unpublished one. Called under the
  /// lock.
  func beginSettling() { settling.begin() }

  func endSettling() { settling.end() }

  /// Whether every commit is published or has failed.
  var isSettled: Bool { settling.isNone }

  /// Records the end of a synchronous commit in the log. Called under the lock.
  func didCommitSynchronously(through end: UInt64) { synchronousEnd.store(end, ordering: .relaxed) }

  /// Forgets synchronous commits to a file that was replaced, by one in which they are durable.
  /// Called under the lock.
  func forgetSynchronousCommits() { synchronousEnd.store(0, ordering: .relaxed) }

  /// Returns whether there is a synchronous commit that is not durable yet.
  func awaitsSync(of file: DatabaseFile) -> Bool {
    synchronousEnd.load(ordering: .relaxed) > file.syncedThrough
  }

  /// Undoes the commits in memory that could not be written to a full disk. Called under the lock.
  ///
  /// - Parameter version: the published version; nil if the store is closed.
  /// - Throws: `inputOutput` if the disk now fails in another way, which ends all writing;
  ///   `fileTooLarge` if the file cannot grow beyond the bytes that may have been written.
  func rollBackUnwritten(in file: DatabaseFile, to version: () -> Version?) throws(StorageError) {
    guard file.isOutOfSpace else { return }
    // Every running flush ends with the failure, and no new commit begins.
    settling.waitForNone()
    guard let version = version() else { return }
    if state.number > version.number {
      // Nodes of the lost transactions stay in the slab until the next checkpoint releases it.
      version.active.layer.forget(after: version.number, keeping: version.active)
      state.active = version.active
      state.transaction = version.transaction
      state.known = version.known
    }
    forgetSynchronousCommits()
    do throws(StorageError) {
      try file.recoverFromOutOfSpace()
    } catch {
      switch error.kind {
      // The log refuses writes with an error that states the reason.
      case .outOfSpace, .poisoned, .closed: return
      default: throw error
      }
    }
  }
}

/// A counter of running operations of some kind, with a wait until it is zero.
///
/// `begin` and `end` cost one atomic operation each, unless a thread waits.
final class InFlightCounter: Sendable {
  private let count = Atomic<Int>(0)
  private let waiters = Atomic<Int>(0)
  private let monitor = Monitor()

  var isNone: Bool { count.load(ordering: .acquiring) == 0 }

  func begin() { count.add(1, ordering: .sequentiallyConsistent) }

  func end() {
    let left = count.subtract(1, ordering: .sequentiallyConsistent).newValue
    // Either this sees the waiter, or the waiter sees that the count is zero.
    if left == 0, waiters.load(ordering: .sequentiallyConsistent) > 0 {
      monitor.withLock { monitor.broadcast() }
    }
  }

  func waitForNone() {
    if isNone { return }
    waiters.add(1, ordering: .sequentiallyConsistent)
    defer { waiters.subtract(1, ordering: .relaxed) }
    monitor.lock()
    defer { monitor.unlock() }
    while count.load(ordering: .sequentiallyConsistent) > 0 { monitor.wait() }
  }
}
