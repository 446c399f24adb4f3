import Foundation
import Latewood
import Testing

/// Forms of queries that read like Swift, compared with filtering an array of the same values.
@Suite struct QueryFormTests {
  struct Place: Codable, Sendable, Equatable {
    var latitude: Double
    var height: Double?
  }
  struct Job: Codable, Sendable, Equatable, Identifiable {
    var id: Int
    var isDone: Bool
    var tags: [String]
    var planned: Int
    var spent: Int
    var due: Int?
    var start: Int?
    var place: Place?
  }

  private static let jobs: [Job] = (0..<48).map { number in
    Job(
      id: number, isDone: number.isMultiple(of: 2), tags: Array(["a", "b", "c", "d"].prefix(number % 5)),
      planned: number % 7, spent: number % 4, due: number % 3 == 0 ? nil : number % 5,
      start: number % 4 == 0 ? nil : number % 6,
      place: number % 3 == 1
        ? nil : Place(latitude: Double(number), height: number % 4 == 2 ? nil : Double(number % 9)))
  }

  private let jobs: TypedCollection<Job>

  init() throws {
    jobs = try Database.inMemory().collection("jobs", of: Job.self)
    try jobs.save(contentsOf: Self.jobs)
  }

  private func expect(
    _ query: Query<Stored<Job>>, _ condition: (Job) -> Bool, at location: SourceLocation = #_sourceLocation
  ) throws {
    let expected = Self.jobs.filter(condition)
    #expect(!expected.isEmpty, sourceLocation: location)
    let found = try query.all().map(\.value).sorted { $0.id < $1.id }
    #expect(found == expected, sourceLocation: location)
    #expect(try query.count() == expected.count, sourceLocation: location)
  }

  @Test func `the number of elements can be compared`() throws {
    let query = jobs.query()
    for number in -1...5 {
      let counts: [((QueryDocument<Stored<Job>>) -> QueryCondition, (Int) -> Bool)] = [
        ({ $0.tags.count == number }, { $0 == number }),
        ({ $0.tags.count != number }, { $0 != number }),
        ({ $0.tags.count < number }, { $0 < number }),
        ({ $0.tags.count <= number }, { $0 <= number }),
        ({ $0.tags.count > number }, { $0 > number }),
        ({ $0.tags.count >= number }, { $0 >= number }),
      ]
      for (place, (condition, isExpected)) in counts.enumerated() {
        let found = Set(try query.where(condition).all().map(\.value.id))
        let expected = Set(Self.jobs.filter { isExpected($0.tags.count) }.map(\.id))
        #expect(found == expected, "comparison \(place) with \(number)")
      }
    }
    for extreme in [Int.min, Int.max] {
      #expect(try query.where { $0.tags.count > extreme }.count() == (extreme < 0 ? 48 : 0))
      #expect(try query.where { $0.tags.count <= extreme }.count() == (extreme < 0 ? 0 : 48))
      #expect(try query.where { $0.tags.count >= extreme }.count() == (extreme < 0 ? 48 : 0))
      #expect(try query.where { $0.tags.count < extreme }.count() == (extreme < 0 ? 0 : 48))
    }
  }

  @Test func `a condition can require an empty array`() throws {
    try expect(jobs.query().where { $0.tags.isEmpty }) { $0.tags.isEmpty }
    try expect(jobs.query().where { $0.tags.isEmpty == false }) { !$0.tags.isEmpty }
    try expect(jobs.query().where { !$0.tags.isEmpty && $0.tags.count < 3 }) {
      !$0.tags.isEmpty && $0.tags.count < 3
    }
    // An object with a number as a key is not an array.
    let documents = jobs.documents
    try documents.save(MutableDocument(id: "object", ["tags": ["0": 1, "1": 2, "2": 3]]))
    #expect(try documents.query(Job.self).where { $0.tags.count > 0 }.count() == 38)
    #expect(try documents.query(Job.self).where { $0.tags.count < 9 }.count() == 48)
  }

  @Test func `the number of characters is Swift's`() throws {
    let names = try Database.inMemory().createCollection("names")
    let texts = ["", "Ann", "Élan", "e\u{301}tude", "👩‍👩‍👧", "a long name"]
    for (number, text) in texts.enumerated() {
      try names.save(MutableDocument(id: "\(number)", ["tags": [], "code": DocumentValue(text)]))
    }
    struct Name: Codable, Sendable { var code: String }
    let query = names.query(Name.self)
    for number in 0...12 {
      #expect(try query.where { $0.code.count > number }.count() == texts.count { $0.count > number })
      #expect(try query.where { $0.code.count == number }.count() == texts.count { $0.count == number })
    }
    #expect(try query.where { $0.code.isEmpty }.count() == 1)
    try names.createIndex("by code", of: Name.self) { $0.code }
    #expect(try query.where { $0.code.count == 4 && $0.code > "B" }.count() == 1)
  }

  struct Odd: Codable, Sendable {
    var range: ClosedRange<Int>
    var table: [String: Int]
    var bytes: Data
  }

  @Test func `a value that is not stored as an array cannot be counted`() throws {
    let odd = try Database.inMemory().createCollection("odd").query(Odd.self)
    for query in [
      odd.where { $0.range.count > 1 }, odd.where { $0.range.contains(2) }, odd.where { $0.table.isEmpty },
      odd.where { $0.bytes.count == 0 },
    ] {
      let error = #expect(throws: DatabaseError.self) { try query.all() }
      #expect(error?.code == .invalidParameter && error?.advice.contains("whole value") == true)
    }
  }

  @Test func `a Boolean member is a condition`() throws {
    try expect(jobs.query().where { $0.isDone }) { $0.isDone }
    try expect(jobs.query().where { !$0.isDone }) { !$0.isDone }
    try expect(jobs.query().where { $0.isDone && $0.spent > 1 }) { $0.isDone && $0.spent > 1 }
    try expect(jobs.query().where { $0.spent > 1 || $0.isDone }) { $0.spent > 1 || $0.isDone }
    try expect(jobs.query().where { $0.isDone || $0.isDone && !$0.isDone }) { $0.isDone }
  }

  @Test func `members of optional members can be compared`() throws {
    try expect(jobs.query().where { $0.place.latitude > 3.5 }) { $0.place.map { $0.latitude > 3.5 } ?? false }
    try expect(jobs.query().where { $0.place.height > 3.5 }) { $0.place?.height.map { $0 > 3.5 } ?? false }
    try expect(jobs.query().where { $0.place.height == nil }) { $0.place?.height == nil }
    let heights = try jobs.query().sorted { $0.documentID }.select { $0.place.height }.rows()
    #expect(heights == Self.jobs.sorted { "\($0.id)" < "\($1.id)" }.map { $0.place?.height })
  }

  @Test func `two members can be compared with each other`() throws {
    try expect(jobs.query().where { $0.planned > $0.spent }) { $0.planned > $0.spent }
    try expect(jobs.query().where { $0.planned <= $0.spent }) { $0.planned <= $0.spent }
    try expect(jobs.query().where { $0.planned == $0.spent }) { $0.planned == $0.spent }
    try expect(jobs.query().where { $0.planned != $0.spent && $0.spent >= $0.planned }) {
      $0.spent > $0.planned
    }
    try expect(jobs.query().where { !($0.planned < $0.spent) }) { $0.planned >= $0.spent }
    try expect(jobs.query().where { $0.due == $0.start }) { $0.due == $0.start }
    try expect(jobs.query().where { $0.due != $0.start }) { $0.due != $0.start }
    try expect(jobs.query().where { $0.due < $0.start }) { job in
      job.due.flatMap { due in job.start.map { due < $0 } } ?? false
    }
    try expect(jobs.query().where { $0["planned"] > $0["spent"] }) { $0.planned > $0.spent }
    // Also beside a condition that an index finds, and never in an index.
    try jobs.createIndex("by planned") { $0.planned }
    try expect(jobs.query().where { $0.planned == 2 && $0.spent < $0.planned }) {
      $0.planned == 2 && $0.spent < $0.planned
    }
    let error = #expect(throws: DatabaseError.self) {
      try jobs.createIndex("wrong", where: { $0.planned < $0.spent }, on: { $0.due })
    }
    #expect(error?.code == .invalidParameter)
  }

  @Test func `the maximum of an optional member of each group has its type`() async throws {
    let greatest: [Bool: Int] = try await jobs.query().grouped { $0.isDone }.max { $0.due }
    #expect(greatest == [true: 4, false: 4])
    let least: [Bool: Int] = try await jobs.query().grouped { $0.isDone }.min { $0.due }
    #expect(least == [true: 0, false: 0])
  }

  @Test(arguments: [true, false]) func `an order can be chosen at run time`(isAscending: Bool) throws {
    let query = jobs.query().sorted { isAscending ? $0.planned.ascending : $0.id.descending }
    let ids = Self.jobs.sorted {
      isAscending ? ($0.planned, "\($0.id)") < ($1.planned, "\($1.id)") : $0.id > $1.id
    }
    #expect(try query.all().map(\.value.id) == ids.map(\.id))
    let listed = try jobs.query().sorted { job in [job.spent.ascending, job.id.descending] }.all()
    let expected = Self.jobs.sorted { ($0.spent, -$0.id) < ($1.spent, -$1.id) }
    #expect(listed.map(\.value.id) == expected.map(\.id))
  }

  @Test func `the number of results is a property, as for a collection`() async throws {
    let count = try await jobs.query().where { $0.isDone }.count
    #expect(count == 24)
  }

  private func folder() throws -> URL {
    let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "url test \(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  @Test func `a file can be named by its URL`() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "é 1.latewood")
    let database = try Database.open(at: file)
    #expect(try Database.exists(at: file) && FileManager.default.fileExists(atPath: file.path))
    try database.backup(to: folder.appending(path: "backup.latewood"))
    try database.close()
    try Database.copy(from: file, to: folder.appending(path: "copy.latewood"))
    try Database.replace(at: folder.appending(path: "copy.latewood"), with: file)
    #expect(try DatabaseDirectory(url: folder).names().contains("backup"))
    #expect(try Database.delete(at: file) && Database.existing(at: file) == nil)
    let page = try #require(URL(string: "https://example.org/a.latewood"))
    let error = #expect(throws: DatabaseError.self) { try Database.exists(at: page) }
    #expect(error?.code == .invalidParameter)
  }

  @Test func `a file can be named by its URL without blocking`() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let (file, copy) = (folder.appending(path: "a.latewood"), folder.appending(path: "b.latewood"))
    let database = try await Database.open(at: file)
    try await database.backup(to: folder.appending(path: "backup.latewood"))
    try await database.close()
    try await Database.copy(from: file, to: copy)
    try await Database.replace(at: copy, with: file)
    let existing = try await Database.existing(at: copy)
    try await existing?.close()
    let isDeleted = try await Database.delete(at: copy)
    let isThere = try await Database.exists(at: copy)
    #expect(existing != nil && isDeleted && !isThere)
  }
}
