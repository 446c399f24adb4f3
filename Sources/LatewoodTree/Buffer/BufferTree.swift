import LatewoodBytes
import LatewoodFile

/// The write buffer's tree: a copy-on-write B+tree from full keys to records in the log.
///
/// Each version has a root. The writer copies a node before its first change in a version, and then
/// changes its own copies in place. Therefore dropping the root aborts a transaction.
///
/// Invariants:
/// 1. Nodes born in the version being written are reachable only from `root`, and so are all their
///    ancestors.
/// 2. `finger`, if set, is such a leaf, at the end of `path`, and has the newest entry. If
///    `knowsFingerLimit`, every key greater than its last key and less than `fingerLimit` belongs
///    in it.
/// 3. Replaced nodes stay in `retired` until no live version can reach them.
///
/// Thread safety: one thread at a time, under the store's writer lock.
struct BufferTree: ~Copyable {
  /// A replaced node, reachable from the versions `born ..< died`.
  struct Retired {
    var node: UnsafeMutableRawPointer
    var died: UInt64
  }

  var root: UnsafeMutableRawPointer?
  var entries = 0
  /// The number of the version being written.
  private(set) var version: UInt64 = 0
  var slab = BufferSlab()
  var retired: [Retired] = []
  private var retiredAtBegin = 0
  var path = Path()
  var finger: UnsafeMutableRawPointer?
  /// The index of the newest entry in that leaf.
  private var fingerIndex = 0
  private var fingerLimit: RecordReference?
  private var knowsFingerLimit = false
  /// The leaf of the last search. It is compared but not read, because it may have been freed.
  private var lastLeaf: UnsafeMutableRawPointer?

  /// The path from the root to a leaf: the branches, and the index of the child taken in each.
  struct Path {
    static let capacity = 16
    let nodes = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: capacity)
    let indexes = UnsafeMutablePointer<Int>.allocate(capacity: capacity)
    var depth = 0
  }

  init() {}

  deinit {
    path.nodes.deallocate()
    path.indexes.deallocate()
  }

  /// Begins a version. From this point all existing nodes are shared.
  mutating func begin(version number: UInt64) {
    version = number
    retiredAtBegin = retired.count
    finger = nil
  }

  /// Restores the tree to its state when the version began.
  mutating func abort(to oldRoot: UnsafeMutableRawPointer?, entries oldEntries: Int) {
    finger = nil
    retired.removeLast(retired.count - retiredAtBegin)
    if let root, root != oldRoot { releasePrivate(BufferNode(root)) }
    root = oldRoot
    entries = oldEntries
  }

  /// Restores the root of version `number`, dropping later, unpublished transactions.
  mutating func forget(after number: UInt64, root oldRoot: UnsafeMutableRawPointer?, entries oldEntries: Int)
  {
    finger = nil
    retired.removeAll { $0.died > number }
    retiredAtBegin = retired.count
    root = oldRoot
    entries = oldEntries
  }

  private mutating func releasePrivate(_ node: BufferNode) {
    guard node.born == version else { return }
    if node.isBranch {
      for index in 0..<node.count { releasePrivate(node.child(index)) }
    }
    slab.release(node)
  }

  /// Inserts a record, replacing an older one with the same key. O(log n).
  ///
  /// Throws `damaged` if it encounters a record that has changed. Then the version being written
  /// must be aborted.
  mutating func insert(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ reference: RecordReference, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    if let finger, try insertAtFinger(finger, key, keyCount, reference, space) { return }
    guard let root else {
      let leaf = slab.allocate(born: version, capacity: BufferNode.leastLeafCapacity, isBranch: false)
      BufferTree.insertEntry(key, keyCount, reference, in: leaf, at: 0)
      self.root = leaf.pointer
      entries = 1
      return
    }
    var node = makePrivate(BufferNode(root))
    self.root = node.pointer
    path.depth = 0
    while node.isBranch {
      let index = try node.childIndex(key, keyCount, space)
      path.nodes[path.depth] = node.pointer
      path.indexes[path.depth] = index
      path.depth &+= 1
      let child = makePrivate(node.child(index))
      node.children[index] = child.pointer
      node = child
    }
    let (index, found) = try node.position(of: key, keyCount, space)
    if found != nil {
      node.references[index] = reference.replacing(node.reference(index)).bits
      return
    }
    entries &+= 1
    if node.count < node.capacity {
      BufferTree.insertEntry(key, keyCount, reference, in: node, at: index)
    } else if node.capacity < BufferNode.leafCapacity {
      node = enlarge(node)
      BufferTree.insertEntry(key, keyCount, reference, in: node, at: index)
    } else {
      try split(node, inserting: key, keyCount, reference, at: index, space)
      return
    }
    setFinger(node, index)
  }

  @inline(__always) static func insertEntry(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ reference: RecordReference, in leaf: BufferNode,
    at index: Int
  ) {
    leaf.fitPrefix(to: key, keyCount, from: 0)
    insertFitting(key, keyCount, reference, in: leaf, at: index)
  }

  /// Inserts an entry whose key begins with the prefix of the leaf.
  @inline(__always) private static func insertFitting(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ reference: RecordReference, in leaf: BufferNode,
    at index: Int
  ) {
    let tail = leaf.count &- index
    if tail > 0 {
      (leaf.heads + (index &+ 1)).update(from: leaf.heads + index, count: tail)
      (leaf.references + (index &+ 1)).update(from: leaf.references + index, count: tail)
    }
    let skip = leaf.prefixCount
    leaf.heads[index] = KeyOrder.head(key + skip, keyCount &- skip)
    leaf.references[index] = reference.bits
    leaf.count &+= 1
  }
}

// MARK: - Inserting in key order

extension BufferTree {
  /// The number of entries that a key may be behind the newest one to be inserted without a search.
  private static let fingerReach = 8

  /// Sets the finger, so that an ascending key that belongs nearby needs no search.
  ///
  /// The finger is useful if keys ascend. That is assumed if this key is the last of its leaf, or
  /// in the same leaf as the previous one.
  @inline(__always) private mutating func setFinger(_ leaf: BufferNode, _ index: Int) {
    if leaf.pointer == lastLeaf || (index > 0 && index == leaf.count &- 1) {
      finger = leaf.pointer
      fingerIndex = index
      knowsFingerLimit = false
    }
    lastLeaf = leaf.pointer
  }

  /// Returns the first separator after the leaf at the end of a path.
  private static func limit(of path: Path) -> RecordReference? {
    var depth = path.depth
    while depth > 0 {
      depth &-= 1
      let branch = BufferNode(path.nodes[depth])
      let next = path.indexes[depth] &+ 1
      if next < branch.count { return branch.reference(next) }
    }
    return nil
  }

  /// Inserts a record closely behind the newest entry; returns false if it does not belong there.
  private mutating func insertAtFinger(
    _ finger: UnsafeMutableRawPointer, _ key: UnsafeRawPointer, _ keyCount: Int,
    _ reference: RecordReference, _ space: borrowing RecordSpace
  ) throws(StorageError) -> Bool {
    let leaf = BufferNode(finger)
    // The nodes above a settled leaf may be settled too, and a change must unsettle them.
    guard leaf.count < leaf.capacity, leaf.comparePrefix(key, keyCount) == 0, !leaf.isSettled,
      let index = try indexAtFinger(key, keyCount, in: leaf, space)
    else {
      self.finger = nil
      return false
    }
    BufferTree.insertFitting(key, keyCount, reference, in: leaf, at: index)
    fingerIndex = index
    entries &+= 1
    return true
  }

  /// Returns the index at which a key is to be inserted into the leaf of the finger; nil if that
  /// index is not closely behind the newest entry, if the leaf already has the key, or if the key
  /// belongs in another leaf.
  ///
  /// The key begins with the prefix of the leaf.
  @inline(__always) private mutating func indexAtFinger(
    _ key: UnsafeRawPointer, _ keyCount: Int, in leaf: BufferNode, _ space: borrowing RecordSpace
  ) throws(StorageError) -> Int? {
    let skip = leaf.prefixCount
    let head = KeyOrder.head(key + skip, keyCount &- skip)
    let count = leaf.count
    var index = fingerIndex
    let end = min(count, index &+ BufferTree.fingerReach)
    while index < end {
      let other = leaf.heads[index]
      if head < other { break }
      if head == other {
        let record = try space.record(leaf.reference(index))
        let order = KeyOrder.compare(key, keyCount, record.key, record.keyCount)
        if order == 0 { return nil }
        if order < 0 { break }
      }
      index &+= 1
    }
    if index == fingerIndex { return nil }
    if index < end { return index }
    guard index == count else { return nil }
    if !knowsFingerLimit {
      fingerLimit = BufferTree.limit(of: path)
      knowsFingerLimit = true
    }
    if let fingerLimit {
      let limit = try space.record(fingerLimit)
      guard KeyOrder.compare(key, keyCount, limit.key, limit.keyCount) < 0 else { return nil }
    }
    return index
  }
}

// MARK: - Copying

extension BufferTree {
  /// Returns the node itself if it belongs to this version, otherwise a private copy.
  @inline(__always) mutating func makePrivate(_ node: BufferNode) -> BufferNode {
    if node.born != version { return copy(node) }
    node.unsettle()
    return node
  }

  private mutating func copy(_ node: BufferNode) -> BufferNode {
    let count = node.count
    var capacity = BufferNode.branchCapacity
    if !node.isBranch {
      let isRoot = root == node.pointer
      capacity = isRoot ? BufferNode.leastLeafCapacity : BufferNode.leastChildCapacity
      while capacity <= count, capacity < BufferNode.leafCapacity { capacity &*= 2 }
    }
    let copy = slab.allocate(born: version, capacity: capacity, isBranch: node.isBranch)
    copy.copyPrefix(of: node)
    copy.copyEntries(of: node, 0, count, at: 0)
    copy.count = count
    if node.isSettled { copy.copyCounts(from: node) }
    retired.append(Retired(node: node.pointer, died: version))
    return copy
  }

  private mutating func enlarge(_ leaf: BufferNode) -> BufferNode {
    let larger = slab.allocate(born: version, capacity: leaf.capacity &* 2, isBranch: false)
    larger.copyPrefix(of: leaf)
    larger.copyEntries(of: leaf, 0, leaf.count, at: 0)
    larger.count = leaf.count
    replaceAtPath(larger)
    slab.release(leaf)
    return larger
  }

  private mutating func replaceAtPath(_ node: BufferNode) {
    if path.depth == 0 {
      root = node.pointer
    } else {
      BufferNode(path.nodes[path.depth &- 1]).children[path.indexes[path.depth &- 1]] = node.pointer
    }
  }
}

// MARK: - Splitting

extension BufferTree {
  /// Splits a full leaf and inserts the new entry into one of the halves.
  mutating func split(
    _ leaf: BufferNode, inserting key: UnsafeRawPointer, _ keyCount: Int, _ reference: RecordReference,
    at index: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    // An append leaves the old leaf full.
    let middle = index == leaf.count ? index : leaf.count / 2
    let right = slab.allocate(born: version, capacity: BufferNode.leafCapacity, isBranch: false)
    right.copyPrefix(of: leaf)
    right.copyEntries(of: leaf, middle, leaf.count, at: 0)
    right.count = leaf.count &- middle
    leaf.count = middle
    let target = index > middle || right.count == 0 ? right : leaf
    BufferTree.insertEntry(
      key, keyCount, reference, in: target, at: target.pointer == leaf.pointer ? index : index &- middle)
    try leaf.lengthenPrefixIfUseful(from: 0, space)
    try right.lengthenPrefixIfUseful(from: 0, space)
    try insertChild(right, separator: right.reference(0), space)
    // The path and the finger's limit are now out of date.
    finger = nil
  }

  /// Inserts a child after the one on the path, and splits full branches on the way up.
  private mutating func insertChild(
    _ newChild: BufferNode, separator newSeparator: RecordReference, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    var child = newChild
    var separator = newSeparator
    var depth = path.depth
    while depth > 0 {
      depth &-= 1
      let branch = BufferNode(path.nodes[depth])
      let index = path.indexes[depth] &+ 1
      if branch.count < branch.capacity {
        try attach(child, separator, in: branch, at: index, space)
        return
      }
      let middle = index == branch.count ? index &- 1 : branch.count / 2
      let right = slab.allocate(born: version, capacity: BufferNode.branchCapacity, isBranch: true)
      right.copyPrefix(of: branch)
      right.copyEntries(of: branch, middle, branch.count, at: 0)
      right.count = branch.count &- middle
      branch.count = middle
      let up = right.reference(0)
      if index > middle {
        try attach(child, separator, in: right, at: index &- middle, space)
      } else {
        try attach(child, separator, in: branch, at: index, space)
      }
      try branch.lengthenPrefixIfUseful(from: 1, space)
      try right.lengthenPrefixIfUseful(from: 1, space)
      child = right
      separator = up
    }
    guard let old = root else { return }
    let top = slab.allocate(born: version, capacity: BufferNode.branchCapacity, isBranch: true)
    top.children[0] = old
    top.heads[0] = 0
    top.references[0] = 0
    top.count = 1
    try attach(child, separator, in: top, at: 1, space)
    root = top.pointer
    path.depth = 0
  }

  private func attach(
    _ child: BufferNode, _ separator: RecordReference, in branch: BufferNode, at index: Int,
    _ space: borrowing RecordSpace
  ) throws(StorageError) {
    let record = try space.record(separator)
    branch.fitPrefix(to: record.key, record.keyCount, from: 1)
    let tail = branch.count &- index
    if tail > 0 {
      (branch.heads + (index &+ 1)).update(from: branch.heads + index, count: tail)
      (branch.references + (index &+ 1)).update(from: branch.references + index, count: tail)
      (branch.children + (index &+ 1)).update(from: branch.children + index, count: tail)
      (branch.tails + (index &+ 1)).update(from: branch.tails + index, count: tail)
    }
    let skip = branch.prefixCount
    branch.setHead(index, record.key + skip, record.keyCount &- skip)
    branch.references[index] = separator.bits
    branch.children[index] = child.pointer
    branch.count &+= 1
  }
}

extension BufferTree {
  /// Removes the entries in `low ..< high`, for a range delete. O(log n), plus the cost of retiring
  /// the nodes completely inside the range.
  ///
  /// Throws like `insert`; then the version being written must be aborted.
  mutating func removeRange(
    from low: KeyPointer, below high: KeyPointer, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    guard let root, try hasEntry(BufferNode(root), from: low, below: high, space) else { return }
    finger = nil
    var top = try cut(BufferNode(root), from: low, below: high, space)
    while let node = top, node.isBranch, node.count == 1 {
      top = node.child(0)
      retire(node)
    }
    self.root = top?.pointer
  }

  private func hasEntry(
    _ root: BufferNode, from low: KeyPointer, below high: KeyPointer, _ space: borrowing RecordSpace
  ) throws(StorageError) -> Bool {
    var cursor = BufferCursor(root: root.pointer, space: copy space)
    try cursor.seek(low.start, low.count)
    return cursor.isValid && KeyOrder.compare(cursor.key, cursor.keyCount, high.start, high.count) < 0
  }

  /// Removes a range from a node and returns the rest; nil if nothing is left. A nil bound lies
  /// beyond the node.
  private mutating func cut(
    _ shared: BufferNode, from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(StorageError) -> BufferNode? {
    guard low != nil || high != nil else {
      retireSubtree(shared)
      return nil
    }
    let node = makePrivate(shared)
    if node.isBranch {
      try cutChildren(node, from: low, below: high, space)
    } else {
      let (first, end) = try node.entries(from: low, below: high, space)
      if first < end {
        node.remove(first, end)
        entries &-= end &- first
      }
    }
    if node.count > 0 { return node }
    slab.release(node)
    return nil
  }

  /// Cuts the children that contain the bounds, and retires the children between them. Even if this
  /// throws, the branch does not refer to a retired child.
  private mutating func cutChildren(
    _ branch: BufferNode, from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    let (first, last) = try branch.edges(from: low, below: high, space)
    try cutChild(last, of: branch, from: first == last ? low : nil, below: high, space)
    guard first < last else { return }
    for index in first &+ 1..<last { retireSubtree(branch.child(index)) }
    branch.remove(first &+ 1, last)
    try cutChild(first, of: branch, from: low, below: nil, space)
  }

  private mutating func cutChild(
    _ index: Int, of branch: BufferNode, from low: KeyPointer?, below high: KeyPointer?,
    _ space: borrowing RecordSpace
  ) throws(StorageError) {
    if let rest = try cut(branch.child(index), from: low, below: high, space) {
      branch.children[index] = rest.pointer
    } else {
      branch.remove(index, index &+ 1)
    }
  }

  /// Retires a node and all nodes under it.
  private mutating func retireSubtree(_ node: BufferNode) {
    if node.isBranch {
      for index in 0..<node.count { retireSubtree(node.child(index)) }
    } else {
      entries &-= node.count
    }
    retire(node)
  }

  private mutating func retire(_ node: BufferNode) {
    if node.born == version {
      slab.release(node)
    } else {
      retired.append(Retired(node: node.pointer, died: version))
    }
  }
}

extension BufferNode {
  /// Removes the entries `first ..< end`.
  fileprivate func remove(_ first: Int, _ end: Int) {
    let tail = count &- end
    if tail > 0 {
      (heads + first).update(from: heads + end, count: tail)
      (references + first).update(from: references + end, count: tail)
      if isBranch {
        (children + first).update(from: children + end, count: tail)
        (tails + first).update(from: tails + end, count: tail)
      }
    }
    count = first &+ tail
  }
}

/// A slab allocator for the nodes of one write buffer: nodes are cut from large chunks and reused
/// through a free list for each size. All memory is freed together.
///
/// Only the writer allocates and frees. Readers follow pointers into it, and keep its owner, the
/// layer, alive.
struct BufferSlab: ~Copyable {
  private static let chunkLength = 256 << 10
  private static let kinds = 6

  private var chunks: [UnsafeMutableRawPointer] = []
  private var cut: UnsafeMutableRawPointer?
  private var rest = 0
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  /// The number of bytes taken from the system.
  var length: Int { chunks.count * Self.chunkLength }

  init() {
    free = .allocate(capacity: Self.kinds)
    free.initialize(repeating: nil, count: Self.kinds)
  }

  deinit {
    for chunk in chunks { chunk.deallocate() }
    free.deallocate()
  }

  /// The index of a size's free list: 0 to 4 for leaves of 8 to 128 entries, 5 for branches.
  @inline(__always) private static func kind(_ capacity: Int, _ isBranch: Bool) -> Int {
    isBranch ? 5 : (capacity / BufferNode.leastLeafCapacity).trailingZeroBitCount
  }

  @inline(__always) mutating func allocate(born: UInt64, capacity: Int, isBranch: Bool) -> BufferNode {
    let kind = Self.kind(capacity, isBranch)
    let pointer: UnsafeMutableRawPointer
    if let reused = free[kind] {
      free[kind] = reused.load(as: UnsafeMutableRawPointer?.self)
      pointer = reused
    } else {
      // Chunks begin at multiples of 64, and so do all nodes.
      pointer = cutNew((BufferNode.length(capacity: capacity, isBranch: isBranch) &+ 63) & ~63)
    }
    let node = BufferNode(pointer)
    node.initialize(born: born, capacity: capacity, isBranch: isBranch)
    return node
  }

  @inline(__always) mutating func release(_ node: BufferNode) {
    let kind = Self.kind(node.capacity, node.isBranch)
    node.pointer.storeBytes(of: free[kind], as: UnsafeMutableRawPointer?.self)
    free[kind] = node.pointer
  }

  @inline(never) private mutating func cutNew(_ length: Int) -> UnsafeMutableRawPointer {
    if rest < length || cut == nil {
      let chunk = UnsafeMutableRawPointer.allocate(byteCount: Self.chunkLength, alignment: 64)
      chunks.append(chunk)
      cut = chunk
      rest = Self.chunkLength
      return cutNew(length)
    }
    let pointer = chunks[chunks.count - 1] + (Self.chunkLength - rest)
    rest -= length
    return pointer
  }
}

/// Reclaims nodes that are no longer reachable from any version.
///
/// A replaced node is reachable from every version from the one that created it up to, but not
/// including, the one that replaced it. It is assigned to the newest live version among these; when
/// that version ends, to the next older one; if no such version is left, it is freed. Therefore a
/// long-lived snapshot keeps only nodes that it can reach, and no node that was created and
/// replaced after it.
struct BufferReclaim {
  /// Replaced nodes, by the number of the version that keeps them alive.
  var held: [UInt64: [BufferTree.Retired]] = [:]
  /// The number of versions looked at so far.
  var visits = 0
}

extension BufferTree {
  /// Frees the nodes that no version can reach.
  ///
  /// - Parameters:
  ///   - published: number of the newest published version, which may still reach nodes that were
  ///     replaced later.
  ///   - live: numbers of all live versions, ascending, `published` among them.
  mutating func reclaim(_ state: inout BufferReclaim, published: UInt64, live: [UInt64]) {
    state.visits += live.count + state.held.count
    for (holder, nodes) in state.held where !Self.contains(live, holder) {
      state.held[holder] = nil
      for node in nodes { reassignOrFree(node, live, &state) }
    }
    var count = 0
    while count < retired.count, retired[count].died <= published {
      reassignOrFree(retired[count], live, &state)
      count += 1
    }
    retired.removeFirst(count)
  }

  private mutating func reassignOrFree(_ node: Retired, _ live: [UInt64], _ state: inout BufferReclaim) {
    let buffer = BufferNode(node.node)
    let newer = Self.firstIndex(live, node.died)
    if newer > 0, live[newer - 1] >= buffer.born {
      state.held[live[newer - 1], default: []].append(node)
    } else {
      slab.release(buffer)
    }
  }

  private static func firstIndex(_ numbers: [UInt64], _ number: UInt64) -> Int {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func contains(_ numbers: [UInt64], _ number: UInt64) -> Bool {
    let index = firstIndex(numbers, number)
    return index < numbers.count && numbers[index] == number
  }
}
