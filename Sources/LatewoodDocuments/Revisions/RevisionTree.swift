/// The revisions of one document and how they follow from one another.
///
/// An edit adds a child to the revision that it edits. Two replicas that edit the same revision
/// give it two children; when they replicate, the tree has two **leaves**, and that is a conflict.
/// Nothing is lost, and no immediate decision is needed: by a fixed rule, every replica picks the
/// same leaf as the **winner** and shows it. The others stay until the conflict is resolved by
/// merging their contents into a child of one leaf and giving each other leaf a **tombstone** as
/// child, a revision that marks a deletion.
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
/// The rules are those of CouchDB, so that documents can be exchanged with it.
///
/// Invariants:
/// 1. No two nodes have the same revision.
/// 2. A parent's generation is one less than its child's, so there are no cycles.
/// 3. A node is a leaf if and only if no node has it as parent.
///
/// A value type. All operations are linear in the number of kept revisions, which is the depth if
/// there is no conflict.
package struct RevisionTree: Sendable, Equatable {
  /// One revision.
  package struct Node: Sendable, Equatable {
    package internal(set) var id: RevisionID
    /// The index of the node that this one edits; -1 if that is not known or no longer kept.
    var parent: Int32
    package internal(set) var isLeaf: Bool
    package internal(set) var isDeleted: Bool
    /// The place of its body; 0 if it has none here. (The body of a node that is no leaf may be
    /// gone even if this names its place.)
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

  /// The nodes in an order of their own, with ids in place of indexes: for comparing trees.
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
