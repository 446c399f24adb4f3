import LatewoodTree
import Testing

@testable import LatewoodStore

/// The entries that a scan skips on its way.
@Suite struct EmptyRangeTests {
  private let store: Store
  private let space: Keyspace
  private static let count = 2000

  init() throws {
    store = try Store.inMemory()
    space = try store.keyspace("s")
  }

  private static func key(_ letter: String, _ number: Int) -> String { "\(letter)\(10_000 + number)" }

  /// Scans a range of the newest state. Returns the keys in it, and the entries of write buffers
  /// that were skipped.
  private func scan(_ range: KeyRange) throws -> (found: Int, steps: Int) {
    let view = try store.reader().state.view
    let (low, high) = range.fullKeys(in: space.id)
    var found = 0
    let steps = try low.withUnsafeBytes { low in
      try high.withUnsafeBytes { high in
        try view.scan(low: low, high: high, dropping: 4, isReversed: false, pin: nil) { _, _ in
          found += 1
          return true
        }
      }
    }
    return (found, steps)
  }

  @Test func `scanning an empty range before many tombstones takes few steps`() throws {
    try store.write { transaction in
      for number in 0..<Self.count {
        for letter in ["a", "c", "e"] { try transaction.put(Self.key(letter, number), "v", in: space) }
      }
    }
    try store.checkpoint()
    try store.write { transaction in
      for number in 0..<Self.count { try transaction.delete(Self.key("c", number), in: space) }
    }
    let empty = try scan(.between("b", "c"))
    #expect(empty.found == 0 && empty.steps < 8, "\(empty)")
    let before = try scan(.between("a", "c"))
    #expect(before.found == Self.count && before.steps < 8, "\(before)")
    // Entries that are deleted inside a range have to be skipped.
    let deleted = try scan(.between("c", "d"))
    #expect(deleted.found == 0 && deleted.steps >= Self.count - 1, "\(deleted)")
  }
}
