/// The revisions of one document and how they follow from one another.
///
/// An edit adds a child to the revision that it edits. Two replicas that edit the same revision
/// give it two children; when they meet, the tree has two **leaves**, and that is a conflict.
/// Nothing is lost and nobody has to decide at once: every replica picks the same leaf as the
/// **winner**, by rule, and shows that; the others stay until somebody resolves the conflict, by
/// merging what they say into a child of one and giving the others a **tombstone** as child, a
/// revision that says "deleted".
///
/// ```
/// 1-a ── 2-b ── 3-d        winner: undeleted, highest generation
///     └─ 2-c ── 3-e †      deleted: no conflict
///            └─ 3-c        conflict: loses the tie with 3-d
/// ```
///
/// What lies further than a depth from every leaf is pruned. So a tree may have several roots, and
/// a history that reaches back far enough can connect a branch again that pruning had cut off.
///
/// Replicas that have taken in the same revisions, in whatever order and however often, have the
/// same leaves, and so the same winner, as long as each history reaches back to a revision that is
/// kept. A revision that was pruned and comes again, or comes only then, is not known to be an
/// ancestor: it is a leaf of its own, and so a conflict, until a history comes that has it and a
/// child of it that is here. It does not win over an undeleted descendant, whose generation is
/// higher; it does win if all its descendants are tombstones.
///
/// The rules are those of CouchDB, so that documents can be exchanged with it.
///
/// Invariants:
/// 1. No two nodes have the same revision.
/// 2. A parent's generation is one less than its child's, so there are no cycles.
/// 3. A node is a leaf if and only if no node has it as parent.
///
/// A value; all operations are linear in the number of revisions that are kept, which is the depth
/// where there is no conflict.
package struct RevisionTree: Sendable, Equatable {
  /// One revision.
  package struct Node: Sendable, Equatable {
    package internal(set) var id: RevisionID
    /// Index of the node that this one edits; -1 if that is not known or not kept.
    var parent: Int32
    package internal(set) var isLeaf: Bool
    package internal(set) var isDeleted: Bool
    /// Where its body is kept; 0 if there is none here. (A body that is no leaf's may be gone
    /// although this says where it was.)
    package internal(set) var body: UInt64
  }

  /// In no particular order.
  package internal(set) var nodes: [Node] = []

  package init() {}

  package var isEmpty: Bool { nodes.isEmpty }

  /// Where a revision is among the nodes. O(revisions).
  func index(of id: RevisionID) -> Int? {
    nodes.firstIndex { $0.id == id }
  }

  /// Whether it has a revision.
  package func contains(_ id: RevisionID) -> Bool { index(of: id) != nil }

  package subscript(_ id: RevisionID) -> Node? { index(of: id).map { nodes[$0] } }

  package static func == (a: RevisionTree, b: RevisionTree) -> Bool {
    a.nodes.count == b.nodes.count && a.facts == b.facts
  }

  /// The nodes without their places, in a fixed order.
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
