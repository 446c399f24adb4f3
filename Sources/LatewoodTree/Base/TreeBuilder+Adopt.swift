import LatewoodBytes
import LatewoodFile

/// The left neighbour of the next leaf, which determines that leaf's separator.
enum LeftNeighbour {
  case none
  /// The last key before the leaf.
  case key(PrefixedKey)
  /// A bound that is greater than all keys before the leaf and not greater than any of its keys.
  case fence(PrefixedKey)
  /// A subtree whose last key has not been read yet.
  case subtree(Subtree)
  /// The leaf starts where an older one did, and keeps its separator.
  case kept(PrefixedKey)

  /// Returns the shortest prefix of `first` that separates it from the left neighbour.
  func separator(before first: PrefixedKey, source: NodeLoader) throws(StorageError) -> PrefixedKey {
    switch self {
    case .none: return first.prefix(0)
    case .kept(let separator): return separator
    case .key(let last): return first.prefix(min(first.commonPrefix(last) + 1, first.count))
    case .fence(let fence):
      let common = first.commonPrefix(fence)
      return first.prefix(common == fence.count ? common : min(common + 1, first.count))
    case .subtree(let subtree):
      var node = try source.root(subtree)
      while !node.isLeaf {
        node = try source.root(node.childSubtree(node.count - 1))
      }
      return try LeftNeighbour.key(node.key(node.count - 1)).separator(before: first, source: source)
    }
  }
}

extension TreeBuilder {
  /// Adopts a subtree of an older tree unchanged, or opens it if pending items must be merged with
  /// its first nodes.
  ///
  /// - Parameters:
  ///   - separator: greater than everything before, not greater than any key in the subtree. Empty
  ///     for the first subtree of the tree.
  ///   - upperFence: greater than every key in the subtree and not greater than anything after it.
  ///     Without it, the last key of the subtree is read when the next leaf is made.
  func adopt(
    _ subtree: Subtree, separator: PrefixedKey, upperFence: PrefixedKey? = nil
  ) throws(StorageError) {
    // Offsets in adopted nodes are untrusted: none may pass for a provisional one.
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
    let copy = try VerifiedReads(source).node(subtree)
    keep(copy)
    return copy.node
  }

  /// Appends every entry of a leaf.
  func appendAll(of leaf: Node) throws(StorageError) {
    for index in 0..<leaf.count {
      let entry = leaf.entry(index)
      try append(PrefixedKey(leaf.prefix, leaf.prefixCount, entry.suffix, entry.suffixCount), entry.value)
    }
  }

  /// At the end of the build: while `level` has too few pending items, opens the previous node and
  /// merges it with them.
  func fillUp(_ level: Int) throws(StorageError) {
    while levels[level].isUnderfull(nodeSize: nodeSize) {
      var above = level + 1
      while above < NodeLayout.maximumLevels, levels[above].isEmpty { above += 1 }
      guard above < NodeLayout.maximumLevels else { return }
      // A node of this builder was divided so that it and the items after it are long enough.
      guard !Provisional.isProvisional(levels[above].last.word) else { return }
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
      guard !Provisional.isProvisional(child.reference.offset) else {
        throw StorageError.damaged(at: child.reference.offset, "a child does not lie within the file")
      }
      let key = index == 0 ? separator : node.separator(index)
      try push(BuilderItem(key, child: child), level: level)
    }
  }

  /// Replaces a root that has only one child with that child. Older trees may have such roots.
  func collapsed(_ root: Subtree) throws(StorageError) -> Subtree {
    var root = root
    while root.level > 0 {
      let node = try source.root(root)
      guard node.count == 1 else { break }
      dead.add(node: root.reference)
      root = node.childSubtree(0)
    }
    return root
  }
}
