import LatewoodConcurrency
import LatewoodStore

/// The options for opening a database of documents.
package struct DocumentOptions: Sendable {
  package var store = DocumentOptions.usualStore
  /// The number of generations of revisions that a new database keeps; at least 1. An existing
  /// database keeps its number.
  package var depth = RevisionTree.usualDepth
  /// The format of a new database. An existing database keeps its format.
  package var format = DocumentFormat.newest
  /// Whether a timer purges documents when they expire. Opening for writing and
  /// ``DocumentStore/purgeExpired()`` always purge them.
  package var expiresByItself = true
  /// The clock and the randomness.
  package var environment = Environment.system

  /// Runs an action after a number of microseconds, unless the object that it returns is gone by
  /// then.
  package typealias Wake =
    @Sendable (_ microseconds: UInt64, _ action: @escaping @Sendable () -> Void) -> any AnyObject & Sendable

  /// Wakes the database when a document expires. Default: by wall-clock time, which also passes
  /// while the machine sleeps.
  package var wake: Wake = {
    let call = DelayedCall($1)
    call.setByWallClock(afterMicroseconds: $0)
    return call
  }

  package init() {}

  /// The options with which the record of a document stays in the tree, together with a short body
  /// and the usual number of revisions.
  private static var usualStore: Store.Options {
    var options = Store.Options()
    options.inlineValueLimit = 1536
    return options
  }
}
