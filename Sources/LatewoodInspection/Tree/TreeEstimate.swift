import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The shares of the keyspaces in a tree, and how full its leaves are, from the totals in branches.
///
/// It reads the nodes in which one keyspace ends and the next begins, the last node of each level,
/// and a few branches. So the cost grows with the number of keyspaces and the height of the tree,
/// and not with the size of the file.
package struct TreeEstimate {
  /// The number of branches of a level, and of leaves, whose lengths are sampled.
  private static let sampledBranches = 16
  private static let sampledLeaves = 1024
  /// The maximum number of nodes to read: in a malicious file, many references may lead to one
  /// node.
  private static let readLimit = 1 << 17

  /// The bytes of the leaves and extents of each keyspace by number, with those of branches that
  /// only this keyspace has. Leaves with several keyspaces are divided by their entries.
  package private(set) var bytes: [UInt32: UInt64] = [:]
  /// The mean length of a leaf as a share of the size of a full node, in hundredths; 0 if there is
  /// none.
  package private(set) var fillPercent = 0
  /// The faults of the nodes that were read, in the order of keys, the first 100. With any of them,
  /// a compaction fails.
  package private(set) var faults: [StorageError] = []

  private let nodes: UnitReader
  private var readCount = 0

  /// Nodes that are damaged or cannot be read are left out.
  package init(_ root: Subtree?, _ nodes: UnitReader) {
    self.nodes = nodes
    guard let root else { return }
    divide(root, from: nil, to: nil)
    fillPercent = sampledFill(of: root)
  }

  private mutating func read(_ subtree: Subtree) -> NodeCopy? {
    guard readCount < TreeEstimate.readLimit else { return nil }
    readCount += 1
    do throws(StorageError) { return try nodes.node(subtree.reference, level: subtree.level) } catch {
      let fault = nodes.cause(of: error, in: subtree.reference)
      if faults.count < 100, !faults.contains(where: { $0.offset == fault.offset }) { faults.append(fault) }
      return nil
    }
  }

  /// - Parameters:
  ///   - first: the keyspace of the separator before the subtree; nil at the start of the tree.
  ///   - last: the keyspace of the separator behind the subtree; nil at the end of the tree.
  private mutating func divide(_ subtree: Subtree, from first: UInt32?, to last: UInt32?) {
    if let first, first == last { return add(subtree.liveBytes, to: first) }
    guard let inspected = read(subtree) else { return }
    defer { withExtendedLifetime(inspected) {} }
    let node = inspected.node
    guard !node.isLeaf else { return addLeaf(node) }
    for index in 0..<node.count {
      let low = index == 0 ? first : LiveTree.keyspace(of: node.separator(index))
      let high = index + 1 < node.count ? LiveTree.keyspace(of: node.separator(index + 1)) : last
      divide(node.childSubtree(index), from: low, to: high)
    }
  }

  private mutating func addLeaf(_ node: Node) {
    let (low, high) = (LiveTree.keyspace(of: node.key(0)), LiveTree.keyspace(of: node.key(node.count - 1)))
    if low == high { add(UInt64(node.length), to: low) }
    for index in 0..<node.count {
      let entry = node.entry(index)
      let keyspace = low == high ? low : LiveTree.keyspace(of: node.key(index))
      if low != high { add(UInt64(LiveTree.length(of: entry, at: index, in: node)), to: keyspace) }
      if entry.value.isExtent {
        add(UInt64(entry.value.length) &+ UInt64(nodes.codec.trailerLength), to: keyspace)
      }
    }
  }

  private mutating func add(_ count: UInt64, to keyspace: UInt32) { bytes[keyspace, default: 0] &+= count }

  /// Descends level by level through evenly spaced branches to references to leaves, which tell
  /// their lengths.
  private mutating func sampledFill(of root: Subtree) -> Int {
    var level = [root]
    var lengths: [UInt32] = [root.reference.length]
    while let first = level.first, first.level > 0 {
      var below: [Subtree] = []
      for branch in TreeEstimate.spaced(level, TreeEstimate.sampledBranches) {
        guard let inspected = read(branch) else { continue }
        for index in 0..<inspected.node.count { below.append(inspected.node.childSubtree(index)) }
        withExtendedLifetime(inspected) {}
      }
      level = below
      lengths += below.map(\.reference.length)
    }
    let leaves = TreeEstimate.spaced(level, TreeEstimate.sampledLeaves)
    guard !leaves.isEmpty else { return 0 }
    let sum = leaves.reduce(0 as UInt64) { $0 + UInt64($1.reference.length) }
    return Int(sum * 100 / (UInt64(leaves.count) * UInt64(TreeShape.nodeSize(of: lengths))))
  }

  private static func spaced(_ items: [Subtree], _ count: Int) -> [Subtree] {
    items.count <= count ? items : (0..<count).map { items[$0 * items.count / count] }
  }
}
