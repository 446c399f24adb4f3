import LatewoodBytes

/// The mode in which a file is opened.
package enum OpenMode: Sendable, Equatable {
  case readOnly
  case readWrite
  /// Fails with `alreadyExists` if there is anything at the path, even a symbolic link.
  case createExclusive(permissions: UInt16)
}

/// A file system: the operations that the engine needs, other than operations on open files.
package protocol Volume: AnyObject, Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device
  func exists(_ path: String) throws(StorageError) -> Bool
  /// Returns the identity of the file at a path; nil if there is none.
  func identity(of path: String) throws(StorageError) -> FileIdentity?
  /// Returns the path with symbolic links resolved, next to which side files belong and over which
  /// files are renamed. The last component need not exist, but if it is a symbolic link, its target
  /// must. Otherwise throws `notFound`, because a new file would replace the link, on the volume of
  /// the link, and following the link would let its creator choose where files are created.
  func resolved(_ path: String) throws(StorageError) -> String
  /// Atomically renames `from` to `to`, replacing it.
  func rename(_ from: String, to: String) throws(StorageError)
  func remove(_ path: String) throws(StorageError)
  /// Makes creations, renames and removals in the directory of `path` durable.
  func syncDirectory(containing path: String) throws(StorageError)
  /// Takes the lock of the one writing process of the database at `path`. The lock is a separate
  /// file; see `SideName.lock`.
  ///
  /// Throws `lockedByThisProcess` or `lockedByOtherProcess`.
  func lockForWriting(_ path: String) throws(StorageError) -> any FileLock
  /// The same, but waits if another open has the lock. Throws `cancelled` if the wait is cancelled.
  func lockForWriting(_ path: String, waiting: LockWait) throws(StorageError) -> any FileLock
  /// Whether any process, including this one, has that lock. Creates no file.
  func isLockedForWriting(_ path: String) throws(StorageError) -> Bool
}

extension Volume {
  package func isLockedForWriting(_ path: String) throws(StorageError) -> Bool { false }

  /// Tries again and again, for volumes within one process.
  package func lockForWriting(_ path: String, waiting wait: LockWait) throws(StorageError) -> any FileLock {
    while true {
      do throws(StorageError) { return try lockForWriting(path) } catch {
        guard error.isLockedForWriting, wait.pause() else { throw wait.outcome(error) }
      }
    }
  }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    do throws(StorageError) {
      let device = try open(path, .readOnly)
      defer { device.close() }
      return device.identity
    } catch {
      if error.kind == .notFound { return nil }
      throw error
    }
  }

  /// Removes the file with this name if there is one. Also removes a dangling symbolic link:
  /// `exists` does not report it, but it would prevent the creation of a file at the path.
  package func removeIfPresent(_ path: String) throws(StorageError) {
    do throws(StorageError) {
      try remove(path)
    } catch {
      if error.kind != .notFound { throw error }
    }
  }
}

/// A lock that is held until `unlock`.
package protocol FileLock: AnyObject, Sendable {
  func unlock()
  /// Removes the lock's own file, if it has one, and releases the lock, after its database was
  /// removed.
  func remove()
  /// Whether this process took the lock; false in a child process that inherited it by fork.
  var isOwnedByThisProcess: Bool { get }
}

extension FileLock {
  package func remove() { unlock() }
}
