import LatewoodTree

/// How long the keys of each keyspace are that could be read from a tree.
struct KeyLengths {
  private var lengths: [UInt32: (range: ClosedRange<Int>, count: Int)] = [:]

  /// From fewer keys nothing follows for others.
  private static let tellingCount = 16

  mutating func add(_ leaf: Node) {
    var index = 0
    while index < leaf.count {
      let keyspace = LiveTree.keyspace(of: leaf.key(index))
      var known = lengths[keyspace] ?? (leaf.key(index).count...leaf.key(index).count, 0)
      while index < leaf.count, LiveTree.keyspace(of: leaf.key(index)) == keyspace {
        let length = leaf.key(index).count
        known.range = min(known.range.lowerBound, length)...max(known.range.upperBound, length)
        known.count += 1
        index += 1
      }
      lengths[keyspace] = known
    }
  }

  /// From the shortest full key to the longest; nil if too few are known to say it of others.
  subscript(keyspace: UInt32) -> ClosedRange<Int>? {
    guard let known = lengths[keyspace], known.count >= Self.tellingCount else { return nil }
    return known.range
  }
}
