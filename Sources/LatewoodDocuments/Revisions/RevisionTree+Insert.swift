/// Growing.
extension RevisionTree {
  /// What became of a revision that was inserted. The names are CouchDB's.
  package enum Outcome: Sendable, Equatable {
    /// It continues a leaf, or is the first of all.
    case newLeaf
    /// It starts a branch: beside a leaf, or cut off from all others.
    case newBranch
    /// It was there already.
    case internalNode
  }

  /// Adds an edit of a revision that is here; nil: of none.
  ///
  /// The caller knows that the revision itself is not here yet, and its parent's index.
  mutating func append(_ id: RevisionID, after parent: Int?, isDeleted: Bool, body: UInt64) {
    if let parent { nodes[parent].isLeaf = false }
    nodes.append(
      Node(id: id, parent: Int32(parent ?? -1), isLeaf: true, isDeleted: isDeleted, body: body))
  }

  /// Ties a revision that is here without what it follows from to a leaf, of which it is an edit.
  ///
  /// - Returns: the index of the best of the leaves that follow from it.
  mutating func tie(_ id: RevisionID, to leaf: Int) throws(DocumentError) -> Int {
    try insert(history: [id, nodes[leaf].id], isDeleted: false, body: 0)
    let end = leaves.first { leaf in history(of: leaf.id).contains { $0.id == id } }
    guard let end, let index = index(of: end.id) else {
      throw DocumentError(.corruptRevisions, "the revision \(id) has no end")
    }
    return index
  }

  /// Takes in a revision as another replica has it, with the revisions that it follows from.
  ///
  /// It extends a leaf, starts a branch, gives a revision that is here its missing body, connects
  /// what pruning had cut off, or changes nothing: then the tree is what it was.
  ///
  /// - Parameters:
  ///   - history: newest first; each the parent of the one before, as far back as is known.
  ///   - isDeleted: of the newest.
  ///   - body: of the newest: where it will be kept. 0: it is not here.
  /// - Throws: ``DocumentError`` `badRevision` if the history is empty, leaves out a generation, or
  ///   says of a revision that it follows from another one than is known; then the tree is what it
  ///   was.
  @discardableResult
  package mutating func insert(
    history: [RevisionID], isDeleted: Bool, body: UInt64
  ) throws(DocumentError) -> Outcome {
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

  private func check(_ history: [RevisionID]) throws(DocumentError) {
    guard let newest = history.first else {
      throw DocumentError(.badRevision, "a history has at least one revision")
    }
    guard newest.generation <= RevisionID.maximumGeneration, UInt64(history.count) <= newest.generation
    else { throw DocumentError(.badRevision, "the history of \(newest) is longer than its generation") }
    for (step, id) in history.enumerated() where id.generation != newest.generation - UInt64(step) {
      throw DocumentError(.badRevision, "\(id) cannot be number \(step) in the history of \(newest)")
    }
  }

  /// A revision's digest covers its parent, so that two parents for one are a lie or a mistake.
  private func checkParents(_ history: [RevisionID], _ places: [Int?]) throws(DocumentError) {
    for (step, place) in places.enumerated().dropLast() {
      guard let place, nodes[place].parent >= 0 else { continue }
      let known = nodes[Int(nodes[place].parent)].id
      if known != history[step + 1] {
        throw DocumentError(
          .badRevision, "\(history[step]) follows from \(known) here, and not from \(history[step + 1])")
      }
    }
  }

  /// Compares with the branches in the order of their roots; the first that has anything in common
  /// decides.
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

  /// Adds what is not here, oldest first, and ties each to its parent.
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
