import LatewoodBytes
import LatewoodFile

/// A position in a base tree: on an entry, before the first, or past the last.
///
/// ```
/// path   level 2: (node, child index)
///        level 1: (node, child index)
/// leaf   the node, and `index` in it:  -1 before the first entry of the tree,  count past the last
/// ```
///
/// Hot loops iterate over `leaf` from `index` themselves, then set `index` and call `nextLeaf`.
///
/// Invariants:
/// 1. While `leaf` is a node of the tree, `path` holds the branch and child taken at each level
///    from 1 to the root's.
/// 2. `index` is within `-1 ... leaf.count`, and at an end only if the leaf is at that end of the
///    tree.
/// 3. A step forward leads to a greater key, a step backward to a lesser one, and a seek to a key
///    on the right side of the target, so a caller that continues from there makes progress. Sound
///    nodes of a damaged file need not belong to the same tree, so this is checked whenever the
///    cursor moves from one leaf to another.
///
/// After an error the cursor is not on an entry and must seek again.
struct BaseCursor {
  let source: NodeLoader
  let root: Subtree?
  /// The current leaf; an empty one if there is none.
  private(set) var leaf: Node
  var index: Int
  private var path = CursorPath()

  init(_ tree: BaseTree) {
    source = tree.source
    root = tree.root
    leaf = Node(emptyAt: tree.source.file.base)
    index = 0
  }

  // MARK: The entry

  /// Whether the cursor is on an entry. The entry may be read only then.
  @inline(__always) var isValid: Bool { UInt(bitPattern: index) < UInt(bitPattern: leaf.count) }
  @inline(__always) var prefix: UnsafeRawPointer { leaf.prefix }
  @inline(__always) var prefixCount: Int { leaf.prefixCount }
  /// The rest of the key after the prefix, and the value.
  @inline(__always) var entry: LeafCell { leaf.entry(index) }
  @inline(__always) var key: PrefixedKey { leaf.key(index) }
  @inline(__always) var value: BaseValue { leaf.entry(index).value }

  /// Returns a copy of the key. Throws `damaged` if the key lies outside the file because its node
  /// has changed.
  func keyBytes() throws(StorageError) -> [UInt8] {
    let key = key
    guard source.contains(key) else {
      throw StorageError(.damaged, "a key in a node lies outside the file: the node has changed")
    }
    return key.bytes
  }

  // MARK: Steps

  /// Moves to the next entry; returns false past the last.
  @inline(__always) mutating func next() throws(StorageError) -> Bool {
    index &+= 1
    if index < leaf.count { return true }
    return try nextLeaf()
  }

  /// Moves to the previous entry; returns false before the first.
  @inline(__always) mutating func previous() throws(StorageError) -> Bool {
    index &-= 1
    if index >= 0 { return isValid }
    return try previousLeaf()
  }

  /// Moves to the first entry of the next leaf. If there is none, moves past the last entry and
  /// returns false.
  @inline(never) mutating func nextLeaf() throws(StorageError) -> Bool {
    guard let root, leaf.count > 0 else {
      index = leaf.count
      return false
    }
    var level: UInt8 = 1
    while level <= root.level {
      let (offset, index) = path[level]
      let branch = try source.node(again: offset, level: level)
      if index + 1 < branch.count {
        path[level] = (offset, index + 1)
        let before = leaf
        try descend(from: branch, index + 1, level) { _ in 0 }
        try checkOrder(before, leaf)
        self.index = 0
        return true
      }
      level += 1
    }
    index = leaf.count
    return false
  }

  /// Moves to the last entry of the previous leaf. If there is none, moves before the first entry
  /// and returns false.
  @inline(never) mutating func previousLeaf() throws(StorageError) -> Bool {
    guard let root, leaf.count > 0 else {
      index = -1
      return false
    }
    var level: UInt8 = 1
    while level <= root.level {
      let (offset, index) = path[level]
      if index > 0 {
        path[level] = (offset, index - 1)
        let after = leaf
        try descend(from: try source.node(again: offset, level: level), index - 1, level) { $0.count - 1 }
        try checkOrder(leaf, after)
        self.index = leaf.count - 1
        return true
      }
      level += 1
    }
    index = -1
    return false
  }

  /// Reads the nodes that the cursor points into again. Their contents are the same, because a tree
  /// never changes.
  mutating func reload() throws(StorageError) {
    guard let root, leaf.count > 0 else { return }
    let place = index
    leaf = Node(emptyAt: source.file.base)
    index = 0
    var reference = root.reference
    var level = root.level
    while level > 0 {
      let node = try source.node(reference, level: level)
      reference = node.childReference(path[level].index)
      level &-= 1
    }
    leaf = try source.node(reference, level: 0)
    index = place
  }

  // MARK: Seeks

  /// Moves to the first entry; returns false if there is none.
  mutating func first() throws(StorageError) -> Bool {
    guard try descendFromRoot({ _ in 0 }) else { return false }
    index = 0
    return isValid
  }

  /// Moves to the last entry; returns false if there is none.
  mutating func last() throws(StorageError) -> Bool {
    guard try descendFromRoot({ $0.count - 1 }) else { return false }
    index = leaf.count - 1
    return isValid
  }

  /// Moves to the first entry whose key is not less than `key`. If there is none, moves past the
  /// last and returns false.
  mutating func seek(_ key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> Bool {
    // The key belongs in the current leaf unless it is before or after all of its keys.
    let (near, found) = leaf.lowerBound(key, keyCount)
    if near < leaf.count, near > 0 || found {
      index = near
      return true
    }
    guard try descendFromRoot({ $0.childIndex(key, keyCount) }) else { return false }
    index = leaf.lowerBound(key, keyCount).index
    if index < leaf.count { return true }
    guard try nextLeaf() else { return false }
    if self.key.compare(key, keyCount) < 0 { throw outOfOrder() }
    return true
  }

  /// Moves to the last entry whose key is less than `key`. If there is none, moves before the first
  /// and returns false.
  mutating func seekLast(before key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> Bool {
    _ = try seek(key, keyCount)
    guard index == 0 else { return try previous() }
    guard try previousLeaf() else { return false }
    if self.key.compare(key, keyCount) >= 0 { throw outOfOrder() }
    return true
  }

  /// Moves to the entry that has `rank` keys before it. If there is none, moves past the last and
  /// returns false. O(log n).
  mutating func seek(rank: UInt64) throws(StorageError) -> Bool {
    var rest = rank
    guard
      try descendFromRoot({ branch in
        for index in 0..<branch.count {
          let entries = branch.childEntries(index)
          if rest < entries { return index }
          rest -= entries
        }
        rest = .max
        return branch.count - 1
      })
    else { return false }
    index = rest < UInt64(leaf.count) ? Int(rest) : leaf.count
    // Wrong totals in the file could put the cursor at the end of a leaf that is not the last.
    return index < leaf.count ? true : try nextLeaf()
  }

  // MARK: Order

  /// Throws `damaged` unless all keys of one leaf precede all keys of the other. After an error the
  /// cursor is not on a leaf.
  private mutating func checkOrder(_ before: Node, _ after: Node) throws(StorageError) {
    let last = before.key(before.count &- 1)
    let first = after.key(0)
    guard source.contains(last), source.contains(first), last.compare(first) < 0 else {
      throw outOfOrder()
    }
  }

  /// Resets the cursor and returns the error for a leaf whose keys do not match its position in the
  /// tree.
  mutating func outOfOrder() -> StorageError {
    let offset = UInt64(UInt(bitPattern: leaf.base) &- UInt(bitPattern: source.file.base))
    leaf = Node(emptyAt: source.file.base)
    index = 0
    return StorageError.damaged(at: offset, "the keys of a leaf do not belong at its place in the tree")
  }

  // MARK: Descending

  @inline(__always) private mutating func descendFromRoot(_ choose: (Node) -> Int) throws(StorageError)
    -> Bool
  {
    leaf = Node(emptyAt: source.file.base)
    index = 0
    guard let root else { return false }
    let node = try source.root(root)
    guard root.level > 0 else {
      leaf = node
      return true
    }
    let index = choose(node)
    path[root.level] = (root.reference.offset, index)
    try descend(from: node, index, root.level, choose)
    return true
  }

  /// Descends from child `index` of `branch`, which is already on the path, to a leaf.
  @inline(__always) private mutating func descend(
    from branch: Node, _ index: Int, _ level: UInt8, _ choose: (Node) -> Int
  ) throws(StorageError) {
    leaf = Node(emptyAt: source.file.base)
    var (branch, index) = (branch, index)
    var level = level &- 1
    var node = try source.child(index, of: branch, level: level)
    while level > 0 {
      let offset = branch.childReference(index).offset
      (branch, index) = (node, choose(node))
      path[level] = (offset, index)
      level &-= 1
      node = try source.child(index, of: branch, level: level)
    }
    leaf = node
  }
}

/// The path of a cursor: for each level above the leaves, the branch and the index of the child
/// taken, in 48 bits of offset and 16 bits of index.
///
/// This is a tuple because a cursor cannot own memory, and not all supported systems have a
/// fixed-size array type.
struct CursorPath {
  typealias Four = (UInt64, UInt64, UInt64, UInt64)
  private var steps: (Four, Four, Four, Four, Four, Four, Four)

  init() {
    let none: Four = (0, 0, 0, 0)
    steps = (none, none, none, none, none, none, none)
  }

  /// The step at `level`, which is below `NodeLayout.maximumLevels`.
  subscript(level: UInt8) -> (offset: UInt64, index: Int) {
    @inline(__always) get {
      withUnsafeBytes(of: steps) { bytes in
        let step = bytes.load(fromByteOffset: Int(level) &* 8, as: UInt64.self)
        return (step &>> 16, Int(step & 0xFFFF))
      }
    }
    @inline(__always) set {
      withUnsafeMutableBytes(of: &steps) { bytes in
        let step = newValue.offset &<< 16 | UInt64(newValue.index) & 0xFFFF
        bytes.storeBytes(of: step, toByteOffset: Int(level) &* 8, as: UInt64.self)
      }
    }
  }
}
