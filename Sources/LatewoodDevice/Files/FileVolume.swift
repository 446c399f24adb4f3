import LatewoodBytes

/// The file systems of the machine.
package final class FileVolume: Volume {
  private let calls: FileCalls

  package init(calls: FileCalls = .system) { self.calls = calls }

  package func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device {
    try checkName(path)
    let number: Int32
    do {
      number = try retried { () throws(ErrorNumber) in try SystemCalls.openFile(path, mode) }
    } catch {
      throw StorageError(error, mode.isCreating ? "create the file" : "open the file", path: path)
    }
    return try device(over: number, path)
  }

  /// Opens or creates a file of the command-line tool that only this user may access.
  ///
  /// A symbolic link at the path is refused, because someone else may have created it to redirect
  /// writes. If others may read the file, that permission is removed; throws `permissionDenied` if
  /// the file belongs to another user.
  package func openPrivate(_ path: String) throws(StorageError) -> any Device {
    try checkName(path)
    let number: Int32
    do {
      number = try retried { () throws(ErrorNumber) in try SystemCalls.openPrivate(path) }
    } catch {
      throw StorageError(error, "open the file", path: path)
    }
    let device = try device(over: number, path)
    do throws(ErrorNumber) {
      if try SystemCalls.status(number).permissions & 0o077 != 0 {
        try SystemCalls.setPermissions(number, 0o600)
      }
    } catch {
      device.close()
      throw StorageError(error, "keep the file from others", path: path)
    }
    return device
  }

  /// Appends bytes to a file like that of `openPrivate`, after the bytes that other processes
  /// append at the same time.
  package func appendPrivate(_ bytes: [UInt8], to path: String) throws(StorageError) {
    // Removes the permissions of others.
    try openPrivate(path).close()
    do throws(ErrorNumber) {
      let number = try retried { () throws(ErrorNumber) in try SystemCalls.openForAppending(path) }
      defer { SystemCalls.closeFile(number) }
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = try retried { () throws(ErrorNumber) in try SystemCalls.append(number, rest) }
        // Systems do not return this for a file, and a retry might loop forever.
        guard count > 0 else { throw ErrorNumber.inputOutput }
        rest = rest.dropFirst(count)
      }
    } catch {
      throw StorageError(error, "append to the file", path: path)
    }
  }

  /// Creates a device from an open descriptor, which must be a regular file. Takes over the
  /// descriptor.
  private func device(over number: Int32, _ path: String) throws(StorageError) -> any Device {
    do throws(ErrorNumber) {
      let status = try SystemCalls.status(number)
      switch status.kind {
      case .regular:
        return FileDevice(number, identity: status.identity, path: path, calls: calls)
      case .directory:
        throw ErrorNumber.isADirectory
      case .other:
        throw ErrorNumber.invalid
      }
    } catch {
      SystemCalls.closeFile(number)
      if error == .invalid {
        throw StorageError(
          .unsupported, "this is not a regular file but a device, pipe or socket", path: path)
      }
      throw StorageError(error, "open the file", path: path)
    }
  }

  package func exists(_ path: String) throws(StorageError) -> Bool {
    try checkName(path)
    do {
      _ = try SystemCalls.status(ofPath: path, followLink: true)
      return true
    } catch .noSuchFile {
      return false
    } catch .notADirectory {
      return false
    } catch {
      throw StorageError(error, "look for the file", path: path)
    }
  }

  package func resolved(_ path: String) throws(StorageError) -> String {
    try checkName(path)
    do {
      return try SystemCalls.realPath(path)
    } catch .noSuchFile {
      if let text = SystemCalls.linkText(ofPath: path) { throw StorageError.danglingLink(path, text) }
      let (directory, name) = split(path)
      do {
        let parent = try SystemCalls.realPath(directory)
        return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
      } catch {
        throw StorageError.noDirectory(directory, for: path, error)
      }
    } catch .notADirectory {
      throw StorageError.noDirectory(split(path).directory, for: path, .notADirectory)
    } catch {
      throw StorageError(error, "find the file", path: path)
    }
  }

  package func rename(_ from: String, to: String) throws(StorageError) {
    try checkName(from)
    try checkName(to)
    do {
      try SystemCalls.renameFile(from, to)
    } catch {
      throw StorageError(error, "rename the file to \(to)", path: from)
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    try checkName(path)
    do {
      try SystemCalls.removeFile(path)
    } catch {
      throw StorageError(error, "remove the file", path: path)
    }
  }

  package func syncDirectory(containing path: String) throws(StorageError) {
    try checkName(path)
    let directory = split(path).directory
    do {
      let number = try retried { () throws(ErrorNumber) in try SystemCalls.openDirectory(directory) }
      defer { SystemCalls.closeFile(number) }
      try retried { () throws(ErrorNumber) in try SystemCalls.syncAll(number) }
    } catch .invalid {
      // The file system cannot sync directories, so nothing more can be done.
    } catch {
      throw StorageError(error, "make the directory durable", path: directory)
    }
  }

  package func lockForWriting(_ path: String) throws(StorageError) -> any FileLock {
    try lockForWriting(path, waiting: .none)
  }

  package func lockForWriting(_ path: String, waiting wait: LockWait) throws(StorageError) -> any FileLock {
    let path = try resolved(path)
    return try WriterLock(path: SideName.path(path, SideName.lock), of: path, waiting: wait)
  }

  package func isLockedForWriting(_ path: String) throws(StorageError) -> Bool {
    try WriterLock.isHeld(path: SideName.path(resolved(path), SideName.lock))
  }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    try checkName(path)
    do {
      let status = try SystemCalls.status(ofPath: path, followLink: true)
      return status.kind == .regular ? status.identity : nil
    } catch .noSuchFile {
      return nil
    } catch .notADirectory {
      return nil
    } catch {
      throw StorageError(error, "look for the file", path: path)
    }
  }

  /// Returns the directory of a path, and the name in the directory.
  private func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
    let name = String(path[path.utf8.index(after: slash)...])
    return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
  }

  // The C library would ignore everything after a zero byte.
  private func checkName(_ path: String) throws(StorageError) {
    let hasZero = path.utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? path.utf8.contains(0)
    if hasZero {
      throw StorageError(.invalidName, "a path cannot contain a zero byte", path: path)
    }
  }
}

/// Repeats a call that a signal interrupted.
package func retried<Result>(_ body: () throws(ErrorNumber) -> Result) throws(ErrorNumber) -> Result {
  while true {
    do {
      return try body()
    } catch .interrupted {
      continue
    }
  }
}

extension OpenMode {
  var isCreating: Bool {
    if case .createExclusive = self { return true }
    return false
  }
}
