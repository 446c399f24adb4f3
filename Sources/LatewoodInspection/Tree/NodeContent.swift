import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// One node in full, copied into plain values.
package struct NodeContent {
  package struct Entry {
    /// The full key.
    package let key: [UInt8]
    package let head: UInt32
    /// The offset of the cell from the start of the node.
    package let slot: Int
    /// The length of the value, which is in the node or in an extent.
    package let valueLength: Int
    /// The first bytes of a value within the node.
    package let value: [UInt8]
    /// The offset of the value in the file, if it is an extent.
    package let extent: UInt64?
  }

  package struct Child {
    /// The separator, which is not greater than any key of the child; nil for the first child.
    package let separator: [UInt8]?
    package let head: UInt32
    package let subtree: Subtree
  }

  package let reference: NodeReference
  package let level: UInt8
  package let transaction: UInt64
  package let prefix: [UInt8]
  package private(set) var entries: [Entry] = []
  package private(set) var children: [Child] = []

  package var isLeaf: Bool { level == 0 }
  package var count: Int { isLeaf ? entries.count : children.count }

  package init(_ inspected: NodeCopy) {
    let node = inspected.node
    reference = inspected.reference
    level = node.level
    transaction = inspected.transaction
    prefix = Array(UnsafeRawBufferPointer(start: node.prefix, count: node.prefixCount))
    for index in 0..<node.count {
      if node.isLeaf {
        let value = node.entry(index).value
        let shown = value.isExtent ? 0 : min(value.length, 256)
        entries.append(
          Entry(
            key: node.key(index).bytes, head: node.head(index), slot: node.cell(index) - node.base,
            valueLength: value.length,
            value: Array(UnsafeRawBufferPointer(start: value.pointer, count: shown)),
            extent: value.isExtent ? value.extentOffset : nil))
      } else {
        children.append(
          Child(
            separator: index == 0 ? nil : node.separator(index).bytes, head: node.head(index),
            subtree: node.childSubtree(index)))
      }
    }
    // The view points into the memory of the node.
    withExtendedLifetime(inspected) {}
  }
}
