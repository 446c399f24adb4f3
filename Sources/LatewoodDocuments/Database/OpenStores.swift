import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodStore

/// The databases that this process has open for writing, by the path of their file with links
/// resolved: a second open shares the first.
///
/// The file's inode number cannot be the key, because a compaction replaces the file with another
/// one.
///
/// The lock is held to look up and change entries, but never while a database opens or closes: that
/// takes as long as the disk and the running batches need, and batches may themselves open and
/// close databases. During that time the path is marked as taken, and other threads that need it
/// wait.
///
/// Thread safety: all calls from any thread.
final class OpenStores: @unchecked Sendable {
  private enum Entry {
    case opening(LockWait)
    case open(DocumentCore, users: Int)
    case closing(DocumentCore)
  }

  static let shared = OpenStores()

  private let monitor = Monitor()
  // SAFETY: only accessed with the monitor held.
  private var entries: [String: Entry] = [:]

  /// Returns the database that is open at a path, with one more user, or else opens it with `make`.
  ///
  /// - Parameter wait: how long this open waits for the writer lock. `make` uses it, and so does
  ///   this call while another open waits for the lock.
  /// - Throws: any error of `make`; `busy` if the database is being closed and that waits for work
  ///   of this very thread, or if another open still waits for the lock when the time is over.
  func share(
    _ path: String, _ wait: LockWait, _ make: () throws(DatabaseError) -> DocumentCore
  ) throws(DatabaseError) -> DocumentCore {
    wait.whenChanged { [self] in monitor.withLock { monitor.broadcast() } }
    if let core = try join(path, orTakes: wait) { return core }
    do throws(DatabaseError) {
      let core = try make()
      settle(path, .open(core, users: 1))
      return core
    } catch {
      settle(path, nil)
      throw error
    }
  }

  /// Returns the database that is open at a path, with one more user; nil if the database is not
  /// open.
  func shareExisting(_ path: String) throws(DatabaseError) -> DocumentCore? {
    try join(path, orTakes: nil)
  }

  /// Whether a database is open at a path, or is being opened or closed.
  func isOpen(_ path: String) -> Bool { monitor.withLock { entries[path] != nil } }

  /// Removes a user; closes the database with the last one. Closing waits for running work, so a
  /// thread that runs such work must not call this.
  func release(_ core: DocumentCore) throws(DatabaseError) {
    guard let path = core.sharedPath else { return try core.shutDown() }
    guard isLastUser(of: core, path) else { return }
    defer { settle(path, nil) }
    try core.shutDown()
  }

  /// - Parameter wait: how long to wait, for an open that takes the path if it is free; nil for one
  ///   that does not take it.
  private func join(_ path: String, orTakes wait: LockWait?) throws(DatabaseError) -> DocumentCore? {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      switch entries[path] {
      case nil:
        if let wait { entries[path] = .opening(wait) }
        return nil
      case .open(let core, let users)?:
        entries[path] = .open(core, users: users + 1)
        return core
      case .closing(let core)? where core.isWorkingHere:
        throw DatabaseError(
          .busy, "the database is being closed, which waits for the batch that this is in",
          advice: "Open the database after the batch.")
      case .opening(let other)? where other.isBlocked:
        let rest = wait?.remainingMilliseconds ?? 0
        guard rest > 0 else { throw OpenStores.waiting(wait, path) }
        _ = monitor.wait(milliseconds: rest)
      case .opening?, .closing?:
        monitor.wait()
      }
    }
  }

  private static func waiting(_ wait: LockWait?, _ path: String) -> DatabaseError {
    let error = StorageError(
      .lockedByOtherProcess,
      "another process has opened the database for writing, and another open of this process waits for it",
      path: path)
    return DatabaseError(StoreError((wait ?? .none).outcome(error)))
  }

  private func settle(_ path: String, _ entry: Entry?) {
    monitor.withLock {
      entries[path] = entry
      monitor.broadcast()
    }
  }

  private func isLastUser(of core: DocumentCore, _ path: String) -> Bool {
    monitor.withLock {
      guard case .open(_, let users)? = entries[path] else { return false }
      entries[path] = users > 1 ? .open(core, users: users - 1) : .closing(core)
      return users == 1
    }
  }
}
