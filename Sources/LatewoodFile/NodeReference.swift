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
