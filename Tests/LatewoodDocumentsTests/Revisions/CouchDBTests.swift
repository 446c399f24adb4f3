import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

/// Trees with CouchDB 3.5's results for them, from its unit tests and the scenarios of a document
/// guide.
@Suite struct CouchDBTests {
  @Test func `every tree matches CouchDB's`() throws {
    let cases = try Case.all()
    #expect(cases.count == 41)
    for one in cases {
      let tree = try one.grow()
      one.compare(tree)
      let bytes = tree.isEmpty ? [] : DocumentRecord(sequence: 7, tree: tree).encoded()
      if !tree.isEmpty {
        #expect(try bytes.withUnsafeBytes { try DocumentRecord($0) }.tree == tree, "\(one.name)")
      }
    }
  }

  /// The lines of one case; the first word of each names the kind of line.
  struct Case {
    var name: String
    var limit: Int
    var lines: [[Substring]] = []

    static func all() throws -> [Case] {
      var cases: [Case] = []
      for line in try TextFile.lines("couchdb-revision-trees.txt") {
        let words = line.split(separator: " ")
        if words[0] == "case" {
          cases.append(Case(name: String(words[1]), limit: try #require(Int(words[2]))))
        } else {
          cases[cases.count - 1].lines.append(words)
        }
      }
      return cases
    }

    func list(_ name: Substring) -> [Substring] {
      lines.first { $0[0] == name }.map { Array($0.dropFirst()) } ?? []
    }

    func grow() throws -> RevisionTree {
      var tree = RevisionTree()
      for line in lines {
        switch line[0] {
        case "insert", "delete":
          let outcome = try tree.insert(
            history: line[2...].map(revision), isDeleted: line[0] == "delete", body: 1)
          #expect(name(of: outcome) == line[1], "\(self.name)")
          tree.prune(to: limit)
        case "purge":
          #expect(tree.purge(line[1...].map(revision)) == list("purged").map(revision), "\(self.name)")
        default: break
        }
      }
      return tree
    }

    private func name(of outcome: RevisionTree.Outcome) -> Substring {
      switch outcome {
      case .newLeaf: "new_leaf"
      case .newBranch: "new_branch"
      case .internalNode: "internal_node"
      }
    }

    func compare(_ tree: RevisionTree) {
      let nodes = lines.filter { $0[0] == "node" }
      #expect(tree.nodes.count == nodes.count, "\(name)")
      for line in nodes {
        let id = revision(line[1])
        #expect(tree.parent(of: id)?.id == (line[2] == "none" ? nil : revision(line[2])), "\(name) \(line)")
        #expect(tree[id]?.isLeaf == (line[3] == "leaf"), "\(name) \(line)")
        #expect(tree[id]?.isDeleted == (line[4] == "deleted"), "\(name) \(line)")
        #expect(tree[id].map { $0.body != 0 } == (line[5] == "body"), "\(name) \(line)")
      }
      #expect(tree.leaves.map(\.id) == list("leaves").map(revision), "\(name)")
      #expect(tree.conflicts.map(\.id) == list("conflicts").map(revision), "\(name)")
      #expect(tree.deletedConflicts.map(\.id) == list("deleted_conflicts").map(revision), "\(name)")
      let winner = list("winner")
      #expect(tree.winner?.id == (winner[0] == "None" ? nil : revision(winner[0])), "\(name)")
      #expect(tree.winner.map(\.isDeleted) == (winner[1] == "None" ? nil : winner[1] == "True"), "\(name)")
      #expect(tree.rootCount == Int(list("roots")[0]), "\(name)")
      let missing = tree.missing(of: list("ask").map(revision))
      #expect(missing == list("missing").map(revision), "\(name)")
      #expect(tree.possibleAncestors(of: missing) == list("possible_ancestors").map(revision), "\(name)")
    }

    private func revision(_ text: Substring) -> RevisionID {
      do { return try RevisionID(text) } catch {
        Issue.record("\(error)")
        return RevisionID(generation: 1, digest: RevisionDigest(words: 0, 0, 0, 0, count: 1))
      }
    }
  }
}
