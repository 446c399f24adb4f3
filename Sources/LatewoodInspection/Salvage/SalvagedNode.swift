import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// A node of a damaged file that has proved itself, copied out of it.
struct SalvagedNode {
  struct Child {
    var subtree: Subtree
    /// Nil for the first child of a branch.
    var separator: [UInt8]?
  }

  let offset: UInt64
  let level: UInt8
  let transaction: UInt64
  /// Of a leaf, in the order of the keys.
  private(set) var entries: [SalvagedEntry] = []
  /// Of a branch.
  private(set) var children: [Child] = []

  /// The node that `reference` means; nil if the bytes there are not it.
  ///
  /// - Parameter level: nil if nobody says which it must have.
  init?(
    _ reference: NodeReference, level: UInt8?, in source: SalvageSource, seed: UInt64
  ) throws(Fault) {
    guard Int(reference.length) <= FileLayout.nodeLimit, reference.offset >= FileLayout.logStart,
      reference.offset % FileLayout.nodeAlignment == 0
    else {
      return nil
    }
    let made = try source.withBytes(at: reference.offset, count: Int(reference.length)) { base in
      SalvagedNode(base, reference, level: level, seed: seed)
    }
    guard let made, let node = made else { return nil }
    self = node
  }

  /// `base` has the bytes that the reference says.
  private init?(_ base: UnsafeRawPointer, _ reference: NodeReference, level: UInt8?, seed: UInt64) {
    do throws(Fault) {
      try NodeValidation(
        base: base, seed: seed, reference: reference, minimumKeyLength: NodeLayout.minimumKeyLength
      ).run()
    } catch {
      return nil
    }
    let node = Node(validated: base)
    if let level, node.level != level { return nil }
    offset = reference.offset
    self.level = node.level
    transaction = base.u64(NodeLayout.transaction)
    if node.isLeaf {
      entries.reserveCapacity(node.count)
      for index in 0..<node.count {
        entries.append(SalvagedEntry(key: node.key(index).bytes, cell: node.entry(index).value))
      }
    } else {
      children = (0..<node.count).map { index in
        Child(
          subtree: node.childSubtree(index), separator: index == 0 ? nil : node.separator(index).bytes)
      }
    }
  }

  /// What a node at `offset` says of itself; nil if there is none.
  static func reference(at offset: UInt64, in source: SalvageSource) throws(Fault) -> NodeReference? {
    let found = try source.withBytes(at: offset, count: NodeLayout.arrays) { base in
      let kind = base.u8(NodeLayout.kind)
      guard base.u64(NodeLayout.ownOffset) == offset,
        kind == NodeLayout.leafKind || kind == NodeLayout.branchKind
      else { return nil as NodeReference? }
      return NodeReference(
        offset: offset, length: base.u32(NodeLayout.length), checksum: base.u32(NodeLayout.checksum))
    }
    return found ?? nil
  }
}

/// An entry that was read out of a damaged file. A large value still lies where it was.
struct SalvagedEntry {
  enum Value: Equatable {
    case inline([UInt8])
    case extent(offset: UInt64, length: Int, checksum: UInt32)
  }

  /// The full key.
  var key: [UInt8]
  var value: Value

  init(key: [UInt8], value: Value) {
    self.key = key
    self.value = value
  }

  init(key: [UInt8], cell: BaseValue) {
    self.key = key
    value =
      cell.isExtent
      ? .extent(offset: cell.extentOffset, length: cell.length, checksum: cell.extentChecksum)
      : .inline(Array(UnsafeRawBufferPointer(start: cell.pointer, count: cell.length)))
  }

  /// The bytes of the value; nil if they are not in the file or not what its checksum says.
  func bytes(in source: SalvageSource, seed: UInt64) throws(Fault) -> [UInt8]? {
    switch value {
    case .inline(let bytes): return bytes
    case .extent(let offset, let length, let checksum):
      guard offset >= FileLayout.logStart, source.holds(offset, UInt64(length)),
        let bytes = try source.bytes(at: offset, count: length)
      else { return nil }
      let sum = bytes.withUnsafeBytes { XXH64.hash($0, seed: seed) }
      return length == 0 || UInt32(truncatingIfNeeded: sum) == checksum ? bytes : nil
    }
  }
}
