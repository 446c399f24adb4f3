import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// One node in memory of its own, proved: nobody writes to it while it is looked at.
package final class InspectedNode {
  package let reference: NodeReference
  package let node: Node
  private let memory: UnsafeMutableRawBufferPointer

  package var offset: UInt64 { reference.offset }
  package var transaction: UInt64 { node.base.u64(NodeLayout.transaction) }
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  /// Throws `damaged` if the bytes are not the node that `reference` means.
  init(_ bytes: [UInt8], _ reference: NodeReference, seed: UInt64) throws(Fault) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 48), alignment: 8)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    memory.copyBytes(from: bytes)
    do throws(Fault) {
      guard bytes.count == Int(reference.length), let base = memory.baseAddress else {
        throw Fault.damaged(at: reference.offset, "a node does not lie within the file")
      }
      // SAFETY: the memory is as long as the reference says, and lives as long as this object, which hands out the view.
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

  /// The first and the last full key of a leaf, or separator of a branch; nil for a branch with one child.
  package var bounds: (first: [UInt8], last: [UInt8])? {
    if node.isLeaf { return (node.key(0).bytes, node.key(node.count - 1).bytes) }
    return node.count > 1 ? (node.separator(1).bytes, node.separator(node.count - 1).bytes) : nil
  }
}

/// Reads nodes, each into memory of its own.
package struct NodeReader {
  package let reader: FileReader
  /// The file seed.
  package let seed: UInt64

  /// The node that a reference means, at the level that its parent implies. Throws `damaged`.
  package func node(_ reference: NodeReference, level: UInt8) throws(Fault) -> InspectedNode {
    let (end, overflow) = reference.offset.addingReportingOverflow(UInt64(reference.length))
    guard reference.offset >= FileLayout.logStart, reference.offset % FileLayout.nodeAlignment == 0,
      !overflow,
      end <= reader.size, reference.length <= FileLayout.nodeLimit
    else {
      throw Fault.damaged(at: reference.offset, "a node does not lie within the file at a multiple of 64")
    }
    let found = try InspectedNode(try reader.bytes(reference.offset..<end), reference, seed: seed)
    guard found.node.level == level else {
      throw Fault.damaged(at: reference.offset, "a node has another level than the reference to it says")
    }
    return found
  }

  /// The node that starts at `offset` by what it says of itself, whatever refers to it; nil if there is none.
  package func node(at offset: UInt64) throws(Fault) -> InspectedNode? {
    guard offset % FileLayout.nodeAlignment == 0, offset >= FileLayout.logStart else { return nil }
    let head = try reader.some(at: offset, count: NodeLayout.arrays)
    guard head.count == NodeLayout.arrays else { return nil }
    let (own, length, checksum) = head.withUnsafeBytes { bytes in
      // SAFETY: there are 40 bytes, by the check above.
      bytes.baseAddress.map {
        ($0.u64(NodeLayout.ownOffset), $0.u32(NodeLayout.length), $0.u32(NodeLayout.checksum))
      } ?? (0, 0, 0)
    }
    guard own == offset, length <= FileLayout.nodeLimit, UInt64(length) <= reader.size - offset else {
      return nil
    }
    let reference = NodeReference(offset: offset, length: length, checksum: checksum)
    do throws(Fault) {
      return try InspectedNode(
        Array(try reader.some(at: offset, count: Int(length))), reference, seed: seed)
    } catch {
      if error.kind == .damaged { return nil }
      throw error
    }
  }
}
