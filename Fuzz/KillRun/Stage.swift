import LatewoodDevice

/// Where children work, and what becomes of what they wrote when they are ended.
protocol Stage: AnyObject {
  /// For databases.
  var directory: String { get }
  /// Whether what was not synced may be gone afterwards.
  var losesUnsynced: Bool { get }

  /// Ends it all for the child, at this moment.
  ///
  /// - Returns: whether a sync that was under way, and tells the child that it succeeded, can be
  ///   believed.
  func strike(_ child: ChildProcess, _ random: UInt64) throws -> Bool
  /// Makes the directory one that can be used again. The child is gone.
  func restore() throws
}

/// A directory of the machine: the child is killed, and what it wrote stays.
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
