import LatewoodBytes

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
  /// The number of bytes after the text of a node, and of an extent.
  private let trailerLength: Int
  /// The length of the node with its trailer, in bytes.
  let length: Int

  private var isLeaf: Bool { level == 0 }
  /// The first child of a branch has no separator.
  private var firstKey: Int { isLeaf ? 0 : 1 }

  /// Creates an encoder for the first `count` pending items of a level.
  init(
    _ waiting: BuilderLevel, _ count: Int, level: UInt8, transaction: UInt64, trailerLength: Int
  ) {
    self.trailerLength = trailerLength
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
    self.length = length + trailerLength
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
      liveBytes &+= UInt64(length + trailerLength)
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
