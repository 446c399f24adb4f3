import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// What of the newest checkpoint's tree cannot be read, by the place of the damage.
///
/// The log behind the checkpoint may have newer values of the same keys: this is what the tree
/// loses.
package struct TreeLosses {
  package enum Loss: Equatable, Sendable {
    /// The entries under a node. Full keys: not less than `low`, if there is one, and less than
    /// `high`.
    case entries(count: UInt64, low: [UInt8]?, high: [UInt8]?)
    /// The value of a full key.
    case value(key: [UInt8])
  }

  package let tree: LiveTree
  private var losses: [UInt64: Loss] = [:]

  /// - Parameter places: offsets of damaged values that are to be found.
  package init(_ file: InspectedFile, values places: Set<UInt64>) throws(Fault) {
    let root = file.checkpoint?.record.root
    tree = try LiveTree(root, file.nodes)
    var found: [UInt64: Loss] = [:]
    var walk = TreeWalk(file.nodes)
    try walk.run(root) { (visit) throws(Fault) in
      guard let inspected = visit.node else {
        found[visit.subtree.reference.offset] = .entries(
          count: visit.subtree.entries, low: visit.low, high: visit.high)
        return true
      }
      defer { withExtendedLifetime(inspected) {} }
      guard inspected.node.isLeaf, !places.isEmpty else { return true }
      for index in 0..<inspected.node.count {
        let value = inspected.node.entry(index).value
        if value.isExtent, places.contains(value.extentOffset) {
          found[value.extentOffset] = .value(key: inspected.node.key(index).bytes)
        }
      }
      return true
    }
    losses = found
  }

  /// What is lost by damage at this place; nil if it is none of the tree's.
  package subscript(offset: UInt64) -> Loss? { losses[offset] }
}
