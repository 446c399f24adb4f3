import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

/// Random trees, cut into histories and inserted into replicas in various orders. `LATEWOOD_SEED`
/// replays.
@Suite struct RevisionTreePropertyTests {
  struct Revision {
    /// The history, newest first.
    var history: [RevisionID]
    var isDeleted: Bool
  }

  /// Returns edits, branches and occasional deletions.
  private func revisions(_ count: Int, _ random: inout SeededRandom) -> [Revision] {
    var all: [Revision] = []
    for _ in 0..<count {
      let parent =
        all.isEmpty || random.oneIn(12) ? nil : all[random.oneIn(3) ? random.below(all.count) : all.count - 1]
      let isDeleted = random.oneIn(6)
      let body = random.bytes(random.below(3) == 0 ? 1 : 4)
      let id = body.withUnsafeBytes {
        RevisionID(editing: parent?.history[0], isDeleted: isDeleted, body: $0)
      }
      if all.contains(where: { $0.history[0] == id }) { continue }
      all.append(Revision(history: [id] + (parent?.history ?? []), isDeleted: isDeleted))
    }
    return all
  }

  private func merged(_ list: [Revision], depth: Int = .max) throws -> RevisionTree {
    var tree = RevisionTree()
    for revision in list {
      try tree.insert(history: revision.history, isDeleted: revision.isDeleted, body: 1)
      if depth < .max { tree.prune(to: depth) }
    }
    return tree
  }

  @Test func `merging is commutative and idempotent, and replicas converge`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("RevisionTreePropertyTests: merging; seed \(seed)")
    for _ in 0..<300 {
      let all = revisions(1 + random.below(30), &random)
      let tree = try merged(all)
      #expect(tree.nodes.count == all.count, "\(random.replay)")
      #expect(try merged(all.shuffled(using: &random)) == tree, "\(random.replay)")
      #expect(try merged((all + all).shuffled(using: &random)) == tree, "\(random.replay)")
      // Histories that do not go back to the root leave gaps that other histories close.
      let cut = all.map { revision in
        let length = 1 + random.below(revision.history.count)
        return Revision(history: Array(revision.history[..<length]), isDeleted: revision.isDeleted)
      }
      #expect(try merged((cut + all).shuffled(using: &random)) == tree, "\(random.replay)")
      checkInvariants(tree)
    }
  }

  @Test func `pruned replicas have the same leaves and the same winner`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("RevisionTreePropertyTests: pruning; seed \(seed)")
    for _ in 0..<300 {
      let all = revisions(1 + random.below(60), &random)
      let depth = 1 + random.below(8)
      let tree = try merged(all)
      var pruned = tree
      pruned.prune(to: depth)
      checkInvariants(pruned)
      #expect(pruned.leaves.map(\.id) == tree.leaves.map(\.id), "\(random.replay)")
      #expect(pruned.winner?.id == tree.winner?.id, "\(random.replay)")
      var again = pruned
      #expect(!again.prune(to: depth) && again == pruned, "\(random.replay)")
      // A node is kept exactly if a leaf is near.
      for node in tree.nodes {
        let isNear = tree.leaves.contains { leaf in
          tree.history(of: leaf.id).prefix(depth).contains { $0.id == node.id }
        }
        #expect(pruned.contains(node.id) == isNear, "\(random.replay)")
      }
      // In the order in which the revisions were made, pruning along the way loses no leaf either.
      #expect(try merged(all, depth: depth).leaves.map(\.id) == tree.leaves.map(\.id), "\(random.replay)")
    }
  }

  @Test func `purging a leaf leaves the other branches unchanged`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("RevisionTreePropertyTests: purging; seed \(seed)")
    for _ in 0..<300 {
      let tree = try merged(revisions(1 + random.below(30), &random))
      let leaf = random.pick(tree.leaves)
      var purged = tree
      #expect(purged.purge([leaf.id]) == [leaf.id], "\(random.replay)")
      checkInvariants(purged)
      #expect(purged.leaves.map(\.id) == tree.leaves.map(\.id).filter { $0 != leaf.id }, "\(random.replay)")
      for other in purged.leaves {
        #expect(purged.history(of: other.id).map(\.id) == tree.history(of: other.id).map(\.id))
      }
      var empty = tree
      #expect(empty.purge(tree.leaves.map(\.id)).count == tree.leaves.count && empty.isEmpty)
    }
  }

  @Test func `records round-trip, and damaged ones throw`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("RevisionTreePropertyTests: records; seed \(seed)")
    for _ in 0..<300 {
      var tree = try merged(revisions(1 + random.below(30), &random))
      for index in tree.nodes.indices where random.oneIn(3) {
        tree.nodes[index].body = random.next() >> UInt64(random.below(64))
      }
      tree.prune(to: 1 + random.below(20))
      let record = DocumentRecord(
        sequence: random.next() >> UInt64(random.below(64)), expiry: random.oneIn(2) ? random.next() : nil,
        tree: tree)
      var bytes = record.encoded()
      #expect(try bytes.withUnsafeBytes { try DocumentRecord($0) } == record, "\(random.replay)")
      let head = try bytes.withUnsafeBytes { try DocumentRecord.Head($0) }
      #expect(head.winner == tree.winner?.id && head.body == tree.winner?.body, "\(random.replay)")
      #expect(head.hasConflicts == (!head.isDeleted && !tree.conflicts.isEmpty), "\(random.replay)")
      #expect(head.sequence == record.sequence && head.expiry == record.expiry, "\(random.replay)")
      for count in 0..<bytes.count {
        // Cut at the end of a branch, the rest may be a valid record, too.
        if let tree = try? bytes[..<count].withUnsafeBytes({ try DocumentRecord($0) }).tree {
          #expect(tree.nodes.count < record.tree.nodes.count)
          checkInvariants(tree)
        }
      }
      for _ in 0..<50 {
        bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
        // It may be the record of another tree by now; if so, of a valid one.
        if let tree = try? bytes.withUnsafeBytes({ try DocumentRecord($0) }).tree { checkInvariants(tree) }
      }
    }
  }

  @Test func `invalid histories are refused and change nothing`() throws {
    let ids = try ["3-03", "2-02", "1-01"].map { try RevisionID($0) }
    var tree = RevisionTree()
    try tree.insert(history: ids, isDeleted: false, body: 1)
    let before = tree
    let other = try RevisionID("2-99")
    for history in [[], [ids[0], ids[2]], [ids[0], other], [ids[2], ids[1]], [ids[0], ids[0]]] {
      #expect(throws: DatabaseError.self, "\(history)") {
        try tree.insert(history: history, isDeleted: false, body: 1)
      }
      #expect(tree == before)
    }
  }

  @Test func `a known ancestor takes the body it lacks`() throws {
    let ids = try ["2-02", "1-01"].map { try RevisionID($0) }
    var tree = RevisionTree()
    try tree.insert(history: ids, isDeleted: false, body: 5)
    #expect(tree[ids[1]]?.body == 0)
    #expect(try tree.insert(history: [ids[1]], isDeleted: false, body: 6) == .internalNode)
    #expect(tree[ids[1]]?.body == 6)
    try tree.insert(history: [ids[1]], isDeleted: false, body: 7)
    #expect(tree[ids[1]]?.body == 6)
    #expect(tree.commonAncestor(ids[0], ids[1])?.id == ids[1])
  }

  @Test
  func
    `a revision that was pruned and comes again is a conflict, and does not win over what follows from it`()
    throws
  {
    let ids = try ["1-aa", "2-bb", "3-cc"].map { try RevisionID($0) }
    var early = RevisionTree()
    for end in ids.indices {
      try early.insert(history: Array(ids[...end].reversed()), isDeleted: false, body: UInt64(end + 1))
      early.prune(to: 2)
    }
    #expect(early.leaves.map(\.id) == [ids[2]])
    var late = RevisionTree()
    for history in [Array(ids.reversed()), [ids[0]]] {
      try late.insert(history: history, isDeleted: false, body: 1)
      late.prune(to: 2)
    }
    #expect(late.leaves.map(\.id) == [ids[2], ids[0]], "it is not known to be an ancestor any more")
    #expect(late.winner?.id == early.winner?.id)
    try late.insert(history: [ids[1], ids[0]], isDeleted: false, body: 2)
    #expect(late.leaves.map(\.id) == [ids[2]], "a history that has it and a child of it ties it to the rest")
    try late.insert(history: [RevisionID("4-dd"), ids[2]], isDeleted: true, body: 3)
    late.prune(to: 2)
    try late.insert(history: [ids[0]], isDeleted: false, body: 1)
    #expect(late.winner?.id == ids[0], "all that followed from it is deleted")
  }

  private func checkInvariants(_ tree: RevisionTree) {
    #expect(Set(tree.nodes.map(\.id)).count == tree.nodes.count)
    var hasChild = Set<RevisionID>()
    for node in tree.nodes where node.parent >= 0 {
      let parent = tree.nodes[Int(node.parent)]
      #expect(parent.id.generation + 1 == node.id.generation)
      hasChild.insert(parent.id)
    }
    for node in tree.nodes { #expect(node.isLeaf == !hasChild.contains(node.id)) }
    #expect(tree.isEmpty == (tree.winner == nil))
  }
}
