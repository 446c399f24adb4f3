import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

/// Edits on the bytes of records, beside edits of decoded trees. `LATEWOOD_SEED` replays.
@Suite struct UnbranchedRecordTests {
  /// Returns a history of one branch, sometimes with foreign digests, and rarely a second branch or
  /// a second root.
  private func record(_ random: inout SeededRandom) throws -> DocumentRecord {
    var tree = RevisionTree()
    let isBranched = random.oneIn(5)
    var generation = UInt64(1 + random.below(300))
    for step in 0..<(1 + random.below(24)) {
      let isText = random.oneIn(4)
      let name = isText ? Array("foreign \(step)".utf8) : random.bytes(random.oneIn(5) ? 16 : 20)
      let digest = try #require(isText ? RevisionDigest(text: name) : RevisionDigest(name))
      let isNewRoot = isBranched && random.oneIn(6)
      let place = isNewRoot || tree.isEmpty ? nil : tree.nodes.count - 1
      let parent = isBranched && random.oneIn(4) && !tree.isEmpty ? random.below(tree.nodes.count) : place
      if let parent { generation = tree.nodes[parent].id.generation + 1 }
      let id = RevisionID(generation: generation, digest: digest)
      tree.append(
        id, after: parent, isDeleted: random.oneIn(5), body: random.oneIn(3) ? 0 : UInt64(step * 100 + 1))
    }
    let sequence = UInt64(5000 + random.below(1 << 20))
    var record = DocumentRecord(sequence: sequence, tree: tree)
    let winner = try #require(tree.winnerIndex)
    if random.oneIn(2) {
      record.body = random.bytes(1 + random.below(DocumentRecord.bodyLimit))
      record.tree.nodes[winner].body = sequence
    }
    if random.oneIn(4), !tree.nodes[winner].isDeleted { record.expiry = UInt64(random.below(1 << 40)) }
    return record
  }

  @Test func `an edit on the bytes gives the record that an edit of the tree gives`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("UnbranchedRecordTests: edits; seed \(seed)")
    var (edited, refused) = (0, 0)
    for _ in 0..<3000 {
      let old = try record(&random)
      let winner = try #require(old.tree.winnerIndex)
      let body = random.bytes([0, 1, 1023, 1024, 1025, random.below(3000)][random.below(6)])
      let parent = old.tree.nodes[winner].id
      let isDeleted = random.oneIn(4)
      let edit = UnbranchedRecord.NewWinner(
        revision: body.withUnsafeBytes { RevisionID(editing: parent, isDeleted: isDeleted, body: $0) },
        isDeleted: isDeleted, body: body, sequence: old.sequence + 1, expiry: old.expiry,
        depth: [1, 2, 3, 20, 1000][random.below(5)])

      var tree = old.tree
      tree.append(edit.revision, after: winner, isDeleted: isDeleted, body: edit.sequence)
      tree.prune(to: edit.depth)
      var expected = DocumentRecord(
        sequence: edit.sequence, expiry: isDeleted ? nil : old.expiry, tree: tree)
      if !body.isEmpty, body.count <= DocumentRecord.bodyLimit { expected.body = body }

      var bytes: [UInt8] = [7]
      let isEdited = try old.encoded().withUnsafeBytes { stored in
        guard let record = try UnbranchedRecord(stored) else { return false }
        #expect(record.head == old.head && record.body == old.body, "\(random.replay)")
        return try record.append(edit, to: &bytes)
      }
      let isUnbranched = old.tree.leaves.count == 1 && old.tree.rootCount == 1
      #expect(isEdited == isUnbranched, "\(random.replay)")
      if isEdited {
        #expect(bytes == [7] + expected.encoded(), "\(random.replay)")
        #expect(edit.head == expected.head, "\(random.replay)")
        edited += 1
      } else {
        #expect(bytes == [7], "\(random.replay)")
        refused += 1
      }
    }
    #expect(edited > 1000 && refused > 100)
  }

  @Test func `the record of a new document is that of a tree of one revision`() throws {
    var random = SeededRandom(seed: 3)
    for count in [0, 1, 127, 128, 1024, 1025] {
      let body = random.bytes(count)
      let revision = body.withUnsafeBytes { RevisionID(editing: nil, isDeleted: false, body: $0) }
      let edit = UnbranchedRecord.NewWinner(
        revision: revision, isDeleted: false, body: body, sequence: 300, expiry: nil, depth: 20)
      var tree = RevisionTree()
      tree.append(revision, after: nil, isDeleted: false, body: 300)
      var expected = DocumentRecord(sequence: 300, tree: tree)
      if (1...1024).contains(count) { expected.body = body }
      var bytes: [UInt8] = []
      UnbranchedRecord.append(edit, to: &bytes)
      #expect(bytes == expected.encoded())
      #expect(edit.head == expected.head)
    }
  }

  @Test func `damaged records are refused, or edited into what can be decoded`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("UnbranchedRecordTests: damage; seed \(seed)")
    for _ in 0..<3000 {
      var record = try record(&random).encoded()
      record.removeLast(random.oneIn(3) ? random.below(record.count) : 0)
      if record.isEmpty { continue }
      record[random.below(min(record.count, 60))] ^= UInt8(1 << random.below(8))
      let body = random.bytes(10)
      let revision = body.withUnsafeBytes { RevisionID(editing: nil, isDeleted: false, body: $0) }
      record.withUnsafeBytes { old in
        do {
          guard let source = try UnbranchedRecord(old) else { return }
          let edit = UnbranchedRecord.NewWinner(
            revision: RevisionID(generation: source.head.winner.generation + 1, digest: revision.digest),
            isDeleted: false, body: body, sequence: 1 << 40, expiry: nil, depth: 20)
          var bytes: [UInt8] = []
          guard try source.append(edit, to: &bytes) else { return }
          let head = try bytes.withUnsafeBytes { try DocumentRecord.Head($0) }
          #expect(head == edit.head, "\(random.replay)")
        } catch { #expect((error as? DatabaseError)?.code == .corruptRevisionData, "\(random.replay)") }
      }
    }
  }
}
