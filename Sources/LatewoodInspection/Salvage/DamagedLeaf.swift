import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The readable part of a leaf with a wrong checksum: the cells outside the destroyed bytes.
///
/// One checksum covers the whole leaf, so nothing here is proved. Three things are evidence for a
/// cell: the reference to the leaf states its length and its number of entries; the head of each
/// key repeats its first bytes; and the keys ascend between the separators around the leaf. A disk
/// loses whole blocks, so a block in which more entries fail than pass is taken as destroyed, with
/// every cell that has a byte in it.
struct DamagedLeaf {
  private(set) var cells: [(index: Int, entry: SalvagedEntry)] = []
  private(set) var count = 0
  /// Whether all keys are known, so that no key can lie between two adjacent cells.
  private var isComplete = true
  private let range: KeyIntervals.Interval
  private let file: UnitReader

  private static let blockLength: UInt64 = 4096

  /// One entry, and the bytes that encode it.
  private struct Candidate {
    var index: Int
    var entry: SalvagedEntry?
    /// Head, slot, and cell.
    var ranges: [Range<Int>]
    /// The bytes that would be inconsistent after damage: all of `ranges` except for the value.
    var checked: [Range<Int>] { entry == nil ? [] : [ranges[0], ranges[1], front] }
    /// The lengths and the key.
    var front = 0..<0
  }

  init(_ lost: SalvageTree.LostLeaf, in file: UnitReader) throws(StorageError) {
    self.file = file
    range = lost.range
    guard Int(lost.reference.length) <= FileLayout.nodeLimit else { return }
    let bytes = try file.unprovenBytes(of: lost.reference)
    bytes.withUnsafeBytes { bytes in
      read(bytes, lost)
      if cells.isEmpty { readFromEnd(bytes, lost) }
    }
  }

  /// Passes the readable entries to `sink`, as the newest state of the leaf's keys.
  ///
  /// If an equal entry is already saved under a key, from a source with a valid checksum, the entry
  /// of this leaf proves that it is the newest.
  func save(ranges: KeyIntervals, into sink: any SalvageSink) throws(StorageError) {
    var next = 0
    var after = range.low
    func deleteBetween(_ high: [UInt8]?) throws(StorageError) {
      let span = KeyIntervals.Interval(low: after, high: high)
      for part in ranges.clipping(span) { try sink.delete(from: part.low, to: part.high) }
    }
    for (index, entry) in cells {
      // Two adjacent cells leave no room for a key in between, so a key saved there was deleted.
      if isComplete, index == next, index > 0 || !after.isEmpty { try deleteBetween(entry.key) }
      (next, after) = (index + 1, entry.key.successor)
      guard ranges.contains(entry.key), let value = try entry.bytes(in: file) else { continue }
      let saved = try sink.saved(entry.key)
      if saved?.trust == .certain { continue }
      try sink.put(entry.key, value, saved?.value == value ? .certain : .unproven)
    }
    if isComplete, next == count, next > 0, range.high != nil { try deleteBetween(range.high) }
  }

  private mutating func read(_ bytes: UnsafeRawBufferPointer, _ lost: SalvageTree.LostLeaf) {
    let reference = lost.reference
    guard let base = bytes.baseAddress, bytes.count > NodeLayout.arrays,
      base.u64(NodeLayout.ownOffset) == reference.offset, base.u32(NodeLayout.length) == reference.length,
      base.u8(NodeLayout.kind) == NodeLayout.leafKind, UInt64(base.u16(NodeLayout.count)) == lost.entries
    else { return }
    let count = Int(base.u16(NodeLayout.count))
    let prefixStart = NodeLayout.arrays + count * (NodeLayout.headLength + NodeLayout.slotLength)
    let prefixEnd = prefixStart + Int(base.u16(NodeLayout.prefixLength))
    guard prefixEnd <= bytes.count else { return }
    let prefix = prefixStart..<prefixEnd
    let candidates = (0..<count).map { index in
      candidate(index, count, bytes, Array(bytes[prefix]), lost.range)
    }
    let destroyed = Self.destroyed(candidates, bytes, offset: reference.offset)
    func isTouched(_ range: Range<Int>) -> Bool {
      !range.isEmpty && destroyed.contains { $0.overlaps(range) }
    }
    if isTouched(0..<NodeLayout.arrays) || isTouched(prefix) { return }
    var before: [UInt8]?
    for candidate in candidates where !candidate.ranges.contains(where: isTouched) {
      guard let entry = candidate.entry, before.map({ $0.lexicographicallyPrecedes(entry.key) }) ?? true
      else {
        continue
      }
      before = entry.key
      cells.append((candidate.index, entry))
    }
    self.count = count
  }

  /// Reads cells from the end of the leaf if the header, slots or prefix are destroyed: the cells
  /// after the block in question.
  private mutating func readFromEnd(_ bytes: UnsafeRawBufferPointer, _ lost: SalvageTree.LostLeaf) {
    guard bytes.count > NodeLayout.arrays, let base = bytes.baseAddress,
      let count = Int(exactly: lost.entries), count <= Int(UInt16.max)
    else { return }
    let isHeaderIntact =
      base.u64(NodeLayout.ownOffset) == lost.reference.offset
      && base.u32(NodeLayout.length) == lost.reference.length && Int(base.u16(NodeLayout.count)) == count
    // If the header is intact, the damage is in the prefix, which follows the heads and slots.
    let prefix = NodeLayout.arrays + count * (NodeLayout.headLength + NodeLayout.slotLength)
    let destroyed = blockStart(of: isHeaderIntact ? prefix : 0, lost.reference.offset)
    guard
      let found = HeadlessLeaf(
        in: bytes, of: lost, from: destroyed + Int(Self.blockLength),
        intactUntil: isHeaderIntact ? max(destroyed, NodeLayout.arrays) : 0)
    else { return }
    self.count = count
    isComplete = found.isPrefixKnown
    let first = count - found.entries.count
    for (index, entry) in found.entries.enumerated() { cells.append((first + index, entry)) }
  }

  /// Returns the start of the file's block that contains the byte at `index` of the node; negative
  /// if the block starts before the node.
  private func blockStart(of index: Int, _ offset: UInt64) -> Int {
    index - Int((offset + UInt64(index)) % Self.blockLength)
  }

  private func candidate(
    _ index: Int, _ count: Int, _ bytes: UnsafeRawBufferPointer, _ prefix: [UInt8],
    _ range: KeyIntervals.Interval
  ) -> Candidate {
    let head = NodeLayout.arrays + index * NodeLayout.headLength
    let slot = NodeLayout.arrays + count * NodeLayout.headLength + index * NodeLayout.slotLength
    var result = Candidate(
      index: index, ranges: [head..<head + NodeLayout.headLength, slot..<slot + NodeLayout.slotLength])
    guard let base = bytes.baseAddress else { return result }
    // SAFETY: the arrays lie within the bytes; every part of the cell is checked to lie there
    // before it is read.
    let end = base + bytes.count
    let start = Int(base.u16(slot))
    guard start >= NodeLayout.arrays, start < bytes.count else { return result }
    result.ranges.append(start..<start + 1)
    guard let key = Varint.read(base + start, end: end),
      let tagged = Varint.read(base + (start + key.length), end: end)
    else { return result }
    let suffix = start + key.length + tagged.length
    let isExtent = tagged.value & 1 == 1
    guard key.value <= UInt64(bytes.count - suffix) else { return result }
    let value = suffix + Int(key.value)
    let inside = isExtent ? UInt64(NodeLayout.extentLength) : tagged.value >> 1
    guard inside <= UInt64(bytes.count - value), tagged.value >> 1 <= NodeLayout.maximumValueLength,
      KeyOrder.head(base + suffix, Int(key.value)) == base.u32(head)
    else { return result }
    let whole = prefix + bytes[suffix..<value]
    guard whole.count >= NodeLayout.minimumKeyLength, whole.count <= NodeLayout.maximumKeyLength,
      range.contains(whole)
    else { return result }
    result.ranges[2] = start..<value + Int(inside)
    result.front = start..<value
    let cell = base + value
    result.entry = SalvagedEntry(
      key: whole,
      value: isExtent
        ? .extent(
          ExtentReference(offset: cell.u64(0), length: tagged.value >> 1, checksum: cell.u32(8)))
        : .inline(Array(bytes[value..<value + Int(inside)])))
    return result
  }

  /// Returns the parts of the leaf that lie in destroyed blocks of the file.
  private static func destroyed(
    _ candidates: [Candidate], _ bytes: UnsafeRawBufferPointer, offset: UInt64
  ) -> [Range<Int>] {
    var blocks: [Range<Int>] = []
    var start = 0
    while start < bytes.count {
      let rest = blockLength - (offset + UInt64(start)) % blockLength
      let end = min(bytes.count, start + Int(rest))
      blocks.append(start..<end)
      start = end
    }
    // An entry that passes is evidence for its checked bytes. An entry that fails is evidence
    // against its cell or, without a cell, against its slot.
    func balance(_ block: Range<Int>) -> Int {
      candidates.count { $0.checked.contains { $0.overlaps(block) } }
        - candidates.count { $0.entry == nil && $0.ranges.last.map(block.overlaps) == true }
    }
    let found = blocks.filter { block in bytes[block].allSatisfy { $0 == 0 } || balance(block) < 0 }
    // The leaf is damaged, so the damage must be in a block without evidence that it is intact.
    return found.isEmpty ? blocks.filter { balance($0) <= 0 } : found
  }
}
