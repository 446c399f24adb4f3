import LatewoodBytes
import LatewoodSimulation
import LatewoodTree
import Testing

@testable import LatewoodInspection

/// Salvages leaves in which everything that leads to the cells was destroyed.
@Suite struct LeafSalvageTests {
  private struct Leaf {
    var start: Int
    var end: Int
    /// The end of the prefix, where the cells begin.
    var cells: Int
    var keys: [[UInt8]]
  }

  /// Returns the leaves of a compacted file, in which every entry occurs once: neither the log nor
  /// an older leaf can replace it.
  private func leaves(of bytes: [UInt8]) throws -> [Leaf] {
    let reader = try FileReader(DamagedFile(bytes))
    let file = UnitReader(reader: reader, codec: try SalvageIdentity.find(in: reader).codec)
    let base = try SalvageBase(file, SalvageSurvey(file))
    var leaves: [Leaf] = []
    var walk = TreeWalk(file)
    try walk.run(base.checkpoint?.record.root) { visit in
      if let found = visit.node, found.node.isLeaf {
        let start = Int(found.offset)
        let cells = start + (found.node.prefix + found.node.prefixCount - found.node.base)
        leaves.append(
          Leaf(
            start: start, end: start + Int(found.node.length), cells: cells, keys: found.entries.map(\.key)))
      }
      return true
    }
    return leaves
  }

  @Test(arguments: [false, true]) func `a leaf with all its cells is rebuilt and proved`(isNoise: Bool)
    throws
  {
    let bytes = try SampleFile.compacted.bytes(length: 100_000, seed: 5)
    let whole = try Salvage.all(of: bytes).entries
    let leaves = try leaves(of: bytes)
    #expect(leaves.count > 4)
    var random = SeededRandom(seed: 6)
    for leaf in leaves {
      var damaged = bytes
      let count = leaf.cells - leaf.start
      damaged.replaceSubrange(
        leaf.start..<leaf.cells, with: isNoise ? random.bytes(count) : [UInt8](repeating: 0, count: count))
      let (entries, report) = try Salvage.all(of: damaged)
      #expect(entries == whole, "the leaf at \(leaf.start)")
      #expect(report.isWhole)
    }
  }

  @Test func `a leaf that lost more than its header is never taken for proved`() throws {
    let bytes = try SampleFile.compacted.bytes(length: 100_000, seed: 5)
    let whole = try Salvage.all(of: bytes).entries
    var (saved, all) = (0, 0)
    for leaf in try leaves(of: bytes) {
      var damaged = bytes
      damaged.replaceSubrange(
        leaf.start..<leaf.cells, with: [UInt8](repeating: 0, count: leaf.cells - leaf.start))
      damaged[leaf.end - 1] ^= 1
      let (entries, report) = try Salvage.all(of: damaged)
      #expect(!report.isWhole)
      #expect(Set(entries.keys).isSubset(of: Set(whole.keys)), "the leaf at \(leaf.start)")
      for key in leaf.keys where entries[key] != nil {
        #expect(entries[key]?.trust == .unproven)
        saved += 1
      }
      all += leaf.keys.count
    }
    #expect(saved > all / 4, "\(saved) of \(all)")
  }

  @Test func `keys fit where they are as long as their neighbours`() throws {
    let names = ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"]
    func entries(_ keys: [String]) -> [SalvagedEntry] {
      keys.map { SalvagedEntry(key: [0, 0, 0, 1] + Array($0.utf8), value: .inline([])) }
    }
    var known = KeyLengths()
    #expect(known.fit(entries(names)) == 0)
    for _ in 0..<2 { for name in names { known.add(length: name.utf8.count + 4, of: 1) } }
    #expect(known.fit(entries(names)) == 8)
    #expect(known.fit(entries(names), longerBy: 1) == 7)
    #expect(known.fit(entries(names), longerBy: 8) == 0)
    #expect(known.longest == 12)
  }
}
