/// The root of a tree or subtree, with the totals of everything below it.
@usableFromInline package struct Subtree: Sendable, Equatable {
  @usableFromInline package var reference: NodeReference
  /// The level of the root; 0 for a leaf.
  @usableFromInline package var level: UInt8
  @usableFromInline package var entries: UInt64
  /// The total length of all nodes and of the extents that the entries refer to.
  @usableFromInline package var liveBytes: UInt64

  @inlinable package init(reference: NodeReference, level: UInt8, entries: UInt64, liveBytes: UInt64) {
    self.reference = reference
    self.level = level
    self.entries = entries
    self.liveBytes = liveBytes
  }
}
