import LatewoodBytes
import LatewoodFile

/// Goes over everything that a tree refers to, a node at a time, so that whoever asks can pause.
///
/// Every node is read: what a branch says of the live bytes under it need not be true. What a node
/// refers to is not read, only told. Memory: the children of one branch for each level.
package struct ReferenceWalk {
  private let source: NodeSource
  private var pending: [Subtree]

  /// - Parameter root: of the tree, which somebody keeps.
  package init(_ root: Subtree?, in file: FileView) {
    source = NodeSource(file: file)
    pending = root.map { [$0] } ?? []
  }

  package var isFinished: Bool { pending.isEmpty }

  /// Gives the next node, and the values that it refers to, to `body`, until that returns false.
  ///
  /// Returns false then. Throws `damaged` if the node is not what its reference says.
  package mutating func step(_ body: (DeadRange) -> Bool) throws(Fault) -> Bool {
    guard let subtree = pending.popLast() else { return true }
    let node = try source.root(subtree)
    // `root` has found it to lie within the file.
    let reference = subtree.reference
    let end = reference.offset + UInt64(reference.length)
    guard body(DeadRange(start: reference.offset, end: end, endsInNode: true)) else { return false }
    if !node.isLeaf {
      for index in (0..<node.count).reversed() { pending.append(node.childSubtree(index)) }
      return true
    }
    for index in 0..<node.count {
      let value = node.entry(index).value
      guard value.isExtent, value.length > 0 else { continue }
      let (end, overflow) = value.extentOffset.addingReportingOverflow(UInt64(value.length))
      guard !overflow, body(DeadRange(start: value.extentOffset, end: end, endsInNode: false)) else {
        return false
      }
    }
    return true
  }
}
