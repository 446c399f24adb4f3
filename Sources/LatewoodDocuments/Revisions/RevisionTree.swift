/// The revisions of one document and the relations between them.
///
/// An edit adds a child to the revision that it edits. Two replicas that edit the same revision
/// give it two children; when they replicate, the tree has two **leaves**, which is a conflict. No
/// edit is lost, and no immediate decision is needed: by a fixed rule, every replica picks the same
/// leaf as the **winner** and shows it. The others stay until the conflict is resolved by merging
/// their contents into a child of one leaf and giving each other leaf a **tombstone** as child, a
/// revision that marks a deletion.
///
/// ```
/// 1-a ── 2-b ── 3-d        winner: undeleted, highest generation
///     └─ 2-c ── 3-e †      deleted: no conflict
///            └─ 3-c        conflict: loses the tie with 3-d
/// ```
///
/// Revisions further than a depth from every leaf are pruned. So a tree may have several roots, and
/// a history that reaches back far enough can reconnect a branch that pruning had cut off.
///
/// Replicas that have inserted the same revisions, in any order and any number of times, have the
/// same leaves, and so the same winner, as long as each history reaches back to a revision that is
/// kept. If a pruned revision arrives again, or arrives late, it cannot be recognized as an
/// ancestor: it becomes a separate leaf, and so a conflict, until a history arrives that contains
/// it and one of its children in the tree. It does not win over an undeleted descendant, whose
/// generation is higher; it does win if all its descendants are tombstones.
///
/// The rules are the same as in CouchDB, so that documents can be exchanged with it.
///
/// Invariants:
/// 1. No two nodes have the same revision.
/// 2. A parent's generation is one less than its child's, so there are no cycles.
/// 3. A node is a leaf if and only if it is not the parent of any node.
///
/// A value type. All operations are linear in the number of kept revisions. Without conflicts, that
/// number is the depth.
package struct RevisionTree: Sendable, Equatable {
  /// One revision.
  package struct Node: Sendable, Equatable {
    package internal(set) var id: RevisionID
    /// The index of the node that this one edits; -1 if that is not known or no longer kept.
    var parent: Int32
    package internal(set) var isLeaf: Bool
    package internal(set) var isDeleted: Bool
    /// The sequence of its body; 0 if it has no body here. (If the node is not a leaf, its body may
    /// be gone even if this is not 0.)
    package internal(set) var body: UInt64
  }

  /// The revisions, in no particular order.
  package internal(set) var nodes: [Node] = []

  package init() {}

  package var isEmpty: Bool { nodes.isEmpty }

  /// The index of a revision among the nodes. O(revisions).
  func index(of id: RevisionID) -> Int? {
    nodes.firstIndex { $0.id == id }
  }

  /// Whether the tree contains a revision.
  package func contains(_ id: RevisionID) -> Bool { index(of: id) != nil }

  package subscript(_ id: RevisionID) -> Node? { index(of: id).map { nodes[$0] } }

  package static func == (a: RevisionTree, b: RevisionTree) -> Bool {
    a.nodes.count == b.nodes.count && a.facts == b.facts
  }

  /// The nodes in a canonical order, with ids instead of indexes: for comparing trees.
  private var facts: [Fact] {
    nodes.map { node in
      Fact(
        id: node.id, parent: node.parent < 0 ? nil : nodes[Int(node.parent)].id, isDeleted: node.isDeleted,
        body: node.body)
    }.sorted { $0.id < $1.id }
  }

  private struct Fact: Equatable {
    var id: RevisionID
    var parent: RevisionID?
    var isDeleted: Bool
    var body: UInt64
  }
}

// MARK: - Leaves

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
  /// digest; a tombstone only if all leaves are tombstones.
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

  /// Returns a revision, its parent, and so on, as far back as revisions are kept.
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

  /// Returns the given revisions that are not in the tree, in the given order.
  package func missing(of asked: some Sequence<RevisionID>) -> [RevisionID] {
    asked.filter { !contains($0) }
  }

  /// Returns the leaves from which missing revisions may follow, best first: a replica that sends
  /// the missing revisions need not send ancestors of these leaves.
  package func possibleAncestors(of missing: some Sequence<RevisionID>) -> [RevisionID] {
    guard let highest = missing.map(\.generation).max() else { return [] }
    return leaves.map(\.id).filter { $0.generation < highest }
  }
}

// MARK: - Insertion

/// Adding revisions.
extension RevisionTree {
  /// The effect of inserting a revision. The names are CouchDB's.
  package enum Outcome: Sendable, Equatable {
    /// The revision continues a leaf, or is the first of all.
    case newLeaf
    /// The revision starts a branch: next to a leaf, or without a connection to any other revision.
    case newBranch
    /// The revision was already in the tree.
    case internalNode
  }

  /// Adds an edit of a revision in the tree, or a first revision if `parent` is nil.
  ///
  /// The caller has checked that the revision itself is not in the tree, and knows the index of its
  /// parent.
  mutating func append(_ id: RevisionID, after parent: Int?, isDeleted: Bool, body: UInt64) {
    if let parent { nodes[parent].isLeaf = false }
    nodes.append(
      Node(id: id, parent: Int32(parent ?? -1), isLeaf: true, isDeleted: isDeleted, body: body))
  }

  /// Makes a revision with an unknown parent a child of the leaf that it edits.
  ///
  /// - Returns: the index of the best leaf that follows from the revision.
  mutating func adopt(_ id: RevisionID, asChildOf leaf: Int) throws(DatabaseError) -> Int {
    try insert(history: [id, nodes[leaf].id], isDeleted: false, body: 0)
    let end = leaves.first { leaf in history(of: leaf.id).contains { $0.id == id } }
    guard let end, let index = index(of: end.id) else {
      throw DatabaseError(.corruptRevisionData, "the revision \(id) has no end")
    }
    return index
  }

  /// Inserts a revision of another replica, with its ancestors.
  ///
  /// The revision extends a leaf, starts a branch, supplies a missing body or reconnects a branch
  /// that pruning had cut off; or the tree stays unchanged.
  ///
  /// - Parameters:
  ///   - history: the revision and its ancestors, newest first, each followed by its parent, as far
  ///     back as they are known.
  ///   - isDeleted: whether the newest revision is a deletion.
  ///   - body: the sequence under which the newest revision's body will be kept; 0 if it is not in
  ///     this database.
  /// - Throws: ``DatabaseError`` `badRevisionID` if the history is empty, skips a generation, or
  ///   names another parent for a revision than the known one; the tree is then unchanged.
  @discardableResult
  package mutating func insert(
    history: [RevisionID], isDeleted: Bool, body: UInt64
  ) throws(DatabaseError) -> Outcome {
    try check(history)
    let places = history.map { index(of: $0) }
    try checkParents(history, places)
    let outcome = outcome(of: history, places)
    link(history, places)
    guard let newest = index(of: history[0]) else { return outcome }
    if places[0] == nil || (nodes[newest].body == 0 && body != 0) {
      nodes[newest].isDeleted = isDeleted
      nodes[newest].body = body
    }
    return outcome
  }

  private func check(_ history: [RevisionID]) throws(DatabaseError) {
    guard let newest = history.first else {
      throw DatabaseError(.badRevisionID, "a history has at least one revision")
    }
    guard newest.generation <= RevisionID.maximumGeneration, UInt64(history.count) <= newest.generation
    else { throw DatabaseError(.badRevisionID, "the history of \(newest) is longer than its generation") }
    for (step, id) in history.enumerated() where id.generation != newest.generation - UInt64(step) {
      throw DatabaseError(.badRevisionID, "\(id) cannot be number \(step) in the history of \(newest)")
    }
  }

  /// Refuses a history with another parent than the known one. A revision's digest covers its
  /// parent, so two parents of one revision are a lie or a mistake.
  private func checkParents(_ history: [RevisionID], _ places: [Int?]) throws(DatabaseError) {
    for (step, place) in places.enumerated().dropLast() {
      guard let place, nodes[place].parent >= 0 else { continue }
      let known = nodes[Int(nodes[place].parent)].id
      if known != history[step + 1] {
        throw DatabaseError(
          .badRevisionID, "\(history[step]) follows from \(known) here, and not from \(history[step + 1])")
      }
    }
  }

  /// Compares the history with the branches in the order of their roots; the first that has a
  /// revision in common decides.
  private func outcome(of history: [RevisionID], _ places: [Int?]) -> Outcome {
    if nodes.isEmpty { return .newLeaf }
    var found: (root: RevisionID, step: Int)?
    for (step, place) in places.enumerated() {
      guard let place else { continue }
      let root = nodes[rootIndex(of: place)].id
      if let best = found, best.root <= root { continue }
      found = (root, step)
    }
    guard let found, let place = places[found.step] else { return .newBranch }
    if found.step == 0 { return .internalNode }
    return nodes[place].isLeaf ? .newLeaf : .newBranch
  }

  private func rootIndex(of index: Int) -> Int {
    var place = index
    while nodes[place].parent >= 0 { place = Int(nodes[place].parent) }
    return place
  }

  /// Adds the missing revisions, oldest first, and connects each with its parent.
  private mutating func link(_ history: [RevisionID], _ places: [Int?]) {
    var parent: Int?
    for step in history.indices.reversed() {
      if let place = places[step] {
        if nodes[place].parent < 0, let parent {
          nodes[place].parent = Int32(parent)
          nodes[parent].isLeaf = false
        }
        parent = place
      } else {
        append(history[step], after: parent, isDeleted: false, body: 0)
        parent = nodes.count - 1
      }
    }
  }
}

// MARK: - Removal

/// Removing revisions.
extension RevisionTree {
  /// The number of generations to keep unless a database specifies another one.
  package static let usualDepth = 20

  /// Drops the revisions whose distance from every leaf is at least `depth`. A leaf has distance 0
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
