import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// A verified copy of a node in private memory, which is not written to while it is in use.
package final class InspectedNode {
  package let reference: NodeReference
  package let node: Node
  private let memory: UnsafeMutableRawBufferPointer

  package var offset: UInt64 { reference.offset }
  package var transaction: UInt64 { node.base.u64(NodeLayout.transaction) }
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  /// Copies `reference.length` bytes starting at `bytes`. Throws `damaged` if they are not the node
  /// that `reference` refers to.
  init(_ bytes: UnsafeRawPointer, _ reference: NodeReference, seed: UInt64) throws(StorageError) {
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(Int(reference.length), 48), alignment: 8)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    memory.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: Int(reference.length)))
    do throws(StorageError) {
      guard let base = memory.baseAddress else { throw StorageError(.outOfMemory, "a node has no address") }
      // SAFETY: the memory has the length in the reference, and lives as long as this object, which
      // owns the view.
      try NodeValidation(
        base: UnsafeRawPointer(base), seed: seed, reference: reference,
        minimumKeyLength: NodeLayout.minimumKeyLength
      ).run()
      node = Node(validated: UnsafeRawPointer(base))
    } catch {
      memory.deallocate()
      throw error
    }
    self.reference = reference
    self.memory = memory
  }

  deinit { memory.deallocate() }

  /// The first and last full keys of a leaf, or the first and last separators of a branch; nil for
  /// a branch with a single child.
  package var bounds: (first: [UInt8], last: [UInt8])? {
    if node.isLeaf { return (node.key(0).bytes, node.key(node.count - 1).bytes) }
    return node.count > 1 ? (node.separator(1).bytes, node.separator(node.count - 1).bytes) : nil
  }
}
