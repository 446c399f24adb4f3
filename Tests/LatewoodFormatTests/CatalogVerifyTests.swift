import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Verification of catalogs that stores never write, in the log and in a tree.
@Suite struct CatalogVerifyTests {
  private typealias Encoded = EncodedOperation

  private static let sound = Encoded.create(1, "fruit") + Encoded.put(1, "apple", "red")

  /// A file with a sound commit followed by one with these operations.
  private func volume(_ operations: [UInt8]) throws -> MemoryVolume {
    var file = try FileSurgery(ModelledStore(seed: 20).bytes())
    file.append(.commit, transaction: 1, Self.sound)
    file.append(.commit, transaction: 2, operations)
    let volume = MemoryVolume()
    try Repository.write(file.bytes, to: "catalog", on: volume)
    return volume
  }

  private func open(_ volume: MemoryVolume) throws -> Store {
    try Store.open(
      at: "catalog", on: volume, mode: .openExisting, options: Store.Options(),
      environment: ModelledStore.environment(seed: 20))
  }

  /// Expects exactly these faults, in any order.
  private func expect(
    _ expected: [String], after operations: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let store = try open(volume(operations))
    for state in ["log", "tree"] {
      let faults = try store.verify().faults
      #expect(faults.count == expected.count, "\(state): \(faults)", sourceLocation: sourceLocation)
      for part in expected {
        let found = faults.first { $0.what.contains(part) }
        #expect(found != nil, "\(state): \(part): \(faults)", sourceLocation: sourceLocation)
        #expect(found.map { $0.offset > 16384 } != false, sourceLocation: sourceLocation)
      }
      try store.checkpoint()
    }
    try store.close()
  }

  @Test func `a sound catalog has no faults, even with unknown keys`() throws {
    try expect([], after: [])
    try expect(
      [], after: Encoded.put(0, "later", "x") + Encoded.put(0, "cc", "") + Encoded.put(0, "i\0", "y"))
  }

  @Test func `a missing entry of a keyspace is reported`() throws {
    try expect(["no entry i 1"], after: Encoded.delete(0, "i\0\0\0\u{1}"))
    try expect([#"entry i 1 names the keyspace "fruit""#], after: Encoded.delete(0, "nfruit"))
  }

  @Test func `contradictory entries of a keyspace are reported`() throws {
    try expect([#"names the keyspace "wood""#], after: Encoded.put(0, "i\0\0\0\u{1}", "wood"))
    try expect([#"its entry n "wood""#], after: Encoded.put(0, "nwood", [1, 0, 0, 0]))
    try expect(
      [#""fruit" has no entry i 2"#, "entry i 1 names"],
      after: Encoded.put(0, "nfruit", [2, 0, 0, 0]) + Encoded.put(0, "c", [3, 0, 0, 0]))
  }

  @Test func `values of the wrong length are reported`() throws {
    try expect(
      [#"n "fruit" has 3 bytes"#, "entry i 1 names"], after: Encoded.put(0, "nfruit", [1, 0, 0]))
    try expect(["counter of keyspaces (c) is not a number"], after: Encoded.put(0, "c", [9, 0, 0, 0, 0]))
  }

  @Test func `a keyspace number that is invalid or not below the counter is reported`() throws {
    try expect([#""fruit" has the number 1, and"#], after: Encoded.put(0, "c", [1, 0, 0, 0]))
    try expect([#""fruit" has the number 1, and"#], after: Encoded.delete(0, "c"))
    try expect([#"n "none" has the number 0"#], after: Encoded.put(0, "nnone", [0, 0, 0, 0]))
    try expect(
      [#"n "last" has the number 4294967295"#], after: Encoded.put(0, "nlast", [255, 255, 255, 255]))
  }

  @Test func `a name that is invalid, too long or unsafe to print is reported`() throws {
    var operations = Encoded.put(0, "n?", [2, 0, 0, 0]) + Encoded.put(0, "i\0\0\0\u{2}", "?")
    for (index, byte) in operations.enumerated() where byte == UInt8(ascii: "?") { operations[index] = 0xFF }
    try expect(["not UTF-8"], after: operations + Encoded.put(0, "c", [3, 0, 0, 0]))
    try expect(
      ["name of 0 bytes", "no entry i 1"],
      after: Encoded.put(0, "n", [1, 0, 0, 0])
        + Encoded.delete(0, "i\0\0\0\u{1}") + Encoded.delete(0, "nfruit"))
    try expect([#"n "\u{1B}[2J""#], after: Encoded.put(0, "n\u{1B}[2J", []))
  }

  @Test func `entries in keyspaces without a name are reported`() throws {
    try expect(
      ["keyspace 7: its 2 entries", "keyspace 9: its 1 entries"],
      after: Encoded.put(7, "a", "") + Encoded.put(7, "b", "") + Encoded.put(9, "a", "x"))
  }
}
