import LatewoodBytes
import LatewoodFile
import Testing

@testable import LatewoodTree

/// Keys chosen with malice so that their first bytes are equal. Nodes of them must be searched as
/// quickly as others.
@Suite struct EqualHeadsTests {
  /// The first bytes of the run's keys. The least and the greatest head have no neighbour on one
  /// side.
  private static let heads: [UInt32] = [0, 0x6161_6161, .max]
  /// The number of entries in the run.
  private static let count = 160

  /// Key `number` of the run. Only its last bytes differ.
  private static func key(_ head: UInt32, _ number: Int, length: Int = 40) -> [UInt8] {
    var key = [UInt8](repeating: 0x80, count: length)
    key.replaceSubrange(0..<4, with: withUnsafeBytes(of: head.bigEndian) { Array($0) })
    key[length - 2] = UInt8(number >> 8)
    key[length - 1] = UInt8(number & 255)
    return key
  }

  /// The keys of the run, with neighbours on each side where possible. Without neighbours, the
  /// node's prefix would contain the common bytes of the run.
  private static func keys(_ head: UInt32, each copies: Int = 1) -> [[UInt8]] {
    let others: [UInt8] = [1, 2, 3, 4, 5, 6]
    let before = head > 0 ? others.map { [0, $0] } : []
    let after = head < .max ? others.map { [255, 255, 255, 255, $0] } : []
    return before + (0..<count * copies).map { key(head, $0) } + after
  }

  private static func entries(_ head: UInt32, each copies: Int = 1, valueLength: Int = 1) -> [ModelEntry] {
    keys(head, each: copies).map { ModelEntry(key: $0, value: [UInt8](repeating: 1, count: valueLength)) }
  }

  private func search(_ node: Node, _ key: [UInt8]) throws -> (index: Int, found: Bool) {
    try key.withUnsafeBytes { bytes in
      let start = try #require(bytes.baseAddress)
      return node.isLeaf
        ? node.lowerBound(start, bytes.count) : (node.childIndex(start, bytes.count), true)
    }
  }

  /// The number of cells of the run that a search for the key of cell `target` reads.
  ///
  /// A cell that is changed to be on the wrong side of that key misleads the search if it is read.
  private func cellsRead(_ node: Node, of run: Range<Int>, searching target: Int) throws -> Int {
    let key = node.isLeaf ? node.key(target).bytes : node.separator(target).bytes
    #expect(try search(node, key) == (target, true))
    var read = 1
    for other in run where other != target {
      let (suffix, _) = node.isLeaf ? node.entrySuffix(other) : node.separatorSuffix(other)
      let place = UnsafeMutableRawPointer(mutating: suffix + 4)
      let kept = UnsafeRawPointer(place).u8(0)
      place.set(other < target ? UInt8(255) : 0, at: 0)
      if try search(node, key) != (target, true) { read += 1 }
      place.set(kept, at: 0)
    }
    return read
  }

  private func expectFewCellsRead(_ node: Node, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let first = node.isLeaf ? 0 : 1
    let all = Dictionary(grouping: first..<node.count) { node.head($0) }
    let longest = try #require(all.values.max { $0.count < $1.count })
    #expect(longest.count >= Self.count / 2, sourceLocation: sourceLocation)
    let run = longest[0]..<longest[0] + longest.count
    let limit = Int.bitWidth - run.count.leadingZeroBitCount
    for target in [run.lowerBound, run.lowerBound + 1, run.lowerBound + run.count / 2, run.upperBound - 1] {
      let read = try cellsRead(node, of: run, searching: target)
      #expect(read <= limit, "cell \(target) of \(run)", sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: heads)
  func `a search in a leaf reads few of the keys with equal heads`(_ head: UInt32) throws {
    let file = MemoryFile(capacity: 1 << 20)
    let tree = try build(Self.entries(head), in: file, nodeSize: 16384)
    let leaf = try file.source.root(try #require(tree.root))
    #expect(leaf.isLeaf && leaf.prefixCount == 0)
    try expectFewCellsRead(leaf)
    expectSound(tree, entries: Self.entries(head).count)
  }

  @Test(arguments: heads)
  func `a search in a branch reads few of the separators with equal heads`(_ head: UInt32) throws {
    let file = MemoryFile(capacity: 4 << 20)
    // Three entries to a leaf.
    let entries = Self.entries(head, each: 3, valueLength: 4000)
    let tree = try build(entries, in: file, nodeSize: 16384)
    let branch = try file.source.root(try #require(tree.root))
    #expect(branch.level == 1)
    try expectFewCellsRead(branch)
    expectSound(tree, entries: entries.count)
  }

  @Test(arguments: heads)
  func `every key of the run is found, and no key beside it`(_ head: UInt32) throws {
    let keys = Self.keys(head)
    for (nodeSize, length) in [(16384, 1), (512, 1), (16384, 4000)] {
      let file = MemoryFile(capacity: 4 << 20)
      let tree = try build(Self.entries(head, valueLength: length), in: file, nodeSize: nodeSize)
      for (rank, key) in keys.enumerated() {
        for (near, isThere) in [(key, true), (key + [0], false)] {
          try near.withUnsafeBytes { bytes in
            let start = try #require(bytes.baseAddress)
            #expect(try (tree.find(start, bytes.count) != nil) == isThere, "\(near)")
            #expect(try tree.rank(of: start, bytes.count) == UInt64(isThere ? rank : rank + 1), "\(near)")
          }
        }
      }
      expectSound(tree, entries: keys.count)
    }
  }
}
