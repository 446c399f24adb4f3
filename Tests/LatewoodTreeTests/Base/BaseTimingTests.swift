import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// Prints the costs of operations; only sizes are asserted. Times are meaningful only in release
/// builds.
@Suite(.serialized) struct BaseTimingTests {
  #if DEBUG
    static let count = 50_000
  #else
    static let count = 1_000_000
  #endif

  private func measure(_ what: String, _ operations: Int, _ body: () throws -> Void) rethrows {
    let time = try ContinuousClock().measure(body)
    let nanoseconds = Double(time.components.attoseconds) / 1e9 + Double(time.components.seconds) * 1e9
    print("  \(what): \((nanoseconds / Double(operations) * 10).rounded() / 10) ns")
  }

  /// A full key: keyspace, then 16 bytes.
  private func write(_ index: Int, to key: UnsafeMutableRawPointer) {
    key.set(UInt32(1).bigEndian, at: 0)
    key.set(UInt64(index / 1000).bigEndian, at: 4)
    key.set(UInt64(index).bigEndian, at: 12)
  }

  @Test func `sequential entries are packed densely`() throws {
    let count = Self.count
    let file = MemoryFile(capacity: 256 << 20)
    let keys = UnsafeMutableRawPointer.allocate(byteCount: count * 20, alignment: 8)
    let value = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 8)
    value.initializeMemory(as: UInt8.self, repeating: 9, count: 100)
    defer {
      keys.deallocate()
      value.deallocate()
    }
    for index in 0..<count { write(index, to: keys + index * 20) }
    var root: Subtree?
    try measure("build, an entry", count) {
      let builder = builder(file)
      for index in 0..<count {
        let key = PrefixedKey(UnsafeRawPointer(keys + index * 20), 20)
        try builder.append(key, inline: UnsafeRawPointer(value), 100)
      }
      root = try builder.finish()
    }
    let tree = BaseTree(root: root, source: file.source)
    let ratio = Double(file.end - 16384) / Double(count * 116)
    print("  file bytes to raw bytes: \(ratio), height \(tree.height)")
    #expect(ratio <= 1.05)
    try time(tree, file, keys)
  }

  private func time(_ tree: BaseTree, _ file: MemoryFile, _ keys: UnsafeMutableRawPointer) throws {
    let count = Self.count
    try measure("first scan with proofs, an entry", count) { try scan(tree) }
    try measure("scan by next, an entry", count) { try scan(tree) }
    try measure("scan by leaf, an entry", count) { try scanLeaves(tree) }
    var numbers = SeededRandom(seed: 1)
    let order = (0..<count).map { _ in Int(numbers.next() % UInt64(count)) }
    var sum: UInt64 = 0
    // The searched key is usually in the cache.
    let key = UnsafeMutableRawPointer.allocate(byteCount: 24, alignment: 8)
    defer { key.deallocate() }
    for _ in 0..<3 {
      try measure("find at random, touching the value", count) {
        for index in order {
          write(index, to: key)
          if let value = try tree.find(UnsafeRawPointer(key), 20) {
            sum &+= value.pointer.u64(0)
          }
        }
      }
    }
    try measure("rank at random", count) {
      for index in order { sum &+= try tree.rank(of: UnsafeRawPointer(keys + index * 20), 20) }
    }
    var cursor = tree.cursor()
    try measure("seek to the next key but three", count / 4) {
      for index in stride(from: 0, to: count, by: 4) {
        if try cursor.seek(UnsafeRawPointer(keys + index * 20), 20) { sum &+= UInt64(cursor.index) }
      }
    }
    measure("verify, an entry", count) { #expect(BaseVerify.run(tree).faults == []) }
    print("  (\(sum))")
  }

  private func scan(_ tree: BaseTree) throws {
    var cursor = tree.cursor()
    var sum: UInt64 = 0
    var entries = 0
    var isThere = try cursor.first()
    while isThere {
      let entry = cursor.entry
      sum &+= UInt64(entry.suffix.u8(0)) &+ entry.value.pointer.u64(0)
      entries &+= 1
      isThere = try cursor.next()
    }
    #expect(sum != 0)
    #expect(entries == Self.count)
  }

  private func scanLeaves(_ tree: BaseTree) throws {
    var cursor = tree.cursor()
    var sum: UInt64 = 0
    var entries = 0
    var isThere = try cursor.first()
    while isThere {
      let leaf = cursor.leaf
      for index in cursor.index..<leaf.count {
        let entry = leaf.entry(index)
        sum &+= UInt64(entry.suffix.u8(0)) &+ entry.value.pointer.u64(0)
      }
      entries &+= leaf.count
      isThere = try cursor.nextLeaf()
    }
    #expect(sum != 0)
    #expect(entries == Self.count)
  }
}
