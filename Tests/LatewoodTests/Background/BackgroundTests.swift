import Dispatch
import Foundation
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import Latewood

/// Background work reads one state, does not block anyone, and commits its decisions in one batch
/// or not at all.
@Suite struct BackgroundTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let people: TypedCollection<Person>
  private var documents: DocumentCollection { people.documents }

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(at: directory.file)
    people = try Person.three(in: database)
  }

  // MARK: One state

  @Test func `writers proceed while the work reads, and it keeps seeing its initial state`() async throws {
    let people = people
    try await database.background { state in
      let then = try state.collection("people", of: Person.self)
      let porto = then.query().where { $0.city == "Porto" }
      #expect(try porto.documentIDs() == ["anna", "carl"])
      try elsewhere {
        // Both would wait for ever if the work held the writer lock.
        try people.database.inBatch {
          try people.update("bela") { $0.city = "Porto" }
          try people.delete("carl")
          try people.save(Person(id: "dora", city: "Porto"))
        }
      }
      #expect(try porto.documentIDs() == ["anna", "carl"])
      #expect(try porto.count() == 2)
      #expect(try porto.explain().indexes == ["by city"])
      #expect(try then.query().sum { $0.visits } == 0)
      #expect(try then.query().sorted { $0.city }.all().map(\.documentID) == ["bela", "anna", "carl"])
      #expect(try then.all().map(\.value.city) == ["Porto", "Faro", "Porto"])
      #expect(try then.document("bela")?.city == "Faro")
      #expect(try then.contains("carl") && !then.contains("dora"))
      #expect(try then.count == 3)
      var ids: [String] = []
      try then.forEach(AllDocumentsQuery()) { document in
        ids.append(document.documentID)
        return ids.count < 2
      }
      #expect(ids == ["anna", "bela"])
      let untyped = try state["people"]
      #expect(untyped.name == "people" && then.documents.name == "people")
      #expect(try untyped.document("carl")?.string("city") == "Porto")
      #expect(try untyped.mutableDocument("bela").string("city") == "Faro")
      #expect(try untyped.contains("carl") && untyped.count == 3)
      #expect(try untyped.documents(AllDocumentsQuery(from: "b")).map(\.id) == ["bela", "carl"])
      #expect(try untyped.query().where { $0["city"] == "Porto" }.all().map(\.id) == ["anna", "carl"])
      #expect(try untyped.query(Person.self).first()?.id == "anna")
      ids = []
      try untyped.forEachDocument { document in
        ids.append(document.id)
        return true
      }
      #expect(ids == ["anna", "bela", "carl"])
      // The newest state can be read at the same time.
      #expect(try people.count == 3 && people.contains("dora"))
    }
    #expect(try await people.query().where { $0.city == "Porto" }.documentIDs() == ["anna", "bela", "dora"])
  }

  @Test func `changes are committed in one batch at the end, and the work's reads do not show them`()
    async throws
  {
    let sizes = Guarded<[Int]>([])
    let committed = DispatchSemaphore(value: 0)
    let token = try documents.addListener(on: DispatchQueue(label: "listener")) { change in
      sizes.withLock { $0.append(change.entries.count) }
      committed.signal()
    }
    let documents = documents
    let count = try await database.background { state in
      let people = try state.collection("people", of: Person.self)
      guard var anna = try people.document("anna"), let bela = try people.document("bela") else { return 0 }
      anna.visits = 7
      try people.save(anna)
      try people.delete(bela)
      try people.save(contentsOf: [Person(id: "dora", city: "Lagos"), Person(id: "emil", city: "Lagos")])
      try people.save(Person(id: "carl", city: "Braga"), .lastWriteWins)
      try people.documents.save(MutableDocument(id: "fritz", ["city": "Evora"]))
      try people.documents.save(contentsOf: [MutableDocument(id: "gina", ["city": "Evora", "visits": 1])])
      #expect(try people.document("anna")?.visits == 0)
      #expect(try people.contains("bela") && !people.contains("dora"))
      #expect(try people.count == 3 && documents.count == 3)
      return try people.count
    }
    #expect(count == 3)
    #expect(try await documents.documentIDs() == ["anna", "carl", "dora", "emil", "fritz", "gina"])
    #expect(try await people.document("anna")?.visits == 7)
    #expect(try await people.document("carl")?.city == "Braga")
    #expect(try await documents.query().where { $0["city"] == "Lagos" }.count() == 2)
    committed.wait()
    #expect(sizes.withLock { $0 } == [7])
    token.cancel()
    let rest = try await database.background { state in
      let people = try state["people"]
      try people.delete(#require(try people.document("gina")), keeping: ["moved": "Tavira"])
      return try people.count
    }
    #expect(try rest == 6 && documents.count == 5)
    #expect(try await database.verify().isSound)
  }

  @Test func `a document can be changed once, and equal ids in two collections are independent`()
    async throws
  {
    let other = try database["others"]
    try await database.background { state in
      let people = try state["people"]
      try people.save(MutableDocument(id: "dora"))
      refusal(.invalidParameter) { try people.save(MutableDocument(id: "dora")) }
      refusal(.invalidParameter) { try state["people"].save(MutableDocument(id: "dora"), .lastWriteWins) }
      try state["others"].save(MutableDocument(id: "dora"))
    }
    #expect(try await documents.contains("dora"))
    #expect(try await other.contains("dora"))
  }

  @Test func `a value that cannot be stored is refused when it is saved`() async throws {
    try await database.background { state in
      let people = try state["people"]
      refusal(.corruptRevisionData) { try people.save(MutableDocument(id: "dora", ["_rev": 1])) }
      refusal(.invalidParameter) { try people.save(MutableDocument(id: "dora", ["n": .init(Double.nan)])) }
      refusal(.badDocumentID) { _ = try people.mutableDocument("_dora") }
    }
    #expect(try documents.count == 3)
  }

  // MARK: Ends

  @Test func `an error from the closure is rethrown, and no change is committed`() async throws {
    await #expect(throws: OnPurpose.self) {
      try await database.background { state in
        try state["people"].save(MutableDocument(id: "dora"))
        throw OnPurpose()
      }
    }
    #expect(try documents.count == 3)
  }

  @Test func `work whose task is cancelled ends at its next call, and commits no change`() async throws {
    let (begun, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // The calls at which the work ends. The last case makes no call, and the test does not wait for
    // its end.
    let calls: [@Sendable (BackgroundDatabase, BackgroundCollection) throws -> Void] = [
      { state, _ in try state.checkCancellation() },
      { state, _ in _ = try state["people"] },
      { _, people in _ = try people.document("anna") },
      { _, people in _ = try people.mutableDocument("anna") },
      { _, people in _ = try people.contains("anna") },
      { _, people in _ = try people.count },
      { _, people in _ = try people.documents() },
      { _, people in try people.forEachDocument { _ in true } },
      { _, people in try people.save(MutableDocument(id: "emil")) },
      { _, people in try people.requireUnchanged("emil") },
      { _, people in try people.requireUnchanged() },
      { state, _ in _ = try state.collection("people", of: Person.self) },
    ]
    for call in calls + [{ _, _ in }] {
      let wentOn = Guarded(false)
      let task = Task { [database] in
        try await database.background { state in
          let people = try state["people"]
          try people.save(MutableDocument(id: "dora"))
          begun.signal()
          cancelled.wait()
          try call(state, people)
          wentOn.withLock { $0 = true }
        }
      }
      await waiting(for: begun)
      task.cancel()
      cancelled.signal()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try documents.count == 3)
    }
    for isTyped in [true, false] {
      let task = Task { [database] in
        try await database.background { state in
          let people = try state.collection("people", of: Person.self)
          begun.signal()
          cancelled.wait()
          // An error that is caught does not save the work.
          if isTyped {
            #expect(throws: CancellationError.self) { try people.document("anna") }
            #expect(throws: CancellationError.self) { try people.contains("anna") }
            #expect(throws: CancellationError.self) { try people.all() }
            #expect(throws: CancellationError.self) { try people.forEach(AllDocumentsQuery()) { _ in true } }
            #expect(throws: CancellationError.self) { try people.save(Person(id: "dora", city: "Faro")) }
          }
        }
      }
      await waiting(for: begun)
      task.cancel()
      cancelled.signal()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    let task = Task { [database] in
      while !Task.isCancelled { await Task.yield() }
      try await database.background { _ in Issue.record("it begins although it was cancelled") }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `work that is cancelled while waiting to commit changes nothing`() async throws {
    let (read, hasLock, goOn) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let task = Task { [database] in
      try await database.background { state in
        try state["people"].save(MutableDocument(id: "dora"))
        read.signal()
        hasLock.wait()
      }
    }
    await waiting(for: read)
    let writer = Task { [database, documents] in
      try await database.inBatch {
        try documents.save(MutableDocument(id: "emil"))
        hasLock.signal()
        goOn.wait()
      }
    }
    // The work is ending or has ended: both checks must notice.
    task.cancel()
    goOn.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await writer.value
    #expect(try await documents.documentIDs() == ["anna", "bela", "carl", "emil"])
  }

  private final class Box: @unchecked Sendable {
    var state: BackgroundDatabase?
    var people: BackgroundCollection?
    var typed: TypedBackgroundCollection<Person>?
    var query: Query<Document>?
  }

  @Test func `a state that escapes its closure refuses every call`() async throws {
    let box = Box()
    try await database.background { state in
      box.state = state
      box.people = try state["people"]
      box.typed = try state.collection("people", of: Person.self)
      box.query = try state["people"].query()
    }
    let (state, people) = (try #require(box.state), try #require(box.people))
    refusal(.notOpen) { _ = try state["people"] }
    refusal(.notOpen) { try state.checkCancellation() }
    refusal(.notOpen) { _ = try people.document("anna") }
    refusal(.notOpen) { _ = try people.count }
    refusal(.notOpen) { try people.save(MutableDocument(id: "dora")) }
    refusal(.notOpen) { try people.requireUnchanged("anna") }
    refusal(.notOpen) { _ = try box.typed?.all() }
    refusal(.notOpen) { _ = try box.query?.all() }
    #expect(try documents.count == 3)
  }

  @Test func `a collection must exist at the beginning, and at the end if it is changed`() async throws {
    let database = database
    try await database.background { state in
      refusal(.notFound) { _ = try state["nobody"] }
      refusal(.invalidParameter) { _ = try state["_nobody"] }
      try elsewhere { _ = try database.createCollection("nobody") }
      refusal(.notFound) { _ = try state["nobody"] }
      let people = try state["people"]
      try elsewhere { try database.dropCollection("people") }
      // The state does not change.
      #expect(try people.document("anna")?.string("city") == "Porto")
      #expect(try people.query().where { $0["city"] == "Porto" }.documentIDs() == ["anna", "carl"])
      refusal(.notFound) { _ = try state["people"] }
    }
    await refused(.notFound) {
      try await database.background { state in
        try state["nobody"].save(MutableDocument(id: "a"))
        try elsewhere { try database.dropCollection("nobody") }
      }
    }
  }

  @Test func `a read-only or closed database refuses changes`() async throws {
    let reader = try await Database.open(at: directory.file, mode: .readOnly)
    #expect(try await reader.background { try $0["people"].count } == 3)
    await refused(.notWritable) {
      try await reader.background { try $0["people"].save(MutableDocument(id: "dora")) }
    }
    try await reader.close()
    await refused(.notOpen) { try await reader.background { _ in } }
    let database = database
    await refused(.notOpen) {
      try await database.background { state in
        let people = try state["people"]
        try people.save(MutableDocument(id: "dora"))
        try elsewhere { try database.close() }
        refusal(.notOpen) { _ = try people.document("anna") }
      }
    }
  }

  @Test func `UUIDs and raw values are the same ids as in typed collections`() async throws {
    struct Site: Codable, Identifiable { var id: UUID }
    struct Code: RawRepresentable, Codable, Hashable { var rawValue: String }
    struct Coded: Codable, Identifiable { var id: Code }
    let sites = try database.collection("sites", of: Site.self)
    let codes = try database.collection("codes", of: Coded.self)
    let id = UUID()
    try await database.background { state in
      try state.collection("sites", of: Site.self).save(Site(id: id))
      try state.collection("codes", of: Coded.self).save(Coded(id: Code(rawValue: "x")))
    }
    #expect(try await sites.contains(id))
    #expect(try await codes.contains(Code(rawValue: "x")))
  }
}
