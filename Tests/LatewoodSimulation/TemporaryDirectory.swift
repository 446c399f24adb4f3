import LatewoodDevice

/// A directory of the real file system for one test, removed after it.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init(_ purpose: String = "latewood-test") throws {
    path = try Directories.makeTemporary(purpose)
  }

  deinit {
    do {
      try Directories.removeTree(path)
    } catch {
      fatalError("a test's directory cannot be removed: \(error)")
    }
  }

  /// Returns the path of a file in it.
  package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }
}
