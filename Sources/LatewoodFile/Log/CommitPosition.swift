/// The end of a commit in the file: the target of a flush.
package struct CommitPosition: Sendable, Hashable, Comparable {
  package var offset: UInt64

  package init(offset: UInt64) { self.offset = offset }

  package static func < (left: CommitPosition, right: CommitPosition) -> Bool { left.offset < right.offset }
}
