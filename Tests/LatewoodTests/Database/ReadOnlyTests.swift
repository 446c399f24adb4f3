import Dispatch
import Latewood
import LatewoodConcurrency
import LatewoodSimulation
import Testing

/// A read-only database whose file is written through another store, as by another process.
@Suite struct ReadOnlyTests {
  private let directory: TemporaryDirectory
  private let reader: Database
  private let writer: Database
  private let people: DocumentCollection

  init() throws {
    directory = try TemporaryDirectory()
    var configuration = Database.Configuration()
    configuration.durability = .relaxed
    configuration.compaction = .manual
    try Database.open(at: directory.file).close()
    // Opened first, so that it does not share the writer's store.
    reader = try Database.open(at: directory.file, mode: .readOnly)
    writer = try Database.open(at: directory.file, configuration: configuration)
    people = try writer.defaultCollection
  }

  @Test func `reads see the commits of another process`() throws {
    let seen = try reader.defaultCollection
    #expect(try seen.count == 0)
    for number in 1...3 {
      try people.save(MutableDocument(id: "\(number)", ["n": DocumentValue(number)]))
      #expect(try Patience.wait { try seen.document("\(number)")?.int("n") == number })
      #expect(try seen.count == number && seen.lastSequence == UInt64(number))
      #expect(try seen.changes().count == number)
    }
    try people.delete("1")
    #expect(try Patience.wait { try seen.documentIDs() == ["2", "3"] })
    // A compaction replaces the file.
    try writer.compact()
    try people.save(MutableDocument(id: "4"))
    #expect(try Patience.wait { try seen.contains("4") })
    #expect(try reader.verify().faults == [])
  }

  @Test func `reads see collections appear and disappear`() throws {
    #expect(try reader.collection("notes") == nil)
    let notes = try writer.createCollection("notes")
    try notes.save(MutableDocument(id: "a"))
    #expect(try Patience.wait { try reader.collection("notes")?.contains("a") == true })
    let seen = try #require(try reader.collection("notes"))
    try writer.dropCollection("notes")
    #expect(try Patience.wait { try reader.collection("notes") == nil })
    refusal(.notFound) { _ = try seen.count }
    try writer.createCollection("notes").save(MutableDocument(id: "b"))
    #expect(try Patience.wait { try reader.collection("notes")?.documentIDs() == ["b"] })
    #expect(try reader.collectionNames == ["_default", "notes"])
  }

  @Test func `listeners are told of commits by another process`() throws {
    let told = Guarded<[CollectionChange]>([])
    let token = try reader.addListener { change in told.withLock { $0.append(change) } }
    func wait(_ condition: @escaping (CollectionChange) -> Bool) -> CollectionChange? {
      Patience.wait { told.withLock { $0.contains(where: condition) } }
      return told.withLock { told in
        defer { told = [] }
        return told.first(where: condition)
      }
    }
    try people.save(MutableDocument(id: "a"))
    let first = try #require(wait { $0.entries.contains { $0.id == "a" } })
    #expect(
      first.collection == "_default" && first.entries[0].sequence == 1 && first.entries[0].reason == .saved)
    #expect(!first.isComplete, "a purge by another process cannot be told of")
    try writer.inBatch { for number in 0..<600 { try people.save(MutableDocument(id: "\(number)")) } }
    var ids: Set<String> = []
    #expect(
      Patience.wait {
        ids.formUnion(told.withLock { $0.flatMap(\.entries) }.map(\.id))
        return ids.count >= 600
      })
    #expect(ids == Set((0..<600).map { "\($0)" }))
    told.withLock { $0 = [] }
    try people.purge("a")
    #expect(wait { $0.entries.isEmpty && !$0.isComplete && !$0.isDropped } != nil, "something went")
    try writer.createCollection("notes").save(MutableDocument(id: "b"))
    #expect(wait { $0.collection == "notes" && $0.entries.map(\.id) == ["b"] } != nil)
    try writer.dropCollection("notes")
    #expect(wait { $0.collection == "notes" && $0.isDropped } != nil)
    token.cancel()
    try people.save(MutableDocument(id: "c"))
    #expect(try Patience.wait { try reader.defaultCollection.contains("c") })
    Monitor.sleep(milliseconds: 120)
    #expect(told.withLock { $0.isEmpty })
  }

  @Test func `a feed continues with the commits of another process`() async throws {
    let feed = try reader.defaultCollection.feed(FeedOptions(includesDocuments: true))
    try await people.save(MutableDocument(id: "0", ["n": 0]))
    let task = Task {
      var ids: [String] = []
      for try await change in feed {
        ids.append(change.id)
        #expect(change.document?.revisionID == change.revisionID)
        // The next change is made once this one has been seen.
        if ids.count == 4 { break }
        let people = people
        try await people.save(MutableDocument(id: "\(ids.count)", ["n": 1]))
      }
      return ids
    }
    #expect(try await task.value == ["0", "1", "2", "3"])
  }

  @Test func `many threads read while another process writes`() throws {
    let seen = try reader.defaultCollection
    let isDone = Guarded(false)
    let failures = Guarded<[String]>([])
    let group = DispatchGroup()
    for thread in 0..<3 {
      DispatchQueue(label: "reader \(thread)").async(group: group) {
        var last = 0
        while !isDone.withLock({ $0 }) || last < 60 {
          do {
            let count = try seen.count
            if count < last { failures.withLock { $0.append("\(count) after \(last)") } }
            last = count
          } catch {
            failures.withLock { $0.append("\(error)") }
            return
          }
        }
      }
    }
    for number in 0..<60 {
      try people.save(MutableDocument(id: "\(number)"))
      if number % 20 == 10 { try writer.compact() }
      Monitor.sleep(milliseconds: 2)
    }
    isDone.withLock { $0 = true }
    #expect(group.wait(timeout: Patience.deadline) == .success)
    #expect(failures.withLock { $0 } == [])
  }

  @Test func `a closed reader stops watching the file and throws`() async throws {
    let feed = try reader.defaultCollection.feed()
    let task = Task { for try await _ in feed {} }
    let token = try reader.addListener { _ in }
    try await reader.close()
    let error = await #expect(throws: DatabaseError.self) { try await task.value }
    #expect(error?.code == .notOpen)
    token.cancel()
    refusal(.notOpen) { _ = try reader.collectionNames }
  }
}
