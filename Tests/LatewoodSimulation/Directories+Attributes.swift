import LatewoodBytes
import LatewoodDevice

/// Links, owners and attributes of files, which tests set and the engine must keep.
extension Directories {
  package static func makeSymbolicLink(_ path: String, to target: String) throws(StorageError) {
    do {
      try SystemCalls.makeSymbolicLink(path, to: target)
    } catch {
      throw StorageError(error, "make the symbolic link", path: path)
    }
  }

  package static func makeHardLink(_ path: String, to target: String) throws(StorageError) {
    do {
      try SystemCalls.makeHardLink(path, to: target)
    } catch {
      throw StorageError(error, "make the hard link", path: path)
    }
  }

  package static func setOwner(_ path: String, user: UInt32, group: UInt32) throws(StorageError) {
    do {
      try SystemCalls.setOwner(path, user: user, group: group)
    } catch {
      throw StorageError(error, "change the owner", path: path)
    }
  }

  /// The user and group that own a file.
  package static func owner(of path: String) throws(StorageError) -> (user: UInt32, group: UInt32) {
    do {
      return try SystemCalls.owner(of: path)
    } catch {
      throw StorageError(error, "ask for the owner", path: path)
    }
  }

  /// Sets an extended attribute of a file, or with nil removes it.
  package static func setAttribute(_ path: String, _ name: String, _ bytes: [UInt8]?) throws(StorageError) {
    do {
      let number = try SystemCalls.openForReading(path)
      defer { SystemCalls.closeFile(number) }
      if let bytes {
        try SystemCalls.setAttribute(number, name, bytes)
      } else {
        try SystemCalls.removeAttribute(number, name)
      }
    } catch {
      throw StorageError(error, "change the attribute \(name)", path: path)
    }
  }

  /// An extended attribute of a file; nil if the file has no attribute with that name.
  package static func attribute(_ path: String, _ name: String) throws(StorageError) -> [UInt8]? {
    do {
      let number = try SystemCalls.openForReading(path)
      defer { SystemCalls.closeFile(number) }
      guard try SystemCalls.attributeNames(number).contains(name) else { return nil }
      return try SystemCalls.attribute(number, name)
    } catch {
      throw StorageError(error, "read the attribute \(name)", path: path)
    }
  }

  package static func setPermissions(_ path: String, _ permissions: UInt16) throws(StorageError) {
    do {
      try SystemCalls.setPermissions(path, permissions)
    } catch {
      throw StorageError(error, "change the permissions", path: path)
    }
  }
}

extension CurrentProcess {
  /// Whether this process may ignore file permissions.
  package static var isPrivileged: Bool { SystemCalls.user == 0 }
}
