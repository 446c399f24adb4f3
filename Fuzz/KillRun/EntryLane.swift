import LatewoodStore

/// The entries that one thread of a child writes, transaction by transaction. Each follows from its
/// number alone, so that the parent knows the state after any of them.
struct EntryLane {
  static let slots = 300
  static let counter = "counter"

  let name: String
  /// The number of the transaction that wrote each slot; nil if the slot was deleted or never
  /// written.
  private var writers = [Int?](repeating: nil, count: slots)
  private(set) var last = 0

  init(_ number: Int) { name = "lane \(number)" }

  private static func slot(_ number: Int, _ place: Int) -> Int { (number &* 7919 &+ place &* 131) % slots }

  private static func key(_ slot: Int) -> [UInt8] { Array("slot \(slot)".utf8) }

  private static func value(_ number: Int, _ slot: Int) -> [UInt8] {
    // Some values are stored outside the tree, and a few are written straight from the caller's
    // memory.
    let length =
      number % 40 == 7 && slot == Self.slot(number, 0)
      ? (1 << 20) + number
      : (number &+ slot) % 17 == 0 ? 4000 : 20 + (number &* 31 &+ slot) % 200
    let head = Array("\(number) \(slot) ".utf8)
    return head + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
  }

  /// Returns whether the transaction only has to survive the end of the process.
  static func isRelaxed(_ number: Int) -> Bool { number % 7 == 3 }

  /// Returns whether it first deletes all slots whose numbers begin with 1.
  private static func clears(_ number: Int) -> Bool { number % 33 == 5 }

  /// Advances to the next transaction in memory.
  mutating func advance() {
    last += 1
    if Self.clears(last) {
      for slot in 0..<Self.slots where "\(slot)".hasPrefix("1") { writers[slot] = nil }
    }
    for place in 0..<4 { writers[Self.slot(last, place)] = last }
    if last % 5 == 0 { writers[Self.slot(last, 9)] = nil }
  }

  mutating func advance(to number: Int) {
    while last < number { advance() }
  }

  /// Commits the next transaction to the store.
  mutating func commit(to store: Store, _ keyspace: Keyspace) throws {
    advance()
    let number = last
    try store.write(durability: Self.isRelaxed(number) ? .relaxed : .synchronous) { transaction in
      if Self.clears(number) { try transaction.deleteRange(.prefix("slot 1"), in: keyspace) }
      for place in 0..<4 {
        let slot = Self.slot(number, place)
        try transaction.put(Self.key(slot), Self.value(number, slot), in: keyspace)
      }
      if number % 5 == 0 { try transaction.delete(Self.key(Self.slot(number, 9)), in: keyspace) }
      try transaction.put(Self.counter, "\(number)", in: keyspace)
    }
  }

  /// Returns the number of the newest transaction in a store.
  func newest(in store: Store) throws -> Int {
    guard let keyspace = try store.existingKeyspace(name),
      let text = try store.get(Self.counter, in: keyspace)
    else { return 0 }
    guard let number = Int(String(decoding: text, as: UTF8.self)) else {
      throw Failure("the counter of \(name) is \(text)")
    }
    return number
  }

  /// Returns the first difference between the store and the state after `last`; nil if they are
  /// equal.
  func difference(to store: Store) throws -> String? {
    guard let keyspace = try store.existingKeyspace(name) else {
      return last == 0 ? nil : "\(name) is missing"
    }
    var entries = last == 0 ? 0 : 1
    for (slot, writer) in writers.enumerated() {
      let found = try store.get(Self.key(slot), in: keyspace)
      let expected = writer.map { Self.value($0, slot) }
      if expected != nil { entries += 1 }
      if found != expected { return "slot \(slot) of \(name) is not what transaction \(writer ?? 0) made it" }
    }
    let count = try store.count(in: keyspace)
    return count == entries ? nil : "there are \(count) entries in \(name), not \(entries)"
  }
}
