import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

@Suite struct BaseHostileTests {
  /// Corrects the checksums of all nodes, children before parents, so that only the structure can
  /// be wrong.
  private func reseal(_ file: MemoryFile, _ nodes: [Subtree]) -> Subtree? {
    var sums: [UInt64: UInt32] = [:]
    var root: Subtree?
    for node in nodes {
      let base = file.bytes + Int(node.reference.offset)
      let length = Int(node.reference.length)
      if node.level > 0 {
        // A reference whose bytes survived gets the new checksum of its child.
        for at in stride(
          from: NodeLayout.arrays, to: length - NodeLayout.childLength, by: NodeLayout.childLength)
        {
          let child = UnsafeRawPointer(base).u64(at)
          if let sum = sums[child] { base.set(sum, at: at + NodeLayout.childChecksum) }
        }
      }
      let sum = XXH64.hash(UnsafeRawPointer(base) + 8, length - 8, seed: file.seed)
      base.set(sum, at: 0)
      let low = UInt32(truncatingIfNeeded: sum)
      sums[node.reference.offset] = low
      root = node
      root?.reference.checksum = low
    }
    return root
  }

  /// All nodes, children before parents.
  private func nodes(_ subtree: Subtree, _ source: NodeLoader) throws -> [Subtree] {
    let node = try source.root(subtree)
    var all: [Subtree] = []
    if !node.isLeaf {
      for index in 0..<node.count { all += try nodes(node.childSubtree(index), source) }
    }
    return all + [subtree]
  }

  @Test func `any bytes with valid checksums give a fault or an answer`() throws {
    var numbers = SeededRandom.printingSeed()
    var faults = 0
    let file = MemoryFile(capacity: 2 << 20)
    let other = MemoryFile(capacity: 2 << 20)
    for round in 0..<40 {
      file.end = 16384
      let shape = [0, 1, 2, 3, 5][round % 5]
      let entries = randomEntries(300, shape: shape, &numbers)
      file.clearProofs()
      let tree = try build(entries, in: file, nodeSize: 512)
      let all = try nodes(try #require(tree.root), tree.source)
      let image = [UInt8](UnsafeRawBufferPointer(start: file.bytes, count: Int(file.end)))
      for _ in 0..<40 {
        UnsafeMutableRawBufferPointer(start: file.bytes, count: image.count).copyBytes(from: image)
        file.clearProofs()
        for _ in 0..<Int.random(in: 1...6, using: &numbers) {
          guard let victim = all.randomElement(using: &numbers) else { continue }
          mutate(file.bytes + Int(victim.reference.offset), Int(victim.reference.length), &numbers)
        }
        guard let root = reseal(file, all) else { continue }
        let hostile = BaseTree(root: root, source: file.source)
        if try !use(hostile, entries, other, &numbers) { faults += 1 }
        _ = BaseVerify.run(hostile)
      }
    }
    #expect(faults > 100)
  }

  private func mutate(_ node: UnsafeMutableRawPointer, _ length: Int, _ numbers: inout SeededRandom) {
    let wide = [0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x10000, 1 << 31, 1 << 48, 1 << 63, UInt64.max]
    // Change header fields as often as the rest, because they contain lengths and counts.
    let end = Bool.random(using: &numbers) ? min(length, 64) : length
    let at = Int.random(in: 8..<end, using: &numbers)
    let value = wide.randomElement(using: &numbers) ?? 0
    switch Int.random(in: 0..<4, using: &numbers) {
    case 0: node.set(UInt8.random(in: 0...255, using: &numbers), at: at)
    case 1: node.set(UInt8(truncatingIfNeeded: value), at: at)
    case 2 where at + 2 <= length: node.set(UInt16(truncatingIfNeeded: value), at: at)
    default: if at + 8 <= length { node.set(value, at: at) }
    }
  }

  /// Makes every kind of read. Returns whether none threw.
  private func use(
    _ tree: BaseTree, _ entries: [ModelEntry], _ other: MemoryFile, _ numbers: inout SeededRandom
  ) throws -> Bool {
    var isWhole = true
    func attempt(_ body: () throws -> Void) {
      do { try body() } catch { isWhole = false }
    }
    for entry in entries.shuffled(using: &numbers).prefix(20) {
      entry.key.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        attempt { _ = try tree.find(start, bytes.count)?.bytes(in: tree.source.file).last }
        attempt { _ = try tree.rank(of: start, bytes.count) }
        attempt {
          var cursor = tree.cursor()
          if try cursor.seekLast(before: start, bytes.count) { _ = cursor.key.bytes }
          if try cursor.next() { _ = cursor.key.bytes }
        }
      }
    }
    attempt { _ = try tree.cursor(atRank: numbers.next() % 300) }
    attempt { _ = try contents(tree) }
    attempt {
      var diff = BaseDiff(from: tree, to: BaseTree(root: nil, source: tree.source))
      _ = try diff.run { _ in true }
    }
    attempt { try absorb(tree, other) }
    return isWhole
  }

  /// Builds a tree by a merge that has to open the hostile one.
  private func absorb(_ tree: BaseTree, _ other: MemoryFile) throws {
    guard let root = tree.root else { return }
    other.end = 16384
    let builder = TreeBuilder(
      sink: other.writer(region: 70_000), source: tree.source, nodeSize: 512, transaction: 9)
    let arena = Arena()
    let node = try tree.source.root(root)
    for index in 0..<node.count where !node.isLeaf {
      let separator = index == 0 ? PrefixedKey(arena.keep([]), 0) : node.separator(index)
      let key = arena.keep(separator.bytes + [0])
      if index > 0 { try builder.append(PrefixedKey(key, separator.count + 1), inline: key, 0) }
      try builder.adopt(node.childSubtree(index), separator: separator)
    }
    _ = try builder.finish()
  }

  @Test func `a reference is compared with its node even after the node was proved`() throws {
    var numbers = SeededRandom.printingSeed()
    let file = MemoryFile(capacity: 4 << 20)
    let tree = try build(randomEntries(900, shape: 5, &numbers), in: file, nodeSize: 1024)
    let root = try #require(tree.root)
    let good = try file.source.root(root).childSubtree(0)
    _ = try file.source.root(good)
    let changes: [(inout Subtree) -> Void] = [
      { $0.reference.length += 64 }, { $0.reference.length = .max }, { $0.reference.length = 0 },
      { $0.reference.checksum ^= 1 }, { $0.level += 1 }, { $0.reference.offset += 64 },
      { $0.reference.offset += 1 }, { $0.reference.offset = .max }, { $0.reference.offset = 64 },
      { $0.reference.offset = 1 << 63 },
    ]
    for change in changes {
      var bad = good
      change(&bad)
      #expect(throws: StorageError.self) { _ = try file.source.root(bad) }
    }
  }

  @Test func `a child outside the file is not taken over into another tree`() throws {
    let arena = Arena()
    let file = MemoryFile(capacity: 1 << 20)
    let tree = try build([ModelEntry(key: [1, 2, 3, 4, 5], value: [6])], in: file)
    let good = try #require(tree.root)
    // The last two look like nodes without an offset in the file yet.
    let offsets: [UInt64] = [file.end, file.end + 64, 1 << 63, 1 << 63 | 5]
    for offset in offsets {
      var bad = good
      bad.reference.offset = offset
      let builder = builder(file)
      let fault = #expect(throws: StorageError.self) {
        try builder.adopt(bad, separator: PrefixedKey(arena.keep([]), 0))
      }
      #expect(fault?.offset == offset)
    }
    let builder = builder(file)
    try builder.adopt(good, separator: PrefixedKey(arena.keep([]), 0))
    #expect(try builder.finish() == good)
  }

  @Test func `verification names each damaged node and continues past it`() throws {
    var numbers = SeededRandom.printingSeed()
    let file = MemoryFile(capacity: 4 << 20)
    let entries = randomEntries(900, shape: 5, &numbers)
    let tree = try build(entries, in: file, nodeSize: 1024)
    let all = try nodes(try #require(tree.root), tree.source)
    let leaves = all.filter { $0.level == 0 }.shuffled(using: &numbers).prefix(3)
    for leaf in leaves {
      let at = Int(leaf.reference.offset) + Int.random(in: 8..<Int(leaf.reference.length), using: &numbers)
      file.bytes.set(UnsafeRawPointer(file.bytes).u8(at) ^ 0x10, at: at)
    }
    // Everything was verified before; a verification checks again.
    let report = BaseVerify.run(tree)
    #expect(Set(report.faults.compactMap(\.offset)) == Set(leaves.map(\.reference.offset)))
    #expect(report.nodes == UInt64(all.count - 3))
    #expect(report.entries == UInt64(entries.count) - leaves.reduce(0) { $0 + $1.entries })
  }

  @Test func `verification finds a damaged extent and two values at one offset`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    let (offset, checksum) = file.extent([UInt8](repeating: 5, count: 500))
    let arena = Arena()
    let builder = builder(file)
    for key: [UInt8] in [[1], [2]] {
      try builder.append(PrefixedKey(arena.keep(key), 1), extent: offset, length: 500, checksum: checksum)
    }
    let tree = BaseTree(root: try builder.finish(), source: file.source)
    #expect(BaseVerify.run(tree).faults.map(\.offset) == [offset])
    file.bytes.set(UInt8(6), at: Int(offset) + 499)
    #expect(BaseVerify.run(tree).faults.map(\.offset) == [offset, offset, offset])
  }

  @Test func `verification finds a prefix that is not the longest possible`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    let keys: [[UInt8]] = [[1, 5], [2, 6]]
    let tree = try build(keys.map { ModelEntry(key: $0, value: [7]) }, in: file)
    let root = try #require(tree.root)
    let leaf = try tree.source.root(root)
    #expect(leaf.prefixCount == 0)
    // The first key starts with 2, like the other one.
    let key: [UInt8] = [2, 5]
    let base = file.bytes + Int(root.reference.offset)
    base.set(key[0], at: Int(leaf.slots.u16(0)) + 2)
    base.set(KeyOrder.head(key, key.count), at: NodeLayout.arrays)
    let changed = BaseTree(root: reseal(file, [root]), source: file.source)
    file.clearProofs()
    #expect(try contents(changed).map(\.key) == [key, [2, 6]])
    #expect(
      BaseVerify.run(changed).faults.map(\.reason)
        == ["the prefix of a node is not the longest common prefix of its keys"])
  }
}
