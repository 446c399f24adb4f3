import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// A database whose keys and values were tampered with: verification reports it, and nothing traps.
@Suite struct VerificationTests {
  private static let spaces = [
    "documents/_default", "sequences/_default", "bodies/_default", "superseded/_default", "marks/_default",
    "expiry/_default", "references/_default", "uses/_default", "blobs", "chunks",
  ]

  /// Stores data of every kind.
  private func fill(_ store: DocumentStore) throws {
    let documents = try store.defaultCollection()
    let blob = try store.putBlob([UInt8](repeating: 5, count: 3000))
    try store.write { writer in
      for number in 0..<6 {
        let first = try writer.save("\(number)", in: documents, body: bytes("first \(number)"), parent: nil)
        if number % 2 == 0 {
          try writer.save("\(number)", in: documents, body: bytes("second"), parent: first.revision)
        }
      }
      let deleted = try writer.reads(documents).head(of: "1")?.winner
      try writer.save("1", in: documents, body: [0], parent: deleted, isDeleted: true)
      try writer.insert("2", in: documents, history: [RevisionID("1-ab")], body: bytes("theirs"))
      try writer.setExpiry(of: "3", in: documents, 1_900_000_000)
      try writer.save("blob", in: documents, body: [1], parent: nil, blobs: [blob.digest])
    }
  }

  private func tampered(
    mayStayShut: Bool = false, _ change: (Store) throws -> Void, _ check: (DocumentStore) throws -> Void
  ) throws {
    let directory = try TemporaryDirectory()
    let options = TestClock().options()
    let store = try DocumentStore.open(at: directory.database, options: options)
    try fill(store)
    try store.expectSound()
    try store.close()
    let raw = try Store.open(at: directory.database, mode: .openExisting)
    try change(raw)
    try raw.close()
    let again: DocumentStore
    do {
      again = try DocumentStore.open(at: directory.database, options: options)
    } catch let error where mayStayShut {
      #expect(error.message.isEmpty == false)
      return
    }
    try check(again)
    try again.close()
  }

  @Test(arguments: spaces) func `a missing entry is found`(_ name: String) throws {
    try tampered { raw in
      let keyspace = try #require(try raw.existingKeyspace(name))
      let entry = try #require(try raw.first(in: keyspace))
      try raw.delete(entry.key, in: keyspace)
    } _: { store in
      let faults = try store.verify().faults
      #expect(!faults.isEmpty)
    }
  }

  @Test(arguments: spaces) func `an extra entry is found`(_ name: String) throws {
    try tampered { raw in
      let keyspace = try #require(try raw.existingKeyspace(name))
      let entry = try #require(try raw.first(in: keyspace))
      var key = entry.key
      key[key.count - 1] ^= 0x55
      try raw.put(key, entry.value, in: keyspace)
    } _: { store in
      let faults = try store.verify().faults
      #expect(!faults.isEmpty)
    }
  }

  @Test func `wrong counters are found`() throws {
    try tampered { raw in
      let keyspace = try #require(try raw.existingKeyspace("database"))
      var state = try #require(try raw.get("collection/_default", in: keyspace))
      // This byte follows the format, the identity and the last sequence.
      state[18] += 1
      try raw.put("collection/_default", state, in: keyspace)
    } _: { store in
      let faults = try store.verify().faults
      #expect(faults.count == 1)
    }
  }

  @Test func `random values never trap reads or verification`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    print("VerificationTests: seed \(seed)")
    for _ in 0..<60 {
      let names = Self.spaces + ["database"]
      let name = random.pick(names)
      try tampered(mayStayShut: true) { raw in
        let keyspace = try #require(try raw.existingKeyspace(name))
        let entries = try Array(raw.entries(in: keyspace)).filter { $0.key != bytes("format") }
        for entry in entries where random.oneIn(2) {
          var value = entry.value
          if random.oneIn(4) { value = random.bytes(random.below(40)) }
          if !value.isEmpty { value[random.below(value.count)] = UInt8(truncatingIfNeeded: random.next()) }
          try raw.put(entry.key, value, in: keyspace)
        }
      } _: { store in
        let attempts: [(DocumentStore) throws -> Void] = [
          { _ = try $0.verify() }, { _ = try $0.reads($0.defaultCollection()).changes() },
          { _ = try $0.reads($0.defaultCollection()).count() },
          { try $0.save("0", "x", policy: .lastWriteWins) },
          { store in
            let documents = try store.defaultCollection()
            try store.write { _ = try $0.purge("2", in: documents) }
          },
          { try $0.reads($0.defaultCollection()).forEachDocument { _, _ in true } },
          { try $0.purgeExpired() }, { try $0.sweep() }, { try $0.compact() },
          { _ = try $0.reclaimableBytes() }, { _ = try $0.reads($0.defaultCollection()).totals() },
        ]
        for attempt in attempts {
          do { try attempt(store) } catch let error as DatabaseError {
            #expect(error.message.isEmpty == false, "\(random.replay)")
          }
        }
      }
    }
  }
}
