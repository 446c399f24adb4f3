/// The position of a node in the file, and the part of its checksum that identifies it.
@usableFromInline package struct NodeReference: Sendable, Equatable {
  @usableFromInline package var offset: UInt64
  /// The length of the node, in bytes.
  @usableFromInline package var length: UInt32
  /// The low 32 bits of the node's checksum.
  @usableFromInline package var checksum: UInt32

  @inlinable package init(offset: UInt64, length: UInt32, checksum: UInt32) {
    self.offset = offset
    self.length = length
    self.checksum = checksum
  }
}

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
