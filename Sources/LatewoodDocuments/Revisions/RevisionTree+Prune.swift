/// Removing revisions.
extension RevisionTree {
  /// The number of generations to keep unless a database says otherwise.
  package static let usualDepth = 20

  /// Drops the revisions whose distance from every leaf is at least `depth`; a leaf has distance 0
  /// and is never dropped.
  ///
  /// - Parameter depth: at least 1.
  /// - Returns: whether anything was dropped.
  @discardableResult
  package mutating func prune(to depth: Int) -> Bool {
    if nodes.count <= depth { return false }
    var isKept = [Bool](repeating: false, count: nodes.count)
    for index in nodes.indices where nodes[index].isLeaf {
      var place = index
      var distance = 0
      while place >= 0, distance < depth {
        isKept[place] = true
        place = Int(nodes[place].parent)
        distance += 1
      }
    }
    return keepOnly(isKept)
  }

  /// Removes leaves, each with the ancestors that no other branch shares. Ids that are not leaves
  /// are ignored.
  ///
  /// - Returns: the leaves that were removed.
  @discardableResult
  package mutating func purge(_ leaves: some Sequence<RevisionID>) -> [RevisionID] {
    var purged: [RevisionID] = []
    for id in leaves {
      guard let leaf = index(of: id), nodes[leaf].isLeaf else { continue }
      purged.append(id)
      var isKept = [Bool](repeating: true, count: nodes.count)
      var place = leaf
      isKept[place] = false
      while nodes[place].parent >= 0 {
        let parent = Int(nodes[place].parent)
        if nodes.indices.contains(where: { isKept[$0] && Int(nodes[$0].parent) == parent }) { break }
        isKept[parent] = false
        place = parent
      }
      keepOnly(isKept)
    }
    return purged
  }

  @discardableResult
  private mutating func keepOnly(_ isKept: [Bool]) -> Bool {
    guard isKept.contains(false) else { return false }
    var places = [Int32](repeating: -1, count: nodes.count)
    var kept: [Node] = []
    for (index, node) in nodes.enumerated() where isKept[index] {
      places[index] = Int32(kept.count)
      kept.append(node)
    }
    for index in kept.indices where kept[index].parent >= 0 {
      kept[index].parent = places[Int(kept[index].parent)]
    }
    nodes = kept
    return true
  }
}
