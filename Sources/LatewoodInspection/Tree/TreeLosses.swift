import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The unreadable parts of the newest checkpoint's tree, by the offset of the damage.
///
/// These are the losses of the tree alone: the log after the checkpoint may contain newer values of
/// the same keys.
package struct TreeLosses {
  package enum Loss: Equatable, Sendable {
    /// The entries under a node, as a range of full keys: from `low`, if there is one, up to but
    /// not including `high`.
    case entries(count: UInt64, low: [UInt8]?, high: [UInt8]?)
    /// The value of a key, given as a full key.
    case value(key: [UInt8])
  }

  package let tree: LiveTree
  private var losses: [UInt64: Loss] = [:]

  /// - Parameter offsets: the offsets of damaged values to find.
  package init(_ file: InspectedFile, values offsets: Set<UInt64>) throws(StorageError) {
    let root = file.checkpoint?.record.root
    tree = try LiveTree(root, file.units)
    var found: [UInt64: Loss] = [:]
    var walk = TreeWalk(file.units)
    try walk.run(root) { (visit) throws(StorageError) in
      guard let inspected = visit.node else {
        found[visit.subtree.reference.offset] = .entries(
          count: visit.subtree.entries, low: visit.low, high: visit.high)
        return true
      }
      defer { withExtendedLifetime(inspected) {} }
      guard inspected.node.isLeaf, !offsets.isEmpty else { return true }
      for index in 0..<inspected.node.count {
        let value = inspected.node.entry(index).value
        if value.isExtent, offsets.contains(value.extentOffset) {
          found[value.extentOffset] = .value(key: inspected.node.key(index).bytes)
        }
      }
      return true
    }
    losses = found
  }

  /// The loss caused by damage at this offset; nil if the offset is not in the tree.
  package subscript(offset: UInt64) -> Loss? { losses[offset] }
}
