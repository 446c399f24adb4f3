import Dispatch
import Latewood
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

/// Migrations of collections: which ones run, in which order, how often, and from which document.
@Suite struct MigrationTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    directory = try TemporaryDirectory()
    database = try Self.open(directory.file)
    people = try database["people"]
  }

  private static func open(_ path: String) throws -> Database {
    var configuration = Database.Configuration()
    configuration.durability = .relaxed
    return try Database.open(at: path, configuration: configuration)
  }

  /// Saves documents `p000`, `p001` and so on.
  private func fill(_ count: Int) throws {
    try people.save(contentsOf: (0..<count).map { try MutableDocument(id: Self.id($0)) })
  }

  private static func id(_ number: Int) -> String {
    "p" + String(repeating: "0", count: 3 - String(number).count) + String(number)
  }

  /// A migrator that counts in each document how often it was migrated.
  private func counting(_ batchSize: Int = 1_000) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.batchSize = batchSize
    migrator.registerMigration("count", in: "people") { (document: inout MutableDocument) in
      document["n"].int = document.int("n") + 1
    }
    return migrator
  }

  /// The number of times that each document was migrated, ordered by id.
  private func counts(_ database: Database? = nil) throws -> [Int] {
    try (database ?? self.database)["people"].documents().map { $0.int("n") }
  }

  // MARK: Which, and in what order

  @Test func `migrations run once each, in order of registration`() throws {
    try fill(3)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("z", in: "people") { (document: inout MutableDocument) in
      document["trace"].string = (document["trace"].string ?? "") + "z"
    }
    migrator.registerMigration("a") { database in
      try database["people"].update("p001") { $0["trace"].string = ($0["trace"].string ?? "") + "a" }
    }
    #expect(try !migrator.hasCompletedMigrations(in: database))
    #expect(try migrator.appliedMigrations(in: database) == [])
    try migrator.migrate(database)
    migrator.registerMigration("m", in: "people") { (document: inout MutableDocument) in
      document["trace"].string = (document["trace"].string ?? "") + "m"
    }
    #expect(try !migrator.hasCompletedMigrations(in: database))
    try migrator.migrate(database)
    try migrator.migrate(database)
    #expect(try people.documents().map { $0["trace"].string } == ["zm", "zam", "zm"])
    #expect(try migrator.appliedMigrations(in: database) == ["z", "a", "m"])
    #expect(try migrator.hasCompletedMigrations(in: database))
    #expect(try database.verify().isSound)
  }

  @Test func `empty and missing collections are finished immediately, and are not created`() throws {
    var migrator = counting()
    migrator.registerMigration("none", in: "nobody") { (_: inout MutableDocument) in throw OnPurpose() }
    var seen: [MigrationProgress] = []
    try migrator.migrate(database) { seen.append($0) }
    #expect(seen.map(\.migration) == ["count", "none"] && seen.allSatisfy(\.isComplete))
    #expect(seen.map(\.totalDocuments) == [0, 0])
    #expect(try database.collectionNames == ["_default", "people"])
    try fill(1)
    try migrator.migrate(database)
    #expect(try counts() == [0])
  }

  @Test func `an unregistered migration is refused, even if it is only partly done`() throws {
    try fill(5)
    var newer = counting()
    newer.registerMigration("newer") { _ in }
    try newer.migrate(database)
    let error = refusal(.tooNew) { try counting().migrate(database) }
    #expect(error?.message.contains("newer") == true)
    #expect(try counting().hasCompletedMigrations(in: database))
    #expect(try counting().appliedMigrations(in: database) == ["count", "newer"])
    #expect(try counts() == Array(repeating: 1, count: 5))

    newer.batchSize = 2
    newer.registerMigration("half", in: "people") { (document: inout MutableDocument) in
      if document.id == "p003" { throw OnPurpose() }
      document["half"] = true
    }
    #expect(throws: OnPurpose.self) { try newer.migrate(database) }
    var older = counting()
    older.registerMigration("newer") { _ in }
    refusal(.tooNew) { try older.migrate(database) }
    #expect(try older.appliedMigrations(in: database) == ["count", "newer"])
  }

  @Test func `a migrator that cannot run is refused with advice before anything has run`() throws {
    try fill(2)
    var twice = counting()
    twice.registerMigration("count") { _ in }
    refusal(.invalidParameter) { try twice.migrate(database) }
    refusal(.invalidParameter) { _ = try twice.hasCompletedMigrations(in: database) }
    var unnamed = counting()
    unnamed.registerMigration("") { _ in }
    refusal(.invalidParameter) { try unnamed.migrate(database) }
    refusal(.invalidParameter) { try counting(0).migrate(database) }
    refusal(.busy) { try database.inBatch { try counting().migrate(database) } }
    let reader = try Database.open(at: directory.file, mode: .readOnly)
    refusal(.notWritable) { try counting().migrate(reader) }
    #expect(try !counting().hasCompletedMigrations(in: reader))
    #expect(try counts() == [0, 0] && counting().appliedMigrations(in: database) == [])
    try counting().migrate(database)
    #expect(try counting().hasCompletedMigrations(in: reader))
    refusal(.notWritable) { try counting().migrate(reader) }
    try reader.close()
    refusal(.notOpen) { _ = try counting().appliedMigrations(in: reader) }
  }

  @Test func `a migration cannot start a migration`() throws {
    try fill(1)
    let other = counting()
    var migrator = DatabaseMigrator()
    migrator.registerMigration("nested") { database in try other.migrate(database) }
    refusal(.busy) { try migrator.migrate(database) }
    #expect(try counts() == [0] && migrator.appliedMigrations(in: database) == [])
  }

  @Test func `migrating is refused if the record is unreadable or its collection was dropped`() throws {
    try fill(1)
    let home = try database.defaultCollection
    for members: [String: DocumentValue] in [
      [:], ["applied": 1, "begun": []], ["applied": ["a"], "begun": ["x"]],
      [
        "applied": [],
        "begun": [["name": "count", "collection": .init(people.identity), "documents": -1]],
      ],
      [
        "applied": [],
        "begun": [["name": "count", "collection": .init(people.identity), "documents": .init(Int.max)]],
      ],
    ] {
      try home.setLocalDocument("latewood.migrations", members)
      refusal(.corruptData) { try counting().migrate(database) }
    }
    try home.deleteLocalDocument("latewood.migrations")
    try counting().migrate(database)
    try database.dropCollection("_default")
    refusal(.notFound) { try counting().migrate(database) }
    #expect(try counts() == [1])
  }

  // MARK: Documents

  @Test func `a collection of several batches is migrated completely, with progress`() throws {
    for (batchSize, count) in [(1, 3), (3, 8), (3, 9), (3, 10), (100, 10)] {
      let database = try Database.inMemory()
      let people = try database["people"]
      try people.save(contentsOf: (0..<count).map { try MutableDocument(id: Self.id($0)) })
      var told: [MigrationProgress] = []
      try counting(batchSize).migrate(database) { told.append($0) }
      #expect(try counts(database) == Array(repeating: 1, count: count))
      let steps = stride(from: batchSize, to: count, by: batchSize) + [count]
      #expect(told.map(\.completedDocuments) == steps)
      #expect(told.allSatisfy { $0.totalDocuments == count && $0.collection == "people" })
      #expect(told.map(\.isComplete) == steps.map { $0 == count })
    }
  }

  @Test func `a document that does not change keeps its revision`() throws {
    try fill(4)
    let before = try people.documents()
    var migrator = DatabaseMigrator()
    migrator.registerMigration("some", in: "people") { (document: inout MutableDocument) in
      switch document.id {
      case "p001": document["x"] = 1
      case "p002":
        document["x"] = 1
        document["x"] = nil
      default: break
      }
    }
    try migrator.migrate(database)
    let after = try people.documents()
    #expect(zip(before, after).map { $0 == $1 } == [true, false, true, true])
    #expect(try people.lastSequence == 5)
  }

  @Test func `deleted documents are skipped, and a migration can delete documents`() throws {
    try fill(4)
    try people.delete("p000")
    let seen = Guarded<[String]>([])
    var migrator = DatabaseMigrator()
    migrator.registerMigration("delete", in: "people") { (document: inout MutableDocument) in
      let id = document.id
      seen.withLock { $0.append(id) }
      document.isDeleted = document.id == "p002"
    }
    try migrator.migrate(database)
    #expect(seen.withLock { $0 } == ["p001", "p002", "p003"])
    #expect(try people.documentIDs() == ["p001", "p003"])
    #expect(try people.documentIDs(AllDocumentsQuery(includesDeleted: true)).count == 4)
  }

  @Test func `a conflict stays, and its losing revisions do not change`() throws {
    for digest in ["aa", "bb"] {
      try people.insert(MutableDocument(id: "anna", ["from": .init(digest)]), history: ["1-\(digest)"])
    }
    try counting().migrate(database)
    let winner = try #require(try people.document("anna"))
    #expect(winner.hasConflicts && winner["from"].string == "bb" && winner.int("n") == 1)
    let others = try people.conflicts(of: "anna")
    #expect(others.map(\.revisionID) == ["1-aa"] && others.map(\.keys) == [["from"]])
    #expect(try database.verify().isSound)
  }

  @Test func `replicas that migrate alike get equal revisions, and keep separate records`() throws {
    let replica = try Database.inMemory()
    try fill(3)
    try replica["people"].save(contentsOf: (0..<3).map { try MutableDocument(id: Self.id($0)) })
    try counting().migrate(database)
    try counting(1).migrate(replica)
    #expect(try replica["people"].documents().map(\.revisionID) == people.documents().map(\.revisionID))
    #expect(try people.changes(since: 0).map(\.id) == ["p000", "p001", "p002"])
    #expect(try database.defaultCollection.changes(since: 0).isEmpty)
  }

  @Test func `a changed id or a member that cannot be stored ends the migration`() throws {
    try fill(1)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("id", in: "people") { (document: inout MutableDocument) in
      document = MutableDocument()
    }
    refusal(.invalidParameter) { try migrator.migrate(database) }
    var reserved = DatabaseMigrator()
    reserved.registerMigration("reserved", in: "people") { (document: inout MutableDocument) in
      document["_id"] = "x"
    }
    let error = refusal(.corruptRevisionData) { try reserved.migrate(database) }
    #expect(error?.message.contains("p000") == true)
    #expect(try people.document("p000")?.isEmpty == true)
  }

  // MARK: Continuing

  @Test func `after an error, earlier batches stay and the next run continues after them`() throws {
    try fill(10)
    let fails = Guarded(true)
    let database = database
    let count = counting(3)
    var migrator = DatabaseMigrator()
    migrator.batchSize = 3
    migrator.registerMigration("count", in: "people") { (document: inout MutableDocument) in
      document["n"].int = document.int("n") + 1
      if document.id == "p007", fails.withLock({ $0 }) { throw OnPurpose() }
    }
    for _ in 0..<2 {
      #expect(throws: OnPurpose.self) { try migrator.migrate(database) }
      #expect(try counts() == Array(repeating: 1, count: 6) + Array(repeating: 0, count: 4))
      #expect(try !migrator.hasCompletedMigrations(in: database))
    }
    // A separate handle, after the file was closed.
    try database.close()
    let again = try Self.open(directory.file)
    var told: [Int] = []
    try count.migrate(again) { told.append($0.completedDocuments) }
    #expect(told == [9, 10])
    #expect(try counts(again) == Array(repeating: 1, count: 10))
    try again.close()
    let last = try Self.open(directory.file)
    try count.migrate(last) { _ in Issue.record("it ran again") }
    #expect(try count.appliedMigrations(in: last) == ["count"])
    #expect(try last.verify().isSound)
  }

  @Test func `a batch that throws changes nothing, and runs again`() throws {
    let fails = Guarded(true)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("seed") { database in
      try database["settings"].save(MutableDocument(id: "theme"))
      if fails.withLock({ $0 }) { throw OnPurpose() }
    }
    #expect(throws: OnPurpose.self) { try migrator.migrate(database) }
    #expect(try database.collection("settings") == nil)
    #expect(try migrator.appliedMigrations(in: database) == [])
    fails.withLock { $0 = false }
    try migrator.migrate(database)
    #expect(try database["settings"].count == 1)
  }

  @Test func `a cancelled task keeps its batches, and the next run continues`() async throws {
    try fill(10)
    let (migrator, database) = (counting(3), database)
    let task = Task {
      try await migrator.migrate(database) { _ in withUnsafeCurrentTask { $0?.cancel() } }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try counts() == Array(repeating: 1, count: 3) + Array(repeating: 0, count: 7))
    let told = Guarded<[Int]>([])
    try await migrator.migrate(database) { state in
      told.withLock { $0.append(state.completedDocuments) }
    }
    #expect(told.withLock { $0 } == [6, 9, 10])
    #expect(try counts() == Array(repeating: 1, count: 10))
  }

  @Test func `a task cancelled inside a batch undoes that batch`() async throws {
    try fill(4)
    let database = database
    let hasBegun = DispatchSemaphore(value: 0)
    let isCancelled = DispatchSemaphore(value: 0)
    var migrator = DatabaseMigrator()
    migrator.batchSize = 2
    migrator.registerMigration("wait", in: "people") { (document: inout MutableDocument) in
      document["n"] = 1
      guard document.id == "p002" else { return }
      hasBegun.signal()
      isCancelled.wait()
    }
    let task = Task { [migrator] in try await migrator.migrate(database) }
    BackgroundThread.run {
      hasBegun.wait()
      task.cancel()
      isCancelled.signal()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try counts() == [1, 1, 0, 0])
  }

  @Test func `a new collection with the same name is migrated from its start`() throws {
    try fill(4)
    var migrator = DatabaseMigrator()
    migrator.batchSize = 2
    migrator.registerMigration("count", in: "people") { (document: inout MutableDocument) in
      document["n"].int = document.int("n") + 1
      if document.contains("bad") { throw OnPurpose() }
    }
    try people.update("p003") { $0["bad"] = true }
    #expect(throws: OnPurpose.self) { try migrator.migrate(database) }
    try database.dropCollection("people")
    let later = try database["people"]
    try later.save(contentsOf: (0..<4).map { try MutableDocument(id: Self.id($0)) })
    try migrator.migrate(database)
    #expect(try counts() == [1, 1, 1, 1])
    // Completed migrations are not repeated: the documents of a later collection are up to date.
    try database.dropCollection("people")
    try database["people"].save(MutableDocument(id: "a", ["n": 5]))
    try migrator.migrate(database)
    #expect(try counts() == [5])
  }

  // MARK: At the same time

  @Test func `threads and handles that migrate concurrently migrate each document once`() throws {
    try fill(200)
    let (migrator, file) = (counting(7), directory.file)
    let first = database
    let told = Guarded<[Int]>([])
    try Watchdog.run("migrating on four threads") {
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        do {
          let handle = number % 2 == 0 ? first : try Self.open(file)
          try migrator.migrate(handle) { state in told.withLock { $0.append(state.completedDocuments) } }
          #expect(try migrator.hasCompletedMigrations(in: handle))
        } catch { Issue.record(error) }
      }
    }
    #expect(try counts() == Array(repeating: 1, count: 200))
    #expect(told.withLock { $0.sorted() } == stride(from: 7, to: 200, by: 7) + [200])
    #expect(try migrator.appliedMigrations(in: database) == ["count"])
  }

  @Test func `documents saved ahead of a migration are migrated, and those behind it are not`() throws {
    try fill(4)
    var migrator = counting(2)
    var isFirst = true
    let people = people
    try migrator.migrate(database) { _ in
      guard isFirst else { return }
      isFirst = false
      do {
        try people.save(MutableDocument(id: "p0005"))
        try people.save(MutableDocument(id: "p0025"))
        try people.update("p003") { $0["n"] = 10 }
      } catch { Issue.record(error) }
    }
    // p000, p0005, p001, p002, p0025, p003
    #expect(try counts() == [1, 0, 1, 1, 1, 11])
    migrator.registerMigration("split", in: "people") { (document: inout MutableDocument) in
      guard document.id == "p001" else { return }
      try people.delete("p002")
      try people.save(MutableDocument(id: "p001b", ["n": 7]))
    }
    try migrator.migrate(database)
    #expect(try counts() == [1, 0, 1, 7, 1, 11])
  }

  // MARK: The article

  private struct Film1: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var price: Double
  }

  private struct Film2: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var cents: Int
  }

  /// The code of the article *Migrations*, verbatim.
  @Test func `the examples in the article behave as described`() throws {
    try people.save(MutableDocument(id: "anna", ["name": "Anna Maria Lima"]))
    try people.save(MutableDocument(id: "ben", ["first": "Ben"]))
    try people.save(MutableDocument(id: "theme", ["value": "dark"]))
    try database.collection("films", of: Film1.self).save(Film1(id: "alien", title: "Alien", price: 9.99))

    var migrator = DatabaseMigrator()

    // 1.1
    migrator.registerMigration("split name", in: "people") { (document: inout MutableDocument) in
      guard let name = document["name"].string else { return }
      let parts = name.split(separator: " ", maxSplits: 1).map(String.init)
      document["first"] = parts.first
      document["last"] = parts.dropFirst().first
      document["name"] = nil
    }

    // 1.2
    migrator.registerMigration("move theme") { database in
      guard let theme = try database["people"].document("theme") else { return }
      var settings = try database["settings"].mutableDocument("settings")
      settings["theme"] = theme["value"]
      try database["settings"].save(settings)
      try database["people"].delete("theme")
    }

    migrator.registerMigration("price in cents", in: "films", from: Film1.self) { film in
      Film2(id: film.id, title: film.title, cents: Int((film.price * 100).rounded()))
    }

    try migrator.migrate(database) { state in
      print("\(state.migration): \(state.completedDocuments) of \(state.totalDocuments)")
    }

    let anna = try #require(try people.document("anna"))
    #expect(anna["first"].string == "Anna" && anna["last"].string == "Maria Lima" && anna.count == 2)
    #expect(try people.document("ben")?.revisionID.hasPrefix("1-") == true)
    #expect(try people.documentIDs() == ["anna", "ben"])
    #expect(try database["settings"].document("settings")?["theme"].string == "dark")
    #expect(try database.collection("films", of: Film2.self)["alien"]?.cents == 999)
    let copy = directory.path + "/copy.latewood"
    try Database.copy(from: directory.file, to: copy)
    #expect(try migrator.hasCompletedMigrations(in: Database.open(at: copy)))
  }

  // MARK: Values

  private struct OldPerson: Codable, Identifiable, Sendable {
    var id: String
    var name: String
  }

  private struct NewPerson: Codable, Identifiable, Equatable, Sendable {
    var id: String
    var first: String
    var last: String?
  }

  @Test func `values of one type are migrated to another`() throws {
    let old = try database.collection("people", of: OldPerson.self)
    try old.save(contentsOf: [OldPerson(id: "a", name: "Anna Lima"), OldPerson(id: "b", name: "Ben")])
    var migrator = DatabaseMigrator()
    migrator.registerMigration("split name", in: "people", from: OldPerson.self) { old in
      let parts = old.name.split(separator: " ", maxSplits: 1).map(String.init)
      return NewPerson(id: old.id, first: parts.first ?? "", last: parts.dropFirst().first)
    }
    try migrator.migrate(database)
    let new = try database.collection("people", of: NewPerson.self)
    #expect(
      try new.all().map(\.value) == [
        NewPerson(id: "a", first: "Anna", last: "Lima"), NewPerson(id: "b", first: "Ben"),
      ])
    #expect(try people.document("a")?.keys == ["first", "id", "last"])
    let saved = try new.all()
    migrator.registerMigration("same", in: "people", from: NewPerson.self) { $0 }
    try migrator.migrate(database)
    #expect(try new.all() == saved)
    migrator.registerMigration("other id", in: "people", from: NewPerson.self) { old in
      NewPerson(id: old.id + "2", first: old.first)
    }
    refusal(.invalidParameter) { try migrator.migrate(database) }
    var wrong = migrator
    wrong = DatabaseMigrator()
    wrong.registerMigration("split name") { _ in }
    wrong.registerMigration("same") { _ in }
    wrong.registerMigration("wrong type", in: "people", from: OldPerson.self) { $0 }
    #expect(throws: DecodingError.self) { try wrong.migrate(database) }
    #expect(try new.all() == saved)
  }
}
