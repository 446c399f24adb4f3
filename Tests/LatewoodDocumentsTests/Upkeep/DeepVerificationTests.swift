import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

/// Faults that only decoding reveals, each planted below the database.
@Suite struct DeepVerificationTests {
  /// A planted fault: changes of keys and values in the store below.
  struct Planting: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The location that the fault is reported for.
    var place: String
    var plant: @Sendable (Transaction, Store) throws -> Void
  }

  private static func keyspace(_ name: String, _ store: Store) throws -> Keyspace {
    try #require(try store.existingKeyspace(name))
  }

  private static func sequence(_ number: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, number] }

  /// Returns a planting that replaces a single value.
  private static func replacing(
    _ name: String, _ key: [UInt8], _ change: @escaping @Sendable ([UInt8]) throws -> [UInt8]?
  ) -> @Sendable (Transaction, Store) throws -> Void {
    { transaction, store in
      let keyspace = try keyspace("\(name)/_default", store)
      let old = try transaction.get(key, in: keyspace) ?? []
      if let new = try change(old) {
        try transaction.put(key, new, in: keyspace)
      } else {
        try transaction.delete(key, in: keyspace)
      }
    }
  }

  /// Returns a planting that replaces the body in the record of a document.
  private static func replacingBody(
    of id: String, _ change: @escaping @Sendable ([UInt8]) throws -> [UInt8]
  ) -> @Sendable (Transaction, Store) throws -> Void {
    replacing("documents", Array(id.utf8)) { old in
      let head = try old.withUnsafeBytes { try DocumentRecord.Head($0) }
      let body = try change(old.suffix(head.bodyLength))
      try #require(body.count == head.bodyLength && head.bodyLength > 0)
      return old.dropLast(head.bodyLength) + body
    }
  }

  private static let plantings: [Planting] = [
    Planting(
      testDescription: "a current body that is not Fleece", place: "_default/plain, revision 1-",
      plant: replacingBody(of: "plain") { $0.map { _ in 0xEE } }),
    Planting(
      testDescription: "a long body that is not Fleece", place: "_default/long, revision 1-",
      plant: replacing("bodies", sequence(5)) { $0.map { _ in 0xEE } }),
    Planting(
      testDescription: "a long body that is missing", place: "_default/long, revision 1-",
      plant: replacing("bodies", sequence(5)) { _ in nil }),
    Planting(
      testDescription: "a body both in the record and apart", place: "there are 6 bodies",
      plant: replacing("bodies", sequence(1)) { _ in [1, 2] }),
    Planting(
      testDescription: "a current body that is no dictionary", place: "_default/plain, revision 1-",
      plant: replacingBody(of: "plain") { old in
        let other = try JSON.fleece(from: "[1234567890123]")
        return other + [UInt8](repeating: 0, count: max(0, old.count - other.count - 2)) + other.suffix(2)
      }),
    Planting(
      testDescription: "a superseded body that is not Fleece", place: "_default, sequence 2",
      plant: replacing("bodies", sequence(2)) { $0.map { _ in 0xEE } }),
    Planting(
      testDescription: "a body that refers to another blob than is listed",
      place: "_default/pictured, revision 1-",
      plant: replacingBody(of: "pictured") { old in
        // The last digit of the digest's text.
        var new = old
        let at = try #require(old.indices.last { old[$0] == UInt8(ascii: "=") })
        new[at - 2] = new[at - 2] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return new
      }),
    Planting(testDescription: "a reference that is not listed", place: "_default/pictured, revision 1-") {
      transaction, store in
      for name in ["references", "uses"] {
        let space = try keyspace("\(name)/_default", store)
        for key in try Array(store.entries(in: space)).map(\.key) { try transaction.delete(key, in: space) }
      }
      // The counter is made to agree: it is the last number of the state.
      let database = try keyspace("database", store)
      var state = try #require(try transaction.get("collection/_default", in: database))
      state[state.count - 1] = 0
      try transaction.put("collection/_default", state, in: database)
    },
    Planting(
      testDescription: "an entry of the feed whose document is elsewhere",
      place: "_default/plain, sequence 3",
      plant: { transaction, store in
        let feed = try keyspace("sequences/_default", store)
        let entry = try #require(try transaction.get(sequence(1), in: feed))
        try transaction.put(sequence(3), entry, in: feed)
      }),
    Planting(
      testDescription: "an entry of the feed of no document", place: "_default/plain, sequence 1",
      plant: replacing("documents", Array("plain".utf8)) { _ in nil }),
    Planting(
      testDescription: "a tree that is deeper than any may be", place: "_default/edited",
      plant: { transaction, store in
        try transaction.put("deepest", [1], in: keyspace("database", store))
      }),
    Planting(
      testDescription: "a tree with the same revision twice", place: "_default/edited",
      plant: replacing("documents", Array("edited".utf8)) { old in
        // The last revision consists of its flags, 20 bytes and possibly the position of its body.
        // These bytes are repeated after a separate leaf.
        old + old.dropFirst(3).prefix(22)
      }),
    Planting(
      testDescription: "a local document that is not Fleece", place: "_default/note",
      plant: replacing("local", Array("note".utf8)) { _ in [0xEE, 0xEE] }),
    Planting(testDescription: "a chunk of no blob", place: "chunk 7 of the number 9") { transaction, store in
      try transaction.put([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 7], [1], in: keyspace("chunks", store))
    },
    Planting(testDescription: "a blob with other bytes", place: "blob ") { transaction, store in
      let chunks = try keyspace("chunks", store)
      let entry = try #require(try store.first(in: chunks))
      try transaction.put(entry.key, entry.value.map { $0 ^ 1 }, in: chunks)
    },
  ]

  private func fill(_ store: DocumentStore) throws {
    let documents = try store.defaultCollection()
    let blob = try store.putBlob([UInt8](repeating: 5, count: 3000))
    let name = "sha256-\(Base64.encode(blob.digest.bytes))"
    let picture = try JSON.fleece(from: #"{"x":[{"@type":"blob","digest":"\#(name)","length":3000}]}"#)
    let body = try JSON.fleece(from: #"{"text":"a text that is long enough","n":12345678}"#)
    let other = try JSON.fleece(from: #"{"text":"another one"}"#)
    let text = String(repeating: "long ", count: 400)
    let long = try JSON.fleece(from: #"{"text":"\#(text)"}"#)
    try store.write { writer in
      try writer.save("plain", in: documents, body: body, parent: nil)
      let first = try writer.save("edited", in: documents, body: body, parent: nil)
      try writer.save("edited", in: documents, body: other, parent: first.revision)
      try writer.save("pictured", in: documents, body: picture, parent: nil, blobs: [blob.digest])
      try writer.save("long", in: documents, body: long, parent: nil)
      try writer.putLocal("note", in: documents, body: other)
    }
  }

  @Test(arguments: plantings) func `the planted fault is found, with the object it belongs to`(
    _ planting: Planting
  ) throws {
    let directory = try TemporaryDirectory()
    var options = TestClock().options()
    options.store.compaction = .manual
    let store = try DocumentStore.open(at: directory.database, options: options)
    try fill(store)
    let sound = try store.verify(deep: true)
    #expect(sound.isSound && sound.bodies == 5, "\(sound.faults)")
    try store.close()
    let raw = try Store.open(at: directory.database, mode: .openExisting)
    try raw.write { try planting.plant($0, raw) }
    try raw.close()
    let again = try DocumentStore.open(at: directory.database, options: options)
    let report = try again.verify(deep: true)
    #expect(report.faults.contains { "\($0)".contains(planting.place) }, "\(report.faults)")
    #expect(report.store?.isSound == true)
    try again.close()
  }

  @Test func `every planting is a different fault`() {
    #expect(Set(Self.plantings.map(\.testDescription)).count == Self.plantings.count)
  }
}
