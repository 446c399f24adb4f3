import LatewoodBytes
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodFile
@testable import LatewoodTree

/// Trees of sound nodes that do not belong together. Both a verification and a compaction that
/// reads back its new file notice this.
@Suite struct HandmadeTreeTests {
  private let sound: FileSurgery
  private let root: Subtree
  private var frames: [FrameHeader] { sound.frames(.nodes) }

  init() throws {
    let volume = SimulatedVolume()
    let store = try CrashScript.open(volume)
    let keyspace = try store.keyspace("a")
    try store.write { transaction in
      for number in 0..<400 {
        let value = [UInt8](repeating: 1, count: number == 3 ? 2000 : 20)
        try transaction.put("key \(1000 + number)", value, in: keyspace)
      }
    }
    try store.checkpoint()
    try store.close()
    sound = try FileSurgery(volume.liveBytes(of: CrashScript.path))
    let frame = try #require(sound.frames(.checkpoint).last)
    root = try #require(try sound.checkpoint(at: frame.ownOffset).root)
  }

  /// The ranges of nodes, as a compaction passes them on.
  private func regions(of surgery: FileSurgery) -> [Range<UInt64>] {
    surgery.frames(.nodes).compactMap { frame in
      frame.end.map { (frame.ownOffset + UInt64(FrameHeader.length) + 63) & ~63..<$0 }
    }
  }

  private func reader(
    of surgery: FileSurgery, length: Int? = nil
  ) -> (UnsafeMutableRawBufferPointer, UInt64) throws(StorageError) -> Int {
    let bytes = Array(surgery.bytes.prefix(length ?? surgery.bytes.count))
    return { (target, offset) throws(StorageError) in
      let part = bytes.dropFirst(Int(offset)).prefix(target.count)
      target.copyBytes(from: part)
      return part.count
    }
  }

  /// The fault that a compaction would find in the tree; nil if the tree is sound.
  private func proof(
    of surgery: FileSurgery, regions: [Range<UInt64>]? = nil, root: Subtree? = nil, limit: UInt64? = nil,
    length: Int? = nil
  ) -> String? {
    do throws(StorageError) {
      let proof = RegionVerifier(codec: surgery.codec, read: reader(of: surgery, length: length))
      var tree = CopyVerifier()
      for region in regions ?? self.regions(of: surgery) {
        try tree.take(proof.read(region, below: limit ?? UInt64(surgery.bytes.count)))
      }
      if let root { try tree.finish(root) }
      return nil
    } catch {
      return error.reason
    }
  }

  private func verification(of surgery: FileSurgery) throws -> [String] {
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: CrashScript.path)
    return try CrashScript.open(volume, .readOnly).verify().faults.map(\.what)
  }

  @Test func `a sound tree is accepted`() throws {
    #expect(root.level > 0)
    #expect(proof(of: sound, root: root) == nil)
    #expect(try verification(of: sound) == [])
  }

  @Test func `wrong totals of a child are found`() throws {
    var surgery = sound
    _ = try surgery.changeRoot { node in
      let child = node + NodeLayout.arrays
      child.set(UnsafeRawPointer(child).u64(NodeLayout.childEntries) + 1, at: NodeLayout.childEntries)
    }
    #expect(proof(of: surgery)?.contains("a branch contradicts its child") == true)
    #expect(
      try verification(of: surgery).contains(
        "the entries or live bytes under a node contradict the reference to it"))
  }

  @Test(arguments: [-1, 1])
  func `a separator on the wrong side of a key is found`(_ step: Int) throws {
    var surgery = sound
    _ = try surgery.changeRoot { node in
      let branch = Node(validated: node)
      // The separator is a prefix of the first key after it.
      let cell = Int(branch.slots.u16(2))
      let count = Int(UnsafeRawPointer(node).u8(cell))
      let last = node + cell + count
      last.set(UInt8(Int(UnsafeRawPointer(last).u8(0)) + step), at: 0)
      let head = KeyOrder.head(UnsafeRawPointer(node + cell + 1), count)
      (node + (branch.heads - UnsafeRawPointer(node))).set(head, at: 4)
    }
    #expect(proof(of: surgery) == "a separator does not divide the keys around it")
    #expect(
      try verification(of: surgery).contains(
        step < 0
          ? "a node has keys that are not below the separator after it"
          : "a node has keys below the separator before it"))
  }

  @Test func `a child that occurs twice in the tree is found`() throws {
    var surgery = sound
    _ = try surgery.changeRoot { node in
      let children = node + NodeLayout.arrays
      (children + NodeLayout.childLength).copyMemory(from: children, byteCount: NodeLayout.childLength)
    }
    #expect(try verification(of: surgery).contains("a node occurs twice in the tree"))
    #expect(proof(of: surgery)?.contains("a branch contradicts its child") == true)
  }

  @Test func `a wrong root, repeated nodes and a branch before its children are found`() throws {
    var other = root
    other.reference.checksum ^= 1
    #expect(proof(of: sound, root: other) == "the root does not match the nodes that were read")
    let regions = regions(of: sound)
    #expect(proof(of: sound, regions: regions + regions) == "a region of nodes overlaps an earlier one")
    let alone = root.reference.offset..<root.reference.offset + UInt64(root.reference.length)
    #expect(
      proof(of: sound, regions: [alone]) == "a branch refers to children that were not written before it")
    let leaf = try #require(regions.first).lowerBound
    let length = sound.bytes.withUnsafeBytes { all in
      all.loadUnaligned(fromByteOffset: Int(leaf) + NodeLayout.length, as: UInt32.self)
    }
    #expect(
      proof(of: sound, regions: [leaf..<leaf + UInt64(UInt32(littleEndian: length)), alone])
        == "a branch refers to children that were not written before it")
  }

  @Test func `incomplete nodes and values are found`() throws {
    let regions = regions(of: sound)
    let first = try #require(regions.first)
    #expect(
      proof(of: sound, regions: [first.lowerBound..<first.lowerBound + 64])
        == "a node does not lie within its region")
    #expect(
      proof(of: sound, length: Int(first.lowerBound) + 100)
        == "the file on the disk is shorter than the data written to it")
    #expect(
      proof(of: sound, limit: FileLayout.logStart + 100) == "a value's extent does not lie within the file"
        || proof(of: sound, limit: FileLayout.logStart + 100)
          == "the file on the disk is shorter than the data written to it"
    )
  }
}
