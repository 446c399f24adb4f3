import LatewoodBytes

/// Operations on directories, for the command-line tool and the tests. The engine itself does not
/// use them.
package enum Directories {
  /// Creates a new directory in the system's directory for temporary files. Only this user can read
  /// it.
  package static func makeTemporary(_ name: String = "latewood") throws(StorageError) -> String {
    var parent = CurrentProcess.environmentVariable("TMPDIR") ?? "/tmp"
    do {
      // On Apple systems the variable ends in a slash, and names a symbolic link.
      parent = try SystemCalls.realPath(parent)
      return try SystemCalls.makeTemporaryDirectory("\(parent)/\(name)-XXXXXX")
    } catch {
      throw StorageError(error, "make a temporary directory", path: parent)
    }
  }

  package static func make(_ path: String) throws(StorageError) {
    do {
      try SystemCalls.makeDirectory(path)
    } catch {
      throw StorageError(error, "make the directory", path: path)
    }
  }

  /// Removes the file or the directory with its contents at `path`. Symbolic links are removed, not
  /// followed.
  package static func removeTree(_ path: String) throws(StorageError) {
    do {
      try remove(path)
    } catch {
      throw StorageError(error, "remove the directory", path: path)
    }
  }

  private static func remove(_ path: String) throws(ErrorNumber) {
    guard try SystemCalls.status(ofPath: path, followLink: false).kind == .directory else {
      return try SystemCalls.removeFile(path)
    }
    for name in try SystemCalls.names(inDirectory: path) { try remove("\(path)/\(name)") }
    try SystemCalls.removeDirectory(path)
  }

  /// Returns the names in a directory, in any order.
  package static func names(in path: String) throws(StorageError) -> [String] {
    do {
      return try SystemCalls.names(inDirectory: path)
    } catch {
      throw StorageError(error, "list the directory", path: path)
    }
  }

  /// Returns whether there is a directory at `path`; false if that cannot be determined.
  package static func isDirectory(_ path: String) -> Bool {
    do throws(ErrorNumber) {
      return try SystemCalls.status(ofPath: path, followLink: true).kind == .directory
    } catch { return false }
  }
}
