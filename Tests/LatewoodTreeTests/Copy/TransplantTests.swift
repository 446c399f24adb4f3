import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// Leaves that are copied unchanged from one file to another.
@Suite struct TransplantTests {
  private struct Copied {
    var tree: BaseTree
    var leaves = 0
    var whole = 0
  }

  /// Copies the leaves of several trees, whose keys ascend from one to the next, into one tree in
  /// another file.
  private func copy(_ trees: [BaseTree], into file: MemoryFile, nodeSize: Int) throws -> Copied {
    let builder = builder(file, nodeSize: nodeSize, region: 70_000)
    var copied = Copied(tree: BaseTree(root: nil, source: file.source))
    for tree in trees {
      var cursor = tree.cursor()
      var isOnLeaf = try cursor.first()
      while isOnLeaf {
        copied.leaves += 1
        if try builder.transplant(cursor.leaf) {
          copied.whole += 1
        } else {
          try builder.appendAll(of: cursor.leaf)
        }
        isOnLeaf = try cursor.nextLeaf()
      }
    }
    copied.tree = BaseTree(root: try builder.finish(), source: file.source)
    return copied
  }

  private func leaves(of tree: BaseTree) throws -> Int {
    var cursor = tree.cursor()
    var count = 0
    var isOnLeaf = try cursor.first()
    while isOnLeaf {
      count += 1
      isOnLeaf = try cursor.nextLeaf()
    }
    return count
  }

  private func numbered(_ count: Int) -> [ModelEntry] {
    (0..<count).map { number in
      let key: [UInt8] = [0, 0, 0, 1, UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
      return ModelEntry(key: key, value: [UInt8](repeating: UInt8(number & 0xFF), count: 100))
    }
  }

  private func inlineEntries(_ count: Int, shape: Int, _ numbers: inout SeededRandom) -> [ModelEntry] {
    randomKeys(count, shape: shape, &numbers).map { ModelEntry(key: $0, value: numbers.bytes(0...150)) }
  }

  @Test(arguments: 0...5)
  func `a copy of leaves of any fill is equal, as dense, and sound`(shape: Int) throws {
    var numbers = SeededRandom.printingSeed()
    for nodeSize in [512, 1024, 8192] {
      let entries = inlineEntries(shape == 4 ? 300 : 6000, shape: shape, &numbers)
      let old = MemoryFile()
      // Each tree ends in a leaf that is not full.
      var trees: [BaseTree] = []
      var at = 0
      while at < entries.count {
        let end = min(
          entries.count, at + Int.random(in: 1...(Bool.random(using: &numbers) ? 2000 : 150), using: &numbers)
        )
        trees.append(try build(Array(entries[at..<end]), in: old, nodeSize: nodeSize))
        at = end
      }
      let new = MemoryFile(seed: 8)
      let copied = try copy(trees, into: new, nodeSize: nodeSize)
      new.clearProofs()
      expectSound(copied.tree, entries: entries.count)
      #expect(try contents(copied.tree) == entries)
      let other = MemoryFile()
      let dense = try build(entries, in: other, nodeSize: nodeSize)
      // A leaf that is not full costs few bytes, but more leaves make searches, scans and branches
      // slower.
      let most = Double(try leaves(of: dense)) * 1.02 + 2
      #expect(Double(try leaves(of: copied.tree)) <= most)
      withExtendedLifetime(other) {}
    }
  }

  @Test func `full leaves are copied whole, even after one that is not full`() throws {
    let entries = numbered(60_000)
    let old = MemoryFile()
    let trees = [
      try build(Array(entries[..<30_001]), in: old), try build(Array(entries[30_001..<30_020]), in: old),
      try build(Array(entries[30_020...]), in: old),
    ]
    let new = MemoryFile(seed: 8)
    let copied = try copy(trees, into: new, nodeSize: 8192)
    #expect(copied.leaves > 750)
    #expect(copied.whole >= copied.leaves - 10)
    new.clearProofs()
    expectSound(copied.tree, entries: entries.count)
    #expect(try contents(copied.tree) == entries)
  }

  @Test func `a leaf whose keys are out of order is damage`() throws {
    let entries = numbered(2000)
    let old = MemoryFile()
    let first = try build(Array(entries[..<1500]), in: old, nodeSize: 1024)
    let second = try build(Array(entries[1000...]), in: old, nodeSize: 1024)
    #expect(throws: StorageError.self) {
      try copy([first, second], into: MemoryFile(seed: 8), nodeSize: 1024)
    }
  }

  @Test func `a full leaf is not copied twice, nor after a later one`() throws {
    let old = MemoryFile()
    let tree = try build(numbered(2000), in: old, nodeSize: 8192)
    for again in [0, 1] {
      let builder = builder(MemoryFile(seed: 8), nodeSize: 8192, region: 70_000)
      var cursor = tree.cursor()
      #expect(try cursor.first() && cursor.nextLeaf())
      #expect(try builder.transplant(cursor.leaf))
      #expect(try cursor.first())
      if again == 1 { #expect(try cursor.nextLeaf()) }
      let fault = #expect(throws: StorageError.self) { try builder.transplant(cursor.leaf) }
      #expect(fault?.reason.contains("ascending order") == true)
    }
  }

  @Test func `a leaf with bytes set in its reserved space is rebuilt`() throws {
    let entries = numbered(40)
    let old = MemoryFile()
    let tree = try build(entries, in: old, nodeSize: 8192)
    var cursor = tree.cursor()
    #expect(try cursor.first())
    let size = Int(cursor.leaf.length) + 8
    #expect(try copy([tree], into: MemoryFile(seed: 8), nodeSize: size).whole == 1)
    let offset = Int(tree.root?.reference.offset ?? 0)
    (old.bytes + offset).set(UInt8(1), at: NodeLayout.reserved)
    #expect(try copy([tree], into: MemoryFile(seed: 8), nodeSize: size).whole == 0)
    (old.bytes + offset).set(UInt8(0), at: NodeLayout.reserved)
    #expect(try copy([tree], into: MemoryFile(seed: 8), nodeSize: size).whole == 1)
  }
}
