import LatewoodBytes
import LatewoodFile

/// The immutable B+tree of a checkpoint, read where it lies in the file.
///
/// A plain value: whoever holds it also holds the mapping that `source` points into. Any thread may
/// read it. Every read throws `damaged` where the bytes it needs are not what they should be, and
/// never more than that.
struct BaseTree {
  let root: Subtree?
  let source: NodeSource

  init(root: Subtree?, source: NodeSource) {
    self.root = root
    self.source = source
  }

  /// Entries in the whole tree.
  var count: UInt64 { root?.entries ?? 0 }
  /// Levels of nodes; 0 for the empty tree.
  var height: Int { root.map { Int($0.level) + 1 } ?? 0 }
  /// Bytes of all nodes and extents of the tree.
  var liveBytes: UInt64 { root?.liveBytes ?? 0 }

  /// The value under `key`. O(log n).
  @inline(__always) func find(_ key: UnsafeRawPointer, _ keyCount: Int) throws(Fault) -> BaseValue? {
    guard let root else { return nil }
    let leaf = try leaf(for: key, keyCount, under: root)
    let (index, found) = leaf.lowerBound(key, keyCount)
    return found ? leaf.entry(index).value : nil
  }

  @inline(__always) private func leaf(
    for key: UnsafeRawPointer, _ keyCount: Int, under root: Subtree
  ) throws(Fault) -> Node {
    var level = root.level
    var node = try source.node(root.reference, level: level)
    while level > 0 {
      level &-= 1
      node = try source.node(node.childReference(node.childIndex(key, keyCount)), level: level)
    }
    return node
  }

  /// How many keys are less than `key`. O(log n): branches say how much lies under each child.
  func rank(of key: UnsafeRawPointer, _ keyCount: Int) throws(Fault) -> UInt64 {
    guard let root else { return 0 }
    var node = try source.root(root)
    var rank: UInt64 = 0
    var level = root.level
    while level > 0 {
      let index = node.childIndex(key, keyCount)
      // Totals come from the file: wrong ones make a wrong rank, which `BaseVerify` finds, and
      // never a trap.
      for before in 0..<index { rank &+= node.childEntries(before) }
      level &-= 1
      node = try source.node(node.childReference(index), level: level)
    }
    return rank &+ UInt64(node.lowerBound(key, keyCount).index)
  }

  /// How many keys there are from `low` on and below `high`; nil is no bound. O(log n).
  func count(from low: UnsafeRawBufferPointer?, below high: UnsafeRawBufferPointer?) throws(Fault) -> UInt64 {
    var below = count
    if let high, let start = high.baseAddress { below = try rank(of: start, high.count) }
    var before: UInt64 = 0
    if let low, let start = low.baseAddress { before = try rank(of: start, low.count) }
    return below > before ? below - before : 0
  }

  /// A cursor that is on no entry yet.
  func cursor() -> BaseCursor { BaseCursor(self) }

  /// A cursor on the entry that has `rank` keys before it, or past the last one. O(log n).
  func cursor(atRank rank: UInt64) throws(Fault) -> BaseCursor {
    var cursor = BaseCursor(self)
    _ = try cursor.seek(rank: rank)
    return cursor
  }
}
