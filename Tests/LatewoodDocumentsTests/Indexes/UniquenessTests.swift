import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

/// Unique indexes that are checked at the end of a batch.
@Suite struct UniquenessTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("people")
  }

  private func createIndex(_ name: String, _ field: String, where condition: String? = nil) throws {
    try store.createIndex(
      name,
      IndexDefinition(
        [IndexDefinition.Part(parsing: field)], where: condition.map { try MangoParser.predicate(json: $0) },
        isUnique: true), in: collection)
  }

  private func save(_ writer: DocumentWriter, _ id: String, _ json: String) throws {
    try writer.save(
      id, in: collection, body: JSON.fleece(from: json), parent: nil, policy: .lastWriteWins)
  }

  private func insert(_ writer: DocumentWriter, _ id: String, _ generation: UInt64, _ json: String) throws {
    let revision = try RevisionID("\(generation)-" + String(repeating: "ab", count: 20))
    try writer.insert(id, in: collection, history: [revision], body: JSON.fleece(from: json))
  }

  private func json(_ id: String) throws -> String? {
    try store.reads(collection).document(id).map {
      try String(decoding: JSON.text(of: $0.body), as: UTF8.self)
    }
  }

  private func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try store.verify(deep: true).faults == [], sourceLocation: sourceLocation)
  }

  @Test func `documents exchange their values in a batch that is checked at its end`() throws {
    try createIndex("seat", "seat")
    try store.write { writer in
      try save(writer, "a", #"{"seat":1}"#)
      try save(writer, "b", #"{"seat":2}"#)
    }
    refusal(.notUnique) {
      try store.write { writer in
        try save(writer, "a", #"{"seat":2}"#)
        try save(writer, "b", #"{"seat":1}"#)
      }
    }
    #expect(try json("a") == #"{"seat":1}"#)
    try store.write(uniqueness: .atEnd) { writer in
      try save(writer, "a", #"{"seat":2}"#)
      try save(writer, "b", #"{"seat":1}"#)
    }
    #expect(try json("a") == #"{"seat":2}"# && json("b") == #"{"seat":1}"#)
    try expectSound()
  }

  @Test func `two equal values at the end fail the whole batch, and the error names both documents`() throws {
    try createIndex("seat", "seat")
    try store.write { writer in try save(writer, "anna", #"{"seat":1}"#) }
    for (other, seat) in [("ben", 1), ("carla", 1)] {
      let error = refusal(.notUnique) {
        try store.write(uniqueness: .atEnd) { writer in
          try save(writer, "dora", #"{"seat":9}"#)
          try save(writer, other, #"{"seat":\#(seat)}"#)
        }
      }
      #expect(error?.message.contains("anna") == true && error?.message.contains(other) == true)
      #expect(error?.message.contains("seat") == true)
      #expect(try json("dora") == nil && json(other) == nil)
    }
    // Ids that Swift takes for equal are two documents.
    refusal(.notUnique) {
      try store.write(uniqueness: .atEnd) { writer in
        try save(writer, "\u{E9}", #"{"seat":5}"#)
        try save(writer, "e\u{301}", #"{"seat":5}"#)
      }
    }
    refusal(.notUnique) {
      try store.write { writer in
        try save(writer, "\u{E9}", #"{"seat":5}"#)
        try save(writer, "e\u{301}", #"{"seat":5}"#)
      }
    }
    try expectSound()
  }

  @Test func `values that are cut are compared as a whole`() throws {
    try createIndex("text", "text")
    let long = String(repeating: "x", count: 5000)
    try store.write(uniqueness: .atEnd) { writer in
      try save(writer, "a", #"{"text":"\#(long)1"}"#)
      try save(writer, "b", #"{"text":"\#(long)2"}"#)
    }
    try store.write(uniqueness: .atEnd) { writer in
      try save(writer, "a", #"{"text":"\#(long)2"}"#)
      try save(writer, "b", #"{"text":"\#(long)1"}"#)
    }
    refusal(.notUnique) {
      try store.write(uniqueness: .atEnd) { writer in try save(writer, "a", #"{"text":"\#(long)1"}"#) }
    }
    // Also if each save is checked: the parts of both values that are in the index are equal.
    refusal(.notUnique) {
      try store.write { writer in try save(writer, "a", #"{"text":"\#(long)1"}"#) }
    }
    // An edit that keeps the value is not checked, and neither is one that keeps a short value.
    try store.write { writer in
      try insert(writer, "c", 3, #"{"text":"\#(long)1"}"#)
      try save(writer, "c", #"{"n":1,"text":"\#(long)1"}"#)
    }
    try expectSound()
  }

  @Test func `revisions from another replica are not refused at the end of a batch`() throws {
    try createIndex("seat", "seat")
    // A save, then the same value from a replica: accepted, as when each save is checked.
    for check in [UniquenessCheck.atEachSave, .atEnd] {
      try store.write(uniqueness: check) { writer in
        try save(writer, "a", #"{"seat":1}"#)
        try insert(writer, "b", 3, #"{"seat":1}"#)
      }
      // A value from a replica, then the same in a save: refused, as then.
      refusal(.notUnique) {
        try store.write(uniqueness: check) { writer in
          try insert(writer, "c", 3, #"{"seat":2}"#)
          try save(writer, "d", #"{"seat":2}"#)
        }
      }
      // Neither is saved here.
      try store.write(uniqueness: check) { writer in
        try insert(writer, "e", 3, #"{"seat":3}"#)
        try insert(writer, "f", 3, #"{"seat":3}"#)
      }
      try store.write { writer in for id in ["a", "b", "e", "f"] { try writer.purge(id, in: collection) } }
    }
    // A replica brings a winner that has the value, too: it replaces the saved one.
    try store.write { writer in try save(writer, "a", #"{"seat":1}"#) }
    try store.write(uniqueness: .atEnd) { writer in
      try save(writer, "b", #"{"seat":1}"#)
      try insert(writer, "b", 9, #"{"seat":1,"of":"replica"}"#)
    }
    try expectSound()
  }

  @Test func `inner batches have the check of the outer one, or their own`() throws {
    try createIndex("seat", "seat")
    try store.write { writer in
      try save(writer, "a", #"{"seat":1}"#)
      try save(writer, "b", #"{"seat":2}"#)
    }
    func swap(_ first: Int, _ second: Int) throws {
      try store.write { try save($0, "a", #"{"seat":\#(first)}"#) }
      try store.write { try save($0, "b", #"{"seat":\#(second)}"#) }
    }
    try store.write(uniqueness: .atEnd) { _ in try swap(2, 1) }
    // Checked at the end of the inner batch.
    try store.write { writer in
      try store.write(uniqueness: .atEnd) { _ in try swap(1, 2) }
      refusal(.notUnique) { try save(writer, "c", #"{"seat":1}"#) }
    }
    refusal(.notUnique) {
      try store.write { writer in
        _ = refusal(.notUnique) {
          try store.write(uniqueness: .atEnd) { _ in try save(writer, "c", #"{"seat":1}"#) }
        }
      }
    }
    // Each save in the inner batch is checked.
    try store.write(uniqueness: .atEnd) { writer in
      refusal(.notUnique) { try store.write(uniqueness: .atEachSave) { _ in try swap(2, 1) } }
      try save(writer, "b", #"{"seat":7}"#)
    }
    #expect(try json("b") == #"{"seat":7}"#)
    try expectSound()
  }

  @Test func `an index or a collection that is dropped in the batch is not checked`() throws {
    try createIndex("seat", "seat")
    try store.write(uniqueness: .atEnd) { writer in
      try save(writer, "a", #"{"seat":1}"#)
      try save(writer, "b", #"{"seat":1}"#)
      _ = try Indexes(writer.batch, of: collection).drop("seat", evenIfReady: true)
    }
    try expectSound()
    try store.write(uniqueness: .atEnd) { writer in
      let other = try writer.batch.createCollection("other")
      let definition = try IndexDefinition([IndexDefinition.Part(parsing: "seat")], isUnique: true)
      _ = try IndexBuild("seat", definition, of: other).step(in: writer.batch)
      let body = try JSON.fleece(from: #"{"seat":1}"#)
      try writer.save("a", in: other, body: body, parent: nil)
      try writer.save("b", in: other, body: body, parent: nil)
      _ = try writer.batch.dropCollection("other")
    }
    try expectSound()
  }

  @Test func `a document that has expired does not count as a duplicate`() throws {
    try createIndex("seat", "seat")
    try store.write { writer in
      try save(writer, "a", #"{"seat":1}"#)
      try writer.setExpiry(of: "a", in: collection, clock.now + 10)
    }
    clock.advance(11)
    try store.write(uniqueness: .atEnd) { writer in try save(writer, "b", #"{"seat":1}"#) }
    try expectSound()
  }

  // MARK: Against a model

  /// A document of the model.
  private struct Person: Equatable {
    var seat: Int?
    var mail: Int
    var isActive: Bool
    var tags: [Int]

    var json: String {
      let seat = seat.map { #""seat":\#($0),"# } ?? ""
      return #"{"isActive":\#(isActive),"mail":\#(mail),\#(seat)"tags":\#(tags)}"#
        .replacing(" ", with: "")
    }
  }

  private func isUnique(_ people: [String: Person]) -> Bool {
    func areDistinct(_ values: [Int]) -> Bool { Set(values).count == values.count }
    return areDistinct(people.values.compactMap(\.seat))
      && areDistinct(people.values.filter(\.isActive).map(\.mail))
      && areDistinct(people.values.flatMap { Set($0.tags) })
  }

  private func change(
    _ people: inout [String: Person], _ ids: [String], _ random: inout SeededRandom
  ) -> [(id: String, person: Person?)] {
    var changes: [(id: String, person: Person?)] = []
    func set(_ id: String, _ person: Person?) {
      people[id] = person
      changes.append((id, person))
    }
    func arbitrary() -> Person {
      Person(
        seat: Int.random(in: 0..<4, using: &random) == 0 ? nil : .random(in: 0..<14, using: &random),
        mail: .random(in: 0..<14, using: &random), isActive: .random(using: &random),
        tags: (0..<Int.random(in: 0..<3, using: &random)).map { _ in .random(in: 0..<20, using: &random) })
    }
    let present = people.keys.sorted().shuffled(using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0:  // a swap
      guard present.count >= 2, let a = people[present[0]], let b = people[present[1]] else { break }
      set(present[0], b)
      set(present[1], a)
    case 1:  // a rotation
      let some = Array(present.prefix(.random(in: 2..<6, using: &random)))
      let old = some.map { people[$0] }
      for (index, id) in some.enumerated() { set(id, old[(index + 1) % some.count]) }
    case 2:  // a chain: each takes the values of the next, and the last gets others
      let some = Array(present.prefix(.random(in: 2..<6, using: &random)))
      let old = some.map { people[$0] }
      for (index, id) in some.enumerated() {
        set(id, index + 1 < some.count ? old[index + 1] : arbitrary())
      }
    case 3:  // deleted and added again, by itself and by another
      guard let id = present.first, let old = people[id] else { break }
      set(id, nil)
      set(ids.randomElement(using: &random) ?? id, old)
      if Bool.random(using: &random) { set(id, arbitrary()) }
    case 4:
      if let id = present.first { set(id, nil) }
    default:
      set(ids.randomElement(using: &random) ?? "a", arbitrary())
    }
    return changes
  }

  @Test func `random batches succeed exactly if their end is unique`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    try createIndex("seat", "seat")
    try createIndex("mail", "mail", where: #"{"isActive":true}"#)
    try createIndex("tags", "tags[]")
    let ids = (0..<9).map { "p\($0)" }
    var people: [String: Person] = [:]
    var (kept, refused, onlyAtEnd) = (0, 0, 0)
    for _ in 0..<1500 {
      var next = people
      var changes: [(id: String, person: Person?)] = []
      for _ in 0..<Int.random(in: 1...3, using: &random) { changes += change(&next, ids, &random) }
      func apply(_ check: UniquenessCheck) throws {
        try store.write(uniqueness: check) { writer in
          for (id, person) in changes {
            if let person {
              try save(writer, id, person.json)
            } else if let head = try writer.reads(collection).head(of: id), !head.isDeleted {
              try writer.save(
                id, in: collection, body: JSON.fleece(from: "{}"), parent: head.winner, isDeleted: true)
            }
          }
        }
      }
      // With a check at each save, a batch that succeeds has a unique end, too.
      let isFirstEach = Int.random(in: 0..<4, using: &random) == 0
      if isFirstEach {
        do {
          try apply(.atEachSave)
          #expect(isUnique(next), "\(random.replay)")
          people = next
          continue
        } catch let error as DatabaseError where error.code == .notUnique {}
      }
      do {
        try apply(.atEnd)
        #expect(isUnique(next), "a batch with equal values was kept; \(random.replay)")
        people = next
        kept += 1
        if isFirstEach { onlyAtEnd += 1 }
      } catch let error as DatabaseError where error.code == .notUnique {
        #expect(!isUnique(next), "a batch was refused: \(error); \(random.replay)")
        refused += 1
      }
      for id in ids { #expect(try json(id) == people[id]?.json, "\(random.replay)") }
    }
    #expect(kept > 100 && refused > 100 && onlyAtEnd > 5, "\(kept) \(refused) \(onlyAtEnd); \(random.replay)")
    try expectSound()
  }

  // MARK: Names

  @Test func `a member whose name ends in brackets can be indexed, and so can its elements`() throws {
    for (text, name, isEach, isDescending) in [
      ("tags[]", "tags", true, false), (#"tags\[]"#, "tags[]", false, false),
      (#"tags\[][]"#, "tags[]", true, false), (#"tags\\[]"#, #"tags\"#, true, false),
      ("tags[]:desc", "tags", true, true), (#"tags\[]:desc"#, "tags[]", false, true),
      (#"a\:desc"#, "a:desc", false, false), (#"a\:desc:desc"#, "a:desc", false, true),
      (#"a\:asc"#, "a:asc", false, false), ("a:asc", "a", false, false), (#"a\\:desc"#, #"a\"#, false, true),
      ("[]:desc".replacing("[]", with: "x"), "x", false, true),
    ] {
      let part = try IndexDefinition.Part(parsing: text)
      #expect(part.path.steps.map(\.name) == [name], "\(text)")
      #expect(part.isEach == isEach && part.isDescending == isDescending, "\(text)")
      #expect(try IndexDefinition.Part(parsing: part.text) == part, "\(part.text)")
    }
    try store.write { writer in
      try save(writer, "a", #"{"tags[]":[1,2],"tags":[3,4,5]}"#)
    }
    for (name, field, count) in [
      ("member", #"tags\[]"#, 1), ("elements", #"tags\[][]"#, 2), ("tags", "tags[]", 3),
    ] {
      try store.createIndex(
        name, IndexDefinition([IndexDefinition.Part(parsing: field)]), in: collection)
      let index = try #require(try store.reads(collection).indexes().all.first { $0.name == name })
      #expect(try store.reads(collection).source.count(in: index.entries, .all) == count, "\(name)")
    }
    try expectSound()
  }
}
