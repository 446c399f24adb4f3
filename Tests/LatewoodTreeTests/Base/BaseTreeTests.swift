import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

@Suite struct BaseTreeTests {
  @Test(arguments: 0...5)
  func `a tree contains the entries it was built from, with keys of any shape`(shape: Int) throws {
    var numbers = SeededRandom.printingSeed()
    for (count, nodeSize) in [(1, 8192), (2, 256), (7, 256), (500, 512), (3000, 1024), (4000, 8192)] {
      let size = shape == 4 ? min(count, 400) : count
      let entries = randomEntries(size, shape: shape, &numbers)
      let file = MemoryFile()
      let tree = try build(entries, in: file, nodeSize: nodeSize, region: 70_000)
      expectSound(tree, entries: size)
      #expect(try contents(tree) == entries)
      try expectAgrees(tree, entries, &numbers)
    }
  }

  private func expectAgrees(_ tree: BaseTree, _ entries: [ModelEntry], _ numbers: inout SeededRandom) throws {
    let strays = randomKeys(min(100, entries.count), shape: Int.random(in: 1...5, using: &numbers), &numbers)
    var near = entries.map(\.key).shuffled(using: &numbers).prefix(60) + strays
    near += near.map { $0 + [0] } + near.map { [UInt8]($0.dropLast()) }
    var cursor = tree.cursor()
    for key in near where !key.isEmpty {
      let rank = entries.partitioningIndex { !$0.key.isBefore(key) }
      let isThere = rank < entries.count && entries[rank].key == key
      try key.withUnsafeBytes { bytes in
        let start = try #require(bytes.baseAddress)
        let value = try tree.find(start, bytes.count)
        #expect((value != nil) == isThere)
        if let value { #expect(try value.bytes(in: tree.source.file).elementsEqual(entries[rank].value)) }
        #expect(try tree.rank(of: start, bytes.count) == UInt64(rank))
        #expect(try tree.count(from: bytes, below: nil) == UInt64(entries.count - rank))
        #expect(try tree.count(from: nil, below: bytes) == UInt64(rank))
        #expect(try cursor.seek(start, bytes.count) == (rank < entries.count))
        if rank < entries.count { #expect(cursor.key.bytes == entries[rank].key) }
        if Bool.random(using: &numbers) {
          #expect(try cursor.seekLast(before: start, bytes.count) == (rank > 0))
          if rank > 0 { #expect(cursor.key.bytes == entries[rank - 1].key) }
          #expect(try cursor.next() == (rank < entries.count))
          if rank < entries.count { #expect(cursor.key.bytes == entries[rank].key) }
        }
      }
      let placed = try tree.cursor(atRank: UInt64(rank))
      #expect(placed.isValid == (rank < entries.count))
      if placed.isValid { #expect(placed.key.bytes == entries[rank].key) }
    }
  }

  @Test func `a cursor visits the same entries backward`() throws {
    var numbers = SeededRandom.printingSeed()
    let entries = randomEntries(2500, shape: 5, &numbers)
    let file = MemoryFile()
    let kept = try build(entries, in: file, nodeSize: 512)
    var cursor = kept.cursor()
    var at = entries.count - 1
    var isThere = try cursor.last()
    while isThere {
      #expect(cursor.key.bytes == entries[at].key)
      isThere = try cursor.previous()
      at -= 1
    }
    #expect(at == -1)
    #expect(try cursor.next())
    #expect(cursor.key.bytes == entries[0].key)
    #expect(kept.height >= 3)
  }

  @Test func `an empty tree answers every query`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    let tree = try build([], in: file)
    #expect(tree.root == nil && tree.height == 0 && tree.count == 0)
    var cursor = tree.cursor()
    #expect(try !cursor.first() && !cursor.last() && !cursor.next() && !cursor.previous())
    let key: [UInt8] = [1]
    try key.withUnsafeBytes { bytes in
      let start = try #require(bytes.baseAddress)
      #expect(try tree.find(start, 1) == nil)
      #expect(try !cursor.seek(start, 1) && !cursor.seekLast(before: start, 1))
      #expect(try tree.rank(of: start, 1) == 0)
    }
    expectSound(tree, entries: 0)
    #expect(file.end == 16384)
  }
}

extension Array {
  /// The first index at which `isSecond` holds, as for all later ones.
  func partitioningIndex(_ isSecond: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isSecond(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
