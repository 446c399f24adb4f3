import Foundation
import Latewood
import Testing

/// Queries of a collection in Swift, compared with filtering an array of the same values.
@Suite struct QueryTests {
  struct Movie: Codable, Sendable, Equatable {
    struct Studio: Codable, Sendable, Equatable {
      var name: String
      var city: String?
    }
    enum Rating: String, Codable, CaseIterable { case low, high }

    var title: String
    var year: Int
    var cast: [String]
    var score: Double?
    var studio: Studio?
    var rating = Rating.low
    var released = Date(timeIntervalSince1970: 0)
  }

  private static let movies = [
    Movie(title: "Alien", year: 1979, cast: ["Sigourney Weaver", "John Hurt"], score: 8.5, rating: .high),
    Movie(
      title: "Blade Runner", year: 1982, cast: ["Harrison Ford"], score: 8.1,
      studio: .init(name: "Ladd", city: "Burbank"), rating: .high),
    Movie(title: "Brazil", year: 1985, cast: [], studio: .init(name: "Embassy")),
    Movie(title: "Star Wars", year: 1977, cast: ["Harrison Ford", "Carrie Fisher"], score: 8.6),
    Movie(title: "Élan", year: 1985, cast: ["Nobody"], released: Date(timeIntervalSince1970: 86_400)),
  ]

  private let database: Database
  private let collection: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    collection = try database.createCollection("movies")
    for movie in Self.movies { try collection.save(movie, as: movie.title.lowercased()) }
  }

  private var query: Query<Movie> { collection.query(Movie.self) }

  private func titles(_ condition: (QueryDocument<Movie>) -> QueryCondition) throws -> [String] {
    try query.where(condition).all().map(\.title)
  }

  private func expected(_ condition: (Movie) -> Bool) -> [String] {
    Self.movies.filter(condition).map(\.title)
  }

  @Test func `comparisons match Swift's`() throws {
    #expect(try titles { $0.year >= 1980 } == expected { $0.year >= 1980 })
    #expect(try titles { $0.year < 1980 || $0.title == "Brazil" } == ["Alien", "Brazil", "Star Wars"])
    #expect(try titles { !($0.year == 1985) && $0.score > 8.2 } == ["Alien", "Star Wars"])
    #expect(try titles { $0.score == nil } == expected { $0.score == nil })
    #expect(try titles { $0.score != nil } == expected { $0.score != nil })
    #expect(try titles { $0.score != 8.5 } == expected { $0.score != 8.5 })
    #expect(try titles { $0.year.isIn([1977, 1979]) } == ["Alien", "Star Wars"])
    #expect(try titles { $0.year.isIn(1979...1982) } == expected { (1979...1982).contains($0.year) })
    #expect(try titles { $0.year.isIn(1979..<1982) } == expected { (1979..<1982).contains($0.year) })
    #expect(try titles { $0.rating == .high } == expected { $0.rating == .high })
    #expect(try titles { $0.released == Date(timeIntervalSince1970: 86_400) } == ["Élan"])
  }

  @Test func `nested members, strings and arrays can be queried`() throws {
    #expect(try titles { $0.studio.name == "Embassy" } == ["Brazil"])
    #expect(try titles { $0.studio.city == nil && $0.studio != nil as Movie.Studio? } == ["Brazil"])
    #expect(try titles { $0.title.hasPrefix("B") } == ["Blade Runner", "Brazil"])
    #expect(try titles { $0.title.matches("^.l") } == ["Alien", "Blade Runner", "Élan"])
    #expect(try titles { $0.cast.contains("Harrison Ford") } == ["Blade Runner", "Star Wars"])
    #expect(try titles { $0.cast.contains { $0.hasPrefix("John") } } == ["Alien"])
    #expect(try titles { $0.cast.allSatisfy { $0.hasPrefix("Har") } } == ["Blade Runner"])
    #expect(try titles { $0.cast.hasCount(0) } == ["Brazil"])
    #expect(try titles { $0.documentID < "b" } == ["Alien"])
    #expect(try titles { $0.revisionID.hasPrefix("1-") }.count == 5)
  }

  @Test func `sorting, pages and limits match an array's`() throws {
    let sorted = query.sorted { ($0.year.descending, $0.title) }
    #expect(try sorted.all().map(\.title) == ["Brazil", "Élan", "Blade Runner", "Alien", "Star Wars"])
    #expect(try sorted.limit(2, offset: 1).all().map(\.title) == ["Élan", "Blade Runner"])
    #expect(try sorted.page(at: 3, of: 10).map(\.title) == ["Alien", "Star Wars"])
    #expect(try sorted.limit(4).page(at: 3, of: 10).map(\.title) == ["Alien"])
    #expect(try sorted.page(at: 9, of: 10).isEmpty && sorted.limit(0).all().isEmpty)
    #expect(try sorted.first()?.title == "Brazil" && sorted.limit(0).first() == nil)
    #expect(
      try query.sorted { $0.score }.documentIDs() == ["brazil", "élan", "blade runner", "alien", "star wars"])
    #expect(try sorted.where { $0.year > 1979 }.count() == 3 && sorted.limit(2).count() == 2)
  }

  @Test func `columns are returned as typed rows`() throws {
    let rows = try query.where { $0.year > 1979 }.sorted { $0.title }.select { ($0.title, $0.score) }.rows()
    #expect(rows.map(\.0) == ["Blade Runner", "Brazil", "Élan"])
    #expect(rows.map(\.1) == [8.1, nil, nil])
    let ids = try query.limit(1).select { ($0.documentID, $0.studio.city) }.rows()
    #expect(ids.first?.0 == "alien" && ids.allSatisfy { $0.1 == nil })
    #expect(throws: DecodingError.self) {
      try collection.query().select { $0["score"].as(Double.self) }.rows()
    }
  }

  @Test func `untyped fields are referenced by name`() throws {
    let name = "Ladd"
    #expect(try collection.query().where { $0["studio"]["name"] == name }.all().map(\.id) == ["blade runner"])
    #expect(try collection.query().where { $0["cast"][1] == "John Hurt" }.documentIDs() == ["alien"])
    #expect(try collection.query().where { $0[path: "cast[1]"] == "John Hurt" }.documentIDs() == ["alien"])
    #expect(try collection.query().where { $0["year"] == 1985.0 }.count() == 2)
    #expect(try collection.query().where { $0["score"].isMissing }.count() == 2)
    #expect(try collection.query().where { $0["cast"].contains { $0 == "Nobody" } }.count() == 1)
    #expect(try collection.query().where { $0["year"].isIn([1977, 1979]) }.count() == 2)
    #expect(try collection.query().where { $0["score"].isNull || $0["score"] == nil }.count() == 2)
    let sorted = collection.query().sorted { ($0["year"].descending, $0["title"]) }
    #expect(try sorted.first()?.id == "brazil")
  }

  struct Renamed: Codable, Sendable {
    enum CodingKeys: String, CodingKey {
      case name = "title"
      case year
    }
    var name: String
    var year: Int
    var isOld: Bool { year < 1980 }
  }

  @Test func `a member that is not stored is an error with advice`() throws {
    let query = collection.query(Renamed.self)
    for wrong in [query.where { $0.isOld == true }, query.sorted { $0.isOld }] {
      let error = try #require(throws: DatabaseError.self) { try wrong.all() }
      #expect(error.code == .invalidParameter && error.advice.contains("$0["), "\(error)")
    }
    #expect(try query.where { $0.year == 1979 && $0.name == "Alien" }.count() == 1)
    #expect(throws: DatabaseError.self) { try query.where { $0[path: "a..b"] == 1 }.all() }
    #expect(throws: DatabaseError.self) { try collection.query().where { $0["a"] == Double.nan }.all() }
  }

  @Test func `queries run asynchronously, and inside a batch see its changes`() async throws {
    #expect(try await query.where { $0.year == 1985 }.count() == 2)
    #expect(try await query.sorted { $0.title }.first()?.title == "Alien")
    #expect(try await query.all().count == 5)
    let (collection, query) = (collection, query)
    try await database.inBatch {
      try collection.save(Movie(title: "Ran", year: 1985, cast: []), as: "ran")
      #expect(try query.where { $0.year == 1985 }.count() == 3)
    }
  }
}
