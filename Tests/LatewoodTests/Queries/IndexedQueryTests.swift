import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// Swift queries with indexes: built, used, explained.
@Suite struct IndexedQueryTests {
  struct Movie: Codable, Sendable, Equatable {
    var title: String
    var year: Int
    var cast: [String]
  }

  private let database: Database
  private let movies: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    movies = try database.createCollection("movies")
    let movies = movies
    try database.inBatch {
      for number in 0..<500 {
        let movie = Movie(
          title: "Movie \(1000 + number)", year: 1950 + number % 50,
          cast: ["Actor \(number % 30)", "Actor \(number % 7)"])
        try movies.save(movie, as: "movie \(number)")
      }
    }
  }

  @Test func `a query that uses an index finds the same documents`() throws {
    let query = movies.query(Movie.self)
      .where { $0.year >= 1990 && $0.year < 1992 }
      .sorted { ($0.year.descending, $0.title) }
    let before = (try query.all(), try query.count(), try query.page(at: 5, of: 4))
    let scan = try query.explain()
    #expect(scan.indexes.isEmpty && scan.candidates == 500)
    let suggestion = try #require(scan.suggestion)
    #expect(suggestion == "year:desc,title")
    #expect(
      "\(scan)" == "all documents: 500; then filtered; then sorted; an index on year:desc,title would help")
    try movies.createIndex("by year", of: Movie.self) { ($0.year.descending, $0.title) }
    let plan = try query.explain()
    #expect(plan.indexes == ["by year"] && plan.candidates == 20 && !plan.filters && !plan.sorts)
    #expect("\(plan)" == "index \"by year\": 20 entries in 1 range")
    #expect(try query.all() == before.0 && query.count() == before.1 && query.page(at: 5, of: 4) == before.2)
  }

  @Test func `array elements, conditions and text paths can define indexes`() throws {
    let found = movies.query(Movie.self).where { $0.cast.contains("Actor 12") }
    let before = try found.all()
    #expect(!before.isEmpty)
    try movies.createIndex("by actor", of: Movie.self) { $0.cast.each }
    #expect(try found.explain().indexes == ["by actor"])
    #expect(try found.all() == before && found.count() == before.count)
    try movies.createIndex("new", on: ["title"], where: { $0["year"] >= 1990 })
    let new = movies.query(Movie.self).where { $0.year >= 1990 && $0.title == "Movie 1040" }
    #expect(try new.explain().indexes == ["new"])
    #expect(try new.documentIDs() == ["movie 40"])
    #expect(try movies.query(Movie.self).where { $0.title == "Movie 1040" }.explain().indexes.isEmpty)
    let list = try movies.indexes
    #expect(list.map(\.name) == ["by actor", "new"])
    #expect(list[0].fields == ["cast[]"] && list[1].isPartial && !list[1].isUnique && list[1].isReady)
    #expect(list[1].count == 100)
    #expect(try movies.dropIndex("new") && !movies.dropIndex("new"))
    #expect(try movies.indexes.count == 1)
  }

  @Test func `the field that a plan suggests can be used to create the index`() throws {
    let found = movies.query().where { $0["cast"].contains("Actor 12") }
    let before = try found.documentIDs()
    #expect(try found.explain().suggestion == "cast[]")
    try movies.createIndex("by actor", on: ["cast[]"])
    #expect(try movies.indexes.map(\.fields) == [["cast[]"]])
    #expect(try found.explain().indexes == ["by actor"] && found.documentIDs() == before)
    refusal(.invalidParameter) { try movies.createIndex("none", on: ["[]"]) }
    refusal(.invalidParameter) { try movies.createIndex("twice", on: ["cast[][]"]) }
  }

  @Test func `a unique index refuses existing duplicates`() throws {
    try movies.createIndex("title", on: ["title"], unique: true)
    let error = refusal(.notUnique) {
      try movies.save(Movie(title: "Movie 1007", year: 1, cast: []), as: "other")
    }
    #expect(error?.message.contains("movie 7") == true)
    #expect(try movies.count == 500)
    refusal(.notUnique) { try movies.createIndex("year", on: ["year"], unique: true) }
    refusal(.conflict) { try movies.createIndex("title", on: ["title"]) }
    refusal(.invalidParameter) { try movies.createIndex("bad", on: ["a..b"]) }
    refusal(.invalidParameter) { try movies.createIndex("none", on: []) }
    refusal(.invalidParameter) { try movies.createIndex("", on: ["a"]) }
    #expect(try movies.indexes.map(\.name) == ["title"])
  }

  @Test func `creating an index can be cancelled`() async throws {
    let movies = movies
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await movies.createIndex("year", on: ["year"])
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try movies.indexes.isEmpty)
    try await movies.createIndex("year", on: [.descending("year")])
    #expect(try movies.indexes.map(\.fields) == [["year:desc"]])
  }

  @Test func `other handles of the file maintain the indexes and use them`() throws {
    let directory = try TemporaryDirectory()
    let first = try Database.open(at: directory.file)
    let second = try Database.open(at: directory.file)
    let (one, other) = (try first.createCollection("films"), try second.createCollection("films"))
    for year in 1900..<1920 { try one.save(Movie(title: "", year: year, cast: []), as: "\(year)") }
    try one.createIndex("year", on: ["year"])
    try other.save(Movie(title: "Ran", year: 1985, cast: []), as: "ran")
    let query = one.query(Movie.self).where { $0.year == 1985 }
    #expect(try query.explain().indexes == ["year"] && query.count() == 1)
    try other.dropIndex("year")
    try other.save(Movie(title: "Brazil", year: 1985, cast: []), as: "brazil")
    #expect(try query.explain().indexes.isEmpty && query.count() == 2)
    try first.close()
    try second.close()
    let third = try Database.open(at: directory.file)
    #expect(try third.createCollection("films").indexes.isEmpty)
    try third.close()
  }
}
