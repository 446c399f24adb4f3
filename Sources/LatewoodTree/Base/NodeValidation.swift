import LatewoodBytes
import LatewoodFile

/// Validates that the bytes of a node match its reference, and that later accesses to the node stay
/// inside it.
///
/// A checksum only proves that the bytes are unchanged since they were written, perhaps with
/// malice. After validation, invariants 1 to 3 of `Node` hold in any case.
package struct NodeValidation {
  /// The node, in memory of at least the length in the reference.
  package let base: UnsafeRawPointer
  package let codec: UnitCodec
  package let reference: NodeReference
  /// The minimum length of a key in a leaf. A separator may be shorter.
  package let minimumKeyLength: Int
  /// The same memory if it may be changed: a node of an encrypted file is decrypted in place.
  private let writable: UnsafeMutableRawPointer?

  /// - Parameter codec: the codec of a file that is not encrypted.
  package init(base: UnsafeRawPointer, codec: UnitCodec, reference: NodeReference, minimumKeyLength: Int) {
    self.base = base
    self.codec = codec
    self.reference = reference
    self.minimumKeyLength = minimumKeyLength
    writable = nil
  }

  /// - Parameter memory: the stored bytes of the node. `open` decrypts an encrypted node in place.
  package init(
    memory: UnsafeMutableRawPointer, codec: UnitCodec, reference: NodeReference, minimumKeyLength: Int
  ) {
    base = UnsafeRawPointer(memory)
    self.codec = codec
    self.reference = reference
    self.minimumKeyLength = minimumKeyLength
    writable = memory
  }

  private func damage(_ reason: String) -> StorageError { StorageError.damaged(at: reference.offset, reason) }

  /// Returns the node. Throws `damaged` if the bytes are not that node.
  ///
  /// - Parameter level: the level that its parent implies; nil for any.
  package func open(level: UInt8? = nil) throws(StorageError) -> Node {
    let length = Int(reference.length)
    guard length <= NodeLayout.maximumLength, length >= 48 + codec.trailerLength else {
      throw damage("a node's length is not between 48 and 65,535 bytes")
    }
    guard Int(base.u32(NodeLayout.length)) == length else {
      throw damage("the length of a node contradicts the reference to it")
    }
    // SAFETY: the memory is at least that long.
    let sum = codec.checksum(.node, at: reference.offset, base, length)
    guard sum == base.u64(NodeLayout.checksum) else { throw damage("a node does not match its checksum") }
    guard UInt32(truncatingIfNeeded: sum) == reference.checksum else {
      throw damage("a node does not match the checksum in the reference to it")
    }
    guard base.u64(NodeLayout.ownOffset) == reference.offset else {
      throw damage("a node's own offset contradicts the reference to it")
    }
    if codec.isEncrypted {
      guard let writable else { preconditionFailure("an encrypted node is opened in place") }
      try codec.openNode(at: reference.offset, writable, length)
    }
    try structure(base, length - codec.trailerLength)
    let node = Node(validated: base)
    if let level, node.level != level {
      throw damage("the level of a node contradicts the reference to it")
    }
    return node
  }

  private func structure(_ base: UnsafeRawPointer, _ length: Int) throws(StorageError) {
    let kind = base.u8(NodeLayout.kind)
    let level = Int(base.u8(NodeLayout.level))
    let count = Int(base.u16(NodeLayout.count))
    let prefixCount = Int(base.u16(NodeLayout.prefixLength))
    let isBranch = kind == NodeLayout.branchKind
    guard isBranch || kind == NodeLayout.leafKind, isBranch == (level > 0), level < NodeLayout.maximumLevels
    else { throw damage("a node's kind and level do not agree") }
    guard count >= 1 else { throw damage("a node is empty") }
    // All of these have at most 16 bits, so nothing overflows.
    let perKey = (isBranch ? NodeLayout.childLength : 0) + NodeLayout.headLength + NodeLayout.slotLength
    let cells = NodeLayout.arrays + count * perKey + prefixCount
    guard cells <= length else { throw damage("a node's arrays extend beyond the node") }
    let node = Node(validated: base)
    if isBranch {
      guard node.head(0) == 0, node.slots.u16(0) == 0 else {
        throw damage("the first child of a branch has a separator")
      }
      try children(of: node)
    }
    try keys(of: node, isBranch: isBranch, from: cells, to: length)
  }

  private func children(of node: Node) throws(StorageError) {
    for index in 0..<node.count {
      let child = node.childReference(index)
      guard child.offset & 63 == 0, child.length <= NodeLayout.maximumLength else {
        throw damage("a child is not at a multiple of 64, or exceeds the maximum length of a node")
      }
    }
  }

  private func keys(of node: Node, isBranch: Bool, from first: Int, to length: Int) throws(StorageError) {
    let end = node.base + length
    let prefixCount = node.prefixCount
    var before: (suffix: UnsafeRawPointer, count: Int, head: UInt32)?
    for index in (isBranch ? 1 : 0)..<node.count {
      let slot = Int(node.slots.u16(index * NodeLayout.slotLength))
      guard slot >= first, slot < length else { throw damage("a cell does not lie within its node") }
      let (suffix, count) = try cell(node.base + slot, end: end, isBranch: isBranch)
      let keyLength = prefixCount + count
      guard keyLength <= NodeLayout.maximumKeyLength, isBranch || keyLength >= minimumKeyLength else {
        throw damage("a key is too short or too long")
      }
      let head = node.head(index)
      guard head == KeyOrder.head(suffix, count) else { throw damage("a head does not match its key") }
      if let before {
        // Complete keys are compared only if the heads are equal.
        guard
          before.head < head
            || (before.head == head && KeyOrder.compare(before.suffix, before.count, suffix, count) < 0)
        else { throw damage("the keys of a node are not in ascending order") }
      }
      before = (suffix, count, head)
    }
  }

  /// Returns the key of the cell at `start`. Throws unless the cell ends before `end`.
  @inline(__always) private func cell(
    _ start: UnsafeRawPointer, end: UnsafeRawPointer, isBranch: Bool
  ) throws(StorageError) -> (UnsafeRawPointer, Int) {
    guard let (keyLength, keyBytes) = Varint.read(start, end: end) else {
      throw damage("the length of a key is not a valid varint")
    }
    if isBranch {
      let suffix = start + keyBytes
      guard keyLength <= UInt64(end - suffix) else { throw damage("a separator extends beyond its node") }
      return (suffix, Int(keyLength))
    }
    guard let (tagged, valueBytes) = Varint.read(start + keyBytes, end: end) else {
      throw damage("the length of a value is not a valid varint")
    }
    let suffix = start + keyBytes + valueBytes
    let available = UInt64(end - suffix)
    guard keyLength <= available else { throw damage("a key extends beyond its node") }
    let isExtent = tagged & 1 != 0
    guard tagged >> 1 <= NodeLayout.maximumValueLength else {
      throw damage("a value exceeds the maximum length")
    }
    guard (isExtent ? UInt64(NodeLayout.extentLength) : tagged >> 1) <= available - keyLength else {
      throw damage("a value extends beyond its node")
    }
    return (suffix, Int(keyLength))
  }
}

extension NodeReference {
  /// The reference to a node at `offset`, according to the header in its first bytes.
  package init(to offset: UInt64, header: UnsafeRawPointer) {
    self.init(
      offset: offset, length: header.u32(NodeLayout.length), checksum: header.u32(NodeLayout.checksum))
  }
}
