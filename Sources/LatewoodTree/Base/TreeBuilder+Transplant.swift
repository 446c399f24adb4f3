import LatewoodBytes
import LatewoodFile

extension TreeBuilder {
  /// Leaves may be one part in so many emptier than full ones, so that leaves can be taken over
  /// again after one that could not. That costs few bytes, since a node is as long as what is in
  /// it, but each leaf more is one that searches, scans and branches go over.
  private static let bytesPerWasted = 256

  /// Takes over a full leaf of another file as it is, without a look at each entry. False: nothing
  /// was done, its entries have to be appended.
  ///
  /// What waits is written before it, as one node or two. Where these would be emptier than the
  /// room that was saved up allows, the leaf is refused; so it is if the builder would have made
  /// another node of its entries.
  ///
  /// - Parameter leaf: proved where it lies, and without extents; it need not stay there. Its keys
  ///   are greater than everything before.
  func transplant(_ leaf: Node) throws(Fault) -> Bool {
    let length = Int(leaf.length)
    spareRoom += length / TreeBuilder.bytesPerWasted
    guard length > nodeSize - nodeSize / 16, length <= nodeSize, leaf.hasOwnForm else { return false }
    if !levels[0].isEmpty {
      let wasted = max(0, nodeSize - levels[0].currentLength)
      guard wasted <= spareRoom, !levels[0].isUnderfull(nodeSize: nodeSize) else { return false }
      spareRoom -= wasted
      try flush(0, even: levels[0].currentLength < nodeSize / 2)
    }
    let first = leaf.key(0)
    if case .key(let last) = left {
      let common = first.commonPrefix(last)
      guard common < first.count, common == last.count || last.byte(common) < first.byte(common) else {
        throw Fault(.damaged, "the keys that make up a new tree are not in ascending order")
      }
    }
    let separator = keep(try left.separator(before: first, source: source))
    let (target, provisional) = try sink.room(for: length)
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
  /// Whether this leaf has what the format asks of every node and validation does not look at: the
  /// longest prefix, and nothing where nothing is to be.
  fileprivate var hasOwnForm: Bool {
    base.u16(NodeLayout.reserved) == 0 && base.u32(NodeLayout.reserved + 2) == 0
      && key(0).commonPrefix(key(count - 1)) == prefixCount
  }
}
