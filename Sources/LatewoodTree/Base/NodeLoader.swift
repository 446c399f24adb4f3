import LatewoodBytes
import LatewoodFile

/// Reads nodes in place in the file. Returns a node only after its bytes have been verified.
///
/// Bounds and the fields that a reference repeats are checked each time, in a cache line that the
/// search needs anyway. The checksum and the structure are verified the first time this process
/// reads the node; after that a bit is tested.
struct NodeLoader {
  var file: FileView
  /// The minimum length of a key in a leaf. Higher layers strip the keyspace number without a
  /// check.
  var minimumKeyLength = NodeLayout.minimumKeyLength

  /// Returns the node that `reference` refers to, at the level that its parent implies.
  ///
  /// - Parameter entries: for a leaf that will be searched, the number of its entries according to
  ///   its parent, so that its arrays are loaded in parallel instead of one after the other. A
  ///   wrong number only costs time.
  @inline(__always) func node(
    _ reference: NodeReference, level: UInt8, entries: UInt64 = 0
  ) throws(StorageError) -> Node {
    let length = UInt64(reference.length)
    guard reference.isWithin(file.limit) else { throw reference.outside }
    let base = file.base + Int(truncatingIfNeeded: reference.offset)
    if !file.isVerified(reference.offset, FileView.Proof.node) { try verify(reference) }
    if entries > 0 { NodeLoader.touchArrays(of: base, entries, length) }
    guard base.u32(NodeLayout.length) == reference.length, base.u8(NodeLayout.level) == level,
      base.u32(NodeLayout.checksum) == reference.checksum
    else { throw NodeLoader.mismatch(reference) }
    let node = Node(validated: base)
    guard node.fits(in: Int(truncatingIfNeeded: length)) else {
      throw NodeLoader.changed(reference.offset)
    }
    return node
  }

  /// Returns the child of a branch that will be searched. `level` is the child's.
  @inline(__always) func child(_ index: Int, of branch: Node, level: UInt8) throws(StorageError) -> Node {
    try node(
      branch.childReference(index), level: level, entries: level == 0 ? branch.childEntries(index) : 0)
  }

  /// Prefetches the arrays of a leaf, at most its first 512 bytes. The header is loaded with the
  /// first of them, so a search waits for memory only once before it knows the cell.
  @inline(__always) private static func touchArrays(
    of leaf: UnsafeRawPointer, _ entries: UInt64, _ length: UInt64
  ) {
    let arrays = UInt64(NodeLayout.headLength + NodeLayout.slotLength)
    let end = min(UInt64(NodeLayout.arrays) &+ min(entries, length) &* arrays, length, 512)
    var at: UInt64 = 64
    while at < end {
      (leaf + Int(truncatingIfNeeded: at)).touch()
      at &+= 64
    }
  }

  @inline(__always) func root(_ subtree: Subtree) throws(StorageError) -> Node {
    try node(subtree.reference, level: subtree.level)
  }

  /// Verifies a node and marks it as verified. Its reference must lie within the file.
  @inline(never) func verify(_ reference: NodeReference) throws(StorageError) {
    if file.codec.isEncrypted {
      // Verified in private memory, because other threads may be reading the same node.
      let copy = try NodeCopy(reference, level: nil, in: file, minimumKeyLength: minimumKeyLength)
      try file.show(copy.bytes, at: reference.offset)
      return file.markVerified(reference.offset, Int(reference.length), FileView.Proof.node)
    }
    try file.makeReadable(reference.offset, Int(reference.length))
    // SAFETY: the check of the reference proves that the node lies within the file.
    _ = try NodeValidation(
      base: file.base + Int(truncatingIfNeeded: reference.offset), codec: file.codec, reference: reference,
      minimumKeyLength: minimumKeyLength
    ).open()
    file.markVerified(reference.offset, Int(reference.length), FileView.Proof.node)
  }

  /// Returns a view of a node that was returned before. Checks its level and bounds again, but not
  /// its checksum.
  func node(again offset: UInt64, level: UInt8) throws(StorageError) -> Node {
    let node = Node(validated: file.base + Int(truncatingIfNeeded: offset))
    guard node.level == level, UInt64(node.length) <= file.limit &- offset,
      node.fits(in: Int(node.length))
    else {
      throw NodeLoader.changed(offset)
    }
    return node
  }

  /// Returns whether a key's suffix lies within the file. If its node has changed, it may not.
  func contains(_ key: PrefixedKey) -> Bool {
    let start = UInt64(UInt(bitPattern: key.suffix) &- UInt(bitPattern: file.base))
    return start <= file.limit && UInt64(key.suffixCount) <= file.limit &- start
  }

  @inline(never) private static func changed(_ offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "a node has changed since it was verified")
  }

  @inline(never) private static func mismatch(_ reference: NodeReference) -> StorageError {
    StorageError.damaged(
      at: reference.offset, "the length, level or checksum of a node contradicts the reference to it")
  }
}
