import LatewoodBytes
import LatewoodFile

/// A place in a base tree: on an entry, before the first, or past the last.
///
/// ```
/// path   level 2: (node, child index)
///        level 1: (node, child index)
/// leaf   the node, and `index` in it:  -1 before the first entry of the tree,  count past the last
/// ```
///
/// Loops that want every nanosecond run over `leaf` from `index` on themselves, set `index` and
/// call `nextLeaf`.
///
/// Invariants:
/// 1. `path` holds the branch and child taken at each level from 1 to the root's, as long as `leaf`
///    is a node of the tree.
/// 2. `index` is within `-1 ... leaf.count`, and at an end only if the leaf is at that end of the
///    tree.
///
/// A cursor that threw is on no entry and has to seek again.
struct BaseCursor {
  let source: NodeSource
  let root: Subtree?
  /// Where the cursor is; without entries while it is nowhere.
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

  /// Whether the cursor is on an entry. Only then may the entry be asked for.
  @inline(__always) var isValid: Bool { UInt(bitPattern: index) < UInt(bitPattern: leaf.count) }
  @inline(__always) var prefix: UnsafeRawPointer { leaf.prefix }
  @inline(__always) var prefixCount: Int { leaf.prefixCount }
  /// The rest of the key, and the value.
  @inline(__always) var entry: LeafCell { leaf.entry(index) }
  @inline(__always) var key: SplitKey { leaf.key(index) }
  @inline(__always) var value: BaseValue { leaf.entry(index).value }

  // MARK: Steps

  /// To the next entry; false past the last.
  @inline(__always) mutating func next() throws(Fault) -> Bool {
    index &+= 1
    if index < leaf.count { return true }
    return try nextLeaf()
  }

  /// To the entry before; false before the first.
  @inline(__always) mutating func previous() throws(Fault) -> Bool {
    index &-= 1
    if index >= 0 { return isValid }
    return try previousLeaf()
  }

  /// To the first entry of the next leaf; false, and past the last entry, if there is none.
  @inline(never) mutating func nextLeaf() throws(Fault) -> Bool {
    guard let root, leaf.count > 0 else {
      index = leaf.count
      return false
    }
    var level: UInt8 = 1
    while level <= root.level {
      let (offset, index) = path[level]
      let branch = node(at: offset)
      if index + 1 < branch.count {
        path[level] = (offset, index + 1)
        try descend(from: branch, index + 1, level) { _ in 0 }
        self.index = 0
        return true
      }
      level += 1
    }
    index = leaf.count
    return false
  }

  /// To the last entry of the leaf before; false, and before the first entry, if there is none.
  @inline(never) mutating func previousLeaf() throws(Fault) -> Bool {
    guard let root, leaf.count > 0 else {
      index = -1
      return false
    }
    var level: UInt8 = 1
    while level <= root.level {
      let (offset, index) = path[level]
      if index > 0 {
        path[level] = (offset, index - 1)
        try descend(from: node(at: offset), index - 1, level) { $0.count - 1 }
        self.index = leaf.count - 1
        return true
      }
      level += 1
    }
    index = -1
    return false
  }

  // MARK: Seeks

  /// To the first entry; false if there is none.
  mutating func first() throws(Fault) -> Bool {
    guard try descendFromRoot({ _ in 0 }) else { return false }
    index = 0
    return isValid
  }

  /// To the last entry; false if there is none.
  mutating func last() throws(Fault) -> Bool {
    guard try descendFromRoot({ $0.count - 1 }) else { return false }
    index = leaf.count - 1
    return isValid
  }

  /// To the first entry whose key is not less than `key`; false, and past the last, if there is
  /// none.
  mutating func seek(_ key: UnsafeRawPointer, _ keyCount: Int) throws(Fault) -> Bool {
    // What is near is in the leaf where the cursor is, unless it is before or after all of it.
    let (near, found) = leaf.lowerBound(key, keyCount)
    if near < leaf.count, near > 0 || found {
      index = near
      return true
    }
    guard try descendFromRoot({ $0.childIndex(key, keyCount) }) else { return false }
    index = leaf.lowerBound(key, keyCount).index
    return index < leaf.count ? true : try nextLeaf()
  }

  /// To the last entry whose key is less than `key`; false, and before the first, if there is none.
  mutating func seekLast(before key: UnsafeRawPointer, _ keyCount: Int) throws(Fault) -> Bool {
    _ = try seek(key, keyCount)
    return try previous()
  }

  /// To the entry that has `rank` keys before it; false, and past the last, if there is none. O(log
  /// n).
  mutating func seek(rank: UInt64) throws(Fault) -> Bool {
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
    // Totals that are too great would leave the cursor at the end of a leaf in the middle.
    return index < leaf.count ? true : try nextLeaf()
  }

  // MARK: Ways down

  /// SAFETY: the path holds offsets of nodes that the source gave out.
  private func node(at offset: UInt64) -> Node {
    Node(validated: source.file.base + Int(truncatingIfNeeded: offset))
  }

  @inline(__always) private mutating func descendFromRoot(_ choose: (Node) -> Int) throws(Fault) -> Bool {
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

  /// From child `index` of `branch`, which is on the path already, to a leaf.
  @inline(__always) private mutating func descend(
    from branch: Node, _ index: Int, _ level: UInt8, _ choose: (Node) -> Int
  ) throws(Fault) {
    leaf = Node(emptyAt: source.file.base)
    var reference = branch.childReference(index)
    var level = level &- 1
    var node = try source.node(reference, level: level)
    while level > 0 {
      let index = choose(node)
      path[level] = (reference.offset, index)
      reference = node.childReference(index)
      level &-= 1
      node = try source.node(reference, level: level)
    }
    leaf = node
  }
}

/// For each level from 1 on, the branch that was passed and the child that was taken there: 48 bits
/// of offset, 16 of index.
///
/// A tuple, because a cursor must not own memory and a fixed array type is not on all systems that
/// this package supports.
struct CursorPath {
  typealias Four = (UInt64, UInt64, UInt64, UInt64)
  private var steps: (Four, Four, Four, Four, Four, Four, Four)

  init() {
    let none: Four = (0, 0, 0, 0)
    steps = (none, none, none, none, none, none, none)
  }

  /// `level` is below `NodeLayout.maximumLevels`, which is the room here.
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
