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

  /// Returns the node that starts at `offset` according to its own header, in a file whose key is
  /// missing; nil if there is none that matches its checksum.
  package func lockedNode(at offset: UInt64) throws(StorageError) -> NodeReference? {
    guard let reference = try reference(at: offset),
      (NodeLayout.arrays...FileLayout.nodeLimit).contains(Int(reference.length))
    else { return nil }
    let isSound = try withBytes(at: offset, count: Int(reference.length)) { base in
      codec.isSound(.node, at: offset, base, Int(reference.length))
    }
    return isSound == true ? reference : nil
  }

  /// Returns the bytes of a node that may be damaged, without the trailer of an encrypted one;
  /// fewer at the end of the file. Nothing is proved.
  func unprovenBytes(of reference: NodeReference) throws(StorageError) -> [UInt8] {
    var bytes = try reader.some(at: reference.offset, count: Int(reference.length))
    guard codec.isEncrypted, bytes.count == Int(reference.length), bytes.count > codec.trailerLength else {
      return bytes
    }
    // A block that was destroyed is recognized by its zeros, so it stays as it is.
    let block = 4096
    let stored = bytes
    bytes.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      codec.decryptUnprovenNode(base, bytes.count)
      var start = 0
      while start < bytes.count {
        let end = min(bytes.count, start + block - (Int(reference.offset % UInt64(block)) + start) % block)
        if stored[start..<end].allSatisfy({ $0 == 0 }) {
          (base + start).initializeMemory(as: UInt8.self, repeating: 0, count: end - start)
        }
        start = end
      }
    }
    return bytes.dropLast(codec.trailerLength)
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
