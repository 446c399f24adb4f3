import LatewoodBytes
import LatewoodConcurrency

/// The opens of this process that wait for writer locks.
///
/// ```
/// open --+  first come, first served
/// open --+->  one helper thread for each lock file:   waits in the system's flock,
/// open --+    hands the lock to the first open        as the helpers of other processes do
/// ```
///
/// Nothing polls. The system keeps its own queue of the helpers that wait in `flock`, so a waiting
/// open gets its turn. Only an open that arrives in the microseconds between a release and the
/// wakening of the first helper can overtake it.
///
/// An open that stops waiting leaves the queue immediately. Its helper cannot be called back, so it
/// stays for the next open that waits for the same file. If it gets the lock while nobody waits, it
/// releases it and ends. An open without a timeout that arrives in that moment tries again: see
/// `hasIdleHelper`.
enum LockQueue {
  /// A fork leaves the helpers in the parent.
  private struct Key: Hashable {
    var path: String
    var forkGeneration = SystemCalls.forkGeneration
  }

  /// The waiting opens of each lock file that has a helper.
  private static let queues = Guarded<[Key: [LockWaiter]]>([:])

  static func hasWaiters(for path: String) -> Bool {
    queues.withLock { queues in
      // Usually there is no queue at all.
      !queues.isEmpty && queues[Key(path: path)]?.isEmpty == false
    }
  }

  /// Whether a helper of this process may take the lock although nobody waits for it. It still
  /// counts until it has released the lock.
  static func hasIdleHelper(for path: String) -> Bool {
    queues.withLock { queues in
      !queues.isEmpty && queues[Key(path: path)]?.isEmpty == true
    }
  }

  /// Waits for the lock with the lock file at `path`; nil if the time is over.
  ///
  /// - Parameter database: path of the database.
  static func wait(
    for path: String, of database: String, _ wait: LockWait
  ) throws(StorageError) -> HeldLock? {
    let (key, waiter) = (Key(path: path), LockWaiter())
    let needsHelper = queues.withLock { queues in
      defer { queues[key, default: []].append(waiter) }
      return queues[key] == nil
    }
    if needsHelper, !BackgroundThread.start({ serve(key, database) }) {
      fail(
        key, StorageError(.outOfMemory, "the system has no thread to wait for the writer lock", path: path))
    }
    wait.whenChanged { waiter.wake() }
    defer { queues.withLock { queues in queues[key]?.removeAll { $0 === waiter } } }
    return try waiter.result(wait)
  }

  private static func serve(_ key: Key, _ database: String) {
    do throws(StorageError) {
      while let lock = try WriterLock.waitForLock(
        key.path, of: database, while: { isWanted(key) }), handOver(lock, key)
      {}
    } catch {
      fail(key, error)
    }
  }

  /// Whether any open waits; if not, the helper must end.
  private static func isWanted(_ key: Key) -> Bool {
    queues.withLock { queues in
      if queues[key]?.isEmpty == false { return true }
      queues[key] = nil
      return false
    }
  }

  /// Gives the lock to the first open that still wants it, or releases it. Returns whether the
  /// helper must look for others that wait.
  private static func handOver(_ lock: HeldLock, _ key: Key) -> Bool {
    let (isTaken, hasMore) = queues.withLock { queues in
      var waiters = (queues[key] ?? [])[...]
      var isTaken = false
      while !isTaken, let first = waiters.popFirst() { isTaken = first.take(lock) }
      queues[key] = isTaken && waiters.isEmpty ? nil : Array(waiters)
      return (isTaken, !waiters.isEmpty)
    }
    if isTaken { return hasMore }
    WriterLock.release(lock)
    return true
  }

  private static func fail(_ key: Key, _ error: StorageError) {
    for waiter in queues.withLock({ $0.removeValue(forKey: key) }) ?? [] { waiter.fail(error) }
  }
}

/// One open that waits for a writer lock.
private final class LockWaiter: @unchecked Sendable {
  private enum State {
    case waiting, left
    case given(HeldLock)
    case failed(StorageError)
  }

  private let monitor = Monitor()
  // SAFETY: only accessed with the monitor held.
  private var state = State.waiting

  /// Waits until there is a result; nil if the time is over.
  func result(_ wait: LockWait) throws(StorageError) -> HeldLock? {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      switch state {
      case .given(let lock):
        state = .left
        return lock
      case .failed(let error): throw error
      case .waiting, .left: break
      }
      let rest = wait.remainingMilliseconds
      guard rest > 0 else {
        state = .left
        return nil
      }
      _ = monitor.wait(milliseconds: rest)
    }
  }

  func wake() { monitor.withLock { monitor.broadcast() } }

  /// Returns false if the open has given up.
  func take(_ lock: HeldLock) -> Bool {
    monitor.withLock {
      guard case .waiting = state else { return false }
      WriterLock.register(lock)
      state = .given(lock)
      monitor.broadcast()
      return true
    }
  }

  func fail(_ error: StorageError) {
    monitor.withLock {
      guard case .waiting = state else { return }
      state = .failed(error)
      monitor.broadcast()
    }
  }
}
