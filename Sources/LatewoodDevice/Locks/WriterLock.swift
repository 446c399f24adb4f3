import LatewoodBytes
import LatewoodConcurrency

/// The lock of the one writing process of a database: an exclusive `flock` on a separate file
/// beside it.
///
/// The lock file stays when the lock is released, and is removed only with its database, by the
/// process that holds the lock. Another process may have opened the file just before. A process
/// that gets the lock therefore checks that the file still has its name, and otherwise begins
/// again. The system releases the lock when the process ends, however it ends.
///
/// `flock` does not tell whether this process or another holds the lock, so there is a registry of
/// this process's locks by device and inode of the lock file. A forked child inherits both, but it
/// is not the owner, and must not unlock the lock that it shares with its parent.
///
/// Calls that wait for the lock wait in `LockQueue`.
final class WriterLock: FileLock {
  private static let held = Guarded<[FileIdentity: UInt64]>([:])

  /// How often the file may be removed under a process that is about to lock it.
  private static let attempts = 100

  private let path: String
  private let identity: FileIdentity
  private let forkGeneration = SystemCalls.forkGeneration
  private let descriptor: Guarded<Int32?>

  /// - Parameters:
  ///   - path: path of the lock file.
  ///   - database: path of the database, whose owner will own the lock file too.
  ///   - wait: how long to wait if another open has the lock.
  ///   - didOpen: called between opening the file and locking it, so that a test can let others do
  ///     something there.
  init(
    path: String, of database: String, waiting wait: LockWait = .none, didOpen: () -> Void = {}
  ) throws(StorageError) {
    self.path = path
    let lock = try WriterLock.take(path, of: database, wait, didOpen)
    identity = lock.identity
    descriptor = Guarded(lock.number)
  }

  private static func take(
    _ path: String, of database: String, _ wait: LockWait, _ didOpen: () -> Void
  ) throws(StorageError) -> HeldLock {
    // Those that wait already come first.
    if wait.isOver || !LockQueue.hasWaiters(for: path) {
      do throws(StorageError) { return try tryToTake(path, of: database, didOpen) } catch {
        guard error.isLockedForWriting, !wait.isOver else { throw wait.outcome(error) }
      }
    }
    let lock = try wait.blocking { () throws(StorageError) in
      try LockQueue.wait(for: path, of: database, wait)
    }
    if let lock { return lock }
    // For the error, which names the holder.
    do throws(StorageError) { return try tryToTake(path, of: database) } catch { throw wait.outcome(error) }
  }

  private static func tryToTake(
    _ path: String, of database: String, _ didOpen: () -> Void = {}
  ) throws(StorageError) -> HeldLock {
    var removals = 0
    var unknown = 0
    while removals < attempts {
      // Before the attempt: a helper that ends after it has released the lock by then.
      let mayBeHelper = LockQueue.hasIdleHelper(for: path)
      let lock = try open(path, of: database)
      didOpen()
      do throws(StorageError) {
        try take(lock, SystemCalls.forkGeneration, path)
      } catch {
        SystemCalls.closeFile(lock.number)
        guard mayBeHelper, error.kind == .lockedByOtherProcess else { throw error }
        // A helper that nobody needs any more releases the lock as soon as it runs. If the system
        // does not tell who has the lock, this waits for at most as many milliseconds.
        let holder = LockHolder.process(of: lock.identity)
        if holder == nil { unknown += 1 }
        guard holder == nil ? unknown < attempts : holder == SystemCalls.ownProcess else { throw error }
        Monitor.sleep(milliseconds: 1)
        continue
      }
      if isFile(lock.identity, at: path) { return lock }
      release(lock)
      removals += 1
    }
    throw WriterLock.removedAgain(path)
  }

  /// Waits without limit for the lock; nil if the lock file was removed meanwhile and nobody wants
  /// the lock any more.
  static func waitForLock(
    _ path: String, of database: String, while isWanted: () -> Bool
  ) throws(StorageError) -> HeldLock? {
    for _ in 0..<attempts {
      guard isWanted() else { return nil }
      let lock = try open(path, of: database)
      do {
        try retried { () throws(ErrorNumber) in try SystemCalls.waitForLock(lock.number) }
      } catch {
        SystemCalls.closeFile(lock.number)
        throw StorageError(error, "wait for the writer lock", path: path)
      }
      if isFile(lock.identity, at: path) { return lock }
      release(lock)
    }
    throw WriterLock.removedAgain(path)
  }

  private static func removedAgain(_ path: String) -> StorageError {
    StorageError(.lockedByOtherProcess, "the lock file is removed again and again", path: path)
  }

  private static func open(
    _ path: String, of database: String
  ) throws(StorageError) -> HeldLock {
    let number: Int32
    do {
      number = try retried { () throws(ErrorNumber) in try openFile(path, of: database) }
    } catch {
      throw StorageError(error, "open the lock file", path: path)
    }
    do {
      return HeldLock(number: number, identity: try SystemCalls.status(number).identity)
    } catch {
      SystemCalls.closeFile(number)
      throw StorageError(error, "open the lock file", path: path)
    }
  }

  /// Whether a path leads to a file, as far as the system can tell.
  private static func isFile(_ identity: FileIdentity, at path: String) -> Bool {
    do throws(ErrorNumber) {
      return try SystemCalls.status(ofPath: path, followLink: false).identity == identity
    } catch {
      return error != .noSuchFile
    }
  }

  deinit { unlock() }

  /// Opens or creates the lock file. A file created by root is given to the owner of the database,
  /// who could not lock it otherwise.
  private static func openFile(_ path: String, of database: String) throws(ErrorNumber) -> Int32 {
    do throws(ErrorNumber) { return try SystemCalls.openExistingPrivate(path) } catch .noSuchFile {}
    let number: Int32
    do throws(ErrorNumber) {
      number = try SystemCalls.openFile(path, .createExclusive(permissions: 0o600))
    } catch .exists {
      return try SystemCalls.openExistingPrivate(path)
    }
    // Only for a file that was just created, because it cannot have been replaced by another user's
    // file.
    do throws(ErrorNumber) {
      let owner = try SystemCalls.status(ofPath: database, followLink: true)
      if owner.user != SystemCalls.effectiveUser {
        try SystemCalls.setOwner(number, user: owner.user, group: owner.group)
      }
    } catch {
      // The database does not exist yet, or this process may not change owners.
    }
    return number
  }

  var isOwnedByThisProcess: Bool { forkGeneration == SystemCalls.forkGeneration }

  func unlock() { end(removing: false) }

  func remove() { end(removing: true) }

  private func end(removing: Bool) {
    let number = descriptor.withLock { number in
      defer { number = nil }
      return number
    }
    guard let number else { return }
    guard isOwnedByThisProcess else { return SystemCalls.closeFile(number) }
    // Before the lock is released, so that its next owner notices that the file is gone.
    if removing, WriterLock.isFile(identity, at: path) { _ = try? SystemCalls.removeFile(path) }
    WriterLock.release(HeldLock(number: number, identity: identity))
  }

  /// Notes that an open of this process has a lock that a helper took.
  static func register(_ lock: HeldLock) {
    held.withLock { $0[lock.identity] = SystemCalls.forkGeneration }
  }

  static func release(_ lock: HeldLock) {
    held.withLock { held in
      SystemCalls.unlockFile(lock.number)
      held[lock.identity] = nil
    }
    SystemCalls.closeFile(lock.number)
  }

  /// Whether any process holds the lock whose file is at `path`.
  ///
  /// The only way to find out is to take the lock briefly, shared with other processes that check
  /// it, too.
  static func isHeld(path: String) throws(StorageError) -> Bool {
    let number: Int32
    do {
      number = try retried { () throws(ErrorNumber) in try SystemCalls.openFile(path, .readOnly) }
    } catch .noSuchFile {
      return false
    } catch {
      throw StorageError(error, "open the lock file", path: path)
    }
    defer { SystemCalls.closeFile(number) }
    do {
      try retried { () throws(ErrorNumber) in try SystemCalls.lockFile(number, exclusive: false) }
      SystemCalls.unlockFile(number)
      return false
    } catch .wouldBlock {
      return true
    } catch {
      throw StorageError(error, "ask for the lock of the database", path: path)
    }
  }

  private static func take(
    _ lock: HeldLock, _ generation: UInt64, _ path: String
  ) throws(StorageError) {
    try held.withLock { held throws(StorageError) in
      // An entry of another generation was inherited from the parent by fork; for that, flock
      // decides.
      guard held[lock.identity] != generation else {
        throw StorageError(
          .lockedByThisProcess, "this process has already opened the database for writing",
          path: path)
      }
      do throws(ErrorNumber) {
        try lockPatiently(lock.number)
        held[lock.identity] = generation
      } catch .wouldBlock {
        let holder = LockHolder.process(of: lock.identity).map { "process \($0)" } ?? "another process"
        throw StorageError(
          .lockedByOtherProcess, "\(holder) has opened the database for writing", path: path)
      } catch {
        throw StorageError(error, "lock the database for writing", path: path)
      }
    }
  }

  /// Retries for a few milliseconds, because another process may just be checking whether the lock
  /// is held.
  private static func lockPatiently(_ number: Int32) throws(ErrorNumber) {
    for _ in 0..<3 {
      do throws(ErrorNumber) {
        return try retried { () throws(ErrorNumber) in try SystemCalls.lockFile(number, exclusive: true) }
      } catch .wouldBlock {
        Monitor.sleep(milliseconds: 1)
      }
    }
    try retried { () throws(ErrorNumber) in try SystemCalls.lockFile(number, exclusive: true) }
  }
}

/// An open lock file that this process has locked, or is about to.
struct HeldLock: Sendable {
  var number: Int32
  var identity: FileIdentity
}
