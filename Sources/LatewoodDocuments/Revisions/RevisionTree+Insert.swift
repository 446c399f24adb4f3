/// Adding revisions.
extension RevisionTree {
  /// The effect of inserting a revision. The names are CouchDB's.
  package enum Outcome: Sendable, Equatable {
    /// The revision continues a leaf, or is the first of all.
    case newLeaf
    /// The revision starts a branch: beside a leaf, or not connected to any other.
    case newBranch
    /// The revision was in the tree already.
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
  /// - Returns: the index of the best leaf that follows from it.
  mutating func tie(_ id: RevisionID, to leaf: Int) throws(DocumentError) -> Int {
    try insert(history: [id, nodes[leaf].id], isDeleted: false, body: 0)
    let end = leaves.first { leaf in history(of: leaf.id).contains { $0.id == id } }
    guard let end, let index = index(of: end.id) else {
      throw DocumentError(.corruptRevisions, "the revision \(id) has no end")
    }
    return index
  }

  /// Inserts a revision as another replica has it, with the revisions that it follows from.
  ///
  /// It extends a leaf, starts a branch, gives a revision its missing body, reconnects what pruning
  /// had cut off, or leaves the tree as it was.
  ///
  /// - Parameters:
  ///   - history: the revision and its ancestors, newest first, each followed by its parent, as far
  ///     back as they are known.
  ///   - isDeleted: whether the newest revision is a deletion.
  ///   - body: the place where the newest revision's body will be kept; 0 if it is not in this
  ///     database.
  /// - Throws: ``DocumentError`` `badRevision` if the history is empty, skips a generation, or
  ///   names another parent for a revision than the known one; the tree is then unchanged.
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

  /// Refuses a history with another parent than the known one. A revision's digest covers its
  /// parent, so two parents of one revision are a lie or a mistake.
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
