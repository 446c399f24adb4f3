import LatewoodBytes
import LatewoodFile

/// Merges a frozen write buffer with a base tree into the next base tree, for a checkpoint.
///
/// ```
/// base      [a c e] [g i k] [m o q] [s u w]        leaves and the ranges they stand for
/// buffer       d        k'
/// next      [a c d e] [g i] [m o q] [s u w]        the last two are taken over by reference
/// ```
///
/// Walks the base in key order. A subtree without buffer entries and deleted ranges is adopted
/// unread. A subtree inside a deleted range is read only as far as necessary to find its nodes and
/// extents. A changed leaf is rewritten once; its entries are taken from a copy in which it was
/// verified again, so that damage does not get a new checksum. Memory grows only with the list of
/// dead ranges.
///
/// Runs without a lock, because base and buffer are immutable.
package struct BufferMerge: ~Copyable {
  private let source: NodeLoader
  private let ranges: RangeTombstones
  private let builder: TreeBuilder
  private var buffer: BufferCursor
  /// The number of bytes of nodes in deleted subtrees.
  private var leftBytes: UInt64 = 0

  /// - Parameters:
  ///   - frozen: the buffer, whose records are already in the file.
  ///   - base: the base tree.
  ///   - nodeSize: the length of a full node, in bytes.
  ///   - transaction: the number of the last transaction in the new tree.
  ///   - dead: receives the parts of `base` that are not in the new tree, and the values of the log
  ///     that are in it. Meaningless after an error.
  ///   - reserve: reserves space for nodes, given their length in bytes, and returns its offset.
  ///   - write: writes bytes into that space.
  /// - Returns: the root of the new tree; nil if it is empty.
  package static func run(
    _ frozen: BufferState, into base: Subtree?, file: FileView, nodeSize: Int, transaction: UInt64,
    leaving dead: inout DeadSpace,
    reserve: (Int) throws(StorageError) -> UInt64,
    write: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
  ) throws(StorageError) -> Subtree? {
    var left = DeadSpace()
    defer { dead.append(left) }
    // Only the region writer uses the closures, and it does not outlive this call.
    return try withoutActuallyEscaping(reserve) { (reserve) throws(StorageError) -> Subtree? in
      try withoutActuallyEscaping(write) { (write) throws(StorageError) -> Subtree? in
        let sink = RegionWriter(codec: file.codec, reserve: reserve, write: write)
        var merge = BufferMerge(frozen, file: file, nodeSize: nodeSize, transaction: transaction, sink: sink)
        defer { left = merge.builder.dead }
        return try merge.run(base)
      }
    }
  }

  private init(
    _ frozen: BufferState, file: FileView, nodeSize: Int, transaction: UInt64, sink: RegionWriter
  ) {
    source = NodeLoader(file: file)
    ranges = frozen.ranges
    builder = TreeBuilder(sink: sink, source: source, nodeSize: nodeSize, transaction: transaction)
    buffer = BufferCursor(root: frozen.root, space: RecordSpace(file))
  }

  private mutating func run(_ base: Subtree?) throws(StorageError) -> Subtree? {
    // The empty key precedes all others.
    try buffer.seek(source.file.base, 0)
    if let base { try merge(base, low: PrefixedKey(source.file.base, 0), high: nil) }
    while buffer.isValid { try takeEntry() }
    return try builder.finish()
  }

  /// Whether the next entry of the buffer belongs before `high`.
  @inline(__always) private func isTouched(_ high: PrefixedKey?) -> Bool {
    guard buffer.isValid else { return false }
    guard let high else { return true }
    return high.compare(buffer.key, buffer.keyCount) > 0
  }

  /// Merges a subtree with the keys in `low ..< high`.
  private mutating func merge(_ subtree: Subtree, low: PrefixedKey, high: PrefixedKey?) throws(StorageError) {
    builder.releaseUnused()
    let deleted = coverage(low, high)
    if deleted == .all {
      markDead(subtree)
      while isTouched(high) { try takeEntry() }
      return
    }
    if deleted == .none, !isTouched(high) {
      return try builder.adopt(subtree, separator: low, upperFence: high)
    }
    let node = try builder.opened(subtree)
    builder.dead.add(node: subtree.reference)
    if node.isLeaf { return try mergeLeaf(node, high, deleted == .part) }
    for index in 0..<node.count {
      try merge(
        node.childSubtree(index), low: index == 0 ? low : node.separator(index),
        high: index + 1 < node.count ? node.separator(index + 1) : high)
    }
  }

  private mutating func mergeLeaf(_ leaf: Node, _ high: PrefixedKey?, _ checksRanges: Bool)
    throws(StorageError)
  {
    var index = 0
    while isTouched(high) {
      let (place, isFound) = leaf.lowerBound(buffer.key, buffer.keyCount)
      try appendUnchanged(leaf, index, place, checksRanges)
      if isFound { markDead(leaf.entry(place).value) }
      index = isFound ? place + 1 : place
      try takeEntry()
    }
    try appendUnchanged(leaf, index, leaf.count, checksRanges)
  }

  /// Appends entries of the base that no buffer entry replaces, unless they are deleted.
  @inline(__always) private func appendUnchanged(
    _ leaf: Node, _ from: Int, _ to: Int, _ checksRanges: Bool
  ) throws(StorageError) {
    var index = from
    while index < to {
      let entry = leaf.entry(index)
      let key = PrefixedKey(leaf.prefix, leaf.prefixCount, entry.suffix, entry.suffixCount)
      index &+= 1
      if checksRanges, isDeleted(key) {
        markDead(entry.value)
        continue
      }
      try builder.append(key, entry.value)
    }
  }

  private func isDeleted(_ key: PrefixedKey) -> Bool {
    let bytes = key.bytes
    return bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { ranges.cover($0, bytes.count) > 0 } ?? false
    }
  }

  /// Appends the buffer's current entry unless it is a delete, and moves to the next. No buffer
  /// entry is older than a range delete that covers it.
  private mutating func takeEntry() throws(StorageError) {
    builder.releaseUnused()
    let reference = buffer.reference
    if !reference.isTombstone {
      let record = buffer.record
      let key = PrefixedKey(record.key, record.keyCount)
      if record.code == OperationCode.putExtent {
        builder.dead.addLive(
          extent: UInt64(record.value - source.file.base),
          length: UInt64(record.valueCount + source.file.codec.trailerLength))
        try builder.append(
          key, extent: UInt64(record.value - source.file.base), length: UInt64(record.valueCount),
          checksum: record.valueChecksum)
      } else {
        try builder.append(key, inline: record.value, record.valueCount)
      }
    }
    try buffer.next()
  }

  // MARK: Dead space

  @inline(__always) private func markDead(_ value: BaseValue) {
    guard value.isExtent else { return }
    builder.dead.add(
      extent: value.extentOffset, length: UInt64(value.length + source.file.codec.trailerLength))
  }

  /// Reports a subtree as dead. Leaves are read only if they have extents. A damaged node is not
  /// reported.
  private mutating func markDead(_ subtree: Subtree) {
    let reference = subtree.reference
    // If the nodes are together longer than the file, some occur in the tree many times, and the
    // walk might never end.
    leftBytes &+= UInt64(reference.length)
    guard leftBytes <= source.file.limit else { return }
    if subtree.level == 0, subtree.liveBytes == UInt64(reference.length) {
      let limit = source.file.limit
      guard reference.offset <= limit, UInt64(reference.length) <= limit - reference.offset else { return }
      return builder.dead.add(node: reference)
    }
    let node: Node
    do throws(StorageError) { node = try source.root(subtree) } catch { return }
    builder.dead.add(node: reference)
    if node.isLeaf {
      for index in 0..<node.count { markDead(node.entry(index).value) }
    } else {
      for index in 0..<node.count { markDead(node.childSubtree(index)) }
    }
  }

  // MARK: Deleted ranges

  private enum Coverage { case none, part, all }

  /// Returns how much of the key range `low ..< high` is deleted.
  private func coverage(_ low: PrefixedKey, _ high: PrefixedKey?) -> Coverage {
    if ranges.isEmpty { return .none }
    let start = low.bytes
    guard let interval = ranges.firstEnding(after: start) else { return .none }
    guard let high else { return .part }
    let end = high.bytes
    if !RangeTombstones.less(interval.low, end) { return .none }
    let coversLow = !RangeTombstones.less(start, interval.low)
    return coversLow && !RangeTombstones.less(interval.high, end) ? .all : .part
  }
}
