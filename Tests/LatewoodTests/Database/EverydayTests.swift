import Foundation
import Latewood
import LatewoodSimulation
import LatewoodTestSupport
import Testing

/// Everyday calls of apps, in addition to saving and reading.
@Suite struct EverydayTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database["people"]
  }

  @Test func `a mutable document is the current one, or a new one`() throws {
    var settings = try people.mutableDocument("settings")
    #expect(settings.isEmpty && settings.revisionID == nil)
    settings["theme"] = "dark"
    let saved = try people.save(settings)
    let again = try people.mutableDocument("settings")
    #expect(again.revisionID == saved.revisionID && again["theme"].string == "dark")
    refusal(.conflict) { try people.save(settings) }
    refusal(.badDocumentID) { _ = try people.mutableDocument("_x") }
  }

  @Test func `an update whose closure returns nothing always saves`() throws {
    try people.update("a") { $0["n"] = 1 }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do { for _ in 0..<25 { try people.update("a") { $0["n"].int = $0.int("n") + 1 } } } catch {
        Issue.record(error)
      }
    }
    let document = try people.update("a") {
      $0["city"] = "Porto"
      $0["n"].int = $0.int("n") + 1
    }
    #expect(document?.int("n") == 102 && document?.string("city") == "Porto" && document?.sequence == 102)
    try people.update("a") { $0.isDeleted = true }
    #expect(try !people.contains("a"))
    #expect(throws: OnPurpose.self) { try people.update("a") { _ in throw OnPurpose() } }
  }

  @Test func `an update can delete`() throws {
    try people.save(MutableDocument(id: "a", ["n": 1]))
    let deletion = try people.update("a") {
      $0["why"] = "done"
      $0.isDeleted = true
      return true
    }
    #expect(deletion?.isDeleted == true && deletion?["why"].string == "done")
    #expect(try people.document("a") == nil && people.count == 0)
    #expect(try people.changes().map(\.isDeleted) == [true])
    let revision = try #require(deletion?.revisionID)
    var copy = try #require(try people.document("a", revision: revision)).toMutable()
    #expect(!copy.isDeleted && copy["why"].string == "done")
    refusal(.notFound) {
      try people.update("a") {
        $0.isDeleted = true
        return true
      }
    }
    refusal(.notFound) {
      try people.update("none") {
        $0.isDeleted = true
        return true
      }
    }
    // A stale deletion is a conflict, and a handler of conflicts can decide to delete.
    copy["n"] = 2
    let first = try people.save(MutableDocument(id: "a", ["n": 2]))
    try people.update("a") {
      $0["n"] = 3
      return true
    }
    var stale = first.toMutable()
    stale.isDeleted = true
    refusal(.conflict) { try people.save(stale) }
    #expect(try people.contains("a"))
    let decided = try people.save(first.toMutable()) { mine, _ in
      mine.isDeleted = true
      return true
    }
    #expect(decided?.isDeleted == true)
    #expect(try !people.contains("a") && database.verify().isSound)
    stale = try MutableDocument(id: "a")
    stale.isDeleted = true
    refusal(.invalidParameter) { try people.resolveConflicts(with: stale) }
  }

  @Test func `documents are saved together in one batch, or not at all`() throws {
    let first = try people.save(MutableDocument(id: "b"))
    let saved = try people.save(contentsOf: ["a", "c"].map { try MutableDocument(id: $0, ["id": $0]) })
    #expect(saved.map(\.id) == ["a", "c"] && saved.map(\.sequence) == [2, 3])
    refusal(.conflict) {
      try people.save(contentsOf: [
        MutableDocument(id: "d"), MutableDocument(id: "b"), MutableDocument(id: "e"),
      ])
    }
    #expect(try people.documentIDs() == ["a", "b", "c"] && people.document("b") == first)
    try people.save(contentsOf: [MutableDocument(id: "b", ["n": 1])], .lastWriteWins)
    #expect(people["b"]?.int("n") == 1)
  }

  @Test func `saving a value under an id can refuse to replace another`() throws {
    try people.save(["n": 1], as: "a")
    refusal(.conflict) { try people.save(["n": 2], as: "a", .failOnConflict) }
    #expect(people["a"]?.int("n") == 1)
    try people.save(["n": 3], as: "a")
    #expect(people["a"]?.int("n") == 3)
  }

  @Test func `a document can be purged even if it was saved again since`() throws {
    let first = try people.save(MutableDocument(id: "a"))
    try people.update("a") {
      $0["n"] = 1
      return true
    }
    #expect(try people.purge(first) && !people.purge(first))
    #expect(try people.revisions(of: "a").isEmpty)
  }

  @Test func `documents expire after a given time, and are listed in order of expiry`() throws {
    for id in ["a", "b", "c", "d"] { try people.save(MutableDocument(id: id)) }
    try people.expire("b", after: .seconds(3600))
    try people.expire("a", after: .seconds(7200))
    try people.expire("c", after: .milliseconds(3_600_001 * 24))
    let list = try people.expirations()
    #expect(list.map(\.id) == ["b", "a", "c"])
    for (id, date) in list { #expect(try people.expiration(of: id) == date) }
    #expect(try people.expirations(limit: 2).map(\.id) == ["b", "a"])
    #expect(try people.expirations(limit: 0).isEmpty)
    #expect(try people.expirations(before: list[1].date).map(\.id) == ["b"])
    #expect(try people.expirations(before: list[1].date + 1).map(\.id) == ["b", "a"])
    #expect(try people.expirations(before: .distantPast).isEmpty)
    // At least as long as requested, and at most two seconds longer.
    let left = list[0].date.timeIntervalSince(list[1].date)
    #expect(abs(left + 3600) <= 1)
    #expect(list[0].date > Date.now)
    try people.expire("d", after: .zero)
    #expect(try people.document("d") == nil)
    #expect(try people.expirations().map(\.id) == ["b", "a", "c"])
    refusal(.notFound) { try people.expire("none", after: .seconds(1)) }
    refusal(.invalidParameter) { try people.expire("a", after: .seconds(-1)) }
    refusal(.invalidParameter) { try people.expire("a", after: .milliseconds(-1)) }
    refusal(.invalidParameter) { try people.expire("a", after: .seconds(Int64.max)) }
  }

  @Test func `pruning on request keeps the given number of revisions`() async throws {
    for number in 1...6 { try await people.save(["n": number], as: "a") }
    let report = try await database.prune(keeping: 4)
    #expect(report.documents == 1 && report.revisions == 2 && report.bodies == 2 && report.bodyBytes > 0)
    let kept = try await people.revisions(of: "a")
    #expect(kept.count == 4 && database.revisionDepth == 20)
    #expect(try await people.document("a", revision: kept[3].id)?.int("n") == 3)
    #expect(try await database.prune().revisions == 0)
    func refused(_ generations: Int) -> Bool {
      do { _ = try database.prune(keeping: generations) } catch let error as DatabaseError {
        return error.code == .invalidParameter
      } catch {}
      return false
    }
    #expect(refused(0) && refused(-1) && !refused(1))
    #expect(try await database.verify().isSound)
  }

  @Test func `a stream contains all documents of a query, from a single state`() async throws {
    let names = (0..<345).map { String(1000 + $0) }
    try await people.save(contentsOf: names.map { try MutableDocument(id: $0) })
    try await people.delete("1005")
    let alive = names.filter { $0 != "1005" }
    for (query, expected) in [
      (AllDocumentsQuery(), alive), (AllDocumentsQuery(descending: true), alive.reversed()),
      (AllDocumentsQuery(limit: 0), []), (AllDocumentsQuery(limit: 99), Array(alive.prefix(99))),
      (AllDocumentsQuery(limit: 100), Array(alive.prefix(100))),
      (AllDocumentsQuery(limit: 101), Array(alive.prefix(101))),
      (AllDocumentsQuery(from: "1100", through: "1299", limit: 150), Array(alive.dropFirst(99).prefix(150))),
      (AllDocumentsQuery(from: "1100", through: "1299", descending: true), alive[99..<299].reversed()),
      (AllDocumentsQuery(prefix: "12", includesDeleted: true), Array(alive[199..<299])),
      (AllDocumentsQuery(prefix: "100", includesDeleted: true), Array(names.prefix(10))),
      (AllDocumentsQuery(prefix: "x"), []),
    ] as [(AllDocumentsQuery, [String])] {
      var found: [String] = []
      for try await document in people.stream(query) {
        found.append(document.id)
        // Changes after the start are not seen.
        if found.count == 1 { try await people.save(MutableDocument(id: "1999")) }
      }
      #expect(found == expected, "\(query)")
      try await people.purge("1999")
    }
    var stream = people.stream().makeAsyncIterator()
    #expect(try await stream.next()?.id == "1000")
    try await database.close()
    for _ in 1..<100 { _ = try await stream.next() }
    await #expect(throws: DatabaseError.self) { try await stream.next() }
  }

  @Test func `a feed omits entries that its filter refuses`() async throws {
    var feed = people.feed { $0.id.hasPrefix("x") }.makeAsyncIterator()
    for id in ["a", "x1", "b", "x2"] { try await people.save(MutableDocument(id: id)) }
    #expect(try await feed.next()?.id == "x1")
    #expect(try await feed.next()?.id == "x2")
    var failing = people.feed { _ in throw OnPurpose() }.makeAsyncIterator()
    await #expect(throws: OnPurpose.self) { try await failing.next() }
  }

  @Test func `a blob converts to JSON`() throws {
    let blob = try database.saveBlob(Data("abc".utf8), contentType: "text/plain")
    #expect(try DocumentValue(json: blob.toJSON()).blob == blob)
  }

  @Test func `a database is named after its file`() throws {
    let directory = try TemporaryDirectory()
    #expect(try Database.open(at: directory.file).name == "test")
    let databases = DatabaseDirectory(path: directory.path)
    #expect(try databases.open("maps/europe").name == "maps/europe")
    #expect(database.name == "memory")
  }

  @Test func `an open database is closed when it is deleted`() throws {
    let directory = try TemporaryDirectory()
    let database = try Database.open(at: directory.file)
    refusal(.busy) { try database.inBatch { try database.delete() } }
    try database["a"].save(MutableDocument(id: "a"))
    let reader = try Database.open(at: directory.file, mode: .readOnly)
    refusal(.notWritable) { try reader.delete() }
    try reader.close()
    let other = try Database.open(at: directory.file)
    refusal(.busy) { try database.delete() }
    refusal(.notOpen) { _ = try database["a"] }
    #expect(try other["a"].contains("a"))
    try other.delete()
    #expect(try !Database.exists(at: directory.file))
    refusal(.notOpen) { _ = try other["a"] }
    let memory = try Database.inMemory()
    try memory.delete()
    refusal(.notOpen) { _ = try memory.defaultCollection }
  }

  @Test func `each application has a separate standard directory`() throws {
    for name in ["", ".", "..", "a/b", ".hidden", "a\0b"] {
      refusal(.invalidParameter) { _ = try DatabaseDirectory.standard(for: name) }
    }
    let directory = try DatabaseDirectory.standard(for: "latewood-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: directory.path) }
    #expect(try directory.names() == [])
    try directory.open("notes").close()
    #expect(try directory.names() == ["notes"])
  }
}
