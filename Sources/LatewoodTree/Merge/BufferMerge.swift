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
/// It walks the base in key order. A subtree that no buffer entry and no deleted range touches is
/// taken over unread. Of a subtree inside a deleted range, only so much is read as is needed to
/// find its nodes and extents. A leaf that is touched is written again, once. Memory grows only
/// with the list of dead ranges. Each leaf that is written again is verified once more, in a copy
/// from which its entries are taken, so that damage does not get a new checksum.
///
/// It runs without a lock, because base and buffer are both immutable.
package struct BufferMerge: ~Copyable {
  private let source: NodeSource
  private let ranges: RangeTombstones
  private let builder: TreeBuilder
  private var buffer: BufferCursor
  /// The number of bytes of nodes in subtrees that were left out.
  private var leftBytes: UInt64 = 0

  /// - Parameters:
  ///   - frozen: the buffer, whose records are already in the file.
  ///   - base: the tree under it.
  ///   - nodeSize: bytes of a full node.
  ///   - transaction: the number of the last transaction in the new tree.
  ///   - dead: receives the parts of `base` that are not in the new tree, and the values of the log
  ///     that are. Useless after an error.
  ///   - reserve: reserves space in the file for nodes of a length in bytes and returns its offset.
  ///   - write: writes bytes into that space.
  /// - Returns: the root of the new tree; nil if it is empty.
  package static func run(
    _ frozen: BufferState, into base: Subtree?, file: FileView, nodeSize: Int, transaction: UInt64,
    leaving dead: inout DeadSpace,
    reserve: (Int) throws(Fault) -> UInt64,
    write: (UnsafeRawBufferPointer, UInt64) throws(Fault) -> Void
  ) throws(Fault) -> Subtree? {
    var left = DeadSpace()
    defer { dead.append(left) }
    // The closures are used only by the region writer, which does not outlive this call.
    return try withoutActuallyEscaping(reserve) { (reserve) throws(Fault) -> Subtree? in
      try withoutActuallyEscaping(write) { (write) throws(Fault) -> Subtree? in
        let sink = RegionWriter(seed: file.seed, reserve: reserve, write: write)
        var merge = BufferMerge(frozen, file: file, nodeSize: nodeSize, transaction: transaction, sink: sink)
        defer { left = merge.builder.dead }
        return try merge.run(base)
      }
    }
  }

  private init(
    _ frozen: BufferState, file: FileView, nodeSize: Int, transaction: UInt64, sink: RegionWriter
  ) {
    source = NodeSource(file: file)
    ranges = frozen.ranges
    builder = TreeBuilder(sink: sink, source: source, nodeSize: nodeSize, transaction: transaction)
    buffer = BufferCursor(root: frozen.root, space: RecordSpace(file))
  }

  private mutating func run(_ base: Subtree?) throws(Fault) -> Subtree? {
    // Everything is at or after the empty key.
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

  /// Merges a subtree with the keys from `low` to `high`, not including `high`.
  private mutating func merge(_ subtree: Subtree, low: PrefixedKey, high: PrefixedKey?) throws(Fault) {
    builder.releaseUnused()
    let deleted = coverage(low, high)
    if deleted == .whole {
      leave(subtree)
      while isTouched(high) { try takeEntry() }
      return
    }
    if deleted == .none, !isTouched(high) {
      return try builder.adopt(subtree, separator: low, upperFence: high)
    }
    let node = try builder.opened(subtree)
    builder.dead.leave(node: subtree.reference)
    if node.isLeaf { return try mergeLeaf(node, high, deleted == .part) }
    for index in 0..<node.count {
      try merge(
        node.childSubtree(index), low: index == 0 ? low : node.separator(index),
        high: index + 1 < node.count ? node.separator(index + 1) : high)
    }
  }

  private mutating func mergeLeaf(_ leaf: Node, _ high: PrefixedKey?, _ checksRanges: Bool) throws(Fault) {
    var index = 0
    while isTouched(high) {
      let (place, isFound) = leaf.lowerBound(buffer.key, buffer.keyCount)
      try keep(leaf, index, place, checksRanges)
      if isFound { leave(leaf.entry(place).value) }
      index = isFound ? place + 1 : place
      try takeEntry()
    }
    try keep(leaf, index, leaf.count, checksRanges)
  }

  /// Appends entries of the base that no entry of the buffer replaces, unless they are deleted.
  @inline(__always) private func keep(
    _ leaf: Node, _ from: Int, _ to: Int, _ checksRanges: Bool
  ) throws(Fault) {
    var index = from
    while index < to {
      let entry = leaf.entry(index)
      let key = PrefixedKey(leaf.prefix, leaf.prefixCount, entry.suffix, entry.suffixCount)
      index &+= 1
      if checksRanges, isDeleted(key) {
        leave(entry.value)
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

  /// Appends the buffer's current entry unless it is a delete, and moves on. No entry is older than
  /// a range delete over it.
  private mutating func takeEntry() throws(Fault) {
    builder.releaseUnused()
    let reference = buffer.reference
    if !reference.isTombstone {
      let record = buffer.record
      let key = PrefixedKey(record.key, record.keyCount)
      if record.code == OperationCode.putExtent {
        builder.dead.keep(
          extent: UInt64(record.value - source.file.base), length: UInt64(record.valueCount))
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

  @inline(__always) private func leave(_ value: BaseValue) {
    if value.isExtent { builder.dead.leave(extent: value.extentOffset, length: UInt64(value.length)) }
  }

  /// Leaves out a whole subtree. Leaves are read only if they have extents. A damaged node is not
  /// reported as dead.
  private mutating func leave(_ subtree: Subtree) {
    let reference = subtree.reference
    // A tree that takes more space than the file has nodes that belong to it many times, perhaps
    // more often than anybody can wait for.
    leftBytes &+= UInt64(reference.length)
    guard leftBytes <= source.file.limit else { return }
    if subtree.level == 0, subtree.liveBytes == UInt64(reference.length) {
      let limit = source.file.limit
      guard reference.offset <= limit, UInt64(reference.length) <= limit - reference.offset else { return }
      return builder.dead.leave(node: reference)
    }
    let node: Node
    do throws(Fault) { node = try source.root(subtree) } catch { return }
    builder.dead.leave(node: reference)
    if node.isLeaf {
      for index in 0..<node.count { leave(node.entry(index).value) }
    } else {
      for index in 0..<node.count { leave(node.childSubtree(index)) }
    }
  }

  // MARK: Deleted ranges

  private enum Coverage { case none, part, whole }

  /// The deleted part of the key range from `low` to `high`, not including `high`.
  private func coverage(_ low: PrefixedKey, _ high: PrefixedKey?) -> Coverage {
    if ranges.isEmpty { return .none }
    let start = low.bytes
    guard let interval = ranges.firstEnding(after: start) else { return .none }
    guard let high else { return .part }
    let end = high.bytes
    if !RangeTombstones.less(interval.low, end) { return .none }
    let coversLow = !RangeTombstones.less(start, interval.low)
    return coversLow && !RangeTombstones.less(interval.high, end) ? .whole : .part
  }
}
