import LatewoodDevice

/// The databases that this process has open for writing, by the path of their file with links followed: a second open shares the first.
///
/// Not by the file's number in its file system: a compaction puts another file in its place.
enum OpenStores {
  private static let open = Guarded<[String: DocumentCore]>([:])
  /// Held while one is opened or closed, so that two threads do not open one file at once.
  private static let gate = Monitor()

  /// The one that is open at a path, with one more user; or what `make` opens.
  static func share(
    _ path: String, _ make: () throws(DocumentError) -> DocumentCore
  ) throws(DocumentError) -> DocumentCore {
    gate.lock()
    defer { gate.unlock() }
    if let core = existing(path) { return core }
    let core = try make()
    open.withLock { $0[path] = core }
    return core
  }

  /// The one that is open at a path, with one more user.
  static func shareExisting(_ path: String) -> DocumentCore? {
    gate.lock()
    defer { gate.unlock() }
    return existing(path)
  }

  static func isOpen(_ path: String) -> Bool { open.withLock { $0[path] != nil } }

  private static func existing(_ path: String) -> DocumentCore? {
    guard let core = open.withLock({ $0[path] }) else { return nil }
    core.users.withLock { $0 += 1 }
    return core
  }

  /// One user less; closes with the last.
  static func release(_ core: DocumentCore) throws(DocumentError) {
    gate.lock()
    defer { gate.unlock() }
    let rest = core.users.withLock { users in
      users -= 1
      return users
    }
    guard rest == 0 else { return }
    if let path = core.sharedPath { open.withLock { $0[path] = nil } }
    try core.shutDown()
  }
}
