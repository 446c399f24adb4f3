import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// A verified copy of a node in private memory, which no one writes to while it is in use.
package final class InspectedNode {
  package let reference: NodeReference
  package let node: Node
  private let memory: UnsafeMutableRawBufferPointer

  package var offset: UInt64 { reference.offset }
  package var transaction: UInt64 { node.base.u64(NodeLayout.transaction) }
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  /// Copies the `reference.length` bytes from `bytes` on. Throws `damaged` if they are not the node
  /// that `reference` means.
  init(_ bytes: UnsafeRawPointer, _ reference: NodeReference, seed: UInt64) throws(StorageError) {
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(Int(reference.length), 48), alignment: 8)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    memory.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: Int(reference.length)))
    do throws(StorageError) {
      guard let base = memory.baseAddress else { throw StorageError(.outOfMemory, "a node has no address") }
      // SAFETY: the memory is as long as the reference says, and lives as long as this object,
      // which owns the view.
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

  /// The first and the last full key of a leaf, or separator of a branch; nil for a branch with a
  /// single child.
  package var bounds: (first: [UInt8], last: [UInt8])? {
    if node.isLeaf { return (node.key(0).bytes, node.key(node.count - 1).bytes) }
    return node.count > 1 ? (node.separator(1).bytes, node.separator(node.count - 1).bytes) : nil
  }
}

/// Reads nodes into private memory.
package struct NodeReader {
  package let reader: FileReader
  /// The file seed.
  package let seed: UInt64

  /// Returns the node that a reference means, at the level that its parent implies. Throws
  /// `damaged`.
  package func node(_ reference: NodeReference, level: UInt8) throws(StorageError) -> InspectedNode {
    let found = try node(reference)
    guard found.node.level == level else {
      throw StorageError.damaged(at: reference.offset, "the level of a node contradicts the reference to it")
    }
    return found
  }

  /// Like `node`, but returns nil if the bytes there are not the node. Throws any error of the
  /// device.
  ///
  /// - Parameter level: the level that the node must have; nil for any.
  func soundNode(_ reference: NodeReference, level: UInt8?) throws(StorageError) -> InspectedNode? {
    do throws(StorageError) {
      let found = try node(reference)
      if let level, level != found.node.level { return nil }
      return found
    } catch {
      if error.kind == .damaged { return nil }
      throw error
    }
  }

  /// Returns the node that starts at `offset` according to its own header, whatever refers to it;
  /// nil if there is none.
  package func node(at offset: UInt64) throws(StorageError) -> InspectedNode? {
    guard let reference = try reference(at: offset) else { return nil }
    return try soundNode(reference, level: nil)
  }

  /// Returns the reference that follows from the header of a node at `offset`; nil if there is no
  /// such header.
  func reference(at offset: UInt64) throws(StorageError) -> NodeReference? {
    guard offset % FileLayout.nodeAlignment == 0, offset >= FileLayout.logStart else { return nil }
    let found = try reader.withBytes(at: offset, count: NodeLayout.arrays) { base in
      let kind = base.u8(NodeLayout.kind)
      guard base.u64(NodeLayout.ownOffset) == offset,
        kind == NodeLayout.leafKind || kind == NodeLayout.branchKind
      else { return nil as NodeReference? }
      return NodeReference(
        offset: offset, length: base.u32(NodeLayout.length), checksum: base.u32(NodeLayout.checksum))
    }
    return found ?? nil
  }

  private func node(_ reference: NodeReference) throws(StorageError) -> InspectedNode {
    guard reference.offset >= FileLayout.logStart, reference.offset % FileLayout.nodeAlignment == 0,
      reference.length <= FileLayout.nodeLimit,
      let found = try reader.withBytes(
        at: reference.offset, count: Int(reference.length),
        { (start) throws(StorageError) in try InspectedNode(start, reference, seed: seed) })
    else {
      throw StorageError.damaged(
        at: reference.offset, "a node does not lie within the file at a multiple of 64")
    }
    return found
  }
}
