import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Bytes of views that writers never produce, in a file whose checksums are all right: they cause
/// errors or other rows, but never a trap.
@Suite struct HostileViewTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let view = SampleView.values("values", version: 3, .sum)

  init() throws {
    store = try DocumentStore.inMemory(options: TestClock().options())
    collection = try store.createCollection("things")
    try store.register(view, of: collection)
    for number in 0..<60 {
      try store.saveJSON("doc \(number)", #"{"k":["a",\#(number % 5),{"b":1.5}],"v":1}"#, in: collection)
    }
    try store.saveJSON("bad", #"{"k":1,"fails":1}"#, in: collection)
    _ = try store.reads(view, of: collection)
  }

  @Test func `a key of a row never reaches into the number of the row`() {
    let key = StoredRow.key([1, 2, 3] as [UInt8], "d", 0)
    for length in 0..<20 {
      let value = StoredRow.value(keyCount: length, [])
      let idCount = key.withUnsafeBytes { key -> Int? in
        value.withUnsafeBytes { value -> Int? in
          do throws(DatabaseError) {
            return try StoredRow(key: key, value: value).idBytes.count
          } catch { return nil }
        }
      }
      #expect(idCount == ((1...3).contains(length) ? 4 - length : nil), "\(length)")
    }
  }

  /// Uses the view in every way, and ignores errors.
  private func use() {
    func attempt(_ body: () throws -> Void) {
      do { try body() } catch {}
    }
    attempt { _ = try store.verify(deep: true) }
    attempt { _ = try store.reads(collection).viewList() }
    attempt {
      let reads = try store.reads(view, of: collection)
      attempt { _ = try reads.shownRows(skip: 3) }
      attempt { _ = try reads.failures() }
      attempt { _ = try reads.stats() }
      attempt {
        var range = ViewRange()
        range.prefix = try SampleView.key(#"["a",2]"#)
        _ = try (reads.stats(in: range), reads.count(in: range))
      }
      for level in [nil, 0, 1, 2, 3] as [Int?] {
        for isDescending in [false, true] {
          attempt {
            var (range, groups) = (ViewRange(), 0)
            range.isDescending = isDescending
            try reads.forEachGroup(in: range, level: level) { group in
              _ = try reads.stats(of: group)
              groups += 1
              return groups < 500
            }
          }
        }
      }
    }
    attempt { try store.saveJSON("doc 3", #"{"k":2,"v":3}"#, in: collection) }
    attempt { try store.write { [collection] in _ = try $0.purge("doc 4", in: collection) } }
  }

  /// Changes an entry in many ways, uses the view after each, and restores everything.
  private func damage(_ space: String, _ key: [UInt8]) throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let spaces = try store.store.keyspaces()
    let keyspace = try #require(spaces.first { $0.name == space })
    let value = try #require(try store.store.get(key, in: keyspace))
    let before = try spaces.map { space in (space, try store.store.entries(in: space).map { $0 }) }
    var variants = (0..<value.count).map { Array(value.prefix($0)) }
    for place in value.indices {
      var variant = value
      variant[place] = UInt8(random.below(256))
      variants.append(variant)
    }
    variants.append(value + [0])
    variants.append([UInt8](repeating: 0xFF, count: 12))
    for variant in variants.shuffled().prefix(Effort.count(200, low: 25)) {
      try store.store.write { try $0.put(key, variant, in: keyspace) }
      use()
      try store.store.write { transaction in
        for space in try transaction.keyspaces() where !spaces.map(\.name).contains(space.name) {
          try transaction.dropKeyspace(space)
        }
        for (space, entries) in before {
          let space = try transaction.keyspace(space.name)
          try transaction.deleteRange(.all, in: space)
          for entry in entries { try transaction.put(entry.key, entry.value, in: space) }
        }
      }
      #expect(try store.verify(deep: true).faults == [], "\(variant); \(random.replay)")
    }
  }

  @Test(arguments: ["rows/things/1", "emitted/things/1", "sums/things/1"])
  func `damaged entries of a view cause errors`(space: String) throws {
    let keyspace = try #require(try store.store.existingKeyspace(space))
    try damage(space, try #require(try store.store.first(in: keyspace)).key)
    try damage(space, try #require(try store.store.last(in: keyspace)).key)
  }

  @Test func `a damaged record of a view causes errors`() throws {
    try damage("database", Array("view/things/values".utf8))
  }

  @Test func `records and states with invalid fields are refused`() throws {
    func record(_ bytes: [UInt8]) throws { _ = try bytes.withUnsafeBytes { try ViewRecord($0) } }
    let sound = ViewRecord(number: 7, version: .max, reduction: .stats).encoded()
    try record(sound)
    refusal(.corruptData) { try record([]) }
    refusal(.corruptData) { try record(sound + [0]) }
    refusal(.tooNew) { try record([2] + sound.dropFirst()) }
    refusal(.corruptData) { try record([1, 5] + sound.dropFirst(2)) }
    refusal(.corruptData) {
      try record(sound.dropLast(2) + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0])
    }
    func state(_ bytes: [UInt8]) throws { _ = try bytes.withUnsafeBytes { try CollectionState($0) } }
    var known = CollectionState(CollectionIdentity(random: { 5 }))
    known.views = 1
    try state(known.encoded())
    refusal(.corruptData) { try state(known.encoded().dropLast()) }
    refusal(.corruptData) { try state(known.encoded().dropLast() + [0]) }
    refusal(.corruptData) { try state(known.encoded() + [0]) }
    refusal(.corruptData) { try state([3] + known.encoded().dropFirst()) }
  }

  @Test(arguments: [EmittedRows.reasonLimit - 1, EmittedRows.reasonLimit, EmittedRows.reasonLimit + 3])
  func `a failure reason is truncated only between characters`(length: Int) throws {
    let reason = String(repeating: "x", count: length - 2) + "éé"
    let encoded = EmittedRows.failure(reason).encoded()
    #expect(encoded.count <= EmittedRows.reasonLimit + 1)
    #expect(String(validating: encoded.dropFirst(), as: UTF8.self).map { reason.hasPrefix($0) } == true)
  }
}
