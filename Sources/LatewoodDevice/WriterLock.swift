import LatewoodBytes

/// The lock of the one writing process of a database: an exclusive `flock` on a separate file
/// beside it.
///
/// The lock file stays when the lock is released, because another process may just be locking it.
/// The system releases the lock when the process ends, however it ends.
///
/// `flock` does not tell whether this process or another holds the lock, so there is a registry of
/// this process's locks by device and inode of the lock file. A forked child inherits both, but it
/// is not the owner, and must not unlock the lock that it shares with its parent.
final class WriterLock: FileLock {
  private static let held = Guarded<[FileIdentity: UInt64]>([:])

  private let identity: FileIdentity
  private let forkGeneration = SystemCalls.forkGeneration
  private let descriptor: Guarded<Int32?>

  /// - Parameters:
  ///   - path: path of the lock file.
  ///   - database: path of the database, whose owner will own the lock file too.
  init(path: String, of database: String) throws(Fault) {
    let number: Int32
    do {
      number = try retried { () throws(ErrorNumber) in try WriterLock.openFile(path, of: database) }
    } catch {
      throw Fault(error, "open the lock file", path: path)
    }
    do {
      identity = try SystemCalls.status(number).identity
    } catch {
      SystemCalls.closeFile(number)
      throw Fault(error, "open the lock file", path: path)
    }
    do {
      try WriterLock.take(number, identity, forkGeneration, path)
    } catch {
      SystemCalls.closeFile(number)
      throw error
    }
    descriptor = Guarded(number)
  }

  deinit { unlock() }

  /// Opens or makes the lock file. A file made by root is given to the owner of the database, who
  /// could not lock it otherwise.
  private static func openFile(_ path: String, of database: String) throws(ErrorNumber) -> Int32 {
    do throws(ErrorNumber) { return try SystemCalls.openExistingPrivate(path) } catch .noSuchFile {}
    let number: Int32
    do throws(ErrorNumber) {
      number = try SystemCalls.openFile(path, .createExclusive(permissions: 0o600))
    } catch .exists {
      return try SystemCalls.openExistingPrivate(path)
    }
    // Only for a file that was just made: nobody can have put another user's file in its place.
    do throws(ErrorNumber) {
      let owner = try SystemCalls.status(ofPath: database, followLink: true)
      if owner.user != SystemCalls.effectiveUser {
        try SystemCalls.setOwner(number, user: owner.user, group: owner.group)
      }
    } catch {
      // There is no database yet, or this process may not change owners.
    }
    return number
  }

  var isOwnedByThisProcess: Bool { forkGeneration == SystemCalls.forkGeneration }

  func unlock() {
    let number = descriptor.withLock { number in
      defer { number = nil }
      return number
    }
    guard let number else { return }
    if isOwnedByThisProcess {
      WriterLock.held.withLock { held in
        SystemCalls.unlockFile(number)
        held[identity] = nil
      }
    }
    SystemCalls.closeFile(number)
  }

  /// Whether any process holds the lock whose file is at `path`.
  ///
  /// The only way to find out is to take the lock for a moment, shared with other processes that
  /// check it too.
  static func isHeld(path: String) throws(Fault) -> Bool {
    let number: Int32
    do {
      number = try retried { () throws(ErrorNumber) in try SystemCalls.openFile(path, .readOnly) }
    } catch .noSuchFile {
      return false
    } catch {
      throw Fault(error, "open the lock file", path: path)
    }
    defer { SystemCalls.closeFile(number) }
    do {
      try retried { () throws(ErrorNumber) in try SystemCalls.lockFile(number, exclusive: false) }
      SystemCalls.unlockFile(number)
      return false
    } catch .wouldBlock {
      return true
    } catch {
      throw Fault(error, "ask for the lock of the database", path: path)
    }
  }

  private static func take(
    _ number: Int32, _ identity: FileIdentity, _ generation: UInt64, _ path: String
  ) throws(Fault) {
    try held.withLock { held throws(Fault) in
      // An entry of another generation was inherited from the parent by fork; for that, flock
      // decides.
      guard held[identity] != generation else {
        throw Fault(
          .lockedByThisProcess, "this process has already opened the database for writing",
          path: path)
      }
      do throws(ErrorNumber) {
        try lockPatiently(number)
        held[identity] = generation
      } catch .wouldBlock {
        throw Fault(
          .lockedByOtherProcess, "another process has opened the database for writing",
          path: path)
      } catch {
        throw Fault(error, "lock the database for writing", path: path)
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
