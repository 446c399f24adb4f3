import LatewoodBytes

/// Operations on directories, for the command-line tool and the tests. The engine itself makes
/// none.
package enum Directories {
  /// Makes a new directory in the system's directory for temporary files, readable by this user
  /// only.
  package static func makeTemporary(_ name: String = "latewood") throws(Fault) -> String {
    let parent = CurrentProcess.environmentVariable("TMPDIR") ?? "/tmp"
    do {
      return try SystemCalls.makeTemporaryDirectory("\(parent)/\(name)-XXXXXX")
    } catch {
      throw Fault(error, "make a temporary directory", path: parent)
    }
  }

  package static func make(_ path: String) throws(Fault) {
    do {
      try SystemCalls.makeDirectory(path)
    } catch {
      throw Fault(error, "make the directory", path: path)
    }
  }

  /// Removes the file or the directory with its contents at `path`. Symbolic links are removed, not
  /// followed.
  package static func removeTree(_ path: String) throws(Fault) {
    do {
      try remove(path)
    } catch {
      throw Fault(error, "remove the directory", path: path)
    }
  }

  private static func remove(_ path: String) throws(ErrorNumber) {
    guard try SystemCalls.status(ofPath: path, followLink: false).kind == .directory else {
      return try SystemCalls.removeFile(path)
    }
    for name in try SystemCalls.names(inDirectory: path) { try remove("\(path)/\(name)") }
    try SystemCalls.removeDirectory(path)
  }

  /// The names in a directory, in no order.
  package static func names(in path: String) throws(Fault) -> [String] {
    do {
      return try SystemCalls.names(inDirectory: path)
    } catch {
      throw Fault(error, "list the directory", path: path)
    }
  }

  /// Whether there is a directory at `path`. False if that cannot be determined.
  package static func isDirectory(_ path: String) -> Bool {
    do throws(ErrorNumber) {
      return try SystemCalls.status(ofPath: path, followLink: true).kind == .directory
    } catch { return false }
  }

  package static func makeSymbolicLink(_ path: String, to target: String) throws(Fault) {
    do {
      try SystemCalls.makeSymbolicLink(path, to: target)
    } catch {
      throw Fault(error, "make the symbolic link", path: path)
    }
  }

  package static func makeHardLink(_ path: String, to target: String) throws(Fault) {
    do {
      try SystemCalls.makeHardLink(path, to: target)
    } catch {
      throw Fault(error, "make the hard link", path: path)
    }
  }

  package static func setOwner(_ path: String, user: UInt32, group: UInt32) throws(Fault) {
    do {
      try SystemCalls.setOwner(path, user: user, group: group)
    } catch {
      throw Fault(error, "change the owner", path: path)
    }
  }

  /// The user and group that own a file.
  package static func owner(of path: String) throws(Fault) -> (user: UInt32, group: UInt32) {
    do {
      let status = try SystemCalls.status(ofPath: path, followLink: true)
      return (status.user, status.group)
    } catch {
      throw Fault(error, "ask for the owner", path: path)
    }
  }

  /// Sets an extended attribute of a file, or with nil removes it.
  package static func setAttribute(_ path: String, _ name: String, _ bytes: [UInt8]?) throws(Fault) {
    do {
      let number = try SystemCalls.openFile(path, .readOnly)
      defer { SystemCalls.closeFile(number) }
      if let bytes {
        try SystemCalls.setAttribute(number, name, bytes)
      } else {
        try SystemCalls.removeAttribute(number, name)
      }
    } catch {
      throw Fault(error, "change the attribute \(name)", path: path)
    }
  }

  /// An extended attribute of a file; nil if it has none of that name.
  package static func attribute(_ path: String, _ name: String) throws(Fault) -> [UInt8]? {
    do {
      let number = try SystemCalls.openFile(path, .readOnly)
      defer { SystemCalls.closeFile(number) }
      guard try SystemCalls.attributeNames(number).contains(name) else { return nil }
      return try SystemCalls.attribute(number, name)
    } catch {
      throw Fault(error, "read the attribute \(name)", path: path)
    }
  }

  package static func setPermissions(_ path: String, _ permissions: UInt16) throws(Fault) {
    do {
      try SystemCalls.setPermissions(path, permissions)
    } catch {
      throw Fault(error, "change the permissions", path: path)
    }
  }
}
