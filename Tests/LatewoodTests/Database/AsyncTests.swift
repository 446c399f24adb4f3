import Latewood
import Testing

/// Tests the calls that do not block their caller.
@Suite struct AsyncTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database.defaultCollection
  }

  private struct OnPurpose: Error {}

  private func isRefused(_ code: DatabaseError.Code, _ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
      return false
    } catch { return (error as? DatabaseError)?.code == code }
  }

  @Test func `what is saved, updated, deleted and purged is as with the blocking forms`() async throws {
    let anna = try await people.save(MutableDocument(id: "anna", ["n": 1]))
    #expect(try people.document("anna") == anna)
    #expect(await isRefused(.conflict) { try await people.save(MutableDocument(id: "anna", ["n": 7])) })
    let merged = try await people.save(MutableDocument(id: "anna", ["n": 7])) { mine, current in
      mine["n"].int = mine.int("n") + (current?.int("n") ?? 0)
      return true
    }
    #expect(merged?.int("n") == 8)
    #expect(
      try await people.update("anna") {
        $0["n"] = 9
        return true
      }?.int("n") == 9)
    #expect(try await people.update("anna") { _ in false } == nil)
    #expect(try await people.save(["n": 10], as: "anna").int("n") == 10)
    #expect(await isRefused(.conflict) { try await people.delete(anna) })
    #expect(try await people.delete("anna"))
    #expect(try await !people.delete("anna"))
    #expect(try await people.purge("anna"))
    #expect(try await !people.purge("anna"))
    #expect(try people.revisions(of: "anna") == [])
    #expect(try database.verify().isSound)
  }

  @Test func `a batch is committed whole, or thrown away with what it made`() async throws {
    let people = people
    let database = database
    let count = try await database.inBatch {
      for n in 0..<10 { try people.save(MutableDocument(id: "p\(n)", ["n": .init(n)])) }
      let notes = try database.createCollection("notes")
      try notes.save(MutableDocument(id: "a"))
      return try people.count
    }
    #expect(count == 10)
    #expect(try people.count == 10)
    #expect(try database.collectionNames == ["_default", "notes"])
    await #expect(throws: OnPurpose.self) {
      try await database.inBatch {
        try people.delete("p1")
        _ = try database.createCollection("other")
        throw OnPurpose()
      }
    }
    #expect(try people.count == 10)
    #expect(try database.collectionNames == ["_default", "notes"])
    #expect(try database.verify().isSound)
  }

  @Test func `updates from many tasks at once lose none`() async throws {
    let people = people
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<10 {
            try await people.update("visits") {
              $0["count"].int = $0.int("count") + 1
              return true
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try people.document("visits")?.int("count") == 80)
  }

  @Test func `a database that is closed refuses`() async throws {
    let people = people
    try database.close()
    #expect(await isRefused(.notOpen) { try await people.save(MutableDocument(id: "a")) })
    #expect(await isRefused(.notOpen) { try await people.purge("a") })
    #expect(await isRefused(.notOpen) { try await people.update("a") { _ in true } })
  }
}
