import Foundation
import Latewood
import Testing

/// Statements that run on a database.
@Suite struct SQLQueryTests {
  struct Film: Codable, Sendable {
    var title: String
    var year: Int
    var cast: [String]
    var genres: [String]
  }

  private struct Role: Codable, Sendable, Equatable {
    var actor: String
    var films: Int
  }

  private static let few = [
    Film(title: "Alien", year: 1979, cast: ["Weaver", "Hurt"], genres: ["Horror"]),
    Film(title: "Brazil", year: 1985, cast: [], genres: []),
    Film(title: "Star Wars", year: 1977, cast: ["Ford", "Fisher"], genres: ["Adventure"]),
    Film(title: "Witness", year: 1985, cast: ["Ford"], genres: ["Drama"]),
  ]

  private func made(_ films: [Film]) throws -> (Database, DocumentCollection) {
    let database = try Database.inMemory()
    let collection = try database.createCollection("films")
    try database.inBatch {
      for (number, film) in films.enumerated() {
        try collection.save(film, as: String(1_000_000 + number))
      }
    }
    return (database, collection)
  }

  @Test func `rows are returned as values and as types`() throws {
    let (database, _) = try made(Self.few)
    let films = try database.query(
      "SELECT title, year FROM films WHERE year >= $since ORDER BY year, title LIMIT 2", ["since": 1979])
    #expect(try films.rows().map { $0["title"].string } == ["Alien", "Brazil"])
    let roles = try database.query(
      "SELECT actor, COUNT(*) AS films FROM films UNNEST films.cast AS actor GROUP BY actor ORDER BY films DESC, actor LIMIT 2"
    )
    let expected = [Role(actor: "Ford", films: 2), Role(actor: "Fisher", films: 1)]
    #expect(try roles.rows(as: Role.self) == expected)
    var seen = 0
    let untilSecond = { (row: DocumentValue) -> Bool in
      seen += 1
      return row["id"].string == "1000000"
    }
    try database.query("SELECT meta().id FROM films").forEach(untilSecond)
    #expect(seen == 2)
  }

  @Test func `a collection in a scope is queried by both names`() throws {
    let (database, films) = try made(Self.few)
    let people = try database.createCollection("people", scope: "hr")
    try people.save(MutableDocument(id: "1", json: #"{"name":"Ann","films":[1,2]}"#))
    #expect(try database.query("SELECT name FROM hr.people").rows().map { $0["name"].string } == ["Ann"])
    let named = try database.query("SELECT people.name FROM hr.people WHERE people.name = 'Ann'")
    #expect(try named.rows().count == 1)
    #expect(try database.query("SELECT p.name, n FROM hr.people AS p UNNEST p.films AS n").rows().count == 2)
    #expect(try database.query("SELECT meta().id FROM `hr`.`people`").rows().count == 1)
    #expect(try database.query("SELECT title FROM _default.films").rows().count == Self.few.count)
    #expect(try films.count == Self.few.count)
    for missing in ["people", "hr.films", "other.people"] {
      let query = try database.query("SELECT 1 FROM \(missing)")
      let error = #expect(throws: DatabaseError.self) { try query.rows() }
      #expect(error?.code == .notFound && error?.description.contains(missing) == true)
    }
  }

  @Test func `rows are returned without blocking a thread`() async throws {
    let (database, _) = try made(Self.few)
    let (name, since, nothing) = ("Ford", 1977, String?.none)
    let query = try database.query(
      "SELECT title FROM films WHERE $name IN cast AND year >= $since AND $nothing IS NULL",
      ["name": name, "since": since, "nothing": nothing])
    #expect(try await query.rows().map { $0["title"].string } == ["Star Wars", "Witness"])
  }

  @Test func `a document exposes its id, sequence and expiration`() throws {
    let (database, collection) = try made(Self.few)
    try collection.setExpiration(of: "1000003", Date(timeIntervalSince1970: 4_000_000_000))
    let query = try database.query(
      "SELECT meta().id AS id, meta().expiration AS gone, meta().revisionID AS revision FROM films WHERE meta().sequence > 2 AND meta().id > '1000002'"
    )
    let row = try #require(try query.rows().first)
    #expect(row["id"].string == "1000003")
    #expect(row["gone"] == 4_000_000_000_000)
    #expect(row["revision"].string == (try collection.document("1000003"))?.revisionID)
  }

  @Test func `an error reports its position, and a missing collection its name`() throws {
    let (database, _) = try made(Self.few)
    let error = #expect(throws: DatabaseError.self) {
      try database.query("SELECT title\nFROM films WHERE year >")
    }
    #expect(error?.code == .invalidParameter)
    #expect([error?.line, error?.column] == [2, 24])
    let missing = #expect(throws: DatabaseError.self) { try database.query("SELECT a FROM none").rows() }
    #expect(missing?.code == .notFound)
    #expect(missing?.message.contains("none") == true)
    #expect(throws: DatabaseError.self) { try database.query("SELECT $a FROM films", ["b": 1]) }
  }

  @Test func `a query in a batch sees its state`() throws {
    let (database, collection) = try made(Self.few)
    let count = try database.query("SELECT COUNT(*) AS n FROM films WHERE year = 1985")
    try database.inBatch {
      try collection.delete("1000001")
      #expect(try count.rows().map { $0["n"].int } == [1])
    }
  }

  /// The films of two decades, from `shared/data` next to the repository or one level up. If they
  /// are missing, a few made-up films replace them.
  private static func films() throws -> [Film] {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
      .joined(separator: "/")
    for place in ["..", "../.."] {
      let path = "\(root)/\(place)/shared/data/movies-1970s.json"
      if let text = FileManager.default.contents(atPath: path) {
        return Array(try JSONDecoder().decode([Film].self, from: text).prefix(800))
      }
    }
    print("shared/data/movies-1970s.json is not there; a few films stand for it")
    return few
  }

  @Test func `queries find the same films with and without indexes`() throws {
    let films = try Self.films()
    let (database, collection) = try made(films)
    let ford = "Harrison Ford"
    let roles = Dictionary(films.flatMap { Set($0.cast) }.map { ($0, 1) }, uniquingKeysWith: +)
    for isIndexed in [false, true] {
      if isIndexed {
        try collection.createIndex("by year", on: ["year", "title"])
        try collection.createIndex("by actor", on: [.each("cast")])
      }
      let titles = { (text: String, parameters: [String: DocumentValue]) in
        try database.query(text, parameters).rows().map { $0["title"].string ?? "" }
      }
      #expect(
        try titles("SELECT title FROM films WHERE year BETWEEN 1972 AND 1974", [:])
          == films.filter { (1972...1974).contains($0.year) }.map(\.title))
      #expect(
        try titles("SELECT title FROM films WHERE $actor IN cast", ["actor": DocumentValue(ford)])
          == films.filter { $0.cast.contains(ford) }.map(\.title))
      #expect(
        try titles("SELECT title FROM films WHERE year IN [1971, 1973] AND LENGTH(title) > 20", [:])
          == films.filter { [1971, 1973].contains($0.year) && $0.title.unicodeScalars.count > 20 }.map(
            \.title))
      #expect(
        try titles(
          "SELECT title FROM films WHERE title LIKE 'The %' ORDER BY year DESC, meta().id LIMIT 5 OFFSET 2",
          [:])
          == films.enumerated().filter { $0.element.title.hasPrefix("The ") }
          .sorted {
            $0.element.year == $1.element.year ? $0.offset < $1.offset : $0.element.year > $1.element.year
          }
          .dropFirst(2).prefix(5).map(\.element.title))
      let most = try database.query(
        "SELECT actor, COUNT(DISTINCT meta().id) AS films FROM films UNNEST cast AS actor GROUP BY actor ORDER BY films DESC, actor LIMIT 10"
      ).rows(as: Role.self)
      let expected = roles.map { Role(actor: $0.key, films: $0.value) }.sorted {
        $0.films == $1.films ? $0.actor.utf8.lexicographicallyPrecedes($1.actor.utf8) : $0.films > $1.films
      }
      #expect(most == Array(expected.prefix(10)))
    }
  }
}
