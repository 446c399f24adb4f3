import LatewoodStore

/// What the child writes: transaction by transaction, each of which follows from its number alone, so that the parent can tell what there
/// must be after any of them.
struct Workload {
  static let slots = 300
  static let keyspaceName = "slots"
  static let stillName = "still"
  /// Entries that never change; they give a compaction something to do.
  static let stillEntries = 20_000
  static let counter = "counter"

  /// The number of the transaction that wrote each slot; nil: it was deleted, or never written.
  private(set) var writers = [Int?](repeating: nil, count: slots)
  private(set) var last = 0

  private static func slot(_ number: Int, _ place: Int) -> Int { (number &* 7919 &+ place &* 131) % slots }

  static func key(_ slot: Int) -> [UInt8] { Array("slot \(slot)".utf8) }

  static func value(_ number: Int, _ slot: Int) -> [UInt8] {
    // Some are long enough to be stored beside the tree.
    let length = (number &+ slot) % 17 == 0 ? 4000 : 20 + (number &* 31 &+ slot) % 200
    return Array("\(number) \(slot) ".utf8) + (0..<length).map { UInt8(truncatingIfNeeded: number &+ $0) }
  }

  static func stillKey(_ number: Int) -> [UInt8] { Array("still \(number)".utf8) }

  /// The next transaction, in memory.
  mutating func advance() {
    last += 1
    for place in 0..<4 { writers[Self.slot(last, place)] = last }
    if last % 5 == 0 { writers[Self.slot(last, 9)] = nil }
  }

  /// The next transaction, in the store.
  mutating func commit(to store: Store, _ keyspace: Keyspace) throws {
    advance()
    let number = last
    try store.write(durability: .synchronous) { transaction in
      for place in 0..<4 {
        let slot = Self.slot(number, place)
        try transaction.put(Self.key(slot), Self.value(number, slot), in: keyspace)
      }
      if number % 5 == 0 { try transaction.delete(Self.key(Self.slot(number, 9)), in: keyspace) }
      try transaction.put(Self.counter, "\(number)", in: keyspace)
    }
  }

  /// What is wrong with the store, as the state after `last`; nil: nothing.
  func difference(to store: Store, _ keyspace: Keyspace) throws -> String? {
    var entries = 1
    for (slot, writer) in writers.enumerated() {
      let found = try store.get(Self.key(slot), in: keyspace)
      let expected = writer.map { Self.value($0, slot) }
      if expected != nil { entries += 1 }
      if found != expected { return "slot \(slot) is not what transaction \(writer ?? 0) made it" }
    }
    let count = try store.count(in: keyspace)
    return count == entries ? nil : "there are \(count) entries, not \(entries)"
  }
}
