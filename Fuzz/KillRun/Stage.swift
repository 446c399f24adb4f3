import LatewoodTerminal

/// The environment in which children work, and the fate of their files when they are killed.
protocol Stage: AnyObject {
  /// The directory for databases.
  var directory: String { get }
  /// Whether data that was not synced may be lost.
  var losesUnsynced: Bool { get }

  /// Ends the child's work immediately.
  ///
  /// - Returns: whether a sync in progress that reports success to the child can be believed.
  func strike(_ child: ChildProcess, _ random: UInt64) throws -> Bool
  /// Makes the directory usable again, after the child has ended.
  func restore() throws
}

/// A directory of the machine: the child is killed, and its writes stay.
final class OrdinaryStage: Stage {
  let directory: String
  let losesUnsynced = false

  init(_ directory: String) { self.directory = directory }

  func strike(_ child: ChildProcess, _ random: UInt64) throws -> Bool {
    try child.kill()
    return true
  }

  func restore() throws {}
}
