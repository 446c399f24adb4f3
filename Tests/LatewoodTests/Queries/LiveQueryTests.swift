import Foundation
import Latewood
import Testing

/// Live queries through the Swift interface.
@Suite struct LiveQueryTests {
  struct Movie: Codable, Sendable, Equatable {
    var title: String
    var year: Int
  }

  private struct Renamed: Codable {
    enum CodingKeys: String, CodingKey { case name = "title" }
    var name: String
    var isShort: Bool { name.count < 3 }
  }

  private let database: Database
  private let movies: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    movies = try database.createCollection("movies")
    for (title, year) in [("Alien", 1979), ("Brazil", 1985), ("Star Wars", 1977)] {
      try movies.save(Movie(title: title, year: year), as: title)
    }
  }

  @Test func `the first values arrive immediately, then the changes of each commit`() async throws {
    let recent = movies.query(Movie.self).where { $0.year >= 1978 }.sorted { ($0.year.descending, $0.title) }
    var updates = recent.live().makeAsyncIterator()
    let first = try #require(try await updates.next())
    #expect(first.isFirst && first.values.map(\.title) == ["Brazil", "Alien"])
    #expect([Movie]().applying(first.difference) == Array(first.values))
    try await movies.save(Movie(title: "Old", year: 1920), as: "old")
    try await movies.save(Movie(title: "Witness", year: 1985), as: "witness")
    let second = try #require(try await updates.next())
    #expect(!second.isFirst && second.values.map(\.title) == ["Brazil", "Witness", "Alien"])
    #expect(second.difference.insertions.count == 1 && second.difference.removals.isEmpty)
    #expect(Array(first.values).applying(second.difference) == Array(second.values))
    // Commits between two updates arrive as one update.
    try await database.inBatch { [movies] in
      try movies.delete("Alien")
      try movies.save(Movie(title: "Brazil", year: 1986), as: "Brazil")
    }
    try await movies.save(Movie(title: "Ran", year: 2000), as: "ran")
    var third = try #require(try await updates.next())
    while third.values.count < 3 { third = try #require(try await updates.next()) }
    #expect(third.values.map(\.title) == ["Ran", "Brazil", "Witness"])
    #expect((0..<3).map { third.values.documentID(at: $0) } == ["ran", "Brazil", "witness"])
    // The values of an earlier update do not change.
    #expect(first.values.map(\.title) == ["Brazil", "Alien"])
  }

  @Test func `a window stays full when a document leaves it`() async throws {
    var updates = movies.query(Movie.self).sorted { $0.year }.limit(1, offset: 1).live().makeAsyncIterator()
    #expect(try await updates.next()?.values.map(\.title) == ["Alien"])
    try await movies.purge("Star Wars")
    let update = try #require(try await updates.next())
    #expect(update.values.map(\.title) == ["Brazil"])
    #expect(update.difference.count == 2)
  }

  @Test func `an error ends a live query`() async throws {
    var updates = movies.query(Movie.self).live().makeAsyncIterator()
    _ = try await updates.next()
    try await movies.save(["title": 5], as: "wrong")
    await #expect(throws: DecodingError.self) { try await updates.next() }
    var others = movies.query(Renamed.self).where { $0.isShort == true }.live().makeAsyncIterator()
    let error = await #expect(throws: DatabaseError.self) { try await others.next() }
    #expect(error?.code == .invalidParameter)
    var closed = movies.query().live().makeAsyncIterator()
    _ = try await closed.next()
    try await database.close()
    let end = await #expect(throws: DatabaseError.self) { try await closed.next() }
    #expect(end?.code == .notOpen)
  }

  #if canImport(Observation)
    @MainActor @Test func `an observed query always shows the current values`() async throws {
      let query = movies.query(Movie.self).sorted { $0.title }
      var observed: ObservedQuery? = ObservedQuery(query)
      weak let reference = observed
      #expect(observed?.values.isEmpty == true && observed?.isLoaded == false)
      while observed?.isLoaded != true { await Task.yield() }
      #expect(observed?.values.map(\.title) == ["Alien", "Brazil", "Star Wars"])
      try await movies.delete("Brazil")
      while observed?.values.count == 3 { await Task.yield() }
      #expect(observed?.values.map(\.title) == ["Alien", "Star Wars"] && observed?.error == nil)
      observed = nil
      // Waiting for updates does not keep the object alive.
      while reference != nil { await Task.yield() }
    }

    @MainActor @Test func `an observed query can be replaced, and shows no results of the old one`()
      async throws
    {
      let query = movies.query(Movie.self).sorted { $0.title }
      let observed = ObservedQuery(query)
      while !observed.isLoaded { await Task.yield() }
      #expect(observed.values.count == 3)
      // No update of the old query is shown, whether it was on its way or comes later.
      for round in 0..<20 {
        try await movies.save(Movie(title: "Solaris", year: 1900 + round), as: "Solaris")
        for _ in 0..<round { await Task.yield() }
        observed.observe(query.where { $0.title == "Brazil" })
        #expect(!observed.isLoaded && observed.values.count >= 3)
        while !observed.isLoaded { await Task.yield() }
        #expect(observed.values.map(\.title) == ["Brazil"])
        observed.observe(query)
        while !observed.isLoaded { await Task.yield() }
        #expect(observed.values.count == 4)
      }
      try await movies.delete("Solaris")
      while observed.values.count == 4 { await Task.yield() }
      observed.observe(query.where { $0.matches("no such index", "words") })
      while !observed.isLoaded { await Task.yield() }
      #expect(observed.error != nil && observed.values.count == 3)
      observed.observe(query)
      #expect(observed.error == nil)
      while !observed.isLoaded { await Task.yield() }
      #expect(observed.error == nil && observed.values.count == 3)
    }
  #endif
}
