import LatewoodStore

/// The revisions of a document that a database lacks.
package struct RevisionDifference: Sendable, Equatable {
  package var id: String
  package var missing: [RevisionID]
  /// The leaves from which the missing revisions may follow, best first.
  package var possibleAncestors: [RevisionID]

  package init(id: String, missing: [RevisionID], possibleAncestors: [RevisionID]) {
    self.id = id
    self.missing = missing
    self.possibleAncestors = possibleAncestors
  }
}

/// A change with all leaves of its document.
package struct LeavesChange: Sendable, Equatable {
  package var entry: SequenceEntry
  /// All leaves, tombstones too, the winner first.
  package var leaves: [RevisionTree.Node]
}

/// A revision as another replica needs it.
package struct StoredRevision: Sendable, Equatable {
  /// The revision and the ancestors that are still kept, newest first.
  package var history: [RevisionID]
  package var isDeleted: Bool
  package var body: [UInt8]

  package var revision: RevisionID { history[0] }
}

/// Reads for other replicas, which compare revisions and fetch the missing ones.
extension DocumentReads {
  /// Returns the revisions in a list that this state lacks. Documents that lack none are left out.
  /// O(documents · log n + revisions).
  package func difference(
    _ asked: [(id: String, revisions: [RevisionID])]
  ) throws(DatabaseError) -> [RevisionDifference] {
    var list: [RevisionDifference] = []
    for (id, revisions) in asked {
      let tree = try record(of: id)?.tree ?? RevisionTree()
      let missing = tree.missing(of: revisions)
      if missing.isEmpty { continue }
      list.append(
        RevisionDifference(id: id, missing: missing, possibleAncestors: tree.possibleAncestors(of: missing)))
    }
    return list
  }

  /// Returns a page of the feed with the leaves of each document. O(log n · entries).
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin.
  ///   - limit: the greatest number of entries.
  package func leavesChanges(since: UInt64, limit: Int) throws(DatabaseError) -> [LeavesChange] {
    var list: [LeavesChange] = []
    for entry in try changes(since: since, limit: limit) {
      guard let record = try record(of: entry.id) else { continue }
      list.append(LeavesChange(entry: entry, leaves: record.tree.leaves))
    }
    return list
  }

  /// Returns revisions of a document with their histories and bodies. Those that do not exist, or
  /// whose bodies are gone, are left out. O(log n · revisions).
  ///
  /// - Parameters:
  ///   - revisions: the requested revisions.
  ///   - isLatest: whether a revision that is not a leaf stands for the leaves that follow from it.
  package func revisions(
    _ revisions: [RevisionID], of id: String, isLatest: Bool
  ) throws(DatabaseError) -> [StoredRevision] {
    guard let record = try record(of: id) else { return [] }
    var asked: [RevisionTree.Node] = []
    func ask(_ node: RevisionTree.Node) {
      if !asked.contains(where: { $0.id == node.id }) { asked.append(node) }
    }
    for revision in revisions {
      guard let node = record.tree[revision] else { continue }
      if node.isLeaf || !isLatest {
        ask(node)
        continue
      }
      for leaf in record.tree.leaves
      where record.tree.history(of: leaf.id).contains(where: { $0.id == revision }) {
        ask(leaf)
      }
    }
    var list: [StoredRevision] = []
    for node in asked {
      let body: [UInt8]?
      if let kept = record.body, node.body == record.sequence {
        body = kept
      } else {
        body = try self.body(at: node.body)
      }
      guard let body else { continue }
      list.append(
        StoredRevision(
          history: record.tree.history(of: node.id).map(\.id), isDeleted: node.isDeleted, body: body))
    }
    return list
  }
}
