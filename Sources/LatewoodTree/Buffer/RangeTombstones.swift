import LatewoodBytes
import Synchronization

/// The ranges deleted since the last checkpoint: one entry for each range delete, regardless of how
/// many keys it deletes.
///
/// A range delete removes older entries in its own buffer and hides entries beneath the buffer. A
/// record's file offset is its age, because the log only grows: an entry at offset `e`, in either
/// buffer, is hidden by a range that contains its key and has an offset greater than `e`.
///
/// Invariant: intervals are not empty, do not overlap, and ascend. Where two range deletes overlap,
/// the interval has the offset of the newer one.
///
/// An immutable value shared by versions. Adding a range creates a new set that shares all but
/// O(log n) nodes of a balanced tree with the old one. Adding and lookup are O(log n), where n is
/// the number of intervals.
package final class RangeTombstones: Sendable {
  package final class Interval: Sendable {
    package let low: [UInt8]
    /// The upper bound, not included.
    package let high: [UInt8]
    /// The offset of the newest range delete that covers the interval.
    package let offset: UInt64
    /// The number of entries beneath the buffer in the interval, once counted.
    let hidden = CachedCount()

    init(low: [UInt8], high: [UInt8], offset: UInt64) {
      self.low = low
      self.high = high
      self.offset = offset
    }
  }

  private let root: RangeNode?

  package init() { root = nil }

  private init(_ root: RangeNode) { self.root = root }

  package var isEmpty: Bool { root == nil }

  /// The number of intervals.
  package var count: Int { root?.count ?? 0 }

  /// The height of the tree.
  var height: Int { root?.height ?? 0 }

  /// Returns the set with one more range, which must be newer than all others.
  package func adding(low: [UInt8], high: [UInt8], offset: UInt64) -> RangeTombstones {
    guard Self.less(low, high) else { return self }
    let (below, rest) = RangeNode.split(root, at: low)
    let (_, above) = RangeNode.split(rest, at: high)
    return RangeTombstones(RangeNode.join(below, Interval(low: low, high: high, offset: offset), above))
  }

  /// Returns the first interval that ends after a key.
  package func firstEnding(after key: UnsafeRawPointer, _ keyCount: Int) -> Interval? {
    root?.first { Self.compare($0, key, keyCount) > 0 }?.interval
  }

  /// Returns the first interval that ends after a key.
  package func firstEnding(after key: [UInt8]) -> Interval? {
    root?.first { Self.less(key, $0) }?.interval
  }

  /// Returns the interval that contains a key.
  package func interval(containing key: UnsafeRawPointer, _ keyCount: Int) -> Interval? {
    node(containing: key, keyCount)?.interval
  }

  /// Returns the offset of the newest range delete that covers a key; 0 if none does.
  package func cover(_ key: UnsafeRawPointer, _ keyCount: Int) -> UInt64 {
    node(containing: key, keyCount)?.interval.offset ?? 0
  }

  @inline(__always) private func node(containing key: UnsafeRawPointer, _ keyCount: Int) -> RangeNode? {
    guard let node = root?.first(where: { Self.compare($0, key, keyCount) > 0 }),
      Self.compare(node.interval.low, key, keyCount) <= 0
    else { return nil }
    return node
  }

  /// Returns the last interval whose start satisfies `begins`; all lesser starts must satisfy it,
  /// too. O(log n) calls.
  func last(
    where begins: (_ low: [UInt8]) throws(StorageError) -> Bool
  ) throws(StorageError) -> Interval? {
    try root?.last(where: begins)?.interval
  }

  /// Returns the number of hidden entries beneath the buffer in a range whose bounds do not lie in
  /// an interval. O(log n), plus a call of `count` for each interval in the range that was never
  /// counted.
  func hidden(
    low: [UInt8], high: [UInt8], _ count: (Interval) throws(StorageError) -> Int
  ) throws(StorageError) -> Int {
    try root?.hidden(from: low, to: high, count) ?? 0
  }

  static func compare(_ bound: [UInt8], _ key: UnsafeRawPointer, _ keyCount: Int) -> Int {
    bound.withUnsafeBytes { bytes in
      bytes.baseAddress.map { KeyOrder.compare($0, bytes.count, key, keyCount) } ?? (keyCount == 0 ? 0 : -1)
    }
  }

  static func less(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    b.withUnsafeBytes { bytes in
      bytes.baseAddress.map { compare(a, $0, bytes.count) < 0 } ?? false
    }
  }
}

/// A lazily computed, constant count.
///
/// Thread safety: any thread. Several threads may compute it concurrently, with the same result.
final class CachedCount: Sendable {
  private static let unknown = Int.min
  private let count = Atomic<Int>(unknown)

  func get(_ find: () throws(StorageError) -> Int) throws(StorageError) -> Int {
    let known = count.load(ordering: .relaxed)
    if known != Self.unknown { return known }
    let found = try find()
    count.store(found, ordering: .relaxed)
    return found
  }
}

/// An immutable node of the AVL tree of intervals in a `RangeTombstones`.
///
/// Sets of different versions share nodes. A change creates new nodes only on paths from the root,
/// by splitting (`split`) and joining trees (`join`): Blelloch, Ferizovic and Sun, "Just Join for
/// Parallel Ordered Sets", 2016.
///
/// Invariant: the heights of two children differ by at most 1.
final class RangeNode: Sendable {
  let interval: RangeTombstones.Interval
  /// The number of intervals in the subtree.
  let count: Int
  private let left: RangeNode?
  private let right: RangeNode?
  let height: Int
  /// The number of entries that the intervals of the subtree hide.
  private let hidden = CachedCount()

  private init(_ left: RangeNode?, _ interval: RangeTombstones.Interval, _ right: RangeNode?) {
    self.interval = interval
    self.left = left
    self.right = right
    count = (left?.count ?? 0) + 1 + (right?.count ?? 0)
    height = max(Self.height(left), Self.height(right)) + 1
  }

  private static func height(_ node: RangeNode?) -> Int { node?.height ?? 0 }

  /// Returns the first node whose interval's end satisfies `isBeyond`; all greater ends must
  /// satisfy it, too. O(log n).
  @inline(__always) func first(where isBeyond: (_ high: [UInt8]) -> Bool) -> RangeNode? {
    var found: RangeNode?
    var next: RangeNode? = self
    while let node = next {
      if isBeyond(node.interval.high) {
        found = node
        next = node.left
      } else {
        next = node.right
      }
    }
    return found
  }

  /// Returns the last node whose interval's start satisfies `begins`; all lesser starts must
  /// satisfy it, too. O(log n).
  func last(where begins: (_ low: [UInt8]) throws(StorageError) -> Bool) throws(StorageError) -> RangeNode? {
    var found: RangeNode?
    var next: RangeNode? = self
    while let node = next {
      if try begins(node.interval.low) {
        found = node
        next = node.right
      } else {
        next = node.left
      }
    }
    return found
  }

  /// Returns the number of entries hidden by the intervals between two bounds; nil means no bound.
  /// O(log n), plus a call of `count` for each interval that was never counted.
  func hidden(
    from low: [UInt8]?, to high: [UInt8]?, _ count: (RangeTombstones.Interval) throws(StorageError) -> Int
  ) throws(StorageError) -> Int {
    if let low, RangeTombstones.less(interval.low, low) {
      return try right?.hidden(from: low, to: high, count) ?? 0
    }
    if let high, RangeTombstones.less(high, interval.high) {
      return try left?.hidden(from: low, to: high, count) ?? 0
    }
    if low != nil || high != nil { return try sum(from: low, to: high, count) }
    return try hidden.get { () throws(StorageError) in try sum(from: nil, to: nil, count) }
  }

  private func sum(
    from low: [UInt8]?, to high: [UInt8]?, _ count: (RangeTombstones.Interval) throws(StorageError) -> Int
  ) throws(StorageError) -> Int {
    let before = try left?.hidden(from: low, to: nil, count) ?? 0
    let own = try interval.hidden.get { () throws(StorageError) in try count(interval) }
    let after = try right?.hidden(from: nil, to: high, count) ?? 0
    return before &+ own &+ after
  }

  /// Splits a tree into the parts below and above a bound. An interval that contains the bound is
  /// split. O(log n).
  static func split(_ node: RangeNode?, at bound: [UInt8]) -> (below: RangeNode?, above: RangeNode?) {
    guard let node else { return (nil, nil) }
    let interval = node.interval
    if !RangeTombstones.less(interval.low, bound) {
      let (below, above) = split(node.left, at: bound)
      return (below, join(above, interval, node.right))
    }
    if !RangeTombstones.less(bound, interval.high) {
      let (below, above) = split(node.right, at: bound)
      return (join(node.left, interval, below), above)
    }
    let first = RangeTombstones.Interval(low: interval.low, high: bound, offset: interval.offset)
    let last = RangeTombstones.Interval(low: bound, high: interval.high, offset: interval.offset)
    return (join(node.left, first, nil), join(nil, last, node.right))
  }

  /// Joins `left`, an interval above it, and `right`, which is above both, into one tree.
  /// O(difference in height).
  static func join(_ left: RangeNode?, _ interval: RangeTombstones.Interval, _ right: RangeNode?) -> RangeNode
  {
    if let left, left.height > height(right) + 1 {
      return balanced(left.left, left.interval, join(left.right, interval, right))
    }
    if let right, right.height > height(left) + 1 {
      return balanced(join(left, interval, right.left), right.interval, right.right)
    }
    return RangeNode(left, interval, right)
  }

  /// Joins trees whose heights differ by at most 2, by rotation.
  private static func balanced(
    _ left: RangeNode?, _ interval: RangeTombstones.Interval, _ right: RangeNode?
  ) -> RangeNode {
    if let right, right.height > height(left) + 1 {
      if let inner = right.left, inner.height > height(right.right) {
        return RangeNode(
          RangeNode(left, interval, inner.left), inner.interval,
          RangeNode(inner.right, right.interval, right.right))
      }
      return RangeNode(RangeNode(left, interval, right.left), right.interval, right.right)
    }
    if let left, left.height > height(right) + 1 {
      if let inner = left.right, inner.height > height(left.left) {
        return RangeNode(
          RangeNode(left.left, left.interval, inner.left), inner.interval,
          RangeNode(inner.right, interval, right))
      }
      return RangeNode(left.left, left.interval, RangeNode(left.right, interval, right))
    }
    return RangeNode(left, interval, right)
  }
}
