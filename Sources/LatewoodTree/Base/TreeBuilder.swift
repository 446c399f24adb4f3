import LatewoodBytes
import LatewoodFile

/// Builds a new tree from input in key order: entries, and subtrees of an older tree that are
/// adopted unchanged.
///
/// ```
/// append, append, adopt, append ...
///    level 0   entries   --full node-->   sink
///    level 1   children  --full node-->   sink
///    ...
/// ```
///
/// 1. Consecutive entries fill nodes completely. A full node is held back until the next one is
///    full too, so that the two can be balanced if no more entries follow.
/// 2. An adopted subtree completes the nodes below it. If there are too few pending items for a
///    node, the subtree is opened along its left edge and its first node merged with them. If they
///    do not fit into one node, they are divided between two, so that no further siblings are
///    rewritten.
/// 3. If too few items are left at the end, the previous node is merged with them in the same way.
///
/// Input pointers must stay valid until `finish` has returned, or point into nodes passed to
/// `retain`. Memory: the items of two nodes for each level, and the nodes that these were read
/// from. One thread. After an error the builder can no longer be used.
final class TreeBuilder {
  /// At most one byte in this many is wasted in partly filled leaves, so that transplanting can
  /// resume after a leaf that could not be transplanted. That costs little space, because a node is
  /// only as long as its contents, but every additional leaf slows down searches and scans.
  private static let bytesPerWasted = 256

  private let sink: RegionWriter
  private let source: NodeLoader
  /// The maximum length of a node without its trailer, in bytes.
  private let nodeSize: Int
  private let transaction: UInt64
  // SAFETY: `maximumLevels` initialized levels, freed in deinit; the pointer is not shared.
  private let levels: UnsafeMutablePointer<BuilderLevel>
  /// The left neighbour of the next leaf, which determines its separator.
  private var left = LeftNeighbour.none
  /// The dead space: opened nodes of the older tree, and ranges that the caller adds.
  var dead = DeadSpace()
  /// The number of bytes that may still be wasted; see `transplant`.
  private var wasteAllowance = 0
  /// The memory that items point into and that has no other owner.
  private var retained = RetainedMemory()
  private var placements = 0
  /// Items that will be added to a level once it has advanced.
  private var deferred: [BuilderItem] = []

  /// - Parameters:
  ///   - sink: receives the nodes.
  ///   - source: reads the adopted subtrees.
  ///   - nodeSize: the maximum length of a node in bytes, unless fewer than three entries fit.
  ///   - transaction: written into every node.
  init(sink: RegionWriter, source: NodeLoader, nodeSize: Int = 8192, transaction: UInt64) {
    precondition((256...NodeLayout.maximumLength).contains(nodeSize))
    self.sink = sink
    self.source = source
    self.nodeSize = nodeSize - sink.trailerLength
    self.transaction = transaction
    placements = sink.placements
    levels = .allocate(capacity: NodeLayout.maximumLevels)
    for level in 0..<NodeLayout.maximumLevels {
      (levels + level).initialize(to: BuilderLevel(isLeaf: level == 0))
    }
  }

  deinit {
    for level in 0..<NodeLayout.maximumLevels { levels[level].deallocate() }
    levels.deinitialize(count: NodeLayout.maximumLevels)
    levels.deallocate()
  }

  // MARK: Input

  /// Appends an entry whose value of `valueCount` bytes is stored in the leaf. `key` must be
  /// greater than all before it.
  @inline(__always) func append(
    _ key: PrefixedKey, inline value: UnsafeRawPointer, _ valueCount: Int
  ) throws(StorageError) {
    try push(BuilderItem(key, inline: value, valueCount), level: 0)
  }

  /// Appends an entry that refers to a value in the file. `key` must be greater than all before it.
  @inline(__always) func append(
    _ key: PrefixedKey, extent offset: UInt64, length: UInt64, checksum: UInt32
  ) throws(StorageError) {
    try push(BuilderItem(key, extent: offset, length: length, checksum: checksum), level: 0)
  }

  /// Appends an entry of an older tree.
  @inline(__always) func append(_ key: PrefixedKey, _ value: BaseValue) throws(StorageError) {
    if value.isExtent {
      try append(
        key, extent: value.extentOffset, length: UInt64(value.length), checksum: value.extentChecksum)
    } else {
      try append(key, inline: value.pointer, value.length)
    }
  }

  @inline(__always) private func push(_ item: BuilderItem, level: Int) throws(StorageError) {
    if try levels[level].add(item, nodeSize: nodeSize) { return }
    try pushAfterAdvance(item, level: level)
  }

  @inline(never) private func pushAfterAdvance(_ item: BuilderItem, level: Int) throws(StorageError) {
    // `advance` may place regions, and this item may be a child in one of them.
    deferred.append(item)
    try advance(level)
    guard let item = deferred.popLast(), try levels[level].add(item, nodeSize: nodeSize) else {
      throw StorageError(.valueTooLarge, "an entry does not fit into a node")
    }
  }

  /// Holds back the current node, which is full, and writes the previously held node.
  private func advance(_ level: Int) throws(StorageError) {
    if levels[level].held > 0 { try emit(level, levels[level].held) }
    levels[level].hold()
  }

  // MARK: Whole subtrees and leaves

  /// Adopts a subtree of an older tree unchanged, or opens it if pending items must be merged with
  /// its first nodes.
  ///
  /// - Parameters:
  ///   - separator: a key that is greater than everything before, and not greater than any key in
  ///     the subtree. Empty for the first subtree of the tree.
  ///   - upperFence: a key that is greater than every key in the subtree and not greater than
  ///     anything after it. Without it, the last key of the subtree is read when the next leaf is
  ///     created.
  func adopt(
    _ subtree: Subtree, separator: PrefixedKey, upperFence: PrefixedKey? = nil
  ) throws(StorageError) {
    // Offsets in adopted nodes are untrusted and must not be mistaken for provisional ones.
    let length = UInt64(subtree.reference.length)
    guard length <= source.file.limit, subtree.reference.offset <= source.file.limit - length,
      Int(subtree.level) + 1 < NodeLayout.maximumLevels
    else {
      throw StorageError.damaged(at: subtree.reference.offset, "a child does not lie within the file")
    }
    for level in 0...Int(subtree.level) where !levels[level].isEmpty {
      if levels[level].isUnderfull(nodeSize: nodeSize) {
        return try open(subtree, separator: separator, upperFence: upperFence)
      }
      try flush(level, even: true)
    }
    try push(BuilderItem(separator, child: subtree), level: Int(subtree.level) + 1)
    left = upperFence.map { .fence($0) } ?? .subtree(subtree)
  }

  private func open(
    _ subtree: Subtree, separator: PrefixedKey, upperFence: PrefixedKey?
  ) throws(StorageError) {
    let node = try opened(subtree)
    dead.add(node: subtree.reference)
    if node.isLeaf { return try appendAll(of: node) }
    for index in 0..<node.count {
      try adopt(
        node.childSubtree(index), separator: index == 0 ? separator : node.separator(index),
        upperFence: index + 1 < node.count ? node.separator(index + 1) : upperFence)
    }
  }

  /// Reads a node of the older tree. The entries of a leaf are written again, so they are taken
  /// from a copy in which it was verified.
  func opened(_ subtree: Subtree) throws(StorageError) -> Node {
    guard subtree.level == 0 else { return try source.root(subtree) }
    let copy = try NodeCopy(
      subtree.reference, level: subtree.level, in: source.file, minimumKeyLength: source.minimumKeyLength)
    retain(copy)
    return copy.node
  }

  /// Appends every entry of a leaf.
  func appendAll(of leaf: Node) throws(StorageError) {
    for index in 0..<leaf.count {
      let entry = leaf.entry(index)
      try append(PrefixedKey(leaf.prefix, leaf.prefixCount, entry.suffix, entry.suffixCount), entry.value)
    }
  }

  /// Adds a full leaf of another file unchanged, without decoding each entry. If this returns
  /// false, nothing has changed, and the caller must append the leaf's entries.
  ///
  /// Pending items are written first, as one node or two. The leaf is refused if these nodes would
  /// waste more than `wasteAllowance`, or if the builder would have encoded its entries
  /// differently.
  ///
  /// - Parameter leaf: a verified leaf without extents, whose keys are greater than all before. It
  ///   need not stay in memory.
  func transplant(_ leaf: Node) throws(StorageError) -> Bool {
    let length = Int(leaf.length)
    wasteAllowance += length / TreeBuilder.bytesPerWasted
    guard NodeSplit.isFull(length - sink.trailerLength, nodeSize: nodeSize), leaf.isCanonical else {
      return false
    }
    if !levels[0].isEmpty {
      let wasted = max(0, nodeSize - levels[0].currentLength)
      guard wasted <= wasteAllowance, !levels[0].isUnderfull(nodeSize: nodeSize) else { return false }
      wasteAllowance -= wasted
      try flush(0, even: levels[0].currentLength < nodeSize / 2)
    }
    let first = leaf.key(0)
    if case .key(let last) = left {
      let common = first.commonPrefix(last)
      guard common < first.count, common == last.count || last.byte(common) < first.byte(common) else {
        throw StorageError(.damaged, "the keys of a new tree are not in ascending order")
      }
    }
    let separator = retained.copy(try left.separator(before: first, source: source))
    let (target, provisional) = try sink.allocate(length: length)
    resolvePlaced()
    target.copyMemory(from: leaf.base, byteCount: length)
    target.set(transaction, at: NodeLayout.transaction)
    left = .key(retained.copy(leaf.key(leaf.count - 1)))
    let subtree = Subtree(
      reference: NodeReference(offset: provisional, length: leaf.length, checksum: 0), level: 0,
      entries: UInt64(leaf.count), liveBytes: UInt64(leaf.length))
    try push(BuilderItem(separator, child: subtree), level: 1)
    return true
  }

  // MARK: Output

  /// Writes all pending items of `level` as one node or two, balanced if `even`.
  private func flush(_ level: Int, even: Bool) throws(StorageError) {
    let held = levels[level].held
    if held > 0 {
      let cut = even ? levels[level].evenCut(nodeSize: nodeSize) : held
      try emit(level, cut)
    }
    try emit(level, levels[level].count)
  }

  /// Writes the first `number` items of `level` as one node, which becomes a child one level up.
  private func emit(_ level: Int, _ number: Int) throws(StorageError) {
    guard level + 1 < NodeLayout.maximumLevels else {
      throw StorageError(.fileTooLarge, "the tree has too many levels")
    }
    let node = NodeEncoder(
      levels[level], number, level: UInt8(level), transaction: transaction, trailerLength: sink.trailerLength)
    guard node.length <= NodeLayout.maximumLength else {
      throw StorageError(.valueTooLarge, "an entry does not fit into a node")
    }
    let (target, provisional) = try sink.allocate(length: node.length)
    // Resolved first, because the node is encoded from items whose children may just have been
    // placed.
    resolvePlaced()
    let totals = node.write(to: target)
    let first = levels[level].items[0].key
    let separator = level == 0 ? retained.copy(try left.separator(before: first, source: source)) : first
    if level == 0 { left = .key(retained.copy(levels[0].items[number - 1].key)) }
    levels[level].removeFirst(number)
    let reference = NodeReference(offset: provisional, length: UInt32(node.length), checksum: 0)
    let subtree = Subtree(
      reference: reference, level: UInt8(level), entries: totals.entries, liveBytes: totals.liveBytes)
    try push(BuilderItem(separator, child: subtree), level: level + 1)
  }

  /// Places all nodes made so far, without waiting for a full batch.
  func placeFinished() throws(StorageError) {
    try sink.finish()
    resolvePlaced()
  }

  /// Replaces provisional references with real ones, if the sink has placed nodes since the last
  /// call.
  private func resolvePlaced() {
    guard sink.placements != placements else { return }
    placements = sink.placements
    for level in 1..<NodeLayout.maximumLevels {
      for index in 0..<levels[level].count { resolve(&levels[level].items[index]) }
    }
    // Items of level 0 are entries, not children, and have no live bytes.
    for index in deferred.indices where deferred[index].liveBytes > 0 { resolve(&deferred[index]) }
  }

  private func resolve(_ item: inout BuilderItem) {
    guard UnplacedOffset.isUnplaced(item.word) else { return }
    let reference = sink.reference(of: item.word)
    item.word = reference.offset
    item.checksum = reference.checksum
  }

  // MARK: Retained memory

  /// Retains a node from which entries are taken, until another node is retained and the entries
  /// are no longer pending.
  func retain(_ copy: NodeCopy) { retained.retain(copy) }

  /// Releases retained memory that no item points into. Called between two entries.
  @inline(__always) func releaseUnused() {
    if retained.isFull { releaseRetained() }
  }

  @inline(never) private func releaseRetained() {
    var addresses: [UnsafeRawPointer] = []
    let note = { (item: BuilderItem) in
      addresses += [item.key.prefix, item.key.suffix]
      if let value = UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: item.word)) {
        addresses.append(value)
      }
    }
    for level in 0..<NodeLayout.maximumLevels {
      for index in 0..<levels[level].count { note(levels[level].items[index]) }
    }
    deferred.forEach(note)
    switch left {
    case .none, .subtree: break
    case .key(let key), .fence(let key), .kept(let key): addresses += [key.prefix, key.suffix]
    }
    retained.release(but: addresses)
  }

  // MARK: The end

  /// Writes the remaining nodes and returns the root; nil if the input was empty.
  func finish() throws(StorageError) -> Subtree? {
    var root: BuilderItem?
    var rootLevel = 0
    for level in 0..<NodeLayout.maximumLevels where !levels[level].isEmpty {
      if hasItems(above: level) {
        try fillUp(level)
        guard !levels[level].isEmpty else { continue }
      }
      if level > 0, levels[level].count == 1, !hasItems(above: level) {
        root = levels[level].last
        rootLevel = level - 1
        break
      }
      let isShort =
        NodeSplit.isTooShort(levels[level].currentLength, nodeSize: nodeSize)
        || levels[level].currentCount < 2
      try flush(level, even: isShort)
    }
    try sink.finish()
    guard var root else { return nil }
    guard UnplacedOffset.isUnplaced(root.word) else {
      return try collapsed(root.subtree(level: UInt8(rootLevel)))
    }
    resolve(&root)
    return root.subtree(level: UInt8(rootLevel))
  }

  /// Opens the previous node and merges its items with the pending ones, while `level` has too few
  /// at the end of the build.
  private func fillUp(_ level: Int) throws(StorageError) {
    while levels[level].isUnderfull(nodeSize: nodeSize) {
      var above = level + 1
      while above < NodeLayout.maximumLevels, levels[above].isEmpty { above += 1 }
      guard above < NodeLayout.maximumLevels else { return }
      // A node of this builder was divided so that it and the items after it are long enough.
      guard !UnplacedOffset.isUnplaced(levels[above].last.word) else { return }
      let item = levels[above].removeLast()
      let subtree = item.subtree(level: UInt8(above - 1))
      let node = try opened(subtree)
      dead.add(node: subtree.reference)
      if above - 1 > level {
        try pushChildren(of: node, after: item.key, level: above - 1)
        continue
      }
      let rest = levels[level].removeAll()
      if node.isLeaf {
        left = .kept(item.key)
        try appendAll(of: node)
      } else {
        try pushChildren(of: node, after: item.key, level: level)
      }
      for item in rest { try push(item, level: level) }
    }
  }

  private func pushChildren(of node: Node, after separator: PrefixedKey, level: Int) throws(StorageError) {
    for index in 0..<node.count {
      let child = node.childSubtree(index)
      guard !UnplacedOffset.isUnplaced(child.reference.offset) else {
        throw StorageError.damaged(at: child.reference.offset, "a child does not lie within the file")
      }
      let key = index == 0 ? separator : node.separator(index)
      try push(BuilderItem(key, child: child), level: level)
    }
  }

  /// Replaces a root that has only one child with that child. Older trees may have such roots.
  private func collapsed(_ root: Subtree) throws(StorageError) -> Subtree {
    var root = root
    while root.level > 0 {
      let node = try source.root(root)
      guard node.count == 1 else { break }
      dead.add(node: root.reference)
      root = node.childSubtree(0)
    }
    return root
  }

  private func hasItems(above level: Int) -> Bool {
    for higher in (level + 1)..<max(NodeLayout.maximumLevels, level + 1) where !levels[higher].isEmpty {
      return true
    }
    return false
  }
}
