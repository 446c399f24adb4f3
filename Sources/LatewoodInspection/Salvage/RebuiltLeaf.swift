import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// A leaf whose header, heads, slots or prefix were destroyed, but no cell: rebuilt from the rest,
/// and verified.
///
/// ```
/// | header ######## slots ### | prefix | cell | cell | cell | cell |
///     |      |        |           |
///     |      |        |           a prefix of the separators around the leaf
///     |      |        the offsets of the cells
///     |      the heads of the keys
///     the fields in the reference, and the transaction of a checkpoint
/// ```
///
/// All of this is redundant in a file, and the reference to the leaf contains its checksum: bytes
/// that match the checksum are the leaf.
struct RebuiltLeaf {
  private let lost: SalvageTree.LostLeaf
  private let file: UnitReader
  private let bytes: [UInt8]
  private let count: Int
  private var transactions: [UInt64]

  /// The maximum number of checkpoints to try. If there are more, the checkpoint of the leaf must
  /// be among the newest, or be named in the leaf's header.
  private static let transactionLimit = 256
  private static let attemptLimit = 64

  /// - Parameter transactions: the transactions of checkpoints that may have written it, the newest
  ///   last.
  init?(_ lost: SalvageTree.LostLeaf, transactions: [UInt64], in file: UnitReader) throws(StorageError) {
    // The checksum of an encrypted leaf covers bytes that cannot be made again.
    guard !file.codec.isEncrypted, let count = Int(exactly: lost.entries), count > 0,
      count <= Int(UInt16.max)
    else { return nil }
    self.lost = lost
    self.file = file
    self.count = count
    bytes = try file.reader.bytes(at: lost.reference.offset, count: Int(lost.reference.length)) ?? []
    guard bytes.count > NodeLayout.arrays, bytes.count <= FileLayout.nodeLimit else { return nil }
    let written = bytes.withUnsafeBytes { $0.baseAddress?.u64(NodeLayout.transaction) ?? 0 }
    self.transactions = [written] + transactions.suffix(Self.transactionLimit).reversed()
  }

  /// Returns the leaf; nil if the rest cannot be completed to the checksum in the reference.
  func node() throws(StorageError) -> NodeCopy? {
    let arrays = NodeLayout.arrays + count * (NodeLayout.headLength + NodeLayout.slotLength)
    return try bytes.withUnsafeBytes { bytes in
      Result { () throws(StorageError) -> NodeCopy? in
        let chain = CellChain(in: bytes, from: arrays)
        var attempts = 0
        for cell in chain.cells where cell.depth == count && attempts < Self.attemptLimit {
          let length = cell.start - arrays
          let run = chain.run(from: cell)
          for prefix in prefixes(length, Array(bytes[arrays..<cell.start])) {
            attempts += 1
            if let node = try node(run, prefix, bytes) { return node }
          }
        }
        return nil
      }
    }.get()
  }

  private func prefixes(_ length: Int, _ there: [UInt8]) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = [there]
    for bound in [lost.range.low, lost.range.high ?? []] where bound.count >= length {
      found.insert(Array(bound.prefix(length)))
    }
    // The first leaf of a tree contains the catalog, and has no separator before it.
    if lost.range.low.isEmpty, length <= 4 { found.insert([UInt8](repeating: 0, count: length)) }
    return found
  }

  private func node(
    _ run: [CellChain.Cell], _ prefix: [UInt8], _ old: UnsafeRawBufferPointer
  ) throws(StorageError) -> NodeCopy? {
    var leaf = [UInt8](old)
    func put(_ value: some FixedWidthInteger, at offset: Int) {
      withUnsafeBytes(of: value.littleEndian) { leaf.replaceSubrange(offset..<offset + $0.count, with: $0) }
    }
    put(NodeLayout.leafKind, at: NodeLayout.kind)
    put(UInt8(0), at: NodeLayout.level)
    put(UInt16(count), at: NodeLayout.count)
    put(lost.reference.length, at: NodeLayout.length)
    put(lost.reference.offset, at: NodeLayout.ownOffset)
    put(UInt16(prefix.count), at: NodeLayout.prefixLength)
    leaf.replaceSubrange(
      NodeLayout.reserved..<NodeLayout.arrays,
      with: [UInt8](repeating: 0, count: NodeLayout.arrays - NodeLayout.reserved))
    let slots = NodeLayout.arrays + count * NodeLayout.headLength
    for (index, cell) in run.enumerated() {
      let head = old.baseAddress.map { KeyOrder.head($0 + cell.suffix.lowerBound, cell.suffix.count) } ?? 0
      put(head, at: NodeLayout.arrays + index * NodeLayout.headLength)
      put(UInt16(cell.start), at: slots + index * NodeLayout.slotLength)
    }
    leaf.replaceSubrange(slots + count * NodeLayout.slotLength..<run[0].start, with: prefix)
    for transaction in transactions {
      put(transaction, at: NodeLayout.transaction)
      let sum = leaf.withUnsafeMutableBytes { bytes in
        bytes.baseAddress.map {
          file.codec.seal(.node, at: lost.reference.offset, $0, bytes.count)
        } ?? 0
      }
      guard UInt32(truncatingIfNeeded: sum) == lost.reference.checksum else { continue }
      // It is validated like any other node, because a correct checksum does not prove that a leaf
      // is well-formed.
      return try leaf.withStart { (start, _) throws(StorageError) in
        do throws(StorageError) { return try NodeCopy(lost.reference, at: start, codec: file.codec) } catch {
          return nil
        }
      }
    }
    return nil
  }
}
