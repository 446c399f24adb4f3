import LatewoodConcurrency

/// The databases that this process has open for writing, by the path of their file with links
/// resolved: a second open shares the first.
///
/// The file's inode number would not do as the key: a compaction puts another file in its place.
///
/// The lock is held to look entries up and to change them, never while a database opens or closes.
/// That takes as long as the disk and the running batches take, and batches may themselves open and
/// close databases. Meanwhile the path is marked as taken, and others that want it wait.
///
/// Thread safety: all calls from any thread.
final class OpenStores: @unchecked Sendable {
  private enum Entry {
    case opening
    case open(DocumentCore, users: Int)
    case closing(DocumentCore)
  }

  static let shared = OpenStores()

  private let monitor = Monitor()
  // SAFETY: only accessed with the monitor held.
  private var entries: [String: Entry] = [:]

  /// Returns the database that is open at a path, with one more user, or else opens it with `make`.
  ///
  /// - Throws: any error of `make`; `busy` if the database is being closed and that waits for work
  ///   of this very thread.
  func share(
    _ path: String, _ make: () throws(DocumentError) -> DocumentCore
  ) throws(DocumentError) -> DocumentCore {
    if let core = try join(path, elseTakes: true) { return core }
    do throws(DocumentError) {
      let core = try make()
      settle(path, .open(core, users: 1))
      return core
    } catch {
      settle(path, nil)
      throw error
    }
  }

  /// Returns the database that is open at a path, with one more user; nil if there is none.
  func shareExisting(_ path: String) throws(DocumentError) -> DocumentCore? {
    try join(path, elseTakes: false)
  }

  /// Whether a database is open at a path, or is being opened or closed.
  func isOpen(_ path: String) -> Bool { monitor.withLock { entries[path] != nil } }

  /// Removes a user; closes the database with the last. The calling thread must not be in any work
  /// that closing waits for.
  func release(_ core: DocumentCore) throws(DocumentError) {
    guard let path = core.sharedPath else { return try core.shutDown() }
    guard isLastUser(of: core, path) else { return }
    defer { settle(path, nil) }
    try core.shutDown()
  }

  private func join(_ path: String, elseTakes: Bool) throws(DocumentError) -> DocumentCore? {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      switch entries[path] {
      case nil:
        if elseTakes { entries[path] = .opening }
        return nil
      case .open(let core, let users)?:
        entries[path] = .open(core, users: users + 1)
        return core
      case .closing(let core)? where core.isWorkingHere:
        throw DocumentError(
          .busy, "the database is being closed, which waits for the batch that this is in",
          advice: "Open the database after the batch.")
      case .opening?, .closing?:
        monitor.wait()
      }
    }
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
