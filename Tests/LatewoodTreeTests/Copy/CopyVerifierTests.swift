import LatewoodBytes
import LatewoodFile
import Testing

@testable import LatewoodTree

/// Files with valid checksums that a compaction must reject as a tree when it reads back its new
/// file.
@Suite struct CopyVerifierTests {
  private let file = MemoryFile(capacity: 1 << 20)
  private let arena = Arena()

  private func key(_ text: String) -> PrefixedKey {
    PrefixedKey(arena.keep(Array(text.utf8)), text.utf8.count)
  }

  /// Makes a tree of one leaf, and returns the leaf's range.
  private func leaf(_ fill: (TreeBuilder) throws -> Void) throws -> Range<UInt64> {
    let builder = builder(file)
    try fill(builder)
    let root = try #require(try builder.finish())
    #expect(root.level == 0)
    return root.reference.offset..<root.reference.offset + UInt64(root.reference.length)
  }

  private func checksum(_ range: Range<UInt64>) -> UInt32 {
    let start = UnsafeRawPointer(file.bytes) + Int(range.lowerBound)
    return UInt32(truncatingIfNeeded: XXH64.hash(start, range.count, seed: file.seed))
  }

  private func reader() -> (UnsafeMutableRawBufferPointer, UInt64) throws(StorageError) -> Int {
    let file = file
    return { (target, offset) throws(StorageError) in
      let count = min(target.count, Int(file.end - min(offset, file.end)))
      target.copyMemory(
        from: UnsafeRawBufferPointer(start: file.bytes + Int(min(offset, file.end)), count: count))
      return count
    }
  }

  /// The fault found in these regions; nil if there is none.
  private func fault(_ regions: [Range<UInt64>]) -> StorageError? {
    do throws(StorageError) {
      let proof = RegionVerifier(codec: file.codec, read: reader())
      var tree = CopyVerifier()
      for region in regions { try tree.take(proof.read(region, below: file.end)) }
      return nil
    } catch {
      return error
    }
  }

  @Test func `two values at the same offset are found`() throws {
    let (offset, checksum) = file.extent([UInt8](repeating: 5, count: 500))
    let (other, otherChecksum) = file.extent([UInt8](repeating: 6, count: 500))
    let sound = try leaf { builder in
      try builder.append(key("key 1"), extent: offset, length: 500, checksum: checksum)
      try builder.append(key("key 2"), extent: other, length: 500, checksum: otherChecksum)
    }
    #expect(fault([sound]) == nil)
    let region = try leaf { builder in
      for name in ["key 1", "key 2"] {
        try builder.append(key(name), extent: offset, length: 500, checksum: checksum)
      }
    }
    #expect(fault([region]) == .damaged(at: offset, "two nodes or values overlap"))
  }

  @Test func `a value that overlaps nodes is found`() throws {
    let first = try leaf { try $0.append(key("key 1"), inline: arena.keep([1]), 1) }
    let value = first.prefix(40)
    let second = try leaf { builder in
      try builder.append(
        key("key 2"), extent: value.lowerBound, length: UInt64(value.count), checksum: checksum(value))
    }
    #expect(
      fault([first, second]) == .damaged(at: value.lowerBound, "two nodes or values overlap"))
  }

  @Test func `an empty value beyond the written bytes is found`() throws {
    let (inside, checksum) = file.extent([])
    let sound = try leaf { try $0.append(key("key 1"), extent: inside, length: 0, checksum: checksum) }
    #expect(fault([sound]) == nil)
    let outside = file.end + 1 << 18
    let region = try leaf { try $0.append(key("key 1"), extent: outside, length: 0, checksum: checksum) }
    #expect(fault([region]) == .damaged(at: outside, "a value's extent does not lie within the file"))
  }

  @Test func `a node whose prefix is not the longest possible is found`() throws {
    let region = try leaf { builder in
      for name in ["key-1x", "key-2x"] { try builder.append(key(name), inline: arena.keep([1]), 1) }
    }
    #expect(fault([region]) == nil)
    // The second key becomes "key-1y".
    let base = file.bytes + Int(region.lowerBound)
    let node = Node(validated: base)
    #expect(node.prefixCount == 4)
    let suffix = base + Int(node.slots.u16(NodeLayout.slotLength)) + 2
    suffix.set(UInt8(ascii: "1"), at: 0)
    suffix.set(UInt8(ascii: "y"), at: 1)
    let head = KeyOrder.head(UnsafeRawPointer(suffix), 2)
    (base + (node.heads - UnsafeRawPointer(base))).set(head, at: NodeLayout.headLength)
    let sum = XXH64.hash(
      UnsafeRawPointer(base) + NodeLayout.kind, region.count - NodeLayout.kind, seed: file.seed)
    base.set(sum, at: NodeLayout.checksum)
    #expect(
      fault([region])
        == .damaged(
          at: region.lowerBound, "the prefix of a node is not the longest common prefix of its keys"))
  }
}
