import Dispatch
import Foundation
import Latewood
import LatewoodSimulation
import LatewoodTestSupport
import Testing

/// Tests the calls that do not block their caller.
@Suite struct AsyncTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database.defaultCollection
  }

  private func isRefused(_ code: DatabaseError.Code, _ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
      return false
    } catch { return (error as? DatabaseError)?.code == code }
  }

  @Test func `saving, updating, deleting and purging work as in the blocking forms`() async throws {
    let anna = try await people.save(MutableDocument(id: "anna", ["n": 1]))
    #expect(try await people.document("anna") == anna)
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
    #expect(try await people.update("anna") { $0["n"] = 11 }?.int("n") == 11)
    #expect(try await people.save(["n": 10], as: "anna").int("n") == 10)
    #expect(await isRefused(.conflict) { try await people.delete(anna) })
    #expect(try await people.delete("anna"))
    #expect(try await !people.delete("anna"))
    #expect(try await people.purge("anna"))
    #expect(try await !people.purge("anna"))
    #expect(try await people.revisions(of: "anna") == [])
    #expect(try await database.verify().isSound)
  }

  @Test func `a batch is committed as a whole, or rolled back with everything it created`() async throws {
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
    #expect(try await database.verify().isSound)
  }

  @Test func `concurrent updates from many tasks lose none`() async throws {
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
    #expect(try await people.document("visits")?.int("count") == 80)
  }

  @Test func `opening, backing up, compacting and verifying do not block`() async throws {
    let directory = try TemporaryDirectory()
    let database = try await Database.open(at: directory.file)
    let people = try database["people"]
    let blob = try await database.saveBlob(Data("abc".utf8))
    try await people.save(contentsOf: [
      MutableDocument(id: "a", ["blob": DocumentValue(blob)]), MutableDocument(id: "b"),
    ])
    #expect(try await people.documents().map(\.id) == ["a", "b"])
    #expect(try await people.documentIDs(AllDocumentsQuery(descending: true)) == ["b", "a"])
    try await database.compact { _ in }
    try await database.backup(to: directory.path + "/backup.latewood") { _ in }
    #expect(try await database.verify { _ in }.isSound)
    let backup = try await Database.open(at: directory.path + "/backup.latewood", mode: .readOnly)
    #expect(try backup.collection("people")?.count == 2)
    #expect(try await backup.content(of: blob).data() == Data("abc".utf8))
    #expect(
      await isRefused(.notFound) {
        _ = try await Database.open(at: directory.path + "/no", mode: .openExisting)
      })
  }

  @Test func `foreign revisions are inserted and merged`() async throws {
    let first = try await people.save(MutableDocument(id: "a", ["n": 1]))
    try await people.update("a") {
      $0["n"] = 2
      return true
    }
    for digest in ["ff", "fe"] {
      let history = ["2-" + String(repeating: digest, count: 20), first.revisionID]
      #expect(try await people.insert(MutableDocument(id: "a", ["n": 3]), history: history))
    }
    var merged = try #require(try await people.document("a")).toMutable()
    merged["n"] = 5
    let result = try await people.resolveConflicts(with: merged)
    #expect(!result.hasConflicts && result.int("n") == 5)
    try await people.insert(
      MutableDocument(id: "a"), history: ["9-" + String(repeating: "0", count: 40)])
    #expect(try await people.document("a")?.hasConflicts == true)
    try await people.resolveConflicts(choosing: try #require(try people.document("a")))
    #expect(try await people.document("a")?.hasConflicts == false)
  }

  @Test func `a cancelled task changes nothing and throws a cancellation error`() async throws {
    let (people, database) = (people, database)
    let (starts, started) = AsyncStream.makeStream(of: Void.self)
    let go = DispatchSemaphore(value: 0)
    let task = Task {
      try await database.inBatch {
        try people.save(MutableDocument(id: "a"))
        started.yield()
        go.wait()
      }
    }
    for await _ in starts { break }
    task.cancel()
    go.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try people.count == 0)
    // The task is cancelled before it begins.
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      do {
        try await people.save(MutableDocument(id: "b"))
        return false
      } catch is CancellationError { return true } catch { return false }
    }
    late.cancel()
    #expect(await late.value)
    let opening = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await Database.open(at: "/nowhere/at/all")
    }
    opening.cancel()
    await #expect(throws: CancellationError.self) { _ = try await opening.value }
    #expect(try people.count == 0)
    #expect(try await database.verify().isSound)
  }

  @Test func `a closed database refuses every call`() async throws {
    let people = people
    try await database.close()
    #expect(await isRefused(.notOpen) { try await people.save(MutableDocument(id: "a")) })
    #expect(await isRefused(.notOpen) { try await people.purge("a") })
    #expect(await isRefused(.notOpen) { try await people.update("a") { _ in true } })
  }
}
