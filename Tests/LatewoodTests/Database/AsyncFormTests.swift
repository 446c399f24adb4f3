import Dispatch
import Foundation
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import Latewood
@testable import LatewoodDocuments

/// Every call that may wait has a form that does not block its caller. That form does the same,
/// frees its thread while it waits, and changes nothing if its task is cancelled.
@Suite struct AsyncFormTests {
  private struct Film: Codable, Identifiable, Equatable {
    var id: String
    var year: Int
    var score: Double?
  }

  /// A call, and its effect on the database.
  private struct Call: Sendable {
    let name: String
    let run: @Sendable () async throws -> Void
    init(_ name: String, _ run: @escaping @Sendable () async throws -> Void) {
      self.name = name
      self.run = run
    }
  }

  private let directory: TemporaryDirectory
  private let database: Database
  private let films: TypedCollection<Film>
  private var documents: Latewood.DocumentCollection { films.documents }

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(at: directory.file)
    films = try database.collection("films", of: Film.self)
    try films.save(contentsOf: [
      Film(id: "alien", year: 1979, score: 8.5), Film(id: "brazil", year: 1985),
      Film(id: "heat", year: 1995, score: 8.25), Film(id: "seven", year: 1995, score: 8.5),
    ])
    try documents.setLocalDocument("place", ["at": 3])
    try documents.createIndex("by year", on: ["year"])
  }

  // MARK: The same results

  @Test func `asynchronous document reads return the same as the blocking forms`() async throws {
    let alien = try #require(try await documents.document("alien"))
    #expect(try await documents.contains("alien"))
    #expect(try await !documents.contains("solaris"))
    #expect(try await films.contains("alien"))
    #expect(try await documents.mutableDocument("alien").int("year") == 1979)
    #expect(try await documents.decode(Film.self, from: "alien")?.year == 1979)
    #expect(try await documents.count(AllDocumentsQuery(from: "b")) == 3)
    #expect(try await documents.revisions(of: "alien").map(\.id) == [alien.revisionID])
    #expect(try await documents.document("alien", revision: alien.revisionID) == alien)
    let later = try #require(try await documents.update("alien") { $0["year"] = 1980 })
    #expect(try await documents.parent(of: later) == alien)
    #expect(try await documents.commonAncestor(later, alien)?.revisionID == alien.revisionID)
    let other = "2-" + String(repeating: "f", count: 40)
    try await documents.insert(MutableDocument(id: "alien"), history: [other, alien.revisionID])
    #expect(try await documents.conflicts(of: "alien").count == 1)
    let missing = try await documents.missingRevisions(
      of: "alien", among: [other, "3-" + other.dropFirst(2)])
    #expect(missing.missing.count == 1 && missing.possibleAncestors.count == 2)
    #expect(try await documents.purge("alien", leaves: [other]) == [other])
    #expect(try await documents.purge(later))
    #expect(try await !documents.purge(later))
  }

  @Test func `changes are the same as in the blocking form, and the filter runs outside the task`()
    async throws
  {
    #expect(try await documents.changes(limit: 2).map(\.id) == ["alien", "brazil"])
    #expect(try await documents.changes(descending: true).map(\.id) == ["seven", "heat", "brazil", "alien"])
    let isInTask = Guarded(false)
    let late = try await documents.changes(since: 1, FeedOptions(includesDocuments: true)) { entry in
      isInTask.withLock { $0 = $0 || withUnsafeCurrentTask { $0 != nil } }
      return entry.document?.int("year") == 1995
    }
    #expect(late.map(\.id) == ["heat", "seven"])
    #expect(!isInTask.withLock { $0 })
    #expect(try await films.changes(since: 2, limit: 1).map(\.document?.value.year) == [1995])
  }

  @Test func `queries, rows and aggregates return the same as the blocking forms`() async throws {
    let query = documents.query(Film.self).sorted { $0.year }
    #expect(try await query.page(at: 1, of: 2).map(\.id) == ["brazil", "heat"])
    #expect(try await query.documentIDs() == ["alien", "brazil", "heat", "seven"])
    #expect(try await query.explain() == blocking { try query.explain() })
    #expect(try await query.where { $0.year > 1990 }.exists())
    #expect(try await !query.where { $0.year > 2000 }.exists())
    #expect(try await query.sum { $0.year } == 7954)
    #expect(try await query.average { $0.score } == (8.5 + 8.25 + 8.5) / 3)
    #expect(try await query.min { $0.year } == 1979)
    #expect(try await query.max { $0.year } == 1995)
    #expect(try await query.min { $0.score } == 8.25)
    #expect(try await query.max { $0.score } == 8.5)
    #expect(try await query.distinct { $0.year } == [1979, 1985, 1995])
    let rows = try await query.select { ($0.id, $0.year) }.rows()
    #expect(rows.map(\.0) == ["alien", "brazil", "heat", "seven"] && rows[2].1 == 1995)
    #expect(try await query.select { $0.year }.rows() == [1979, 1985, 1995, 1995])
    let years = query.select { $0.year }
    #expect(try await years.explain() == blocking { try years.explain() })
    let groups = query.grouped { $0.year }
    #expect(try await groups.count() == [1979: 1, 1985: 1, 1995: 2])
    #expect(try await groups.sum { $0.year } == [1979: 1979, 1985: 1985, 1995: 3990])
    #expect(try await groups.average { $0.score } == [1979: 8.5, 1995: 8.375])
    #expect(try await groups.min { $0.id } == [1979: "alien", 1985: "brazil", 1995: "heat"])
    #expect(try await groups.max { $0.id } == [1979: "alien", 1985: "brazil", 1995: "seven"])
    let sql = try database.query("SELECT id FROM films WHERE year = 1985")
    #expect(try await sql.explain().indexes == ["by year"])
    // A field that is not stored is an error of the run.
    await #expect(throws: DatabaseError.self) { try await query.sum { $0.year.hashValue } }
  }

  @Test func `indexes are created and dropped, and a cancelled build leaves none`() async throws {
    let steps = Guarded<[IndexBuildProgress]>([])
    try await documents.createIndex(
      "by score", on: ["score"], progress: { step in steps.withLock { $0.append(step) } })
    #expect(steps.withLock { $0.last?.completed } == 4)
    try await documents.createIndex(
      "both", of: Film.self, where: { $0.year > 1980 }, on: { ($0.year, $0.score) })
    try await films.createIndex("by id", unique: true) { $0.id }
    #expect(try documents.indexes.map(\.name) == ["both", "by id", "by score", "by year"])
    #expect(try documents.indexes.map(\.count) == [3, 4, 4, 4])
    #expect(try await documents.dropIndex("both"))
    #expect(try await !documents.dropIndex("both"))
    await #expect(throws: OnPurpose.self) {
      try await documents.createIndex("never", on: ["id"], progress: { _ in throw OnPurpose() })
    }
    #expect(try documents.indexes.map(\.name) == ["by id", "by score", "by year"])
  }

  @Test func `expiry and local documents work as in the blocking forms`() async throws {
    let date = Date(timeIntervalSince1970: 40_000_000_000)
    try await documents.setExpiration(of: "heat", date)
    #expect(try await documents.expiration(of: "heat") == date)
    try await documents.expire("alien", after: .seconds(1_000_000))
    #expect(try await documents.expirations().map(\.id) == ["alien", "heat"])
    #expect(try await documents.expirations(before: date).map(\.id) == ["alien"])
    try await documents.setExpiration(of: "heat", nil)
    #expect(try await documents.expiration(of: "heat") == nil)
    try await films.expire("brazil", after: .seconds(1_000_000))
    try await films.setExpiration(of: "heat", date)
    #expect(try await films.expiration(of: "heat") == date)
    #expect(try await films.expirations(before: date).map(\.documentID).sorted() == ["alien", "brazil"])
    #expect(try await films.expirations().map(\.documentID).last == "heat")
    try await documents.setLocalDocument("note", ["text": "hello"])
    #expect(try await documents.localDocument("note")?["text"] == "hello")
    #expect(try await documents.deleteLocalDocument("note"))
    #expect(try await !documents.deleteLocalDocument("note"))
    #expect(try await documents.localDocument("note") == nil)
  }

  @Test func `collections are created once and dropped`() async throws {
    let notes = try await database.createCollection("notes")
    try await notes.save(MutableDocument(id: "a"))
    #expect(try await database.createCollection("notes").identity == notes.identity)
    #expect(try await database.dropCollection("notes"))
    #expect(try await !database.dropCollection("notes"))
    #expect(try database.collectionNames == ["_default", "films"])
    await #expect(throws: DatabaseError.self) { try await notes.count(AllDocumentsQuery()) }
    #expect(try await database.createCollection("notes").identity != notes.identity)
    try await database.setRevisionDepth(3)
    #expect(database.revisionDepth == 3)
    try await database.sync()
    #expect(try await database.statistics().fileSize > 0)
    try await database.close()
    let reader = try await Database.open(at: directory.file, mode: .readOnly)
    #expect(try await reader.createCollection("notes").name == "notes")
    await #expect(throws: DatabaseError.self) { try await reader.createCollection("others") }
    try await reader.close()
  }

  @Test func `a blob is written and read in pieces`() async throws {
    let output = try await database.makeBlobWriter(contentType: "text/plain")
    let piece = Data(repeating: 7, count: 700_000)
    for _ in 0..<3 { try await output.write(piece) }
    let blob = try await output.finish()
    #expect(blob.length == 2_100_000 && blob.contentType == "text/plain")
    #expect(try await database.hasContent(of: blob))
    let content = try await database.content(of: blob)
    #expect(try await content.data() == piece + piece + piece)
    #expect(try await content.data(in: 2_099_999..<3_000_000) == Data([7]))
  }

  @MainActor @Test func `the main actor can write a blob in pieces`() async throws {
    let output = try await database.makeBlobWriter()
    try await output.write(Data("ab".utf8))
    try await output.write(Data("c".utf8))
    let blob = try await output.finish()
    #expect(try await database.content(of: blob).data() == Data("abc".utf8))
  }

  @Test func `databases are found, copied, closed and deleted`() async throws {
    let copy = directory.path + "/copy.latewood"
    try await Database.copy(from: directory.file, to: copy)
    #expect(try await Database.exists(at: copy))
    let files = DatabaseDirectory(path: directory.path)
    #expect(try await files.names() == ["copy", "test"])
    try await documents.delete("alien")
    try await Database.replace(at: copy, with: directory.file)
    #expect(try await files.existing("copy")?.collection("films")?.count == 3)
    try await documents.save(["year": 1979], as: "alien")
    try await files.replace("copy", with: directory.file)
    #expect(try await files.exists("copy"))
    let opened = try #require(try await files.existing("copy"))
    #expect(try opened.collection("films")?.count == 4)
    // Closing is idempotent.
    try await opened.close()
    try await opened.close()
    #expect(try await files.delete("copy"))
    #expect(try await !Database.delete(at: copy))
    #expect(try await Database.existing(at: copy) == nil)
    try await database.delete()
    #expect(try await files.names() == [])
  }

  // MARK: Threads

  /// An executor with one thread, which runs its jobs in their order.
  private final class OneThread: TaskExecutor {
    private let queue = DispatchQueue(label: "latewood.tests.executor")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// Returns whether the thread of a call's task is free while the call cannot end. The call cannot
  /// end because the queues stand still and, with `isWriting`, because another batch is running.
  private func isFree(_ call: Call, isWriting: Bool = false) async throws -> Bool {
    let database = database
    let go = DispatchSemaphore(value: 0)
    let (starts, started) = AsyncStream.makeStream(of: Void.self)
    let other = Task {
      guard isWriting else { return started.finish() }
      try await database.inBatch {
        started.finish()
        // A call that blocks holds up the next job, which then runs late, but does run.
        _ = go.wait(timeout: .now() + .seconds(20))
      }
    }
    for await _ in starts {}
    let queues = [Database.fileQueue, database.documents.queue]
    for queue in queues { queue.suspend() }
    let (thread, hasEnded) = (OneThread(), Guarded(false))
    let task = Task(executorPreference: thread) {
      defer { hasEnded.withLock { $0 = true } }
      try await call.run()
    }
    let isFree = await Task(executorPreference: thread) { !hasEnded.withLock { $0 } }.value
    for queue in queues { queue.resume() }
    go.signal()
    try await other.value
    try await task.value
    return isFree
  }

  private var reads: [Call] {
    let (database, films, documents) = (database, films, documents)
    let query = documents.query(Film.self)
    let groups = query.grouped { $0.year }
    let migrator = DatabaseMigrator()
    return [
      Call("contains") { _ = try await documents.contains("alien") },
      Call("contains of values") { _ = try await films.contains("alien") },
      Call("mutableDocument") { _ = try await documents.mutableDocument("alien") },
      Call("decode") { _ = try await documents.decode(Film.self, from: "alien") },
      Call("count of ids") { _ = try await documents.count(AllDocumentsQuery()) },
      Call("revisions") { _ = try await documents.revisions(of: "alien") },
      Call("document of a revision") {
        _ = try await documents.document("alien", revision: "1-" + String(repeating: "a", count: 40))
      },
      Call("conflicts") { _ = try await documents.conflicts(of: "alien") },
      Call("missingRevisions") { _ = try await documents.missingRevisions(of: "alien", among: []) },
      Call("changes") { _ = try await documents.changes() },
      Call("changes of values") { _ = try await films.changes() },
      Call("expirations") { _ = try await documents.expirations() },
      Call("expirations of values") { _ = try await films.expirations() },
      Call("expiration of a value") { _ = try await films.expiration(of: "alien") },
      Call("appliedMigrations") { _ = try await migrator.appliedMigrations(in: database) },
      Call("hasCompletedMigrations") { _ = try await migrator.hasCompletedMigrations(in: database) },
      Call("expiration") { _ = try await documents.expiration(of: "alien") },
      Call("localDocument") { _ = try await documents.localDocument("place") },
      Call("page") { _ = try await query.page(at: 0, of: 1) },
      Call("documentIDs") { _ = try await query.documentIDs() },
      Call("explain") { _ = try await query.explain() },
      Call("exists") { _ = try await query.exists() },
      Call("sum") { _ = try await query.sum { $0.year } },
      Call("average") { _ = try await query.average { $0.year } },
      Call("min") { _ = try await query.min { $0.year } },
      Call("max") { _ = try await query.max { $0.year } },
      Call("min of an optional") { _ = try await query.min { $0.score } },
      Call("max of an optional") { _ = try await query.max { $0.score } },
      Call("distinct") { _ = try await query.distinct { $0.year } },
      Call("rows") { _ = try await query.select { ($0.id, $0.year) }.rows() },
      Call("explain of rows") { _ = try await query.select { $0.id }.explain() },
      Call("count of groups") { _ = try await groups.count() },
      Call("sum of groups") { _ = try await groups.sum { $0.year } },
      Call("average of groups") { _ = try await groups.average { $0.year } },
      Call("min of groups") { _ = try await groups.min { $0.year } },
      Call("max of groups") { _ = try await groups.max { $0.year } },
      Call("explain of SQL") { _ = try await database.query("SELECT id FROM films").explain() },
      Call("statistics") { _ = try await database.statistics() },
      Call("sync") { try await database.sync() },
    ]
  }

  private var writes: [Call] {
    let (database, films, documents) = (database, films, documents)
    return [
      Call("setExpiration") { try await documents.setExpiration(of: "heat", .distantFuture) },
      Call("expire") { try await documents.expire("heat", after: .seconds(100_000)) },
      Call("setExpiration of a value") { try await films.setExpiration(of: "heat", .distantFuture) },
      Call("expire a value") { try await films.expire("heat", after: .seconds(100_000)) },
      Call("setLocalDocument") { try await documents.setLocalDocument("place", ["at": 4]) },
      Call("deleteLocalDocument") { try await documents.deleteLocalDocument("place") },
      Call("purge of leaves") { try await documents.purge("seven", leaves: [String]()) },
      Call("createIndex") { try await documents.createIndex("by id", on: ["id"]) },
      Call("createIndex of a type") {
        try await documents.createIndex("by id", of: Film.self) { $0.id }
      },
      Call("createIndex of values") { try await films.createIndex("by id") { $0.id } },
      Call("dropIndex") { try await documents.dropIndex("by year") },
      Call("prune") { try await database.prune(keeping: 1) },
      Call("setRevisionDepth") { try await database.setRevisionDepth(7) },
      Call("createCollection") { _ = try await database.createCollection("notes") },
      Call("dropCollection") { try await database.dropCollection("films") },
    ]
  }

  private var upkeep: [Call] {
    let (database, path) = (database, directory.path)
    return [
      Call("exists") { _ = try await Database.exists(at: path) },
      Call("existing") { _ = try await Database.existing(at: path + "/none") },
      Call("names") { _ = try await DatabaseDirectory(path: path).names() },
      Call("copy") { try await Database.copy(from: path + "/test.latewood", to: path + "/copy.latewood") },
      Call("replace") {
        try await Database.replace(at: path + "/copy.latewood", with: path + "/test.latewood")
      },
      Call("replace by name") {
        try await DatabaseDirectory(path: path).replace("copy", with: path + "/test.latewood")
      },
      Call("delete of a path") { try await Database.delete(at: path + "/copy.latewood") },
      Call("delete") { try await database.delete() },
    ]
  }

  @Test func `each call releases its thread while it waits`() async throws {
    for call in reads { #expect(try await isFree(call), "\(call.name)") }
    for call in writes.dropLast() { #expect(try await isFree(call, isWriting: true), "\(call.name)") }
    for call in upkeep.dropLast() { #expect(try await isFree(call), "\(call.name)") }
    let close = Call("close") { [database] in try await database.close() }
    #expect(try await isFree(close))
  }

  @Test func `calls for pieces of a blob release their thread`() async throws {
    let database = database
    let blob = try await database.saveBlob(Data("abc".utf8))
    let content = try await database.content(of: blob)
    for call in [
      Call("makeBlobWriter") { _ = try await database.makeBlobWriter() },
      Call("write") {
        let output = try blocking { try database.makeBlobWriter() }
        try await output.write(Data("abc".utf8))
      },
      Call("finish") {
        let output = try blocking { try database.makeBlobWriter() }
        _ = try await output.finish()
      },
      Call("content") { _ = try await database.content(of: blob) },
      Call("hasContent") { _ = try await database.hasContent(of: blob) },
      Call("data") { _ = try await content.data() },
      Call("data of a range") { _ = try await content.data(in: 0..<2) },
    ] {
      #expect(try await isFree(call), "\(call.name)")
    }
  }

  // MARK: Cancelling

  /// The state that the calls above would change.
  private func state() throws -> [String] {
    try database.collectionNames + documents.indexes.map(\.name) + documents.localDocumentNames
      + documents.expirations().map(\.id) + [
        "\(database.revisionDepth)", "\(documents.lastSequence)",
        documents.localDocument("place").map { "\($0)" } ?? "none",
      ]
  }

  @Test func `a call from a cancelled task does nothing and throws a cancellation error`() async throws {
    let before = try state()
    for call in reads + writes + upkeep {
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await call.run()
      }
      task.cancel()
      await #expect(throws: CancellationError.self, "\(call.name)") { try await task.value }
      #expect(try state() == before, "\(call.name)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).contains("test.latewood"))
    }
    #expect(try await database.verify().isSound)
  }

  @Test func `a change cancelled while waiting for another writer is not made`() async throws {
    let before = try state()
    for call in writes {
      let (starts, started) = AsyncStream.makeStream(of: Void.self)
      let go = DispatchSemaphore(value: 0)
      let database = database
      let other = Task {
        try await database.inBatch {
          started.yield()
          go.wait()
        }
      }
      for await _ in starts { break }
      let task = Task { try await call.run() }
      task.cancel()
      go.signal()
      try await other.value
      await #expect(throws: CancellationError.self, "\(call.name)") { try await task.value }
      #expect(try state() == before, "\(call.name)")
    }
  }

  @Test func `a blob piece whose write is cancelled is not written, and can be written again`() async throws {
    let database = database
    let task = Task {
      let output = try await database.makeBlobWriter()
      try await output.write(Data("a".utf8))
      withUnsafeCurrentTask { $0?.cancel() }
      for _ in 0..<2 {
        do {
          try await output.write(Data("b".utf8))
          Issue.record("a cancelled task has written")
        } catch is CancellationError {}
      }
      do {
        _ = try await output.finish()
        Issue.record("a cancelled task has ended a blob")
      } catch is CancellationError {}
      return try blocking { try output.finish() }
    }
    let blob = try await task.value
    #expect(try await database.content(of: blob).data() == Data("a".utf8))
  }

  @Test func `a cancelled task can still close a database`() async throws {
    let database = database
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await database.close()
    }
    task.cancel()
    try await task.value
    await #expect(throws: DatabaseError.self) { try await database.sync() }
  }
}

/// Runs the blocking forms of calls in an async function.
func blocking<R>(_ body: () throws -> R) throws -> R { try body() }
