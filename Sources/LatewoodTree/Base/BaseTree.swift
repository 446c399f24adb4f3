import LatewoodBytes
import LatewoodFile

/// The immutable B+tree of a checkpoint, read in place in the file.
///
/// A plain value; its owner also keeps the mapping that `source` points into. Any thread may read
/// it. The worst effect of wrong bytes in the file is that reads throw `damaged`.
struct BaseTree {
  let root: Subtree?
  let source: NodeLoader

  init(root: Subtree?, source: NodeLoader) {
    self.root = root
    self.source = source
  }

  /// The number of entries in the tree.
  var count: UInt64 { root?.entries ?? 0 }
  /// The number of levels of nodes; 0 for the empty tree.
  var height: Int { root.map { Int($0.level) + 1 } ?? 0 }
  /// The total length of all nodes and extents of the tree.
  var liveBytes: UInt64 { root?.liveBytes ?? 0 }

  /// Returns the value of `key`. O(log n).
  @inline(__always) func find(_ key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> BaseValue? {
    guard let leaf = try leaf(for: key, keyCount) else { return nil }
    let (index, found) = leaf.lowerBound(key, keyCount)
    return found ? leaf.entry(index).value : nil
  }

  /// Returns the leaf in which a key belongs; nil if the tree is empty. O(log n).
  @inline(__always) func leaf(for key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> Node? {
    guard let root else { return nil }
    var level = root.level
    var node = try source.node(root.reference, level: level)
    while level > 0 {
      level &-= 1
      node = try source.child(node.childIndex(key, keyCount), of: node, level: level)
    }
    return node
  }

  /// Returns whether a range spans several children of the root, and therefore more than one leaf.
  func rootDivides(
    _ low: UnsafeRawPointer, _ lowCount: Int, _ high: UnsafeRawPointer, _ highCount: Int
  ) throws(StorageError) -> Bool {
    guard let root, root.level > 0 else { return false }
    let node = try source.root(root)
    let next = node.childIndex(low, lowCount) &+ 1
    return next < node.count && node.key(next).compare(high, highCount) < 0
  }

  /// Returns the number of keys less than `key`. O(log n), because branches store the number of
  /// entries under each child.
  func rank(of key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> UInt64 {
    guard let root else { return 0 }
    var node = try source.root(root)
    var rank: UInt64 = 0
    var level = root.level
    while level > 0 {
      let index = node.childIndex(key, keyCount)
      // Wrong totals in the file cause a wrong rank, which `BaseVerify` detects, but never a trap.
      for before in 0..<index { rank &+= node.childEntries(before) }
      level &-= 1
      node = try source.child(index, of: node, level: level)
    }
    return rank &+ UInt64(node.lowerBound(key, keyCount).index)
  }

  /// Returns the number of keys in `low ..< high`; nil means no bound. O(log n).
  func count(from low: UnsafeRawBufferPointer?, below high: UnsafeRawBufferPointer?) throws(StorageError)
    -> UInt64
  {
    var below = count
    if let high, let start = high.baseAddress { below = try rank(of: start, high.count) }
    var before: UInt64 = 0
    if let low, let start = low.baseAddress { before = try rank(of: start, low.count) }
    return below > before ? below - before : 0
  }

  /// Returns a cursor that is not on an entry yet.
  func cursor() -> BaseCursor { BaseCursor(self) }

  /// Returns a cursor on the entry that has `rank` keys before it, or past the last one. O(log n).
  func cursor(atRank rank: UInt64) throws(StorageError) -> BaseCursor {
    var cursor = BaseCursor(self)
    _ = try cursor.seek(rank: rank)
    return cursor
  }
}
