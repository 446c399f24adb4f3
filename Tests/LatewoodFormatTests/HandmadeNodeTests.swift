import LatewoodBytes
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodFile
@testable import LatewoodTree

/// Nodes that writers never produce, with valid checksums.
@Suite struct HandmadeNodeTests {
  private typealias Change = (_ node: UnsafeMutableRawPointer) -> Void

  /// A file whose tree is a single leaf, or a branch over leaves.
  private func bytes(isBranch: Bool) throws -> [UInt8] {
    let volume = SimulatedVolume()
    let store = try CrashScript.open(volume)
    let keyspace = try store.keyspace("a")
    try store.write { transaction in
      for number in 0..<(isBranch ? 400 : 6) {
        let value = [UInt8](repeating: 1, count: number == 3 ? 2000 : 20)
        try transaction.put("key \(1000 + number)", value, in: keyspace)
      }
    }
    try store.checkpoint()
    try store.close()
    return try volume.liveBytes(of: CrashScript.path)
  }

  /// Expects that a verification reports the change, and that reads throw.
  private func expectDamage(
    _ what: String, isBranch: Bool = false, because reason: String? = nil,
    after: (inout FileSurgery, Int) -> Void = { _, _ in },
    _ change: Change
  ) throws {
    var surgery = try FileSurgery(bytes(isBranch: isBranch))
    let offset = try surgery.changeRoot(change)
    after(&surgery, Int(offset))
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: CrashScript.path)
    let store = try CrashScript.open(volume, .readOnly)
    let faults = try store.verify().faults
    let told = faults.filter { $0.offset == offset }.map(\.what)
    #expect(!told.isEmpty, "\(what): \(faults)")
    // Another check would also notice, but only after reading beyond the node.
    if let reason { #expect(told.contains(reason), "\(what): \(told)") }
    #expect(throws: StoreError.self, "\(what)") { try store.content() }
  }

  private func slots(_ node: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    node + (Node(validated: node).slots - UnsafeRawPointer(node))
  }

  @Test func `a node's header must match its reference and its offset`() throws {
    try expectDamage("another place") { $0.set(UnsafeRawPointer($0).u64(16) + 64, at: NodeLayout.ownOffset) }
    try expectDamage("another length") { $0.set(UnsafeRawPointer($0).u32(12) - 1, at: NodeLayout.length) }
    try expectDamage("another kind", because: "a node's kind and level do not agree") {
      $0.set(NodeLayout.branchKind, at: NodeLayout.kind)
    }
    try expectDamage("a kind there is not") { $0.set(UInt8(3), at: NodeLayout.kind) }
    try expectDamage("no entries", because: "a node is empty") { $0.set(UInt16(0), at: NodeLayout.count) }
    try expectDamage("arrays that reach beyond it", because: "a node's arrays extend beyond the node") {
      $0.set(UInt16(9999), at: NodeLayout.count)
    }
    for bit in 32..<64 {
      try expectDamage("bit \(bit) of its checksum", after: { $0.flipBit(bit, at: $1) }, { _ in })
    }
  }

  @Test func `cells must lie within their node, in order, and match their heads`() throws {
    try expectDamage("a cell behind it") { self.slots($0).set(UInt16(60_000), at: 0) }
    // A key of keyspace 1 with an empty value, in the reserved bytes of the header: valid except
    // for its position.
    try expectDamage("a cell in its header", because: "a cell does not lie within its node") { node in
      let last = Node(validated: node).count - 1
      let key: [UInt8] = [1, 255]
      for (index, byte) in ([2, 0] + key).enumerated() { node.set(byte, at: NodeLayout.reserved + index) }
      (node + NodeLayout.arrays).set(KeyOrder.head(key, key.count), at: 4 * last)
      self.slots(node).set(UInt16(NodeLayout.reserved), at: 2 * last)
    }
    try expectDamage("two keys that are the same") { node in
      let slots = self.slots(node)
      let heads = node + NodeLayout.arrays
      slots.set(UnsafeRawPointer(slots).u16(2), at: 4)
      heads.set(UnsafeRawPointer(heads).u32(4), at: 8)
    }
    try expectDamage("the head of another key") { node in
      let heads = node + NodeLayout.arrays
      heads.set(UnsafeRawPointer(heads).u32(0) &- 1, at: 0)
    }
    for length in [UInt8(0x7F), 0xFF] {
      try expectDamage("a key as long as \(length)") {
        $0.set(length, at: Int(Node(validated: $0).slots.u16(0)))
      }
    }
    try expectDamage("a value that reaches beyond it", because: "a value extends beyond its node") { node in
      let last = Node(validated: node).count - 1
      node.set(UInt8(0x7E), at: Int(Node(validated: node).slots.u16(2 * last)) + 1)
    }
  }

  @Test func `a branch needs valid children, and separators for all but the first`() throws {
    try expectDamage("a child that is not at a multiple of 64", isBranch: true) { node in
      let child = node + NodeLayout.arrays
      child.set(UnsafeRawPointer(child).u64(0) + 8, at: 0)
    }
    try expectDamage("a separator for the first child", isBranch: true) { node in
      (node + (Node(validated: node).heads - UnsafeRawPointer(node))).set(UInt32(1), at: 0)
    }
    try expectDamage(
      "a separator that reaches beyond it", isBranch: true, because: "a separator extends beyond its node"
    ) { node in
      let last = Node(validated: node).count - 1
      node.set(UInt8(0x7F), at: Int(Node(validated: node).slots.u16(2 * last)))
    }
    try expectDamage("other totals", isBranch: true) { node in
      let child = node + NodeLayout.arrays
      child.set(UnsafeRawPointer(child).u64(16) + 1, at: 16)
      child.set(UnsafeRawPointer(child).u64(0) | 4, at: 0)
    }
  }
}

extension FileSurgery {
  fileprivate mutating func flipBit(_ bit: Int, at offset: Int) {
    withBytes { all, _ in all[offset + bit / 8] ^= 1 << UInt8(bit % 8) }
  }
}
