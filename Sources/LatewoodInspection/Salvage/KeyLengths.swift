import LatewoodTree

/// The lengths of keys, by keyspace, in the leaves next to a lost one: keys that sort close to each
/// other tend to have the same form.
struct KeyLengths {
  private var lengths: [UInt32: (range: ClosedRange<Int>, count: Int)] = [:]

  /// The minimum number of keys from which other lengths can be judged.
  private static let tellingCount = 16

  mutating func add(_ leaf: Node) {
    for index in 0..<leaf.count {
      let key = leaf.key(index)
      add(length: key.count, of: LiveTree.keyspace(of: key))
    }
  }

  mutating func add(length: Int, of keyspace: UInt32) {
    var known = lengths[keyspace] ?? (length...length, 0)
    if !known.range.contains(length) {
      known.range = min(known.range.lowerBound, length)...max(known.range.upperBound, length)
    }
    known.count += 1
    lengths[keyspace] = known
  }

  var longest: Int { lengths.values.map(\.range.upperBound).max() ?? 0 }

  /// Returns how many eighths of the keys are about as long as the known keys of their keyspaces; 0
  /// if too few keys are known.
  ///
  /// - Parameter more: a length to add to each of the keys.
  func fit(_ entries: [SalvagedEntry], longerBy more: Int = 0) -> Int {
    let fitting = entries.count { entry in
      self[LiveTree.keyspace(of: entry.key)]?.contains(entry.key.count + more) ?? false
    }
    return entries.isEmpty ? 0 : fitting * 8 / entries.count
  }

  /// The range of key lengths in a keyspace; nil if too few keys are known to judge others.
  subscript(keyspace: UInt32) -> ClosedRange<Int>? {
    guard let known = lengths[keyspace], known.count >= Self.tellingCount else { return nil }
    return known.range
  }
}
