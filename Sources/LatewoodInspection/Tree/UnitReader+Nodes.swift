import LatewoodBytes
import LatewoodFile
import LatewoodTree

extension UnitReader {
  /// Returns the node that a reference refers to, at the level that its parent implies. Throws
  /// `damaged`.
  package func node(_ reference: NodeReference, level: UInt8) throws(StorageError) -> NodeCopy {
    try NodeCopy(reference, level: level, in: self)
  }

  /// Returns the reason why a node could not be read: the fault, unless it only follows from blocks
  /// that the disk could not read and that were read as zeros.
  func cause(of fault: StorageError, in reference: NodeReference) -> StorageError {
    guard reader.isUnreadable(reference.offset, UInt64(reference.length)) else { return fault }
    return StorageError(.inputOutput, "the disk cannot read a node of the tree", offset: reference.offset)
  }

  /// Like `node`, but returns nil if the bytes are not the node. Throws any error of the device.
  ///
  /// - Parameter level: the level that the node must have; nil for any.
  func soundNode(_ reference: NodeReference, level: UInt8?) throws(StorageError) -> NodeCopy? {
    do throws(StorageError) {
      return try NodeCopy(reference, level: level, in: self)
    } catch {
      if error.kind == .damaged { return nil }
      throw error
    }
  }

  /// Returns the node that starts at `offset` according to its own header, regardless of any
  /// references to it; nil if there is none.
  package func node(at offset: UInt64) throws(StorageError) -> NodeCopy? {
    guard let reference = try reference(at: offset) else { return nil }
    return try soundNode(reference, level: nil)
  }

  /// Returns the reference that follows from the header of a node at `offset`; nil if the header is
  /// not valid.
  func reference(at offset: UInt64) throws(StorageError) -> NodeReference? {
    guard offset % FileLayout.nodeAlignment == 0, offset >= FileLayout.logStart else { return nil }
    let found = try withBytes(at: offset, count: NodeLayout.arrays) { base in
      let kind = base.u8(NodeLayout.kind)
      guard base.u64(NodeLayout.ownOffset) == offset,
        kind == NodeLayout.leafKind || kind == NodeLayout.branchKind
      else { return nil as NodeReference? }
      return NodeReference(to: offset, header: base)
    }
    return found ?? nil
  }
}

extension NodeCopy {
  package var offset: UInt64 { reference.offset }
  package var transaction: UInt64 { node.base.u64(NodeLayout.transaction) }

  /// The first and last full keys of a leaf, or the first and last separators of a branch; nil for
  /// a branch with a single child.
  package var bounds: (first: [UInt8], last: [UInt8])? {
    if node.isLeaf { return (node.key(0).bytes, node.key(node.count - 1).bytes) }
    return node.count > 1 ? (node.separator(1).bytes, node.separator(node.count - 1).bytes) : nil
  }
}
