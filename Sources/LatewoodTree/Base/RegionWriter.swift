import LatewoodBytes
import LatewoodFile

/// Collects nodes in memory and writes them in regions, each reserved in the file with its exact
/// length.
///
/// ```
/// allocate, allocate ...   nodes at multiples of 64 in `memory`, children by provisional offset
/// place                  reserve(length) -> offset; then for each node, in order:
///                        own offset, references to children, checksum; then write
/// ```
///
/// Children precede their parents, so the checksums of a node's children are known when the node is
/// placed. Until then a node has only a provisional offset (`Provisional`). Each time `placements`
/// grows, a region was placed, and `reference` returns the references of its nodes until the next
/// one is.
final class RegionWriter {
  /// The number of bytes in one call of `write` to a file with concurrent commits. Larger writes
  /// would hold the file system's lock and stall commits.
  static let pieceLength = 128 << 10

  typealias Reserve = (_ length: Int) throws(StorageError) -> UInt64
  typealias Write = (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void

  private let seed: UInt64
  private let capacity: Int
  private let pieceLength: Int
  private let memory: UnsafeMutableRawPointer
  private let reserve: Reserve
  private let write: Write
  private let didPlace: ((_ region: Range<UInt64>) throws(StorageError) -> Void)?
  /// The number of bytes of `memory` in use.
  private var used = 0
  private var starts: [Int] = []
  private var references: [NodeReference] = []
  private(set) var placements = 0
  /// The total length of the regions written so far.
  private(set) var bytesWritten: UInt64 = 0

  /// - Parameters:
  ///   - seed: the file seed.
  ///   - capacity: the capacity of a region, in bytes.
  ///   - reserve: reserves space in the file and returns its offset, a multiple of 64.
  ///   - write: writes a piece of a region to the file.
  ///   - didPlace: called after a region has been written.
  init(
    seed: UInt64, capacity: Int = 1 << 20, pieceLength: Int = RegionWriter.pieceLength,
    reserve: @escaping Reserve, write: @escaping Write,
    didPlace: ((_ region: Range<UInt64>) throws(StorageError) -> Void)? = nil
  ) {
    self.seed = seed
    self.capacity = max(capacity, NodeLayout.maximumLength + 1)
    // SAFETY: freed in deinit. No pointer into it is used after the next call of `allocate`.
    memory = .allocate(byteCount: self.capacity, alignment: NodeLayout.alignment)
    self.reserve = reserve
    self.write = write
    self.pieceLength = pieceLength
    self.didPlace = didPlace
  }

  deinit { memory.deallocate() }

  /// Returns memory for the next node, with a zeroed header, and the provisional offset by which
  /// its parent refers to it. May place the nodes before it.
  func allocate(length: Int) throws(StorageError) -> (target: UnsafeMutableRawPointer, provisional: UInt64) {
    precondition(length <= NodeLayout.maximumLength)
    var start = RegionWriter.aligned(used)
    if start + length > capacity {
      try place()
      start = 0
    }
    // The gap before the node, and its header, are zeroed; the rest of the node is written.
    let zeros = start - used + min(NodeLayout.arrays, length)
    (memory + used).initializeMemory(as: UInt8.self, repeating: 0, count: zeros)
    used = start + length
    starts.append(start)
    return (memory + start, Provisional.mark | UInt64(starts.count - 1))
  }

  /// The reference to a node of the region that was placed last.
  func reference(of provisional: UInt64) -> NodeReference {
    references[Int(provisional & ~Provisional.mark)]
  }

  /// Places the nodes received so far. More may follow.
  func finish() throws(StorageError) {
    if used > 0 { try place() }
  }

  private static func aligned(_ length: Int) -> Int {
    (length + NodeLayout.alignment - 1) & ~(NodeLayout.alignment - 1)
  }

  private func place() throws(StorageError) {
    let offset = try reserve(used)
    precondition(offset % UInt64(NodeLayout.alignment) == 0)
    references.removeAll(keepingCapacity: true)
    for start in starts { references.append(finalize(memory + start, at: offset + UInt64(start))) }
    var at = 0
    while at < used {
      let length = min(pieceLength, used - at)
      try write(UnsafeRawBufferPointer(start: memory + at, count: length), offset + UInt64(at))
      at += length
    }
    bytesWritten += UInt64(used)
    try didPlace?(offset..<offset + UInt64(used))
    starts.removeAll(keepingCapacity: true)
    used = 0
    placements += 1
  }

  /// Fills in the fields that were unknown when the node was encoded.
  private func finalize(_ node: UnsafeMutableRawPointer, at offset: UInt64) -> NodeReference {
    let bytes = UnsafeRawPointer(node)
    node.set(offset, at: NodeLayout.ownOffset)
    if bytes.u8(NodeLayout.kind) == NodeLayout.branchKind {
      for index in 0..<Int(bytes.u16(NodeLayout.count)) {
        let child = node + (NodeLayout.arrays + index * NodeLayout.childLength)
        let provisional = UnsafeRawPointer(child).u64(NodeLayout.childOffset)
        guard Provisional.isProvisional(provisional) else { continue }
        let reference = reference(of: provisional)
        child.set(reference.offset, at: NodeLayout.childOffset)
        child.set(reference.checksum, at: NodeLayout.childChecksum)
      }
    }
    let length = bytes.u32(NodeLayout.length)
    let sum = XXH64.hash(bytes + NodeLayout.kind, Int(length) - NodeLayout.kind, seed: seed)
    node.set(sum, at: NodeLayout.checksum)
    return NodeReference(offset: offset, length: length, checksum: UInt32(truncatingIfNeeded: sum))
  }
}

/// Offsets that stand for nodes not yet placed in the file. Real offsets are far smaller.
enum Provisional {
  static let mark: UInt64 = 1 << 63
  @inline(__always) static func isProvisional(_ offset: UInt64) -> Bool { offset & mark != 0 }
}

/// Encodes a node after computing its exact length.
///
/// FORMAT.md, section 8. `RegionWriter` fills in the fields that depend on the offset in the file:
/// the node's own offset, its checksum, and references to children whose offsets are provisional.
struct NodeEncoder {
  private let items: UnsafeMutablePointer<BuilderItem>
  private let count: Int
  private let level: UInt8
  private let transaction: UInt64
  private let prefixCount: Int
  /// The length of the node, in bytes.
  let length: Int

  private var isLeaf: Bool { level == 0 }
  /// The first child of a branch has no separator.
  private var firstKey: Int { isLeaf ? 0 : 1 }

  /// Creates an encoder for the first `count` pending items of a level.
  init(_ waiting: BuilderLevel, _ count: Int, level: UInt8, transaction: UInt64) {
    items = waiting.items
    self.count = count
    self.level = level
    self.transaction = transaction
    prefixCount = waiting.prefix(0, count)
    var length = NodeLayout.arrays + prefixCount
    length += count * (NodeLayout.headLength + NodeLayout.slotLength)
    if level > 0 { length += count * NodeLayout.childLength }
    for index in (level == 0 ? 0 : 1)..<max(count, 1) {
      let suffixCount = items[index].key.count &- prefixCount
      length &+= Varint.length(UInt64(suffixCount)) &+ suffixCount
      if level == 0 { length &+= Varint.length(items[index].taggedLength) &+ items[index].valueBytes }
    }
    self.length = length
  }

  /// Encodes the node into `length` bytes of memory, whose header is zeroed. Returns the entries
  /// and live bytes in and under the node.
  func write(to target: UnsafeMutableRawPointer) -> (entries: UInt64, liveBytes: UInt64) {
    target.set(isLeaf ? NodeLayout.leafKind : NodeLayout.branchKind, at: NodeLayout.kind)
    target.set(level, at: NodeLayout.level)
    target.set(UInt16(count), at: NodeLayout.count)
    target.set(UInt32(length), at: NodeLayout.length)
    target.set(transaction, at: NodeLayout.transaction)
    target.set(UInt16(prefixCount), at: NodeLayout.prefixLength)
    let heads = NodeLayout.arrays + (isLeaf ? 0 : count * NodeLayout.childLength)
    let slots = heads + count * NodeLayout.headLength
    let prefix = slots + count * NodeLayout.slotLength
    if firstKey < count { copyPrefix(of: items[firstKey].key, to: target + prefix) }
    var at = prefix &+ prefixCount
    var totals = (entries: UInt64(0), liveBytes: UInt64(length))
    if !isLeaf {
      writeChildren(to: target, &totals)
      // The first child has no separator.
      target.set(UInt32(0), at: heads)
      target.set(UInt16(0), at: slots)
    }
    for index in firstKey..<max(count, firstKey) {
      // SAFETY: `length` was computed from the same items, so everything written here lies within
      // it.
      let item = items + index
      target.set(item.pointee.key.head(from: prefixCount), at: heads &+ index &* NodeLayout.headLength)
      target.set(UInt16(truncatingIfNeeded: at), at: slots &+ index &* NodeLayout.slotLength)
      let suffixCount = item.pointee.key.count &- prefixCount
      at &+= Varint.write(UInt64(suffixCount), to: target + at)
      if isLeaf { at &+= Varint.write(item.pointee.taggedLength, to: target + at) }
      item.pointee.key.copy(from: prefixCount, to: target + at)
      at &+= suffixCount
      if isLeaf { at &+= writeValue(of: item, to: target + at, &totals.liveBytes) }
    }
    if isLeaf { totals.entries = UInt64(count) }
    return totals
  }

  private func copyPrefix(of key: PrefixedKey, to target: UnsafeMutableRawPointer) {
    key.prefix(prefixCount).copy(from: 0, to: target)
  }

  @inline(__always) private func writeValue(
    of item: UnsafeMutablePointer<BuilderItem>, to target: UnsafeMutableRawPointer, _ liveBytes: inout UInt64
  ) -> Int {
    let length = Int(item.pointee.length)
    if item.pointee.isExtent {
      target.set(item.pointee.word, at: 0)
      target.set(item.pointee.checksum, at: 8)
      liveBytes &+= UInt64(length)
      return NodeLayout.extentLength
    }
    // SAFETY: the word of an inline item is the address of its value.
    if length > 0, let value = UnsafeRawPointer(bitPattern: UInt(item.pointee.word)) {
      target.copyMemory(from: value, byteCount: length)
    }
    return length
  }

  private func writeChildren(
    to target: UnsafeMutableRawPointer, _ totals: inout (entries: UInt64, liveBytes: UInt64)
  ) {
    for index in 0..<count {
      let item = items[index]
      let child = target + (NodeLayout.arrays &+ index &* NodeLayout.childLength)
      child.set(item.word, at: NodeLayout.childOffset)
      child.set(item.length, at: NodeLayout.childReferenceLength)
      child.set(item.checksum, at: NodeLayout.childChecksum)
      child.set(item.entries, at: NodeLayout.childEntries)
      child.set(item.liveBytes, at: NodeLayout.childLiveBytes)
      // Totals of damaged nodes wrap rather than trap; verification finds them.
      totals.entries &+= item.entries
      totals.liveBytes &+= item.liveBytes
    }
  }
}

/// The memory that items of a tree under construction point into, retained as long as any of them
/// does.
///
/// It consists of copies of nodes that were read, and of separators, which are copied into separate
/// pieces. The owner occasionally passes the addresses still in use, and the rest is freed, so the
/// size stays at that of the pending items plus half a mebibyte.
// SAFETY: a returned pointer is valid until a `release` to which it is not passed.
struct RetainedMemory: ~Copyable {
  private struct Piece {
    var start: UnsafeMutableRawPointer
    var length: Int
    /// The owner of the memory; nil if it is freed here.
    var owner: NodeCopy?
    var isUsed = false
  }

  private static let pieceLength = 64 << 10
  private static let leastLimit = 512 << 10

  private var pieces: [Piece] = []
  /// The piece that separators are copied to; `used` is the number of its bytes in use.
  private var open: UnsafeMutableRawPointer?
  private var used = 0
  private var length = 0
  private var latest: NodeCopy?
  private var limit = RetainedMemory.leastLimit

  init() {}

  deinit {
    for piece in pieces where piece.owner == nil { piece.start.deallocate() }
  }

  /// Whether enough is retained to make a call of `release` worthwhile.
  var isFull: Bool { length > limit }

  /// Retains a node's memory. The latest node is never released.
  mutating func retain(_ copy: NodeCopy) {
    latest = copy
    pieces.append(Piece(start: copy.memory, length: copy.length, owner: copy))
    length += copy.length
  }

  /// Copies a key into retained memory.
  mutating func copy(_ key: PrefixedKey) -> PrefixedKey {
    let count = key.count
    if count == 0 { return PrefixedKey(open ?? openPiece(RetainedMemory.pieceLength), 0) }
    var target = open ?? openPiece(RetainedMemory.pieceLength)
    if count > RetainedMemory.pieceLength - used {
      target = openPiece(max(RetainedMemory.pieceLength, count))
    }
    let start = target + used
    // SAFETY: the piece has at least `count` bytes after `used`.
    start.copyMemory(from: key.prefix, byteCount: key.prefixCount)
    (start + key.prefixCount).copyMemory(from: key.suffix, byteCount: key.suffixCount)
    used += count
    return PrefixedKey(start, count)
  }

  private mutating func openPiece(_ count: Int) -> UnsafeMutableRawPointer {
    let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
    pieces.append(Piece(start: start, length: count, owner: nil))
    length += count
    open = start
    used = 0
    return start
  }

  /// Releases all memory that contains none of these addresses.
  mutating func release(but addresses: [UnsafeRawPointer]) {
    pieces.sort { $0.start < $1.start }
    for index in pieces.indices {
      pieces[index].isUsed = pieces[index].start == open || pieces[index].start == latest?.memory
    }
    for address in addresses { mark(address) }
    length = 0
    pieces.removeAll { piece in
      if piece.isUsed {
        length += piece.length
        return false
      }
      if piece.owner == nil { piece.start.deallocate() }
      return true
    }
    limit = max(RetainedMemory.leastLimit, 2 * length)
  }

  private mutating func mark(_ address: UnsafeRawPointer) {
    var (low, high) = (0, pieces.count)
    while low < high {
      let middle = (low + high) / 2
      if UnsafeRawPointer(pieces[middle].start) <= address { low = middle + 1 } else { high = middle }
    }
    // An empty suffix may point to the very end of a piece.
    guard low > 0, address <= UnsafeRawPointer(pieces[low - 1].start + pieces[low - 1].length) else { return }
    pieces[low - 1].isUsed = true
    if low > 1, address == UnsafeRawPointer(pieces[low - 1].start) { pieces[low - 2].isUsed = true }
  }
}
