import Dispatch
import LatewoodDevice
import LatewoodStore

/// How a database of documents is opened.
package struct DocumentOptions: Sendable {
  package var store = Store.Options()
  /// Generations of revisions that are kept, of a database that is new; at least 1. One that exists
  /// has its own.
  package var depth = RevisionTree.usualDepth
  /// Whether documents are forgotten by a timer when they expire. They always are when the database
  /// is opened for writing, and by ``DocumentStore/purgeExpired()``.
  package var expiresByItself = true
  /// The clock and the randomness.
  package var environment = Environment.system

  /// Has an action run after so many microseconds. Default: by the clock of the wall, which goes on
  /// while the machine sleeps.
  package var wake: @Sendable (_ microseconds: UInt64, _ action: @escaping @Sendable () -> Void) -> Void = {
    DispatchQueue.global(qos: .utility).asyncAfter(
      wallDeadline: .now() + .microseconds(Int(clamping: $0)), execute: $1)
  }

  package init() {}
}
