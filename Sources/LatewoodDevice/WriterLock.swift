import LatewoodBytes

/// The lock of the one writing process of a database: an exclusive `flock` on a file of its own
/// beside it.
///
/// The lock file stays when the lock is given up: to remove it could take it from under a process
/// that is just locking it. The system gives the lock up by itself when the process ends, however
/// it ends.
///
/// `flock` cannot tell this process from another, so a registry of the locks that this process
/// holds, by device and inode of the lock file, answers that. A child made by fork inherits both,
/// but not the lock itself: it is not the owner, and must not unlock what it shares with its
/// parent.
final class WriterLock: FileLock {
  private static let held = Guarded<[FileIdentity: UInt64]>([:])

  private let identity: FileIdentity
  private let forkGeneration = SystemCalls.forkGeneration
  private let descriptor: Guarded<Int32?>

  /// - Parameters:
  ///   - path: of the lock file.
  ///   - database: whose owner is to have the lock file, too.
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

  /// Opens the lock file, or makes it. What root makes goes to the owner of the database, who could
  /// not lock it otherwise.
  private static func openFile(_ path: String, of database: String) throws(ErrorNumber) -> Int32 {
    do throws(ErrorNumber) { return try SystemCalls.openExistingPrivate(path) } catch .noSuchFile {}
    let number: Int32
    do throws(ErrorNumber) {
      number = try SystemCalls.openFile(path, .createExclusive(permissions: 0o600))
    } catch .exists {
      return try SystemCalls.openExistingPrivate(path)
    }
    // Only of a file that was just made: nobody can have put another's in its place.
    do throws(ErrorNumber) {
      let owner = try SystemCalls.status(ofPath: database, followLink: true)
      if owner.user != SystemCalls.effectiveUser {
        try SystemCalls.setOwner(number, user: owner.user, group: owner.group)
      }
    } catch {
      // There is no database yet, or its owner is not for us to serve.
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

  /// Whether anybody has the lock whose file is at `path`.
  ///
  /// The system answers that only to who tries to take it, for a moment, together with others who
  /// ask.
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
      // An entry of another generation is the parent's, inherited by fork; flock will answer for
      // that.
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

  /// Somebody may just be asking whether the lock is held.
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
