import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Walks a tree from its root, in the order of keys, node by node, continuing past damage.
///
/// A node that is reached twice is a fault and is not walked again, so that a malicious file cannot
/// make the walk slow.
package struct TreeWalk {
  /// The facts about one node.
  package struct Visit {
    /// The reference from the parent, or from the checkpoint.
    package let subtree: Subtree
    /// The node; nil if it was not read, or could not be read.
    package let node: NodeCopy?
    /// The reason why the node could not be read.
    package let fault: StorageError?
    /// The separators around the node: its keys are not less than `low`, and less than `high`.
    package let low: [UInt8]?
    package let high: [UInt8]?
  }

  private let nodes: UnitReader
  private let readsLeaves: Bool
  private var seen: Set<UInt64> = []

  /// - Parameter readsLeaves: whether leaves are read. Otherwise they are reported from the
  ///   references in their parents, which takes a hundredth of the work.
  package init(_ nodes: UnitReader, readsLeaves: Bool = true) {
    self.nodes = nodes
    self.readsLeaves = readsLeaves
  }

  /// - Parameter visit: called for each node before the nodes under it. If it returns false, these
  ///   are skipped.
  package mutating func run(
    _ root: Subtree?, _ visit: (Visit) throws(StorageError) -> Bool
  ) throws(StorageError) {
    if let root { try walk(root, nil, nil, visit) }
  }

  private mutating func walk(
    _ subtree: Subtree, _ low: [UInt8]?, _ high: [UInt8]?, _ visit: (Visit) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var node: NodeCopy?
    var fault: StorageError?
    if !seen.insert(subtree.reference.offset).inserted {
      fault = .damaged(at: subtree.reference.offset, "a node occurs twice in the tree")
    } else if readsLeaves || subtree.level > 0 {
      do throws(StorageError) {
        node = try nodes.node(subtree.reference, level: subtree.level)
      } catch {
        fault = error
      }
    }
    let visited = Visit(subtree: subtree, node: node, fault: fault, low: low, high: high)
    guard try visit(visited), let branch = node?.node, !branch.isLeaf else { return }
    for index in 0..<branch.count {
      let from = index == 0 ? low : branch.separator(index).bytes
      let to = index + 1 < branch.count ? branch.separator(index + 1).bytes : high
      try walk(branch.childSubtree(index), from, to, visit)
    }
    // The view points into the memory of the node.
    withExtendedLifetime(node) {}
  }
}
