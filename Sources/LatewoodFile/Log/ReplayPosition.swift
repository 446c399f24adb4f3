/// A position between two frames of the log, from which a walk can continue.
package struct ReplayPosition: Sendable, Equatable {
  package var offset: UInt64
  /// The checksum of the preceding frame; 0 at the start of a file, and where the log restarted
  /// after a gap.
  package var previousChecksum: UInt64

  package init(offset: UInt64, previousChecksum: UInt64) {
    self.offset = offset
    self.previousChecksum = previousChecksum
  }

  /// The start of a file's first frame.
  package static let start = ReplayPosition(offset: FileLayout.logStart, previousChecksum: 0)
}

/// The end of a commit in the file: the target of a flush.
package struct CommitPosition: Sendable, Hashable, Comparable {
  package var offset: UInt64

  package init(offset: UInt64) { self.offset = offset }

  package static func < (left: CommitPosition, right: CommitPosition) -> Bool { left.offset < right.offset }
}
