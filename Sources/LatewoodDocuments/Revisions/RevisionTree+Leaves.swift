/// Winners, conflicts and ancestors.
extension RevisionTree {
  /// Whether a leaf wins against another: undeleted first, then the higher generation, then the
  /// greater digest.
  static func precedes(_ a: Node, _ b: Node) -> Bool {
    if a.isDeleted != b.isDeleted { return b.isDeleted }
    return a.id > b.id
  }

  /// The index of the winner; nil if the tree is empty.
  var winnerIndex: Int? {
    var best: Int?
    for (index, node) in nodes.enumerated() where node.isLeaf {
      if let other = best, !RevisionTree.precedes(node, nodes[other]) { continue }
      best = index
    }
    return best
  }

  /// The revision that a document shows: the undeleted leaf of the highest generation, ties by
  /// digest; a tombstone only if there is nothing else.
  package var winner: Node? { winnerIndex.map { nodes[$0] } }

  /// All leaves, the winner first.
  package var leaves: [Node] { nodes.filter(\.isLeaf).sorted(by: RevisionTree.precedes) }

  /// The undeleted leaves that are not the winner, best first.
  package var conflicts: [Node] { leaves.dropFirst().filter { !$0.isDeleted } }

  /// The tombstones that are not the winner, best first.
  package var deletedConflicts: [Node] { leaves.dropFirst().filter(\.isDeleted) }

  /// The number of roots: the first revision, and each branch that pruning or a short history has
  /// cut off.
  package var rootCount: Int { nodes.count { $0.parent < 0 } }

  /// Returns the revision that another one edits; nil if that is not known or no longer kept.
  package func parent(of id: RevisionID) -> Node? {
    guard let index = index(of: id), nodes[index].parent >= 0 else { return nil }
    return nodes[Int(nodes[index].parent)]
  }

  /// Returns a revision, its parent, and so on, as far back as they are kept.
  package func history(of id: RevisionID) -> [Node] {
    var list: [Node] = []
    var place = index(of: id) ?? -1
    while place >= 0 {
      list.append(nodes[place])
      place = Int(nodes[place].parent)
    }
    return list
  }

  /// Returns the nearest common ancestor, which may be one of the two: the base for merging them.
  /// Nil if it was pruned.
  package func commonAncestor(_ a: RevisionID, _ b: RevisionID) -> Node? {
    let other = Set(history(of: b).map(\.id))
    return history(of: a).first { other.contains($0.id) }
  }

  /// Returns those of some revisions that are not in the tree, in the given order.
  package func missing(of asked: some Sequence<RevisionID>) -> [RevisionID] {
    asked.filter { !contains($0) }
  }

  /// Returns the leaves from which missing revisions may follow, best first: a replica that sends
  /// those need not send the ancestors of these.
  package func possibleAncestors(of missing: some Sequence<RevisionID>) -> [RevisionID] {
    guard let highest = missing.map(\.generation).max() else { return [] }
    return leaves.map(\.id).filter { $0.generation < highest }
  }
}
