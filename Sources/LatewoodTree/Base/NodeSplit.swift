/// The rule by which a tree under construction distributes entries among its nodes.
///
/// - A node takes entries up to `nodeSize` bytes; beyond that only until it has three, so that the
///   tree stays low with long keys.
/// - A node below a quarter of that is too short, and so is a branch of one child. It is combined
///   with its neighbor, and both are divided evenly.
/// - A full leaf of another tree is taken over unchanged (`TreeBuilder.transplant`) if at most a
///   sixteenth of it is free.
enum NodeSplit {
  /// The number of entries that a node takes even if it becomes longer than `nodeSize`.
  static let leastItems = 3

  /// Whether one more entry makes a node too long.
  ///
  /// - Parameters:
  ///   - length: the length of the node with that entry, in bytes.
  ///   - count: the number of entries without it.
  @inline(__always) static func isTooLong(_ length: Int, _ count: Int, nodeSize: Int) -> Bool {
    (length > nodeSize && count >= leastItems) || length > NodeLayout.maximumLength
  }

  /// Whether a node is too short to stand alone.
  static func isTooShort(_ length: Int, nodeSize: Int) -> Bool { length < nodeSize / 4 }

  /// Whether a leaf is full enough to be taken over unchanged.
  static func isFull(_ length: Int, nodeSize: Int) -> Bool {
    length > nodeSize - nodeSize / 16 && length <= nodeSize
  }
}

extension BuilderLevel {
  /// Whether there are too few items for a node.
  func isUnderfull(nodeSize: Int) -> Bool {
    count > 0 && held == 0
      && (NodeSplit.isTooShort(currentLength, nodeSize: nodeSize) || (!isLeaf && count < 2))
  }

  /// Returns the index at which to divide all items into two nodes of similar length.
  func evenCut(nodeSize: Int) -> Int {
    let half = cost(0, count) / 2
    var sum = 0
    var cut = 0
    while cut < count {
      let cost = isLeaf ? items[cut].entryCost : items[cut].childCost
      if sum + cost / 2 >= half { break }
      sum += cost
      cut += 1
    }
    let least = isLeaf ? 1 : 2
    guard count >= 2 * least else { return held }
    cut = min(max(cut, least), count - least)
    // With a shorter common prefix than before, a part can be too long.
    let limit = { (number: Int) in number <= NodeSplit.leastItems ? NodeLayout.maximumLength : nodeSize }
    let fits = length(0, cut) <= limit(cut) && length(cut, count) <= limit(count - cut)
    return fits ? cut : held
  }
}
