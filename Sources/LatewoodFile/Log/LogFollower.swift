import LatewoodBytes

/// Follows a log from a given position, in the process that writes it.
package struct LogFollower {
  private let log: DatabaseFile
  private var replay = LogReplay(verifiesFrames: true)
  /// The offset before which all frames have been read.
  package private(set) var offset: UInt64

  /// - Parameter start: the replay position of a checkpoint.
  package init(_ log: DatabaseFile, from start: ReplayPosition) {
    self.log = log
    offset = start.offset
  }

  /// Passes the operations of the transactions that end before `position` to `apply`, after
  /// verifying each frame once more. `position` must have been flushed.
  ///
  /// Throws `outOfSpace` if the log had to restart after a gap beyond `offset`; and errors of
  /// `apply`.
  package mutating func advance(through position: CommitPosition, apply: ReplayAction) throws(StorageError) {
    guard log.progress.isBeyondGap(offset) else {
      throw StorageError(.outOfSpace, "the disk is full")
    }
    guard position.offset > offset else { return }
    try replay.apply(view: log.view, from: offset, to: position.offset, apply)
    offset = position.offset
  }
}
