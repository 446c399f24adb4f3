import LatewoodBytes
import LatewoodFile

/// Walks all references of a tree, one node at a time, so that the caller can pause.
///
/// Reads every node, because the live bytes recorded in a branch may be wrong. Extents are reported
/// without being read. Memory: the children of one branch for each level.
package struct ReferenceWalk {
  private let source: NodeLoader
  private var pending: [Subtree]

  /// - Parameter root: the root of the tree. The caller keeps the tree from being reclaimed.
  package init(_ root: Subtree?, in file: FileView) {
    source = NodeLoader(file: file)
    pending = root.map { [$0] } ?? []
  }

  package var isFinished: Bool { pending.isEmpty }

  /// Passes the next node, and the extents that it refers to, to `body` until `body` returns false.
  ///
  /// Returns false if `body` did. Throws `damaged` if the node does not match its reference.
  package mutating func step(_ body: (DeadRange) -> Bool) throws(StorageError) -> Bool {
    guard let subtree = pending.popLast() else { return true }
    let pin = source.file.pin()
    defer { withExtendedLifetime(pin) {} }
    let node = try source.root(subtree)
    // `source.root` checked that the node lies within the file.
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
      let (end, overflow) = value.extentOffset.addingReportingOverflow(
        UInt64(value.length + source.file.codec.trailerLength))
      guard !overflow, body(DeadRange(start: value.extentOffset, end: end, endsInNode: false)) else {
        return false
      }
    }
    return true
  }
}
