import LatewoodBytes
import LatewoodFile

extension TreeBuilder {
  /// One byte in this many may be wasted in leaves that are not full, so that transplanting can
  /// resume after a leaf that could not be transplanted. That costs little space, because a node is
  /// only as long as its contents, but every additional leaf slows down searches and scans.
  private static let bytesPerWasted = 256

  /// Adds a full leaf of another file unchanged, without decoding each entry. If this returns
  /// false, nothing has changed, and the caller must append its entries.
  ///
  /// Pending items are written first, as one node or two. The leaf is refused if these nodes would
  /// waste more than `wasteAllowance`, or if the builder would have encoded its entries
  /// differently.
  ///
  /// - Parameter leaf: a verified leaf without extents, whose keys are greater than all before. It
  ///   need not stay in memory.
  func transplant(_ leaf: Node) throws(StorageError) -> Bool {
    let length = Int(leaf.length)
    wasteAllowance += length / TreeBuilder.bytesPerWasted
    guard NodeSplit.isFull(length, nodeSize: nodeSize), leaf.isCanonical else { return false }
    if !levels[0].isEmpty {
      let wasted = max(0, nodeSize - levels[0].currentLength)
      guard wasted <= wasteAllowance, !levels[0].isUnderfull(nodeSize: nodeSize) else { return false }
      wasteAllowance -= wasted
      try flush(0, even: levels[0].currentLength < nodeSize / 2)
    }
    let first = leaf.key(0)
    if case .key(let last) = left {
      let common = first.commonPrefix(last)
      guard common < first.count, common == last.count || last.byte(common) < first.byte(common) else {
        throw StorageError(.damaged, "the keys of a new tree are not in ascending order")
      }
    }
    let separator = keep(try left.separator(before: first, source: source))
    let (target, provisional) = try sink.allocate(length: length)
    resolvePlaced()
    target.copyMemory(from: leaf.base, byteCount: length)
    target.set(transaction, at: NodeLayout.transaction)
    left = .key(keep(leaf.key(leaf.count - 1)))
    let subtree = Subtree(
      reference: NodeReference(offset: provisional, length: leaf.length, checksum: 0), level: 0,
      entries: UInt64(leaf.count), liveBytes: UInt64(leaf.length))
    try push(BuilderItem(separator, child: subtree), level: 1)
    return true
  }
}

extension Node {
  /// Whether this leaf has the canonical form that the format requires but validation does not
  /// check: the longest prefix, and zeros in the reserved fields.
  fileprivate var isCanonical: Bool {
    base.u16(NodeLayout.reserved) == 0 && base.u32(NodeLayout.reserved + 2) == 0
      && key(0).commonPrefix(key(count - 1)) == prefixCount
  }
}
