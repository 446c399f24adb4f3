import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore
@testable import LatewoodTree

/// A keyspace handle is validated at most once for each state of the catalog, and the handle of a
/// dropped keyspace is never mistaken for another one.
@Suite struct KnownHandleTests {
  /// Whether a handle is known without the catalog.
  private func isKnown(_ handle: Keyspace, _ store: Store) throws -> Bool {
    try store.engine.versions.current().known.contains(handle.fingerprint)
  }

  @Test func `a handle is recognized however it was obtained, and after other drops`() throws {
    let store = try Store.inMemory()
    let first = try store.keyspace("first")
    let other = try store.keyspace("other")
    let early = try store.write { try $0.keyspace("early") }
    #expect(try isKnown(early, store))
    try store.dropKeyspace(other)
    for handle in [first, early] {
      #expect(try store.get("k", in: handle) == nil)
      #expect(try isKnown(handle, store))
    }
    #expect(try !isKnown(other, store))
    refusal(.noSuchKeyspace) { _ = try store.get("k", in: other) }
    #expect(try !isKnown(other, store))
    try store.write { transaction in
      #expect(transaction.committed.known.contains(first.fingerprint))
      try transaction.put("k", "v", in: first)
    }
    try store.compact()
    #expect(try isKnown(first, store))
    try store.close()
  }

  @Test func `a reader recognizes its handles after a refresh, unless the catalog has changed`() throws {
    let directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = .relaxed
    options.checkpointsInBackground = false
    let writer = try Store.open(at: directory.store, options: options)
    let space = try writer.keyspace("a")
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let seen = try reader.keyspace("a")
    try writer.put("k", "1", in: space)
    #expect(try reader.refresh())
    #expect(try isKnown(seen, reader))
    let late = try writer.keyspace("late")
    #expect(try reader.refresh())
    #expect(try !isKnown(seen, reader))
    #expect(try reader.get("k", in: seen) == Array("1".utf8))
    #expect(try isKnown(seen, reader))
    let seenLate = try reader.keyspace("late")
    try writer.dropKeyspace(late)
    try writer.checkpoint()
    #expect(try reader.refresh())
    refusal(.noSuchKeyspace) { _ = try reader.get("k", in: seenLate) }
    #expect(try reader.get("k", in: seen) == Array("1".utf8))
    try reader.close()
    try writer.close()
  }

  private struct ThrownAway: Error {}

  @Test
  func
    `handles are good exactly where their keyspace is, through drops, new ones of the same name, and roll-backs`()
    throws
  {
    var random = SeededRandom(seed: SeededRandom.seed())
    let directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = .relaxed
    options.checkpointsInBackground = false
    var store = try Store.open(at: directory.store, options: options)
    var names: [String: UInt32] = [:]
    var given: [Keyspace] = []
    var past: [(snapshot: Snapshot, names: [String: UInt32])] = []
    func check(_ source: some Readable, _ names: [String: UInt32]) {
      for handle in given {
        let isGood: Bool
        do {
          _ = try source.contains("k", in: handle)
          isGood = true
        } catch { isGood = false }
        #expect(isGood == (names[handle.name] == handle.id), "\(handle) in \(names), \(random.replay)")
      }
    }
    for step in 0..<120 {
      let isThrownAway = random.oneIn(3)
      var next = names
      do {
        try store.write { transaction in
          for _ in 0...random.below(3) {
            let name = "n\(random.below(5))"
            if next[name] != nil, random.oneIn(2) {
              let handle = try transaction.keyspace(name)
              try transaction.dropKeyspace(handle)
              given.append(handle)
              next[name] = nil
            } else {
              let handle = try transaction.keyspace(name)
              given.append(handle)
              next[name] = handle.id
            }
            check(transaction, next)
          }
          if isThrownAway { throw ThrownAway() }
        }
        names = next
      } catch is ThrownAway {}
      check(store, names)
      for (snapshot, names) in past { check(snapshot, names) }
      if random.oneIn(6) { past.append((try store.snapshot(), names)) }
      if random.oneIn(9) { try store.checkpoint() }
      if step % 40 == 39 {
        past = []
        if random.oneIn(2) {
          try store.compact()
        } else {
          try store.close()
          store = try Store.open(at: directory.store, options: options)
          // They belong to the store that was closed.
          given = []
        }
      }
      if given.count > 40 { given.removeFirst(given.count - 40) }
    }
    #expect(try Set(store.keyspaces().map(\.id)) == Set(names.values))
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(arguments: [1, 31, 32, 33, 64, 1000])
  func `every inserted handle is known, and every removed one is not`(_ count: Int) {
    let known = ValidatedKeyspaces()
    // Equal lowest bits, so that all collide in the table.
    let prints = (1...count).map { UInt64($0) << 40 | 7 }
    for print in prints { known.insert(print) }
    for print in prints { known.insert(print) }
    for print in prints { #expect(known.contains(print)) }
    for print in prints where print >> 40 % 3 == 0 { known.remove(print) }
    #expect(!known.contains(9) && !known.contains(7))
    known.insert(9)
    for print in prints { #expect(known.contains(print) == (print >> 40 % 3 != 0)) }
    #expect(known.contains(9))
  }
}
