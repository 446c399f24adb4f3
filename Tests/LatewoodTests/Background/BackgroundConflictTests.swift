import LatewoodConcurrency
import Testing

@testable import Latewood

/// If others change the data that background work relied on, the work is not committed, or it runs
/// again.
@Suite struct BackgroundConflictTests {
  private let database: Database
  private let people: TypedCollection<Person>
  private var documents: DocumentCollection { people.documents }

  init() throws {
    database = try Database.inMemory()
    people = try Person.three(in: database)
  }

  @Test func `a single conflict prevents the whole commit`() async throws {
    let people = people
    let error = await refused(.conflict) {
      try await database.background { state in
        let then = try state.collection("people", of: Person.self)
        try then.save(Person(id: "dora", city: "Lagos"))
        guard var anna = try then.document("anna") else { return }
        anna.visits += 1
        try then.save(anna)
        try elsewhere { try people.update("anna") { $0.visits += 1 } }
      }
    }
    #expect(error?.message.contains("anna") == true)
    #expect(try await people.document("anna")?.visits == 1)
    #expect(try await !people.contains("dora"))
    await refused(.conflict) {
      try await database.background { state in
        try state["people"].save(MutableDocument(id: "emil"))
        try elsewhere { try people.save(Person(id: "emil", city: "Faro")) }
      }
    }
    #expect(try await people.document("emil")?.city == "Faro")
    await refused(.notFound) {
      try await database.background { state in
        let then = try state.collection("people", of: Person.self)
        try then.delete(#require(try then.document("emil")))
        try elsewhere { try people.delete("emil") }
      }
    }
  }

  @Test func `the last write wins if the work requests it`() async throws {
    let people = people
    try await database.background { state in
      let then = try state.collection("people", of: Person.self)
      guard var anna = try then.document("anna"), let bela = try then.document("bela") else { return }
      anna.visits = 9
      try then.save(anna, .lastWriteWins)
      try then.delete(bela, .lastWriteWins)
      try elsewhere {
        try people.update("anna") { $0.visits = 1 }
        try people.update("bela") { $0.visits = 1 }
      }
    }
    #expect(try await people.document("anna")?.visits == 9)
    #expect(try await !people.contains("bela"))
  }

  @Test func `after a conflict the work runs again with the newest state, up to the retry limit`()
    async throws
  {
    let people = people
    for (retries, failures, runs) in [(0, 0, 1), (1, 1, 2), (3, 2, 3)] {
      let attempts = Guarded(0)
      let visits = try #require(people["anna"]).visits
      let seen = try await database.background(retries: retries) { state in
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        let then = try state.collection("people", of: Person.self)
        guard var anna = try then.document("anna") else { return 0 }
        anna.visits += 10
        try then.save(anna)
        if attempt <= failures { try elsewhere { try people.update("anna") { $0.visits += 1 } } }
        return anna.visits
      }
      #expect(attempts.withLock { $0 } == runs)
      #expect(seen == visits + failures + 10)
      #expect(try await people.document("anna")?.visits == seen)
    }
    let attempts = Guarded(0)
    await refused(.conflict) {
      try await database.background(retries: 2) { state in
        attempts.withLock { $0 += 1 }
        try state["people"].requireUnchanged("anna")
        try elsewhere { try people.update("anna") { $0.visits += 1 } }
      }
    }
    #expect(attempts.withLock { $0 } == 3)
    // A conflict that the closure throws itself does not make it run again.
    attempts.withLock { $0 = 0 }
    await refused(.conflict) {
      try await database.background(retries: 2) { _ in
        attempts.withLock { $0 += 1 }
        try people.save(Person(id: "anna", city: "Faro"))
      }
    }
    #expect(attempts.withLock { $0 } == 1)
  }

  @Test func `a document required to be unchanged is a conflict only if it has changed`() async throws {
    let documents = documents
    func work(
      requiring id: String, _ change: @escaping @Sendable () throws -> Void
    ) async throws {
      try await database.background { state in
        let people = try state["people"]
        try people.requireUnchanged(id)
        try people.save(MutableDocument(id: "result"), .lastWriteWins)
        try elsewhere(change)
      }
    }
    try await work(requiring: "anna") { try documents.update("bela") { $0["visits"] = 1 } }
    try await work(requiring: "nobody") { try documents.update("bela") { $0["visits"] = 2 } }
    try await documents.purge("result")
    await refused(.conflict) {
      try await work(requiring: "anna") { try documents.update("anna") { $0["visits"] = 1 } }
    }
    await refused(.conflict) { try await work(requiring: "anna") { try documents.delete("anna") } }
    await refused(.conflict) { try await work(requiring: "carl") { try documents.purge("carl") } }
    await refused(.conflict) {
      try await work(requiring: "nobody") { try documents.save(MutableDocument(id: "nobody")) }
    }
    #expect(try await !documents.contains("result"))
  }

  @Test func `a collection required to be unchanged conflicts with any change`() async throws {
    let documents = documents
    let other = try database["others"]
    func work(_ change: @escaping @Sendable () throws -> Void) async throws {
      try await database.background { state in
        let people = try state.collection("people", of: Person.self)
        try people.requireUnchanged()
        try state["others"].save(MutableDocument(id: "result"), .lastWriteWins)
        try elsewhere(change)
      }
    }
    try await work { try other.save(MutableDocument(id: "a")) }
    // The work's own saves do not count as changes by others.
    try await database.background { state in
      let people = try state.collection("people", of: Person.self)
      try people.save(Person(id: "emil", city: "Lagos"))
      try people.requireUnchanged()
      try people.requireUnchanged("emil")
    }
    try await other.purge("result")
    await refused(.conflict) { try await work { try documents.save(MutableDocument(id: "dora")) } }
    await refused(.conflict) { try await work { try documents.delete("dora") } }
    await refused(.conflict) { try await work { try documents.purge("dora") } }
    await refused(.conflict) { try await work { try documents.purge("anna") } }
    #expect(try await !other.contains("result"))
  }
}
