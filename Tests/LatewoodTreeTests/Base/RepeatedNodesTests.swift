import LatewoodBytes
import LatewoodFile
import Testing

@testable import LatewoodTree

/// Trees whose branches name the same child many times: few bytes that stand for more leaves than
/// can ever be visited.
@Suite struct RepeatedNodesTests {
  /// Adds a branch, all of whose children are the same subtree, with the separators of another
  /// branch.
  private func add(_ pattern: [UInt8], over child: Subtree, to file: MemoryFile) -> Subtree {
    let offset = (file.end + 63) & ~63
    let node = file.bytes + Int(offset)
    UnsafeMutableRawBufferPointer(start: node, count: pattern.count).copyBytes(from: pattern)
    node.set(child.level + 1, at: NodeLayout.level)
    node.set(offset, at: NodeLayout.ownOffset)
    let count = Int(UnsafeRawPointer(node).u16(NodeLayout.count))
    for index in 0..<count {
      let place = node + NodeLayout.arrays + index * NodeLayout.childLength
      place.set(child.reference.offset, at: NodeLayout.childOffset)
      place.set(child.reference.length, at: NodeLayout.childReferenceLength)
      place.set(child.reference.checksum, at: NodeLayout.childChecksum)
      place.set(child.entries, at: NodeLayout.childEntries)
      place.set(child.liveBytes, at: NodeLayout.childLiveBytes)
    }
    let sum = XXH64.hash(UnsafeRawPointer(node) + 8, pattern.count - 8, seed: file.seed)
    node.set(sum, at: NodeLayout.checksum)
    file.end = offset + UInt64(pattern.count)
    return Subtree(
      reference: NodeReference(
        offset: offset, length: UInt32(pattern.count), checksum: UInt32(truncatingIfNeeded: sum)),
      level: child.level + 1, entries: child.entries &* UInt64(count),
      liveBytes: child.liveBytes &* UInt64(count))
  }

  /// A tree of this many levels over the same leaves.
  private func tree(levels: UInt8, in file: MemoryFile) throws -> BaseTree {
    let entries = (0..<60).map {
      ModelEntry(key: [1, 2, 3, 4, UInt8($0)], value: [UInt8](repeating: 1, count: 40))
    }
    var root = try #require(try build(entries, in: file, nodeSize: 512).root)
    try #require(root.level == 1)
    let start = Int(root.reference.offset)
    let pattern = (start..<start + Int(root.reference.length)).map { UnsafeRawPointer(file.bytes).u8($0) }
    try #require(file.source.root(root).count >= 5)
    while root.level < levels { root = add(pattern, over: root, to: file) }
    return BaseTree(root: root, source: file.source)
  }

  @Test func `a cursor does not visit a leaf twice`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    let tree = try tree(levels: 27, in: file)
    for isForward in [true, false] {
      var cursor = tree.cursor()
      var isThere = try isForward ? cursor.first() : cursor.last()
      var count = 0
      let fault = #expect(throws: StorageError.self) {
        while isThere, count < 1000 {
          count += 1
          isThere = try isForward ? cursor.next() : cursor.previous()
        }
      }
      #expect(fault?.kind == .damaged)
      #expect(count <= 60)
    }
  }

  @Test func `a deleted range frees no more bytes than the file has`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    // Few enough levels to wait for the end even if each node were visited once for each reference.
    let tree = try tree(levels: 6, in: file)
    var state = BufferState()
    state.ranges = RangeTombstones().adding(low: [0], high: [0xFF], offset: 1)
    var dead = DeadSpace()
    let limit = file.end
    _ = try BufferMerge.run(
      state, into: tree.root, file: file.view, nodeSize: 512, transaction: 9, leaving: &dead,
      reserve: { (length) throws(StorageError) in
        defer { file.end += UInt64(length + 63) & ~63 }
        return (file.end + 63) & ~63
      },
      write: { (_, _) throws(StorageError) in })
    #expect(dead.length > 0)
    #expect(dead.length <= 2 * limit)
  }

  @Test(arguments: [true, false])
  func `a diff of two trees ends in damage before it has read more than the file`(
    isOld: Bool
  ) throws {
    let file = MemoryFile(capacity: 1 << 20)
    let tree = try tree(levels: 27, in: file)
    let empty = BaseTree(root: nil, source: file.source)
    var diff = isOld ? BaseDiff(from: tree, to: empty) : BaseDiff(from: empty, to: tree)
    var count: UInt64 = 0
    let fault = #expect(throws: StorageError.self) {
      _ = try diff.run { (_) throws(StorageError) in
        count += 1
        return count <= file.end
      }
    }
    #expect(fault?.kind == .damaged)
    #expect(count < file.end)
  }

  @Test func `verification names a node that is in the tree twice, and ends`() throws {
    let file = MemoryFile(capacity: 1 << 20)
    let report = BaseVerify.run(try tree(levels: 27, in: file))
    #expect(report.faults.contains { $0.reason == "a node occurs twice in the tree" })
    #expect(report.nodes < 60)
  }
}
