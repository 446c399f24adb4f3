import LatewoodBytes
import LatewoodFile

@testable import LatewoodTree

/// Applies changes to a tree as a checkpoint does: adopts untouched subtrees and opens the others.
struct PlainMerge {
  let file: MemoryFile
  let builder: TreeBuilder
  let arena = Arena()
  /// The changes in key order; nil deletes the entry.
  let changes: [(key: [UInt8], entry: ModelEntry?)]
  /// A range of keys to drop, including `low` and excluding `high`.
  var dropped: (low: [UInt8], high: [UInt8])?
  private var at = 0

  init(
    _ file: MemoryFile, nodeSize: Int, changes: [(key: [UInt8], entry: ModelEntry?)],
    dropped: (low: [UInt8], high: [UInt8])? = nil
  ) {
    self.file = file
    self.changes = changes
    self.dropped = dropped
    builder = LatewoodTree.TreeBuilder(
      sink: file.writer(region: 66_000), source: file.source, nodeSize: nodeSize, transaction: 4)
  }

  mutating func run(_ tree: BaseTree) throws -> BaseTree {
    if let root = tree.root {
      try walk(root, separator: PrefixedKey(arena.keep([]), 0), from: [], below: nil)
    }
    try takeChanges(below: nil)
    let root = try builder.finish()
    return BaseTree(root: root, source: file.source)
  }

  private mutating func walk(
    _ subtree: Subtree, separator: PrefixedKey, from low: [UInt8], below high: [UInt8]?
  ) throws {
    if let dropped, !low.isBefore(dropped.low), let high, !dropped.high.isBefore(high) { return }
    let isDropped =
      dropped.map { dropped in
        low.isBefore(dropped.high) && (high.map { dropped.low.isBefore($0) } ?? true)
      } ?? false
    let isTouched = at < changes.count && (high.map { changes[at].key.isBefore($0) } ?? true)
    guard isTouched || isDropped else {
      let fence = high.map { PrefixedKey(arena.keep($0), $0.count) }
      // The builder may be called with or without a fence; use both forms.
      return try builder.adopt(
        subtree, separator: separator, upperFence: subtree.entries % 2 == 0 ? fence : nil)
    }
    let node = try file.source.root(subtree)
    if node.isLeaf { return try merge(node, below: high) }
    for index in 0..<node.count {
      let key = index == 0 ? separator : node.separator(index)
      try walk(
        node.childSubtree(index), separator: key, from: key.bytes,
        below: index + 1 < node.count ? node.separator(index + 1).bytes : high)
    }
  }

  private mutating func merge(_ leaf: Node, below high: [UInt8]?) throws {
    for index in 0..<leaf.count {
      let key = leaf.key(index)
      let bytes = key.bytes
      try takeChanges(below: bytes)
      if let dropped, !bytes.isBefore(dropped.low), bytes.isBefore(dropped.high) { continue }
      if at < changes.count, changes[at].key == bytes { continue }
      try builder.append(key, leaf.entry(index).value)
    }
    try takeChanges(below: high)
  }

  /// Applies the changes before a key. A change of the key itself waits for the next call.
  private mutating func takeChanges(below high: [UInt8]?) throws {
    while at < changes.count, high.map({ changes[at].key.isBefore($0) }) ?? true {
      if let entry = changes[at].entry { try append(entry, to: builder, file, arena) }
      at += 1
    }
  }
}

/// The fill of a tree's nodes.
struct Fill {
  var nodes = 0
  var bytes = 0
  /// The number of nodes shorter than a quarter of the node size, or branches with one child,
  /// without the root.
  var underfull = 0

  init(_ tree: BaseTree, nodeSize: Int) throws {
    if let root = tree.root { try visit(root, tree.source, nodeSize, isRoot: true) }
  }

  private mutating func visit(_ subtree: Subtree, _ source: NodeLoader, _ nodeSize: Int, isRoot: Bool) throws
  {
    let node = try source.root(subtree)
    nodes += 1
    bytes += Int(node.length)
    let isShort = Int(node.length) < nodeSize / 4 - 2 * node.count
    if !isRoot, isShort || (!node.isLeaf && node.count < 2) { underfull += 1 }
    guard !node.isLeaf else { return }
    for index in 0..<node.count {
      try visit(node.childSubtree(index), source, nodeSize, isRoot: false)
    }
  }
}
