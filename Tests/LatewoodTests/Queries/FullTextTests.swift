import Latewood
import LatewoodTestSupport
import Testing

extension CollectionDifference.Change {
  /// Returns the same change of another value.
  fileprivate func mapped<Other>(
    _ value: (ChangeElement) -> Other
  ) -> CollectionDifference<Other>.Change {
    switch self {
    case .insert(let offset, let element, _):
      .insert(offset: offset, element: value(element), associatedWith: nil)
    case .remove(let offset, let element, _):
      .remove(offset: offset, element: value(element), associatedWith: nil)
    }
  }
}

/// Full-text indexes and queries for words, as programs use them.
@Suite struct FullTextTests {
  struct Chapter: Codable, Sendable {
    var title: String
  }

  struct Film: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var title: String
    var plot: String?
    var tags: [String] = []
    var year = 1979
  }

  private let database: Database
  private let films: TypedCollection<Film>

  init() throws {
    database = try Database.inMemory()
    films = try database.collection("films", of: Film.self)
    for film in [
      Film(id: "alien", title: "Alien", plot: "A crew meets an alien in space", tags: ["space", "horror"]),
      Film(id: "brazil", title: "Brazil", plot: "A clerk dreams of flying", tags: ["dream"], year: 1985),
      Film(id: "solaris", title: "Solaris", plot: "A station in space dreams", year: 1972),
      Film(id: "amelie", title: "Amélie", plot: nil, tags: ["Paris"], year: 2001),
    ] { try films.save(film) }
    try films.createIndex("by text", fullText: { ($0.title.weight(3), $0.plot, $0.tags.each) })
  }

  private func found(_ query: FullTextQuery) throws -> [String] {
    try films.query().where { $0.matches("by text", query) }.documentIDs()
  }

  @Test func `typed members make an index, and words find documents`() throws {
    #expect(try found("space") == ["alien", "solaris"])
    #expect(try found("AMELIE") == ["amelie"])
    #expect(try found("plot:alien") == ["alien"])
    #expect(try found("tags[]:paris") == ["amelie"])
    #expect(try found("dream*") == ["brazil", "solaris"])
    #expect(try found(#""in space""#) == ["alien", "solaris"])
    let index = try #require(try films.documents.fullTextIndexes.first)
    #expect(index.name == "by text" && index.isReady && index.count == 4)
    #expect(index.fields == ["title", "plot", "tags[]"] && index.weights == [3, 1, 1])
  }

  @Test func `an index of paths is the same as an index of members`() async throws {
    let documents = films.documents
    try await documents.createIndex("by text", fullText: [.weighted("title", 3), "plot", "tags[]"])
    await #expect(throws: DatabaseError.self) {
      try await documents.createIndex("by text", fullText: ["title"])
    }
    await #expect(throws: DatabaseError.self) {
      try await documents.createIndex("other", fullText: ["a..b"])
    }
    await #expect(throws: DatabaseError.self) { try await documents.createIndex("other", fullText: []) }
    try await documents.createIndex(
      "stems", fullText: ["plot"], options: FullTextOptions(language: .english, stopWords: ["a"]))
    let stems = documents.query().where { $0.matches("stems", "dreaming") }
    #expect(try await stems.documentIDs() == ["brazil", "solaris"])
    #expect(try await documents.dropIndex("stems"))
    await #expect(throws: DatabaseError.self) { try await stems.documentIDs() }
  }

  @Test(arguments: [
    (FullTextLanguage.dutch, "boeken", "boek"), (.english, "dreaming", "dreams"),
    (.french, "continuer", "continuait"), (.german, "Häuser", "Haus"),
    (.italian, "abbandonata", "abbandonare"), (.porter, "relational", "relate"),
    (.portuguese, "acabando", "acabou"), (.russian, "книгами", "книга"),
    (.spanish, "acciones", "acción"), (.swedish, "flickorna", "flickor"),
  ])
  func `words of one stem are the same in each language`(
    _ language: FullTextLanguage, _ text: String, _ word: String
  ) throws {
    try films.save(Film(id: "other", title: text))
    let documents = films.documents
    try documents.createIndex(
      "stems", fullText: ["title"], options: FullTextOptions(language: language))
    try documents.createIndex("words", fullText: ["title"])
    for (index, found) in [("stems", ["other"]), ("words", [])] {
      let query = films.query().where { $0.matches(index, .words(word)) }
      #expect(try query.documentIDs() == found)
    }
  }

  @Test func `a closure without a label makes an index of values`() throws {
    try films.createIndex("by title") { $0.title }
    try films.documents.createIndex("by tag", of: Film.self) { $0.tags.each }
    #expect(try films.documents.indexes.map(\.name) == ["by tag", "by title"])
    #expect(try films.documents.fullTextIndexes.map(\.name) == ["by text"])
  }

  @Test func `words combine with other conditions, orders, limits and counts`() throws {
    let dreams = films.query().where { $0.matches("by text", "dream*") }
    #expect(try dreams.count() == 2)
    #expect(try dreams.where { $0.year < 1980 }.all().map(\.value.title) == ["Solaris"])
    #expect(try dreams.sorted { $0.year.descending }.documentIDs() == ["brazil", "solaris"])
    #expect(try dreams.limit(1, offset: 1).documentIDs() == ["solaris"])
    #expect(
      try films.query().where { !$0.matches("by text", "space") }.documentIDs() == ["amelie", "brazil"])
    #expect(
      try films.query().where { $0.matches("by text", "alien") || $0.year == 2001 }.documentIDs()
        == ["alien", "amelie"])
    #expect(try dreams.explain().indexes == ["by text"])
  }

  @Test func `what somebody types is never malformed`() throws {
    for text in ["", "\"", "AND", "(", "title:", "*", "^", "NEAR(", "\u{0}", "a \" b", "日本"] {
      _ = try found(.words(text))
      _ = try found(.words(text, any: true, completing: true))
    }
    #expect(try found(.words("alien sp", completing: true)) == ["alien"])
    #expect(try found(.words("alien sp")) == [])
    #expect(try found(.words("paris clerk", any: true)) == ["amelie", "brazil"])
  }

  @Test func `a malformed query is an error with its place`() throws {
    let error = #expect(throws: DatabaseError.self) { try found("space AND") }
    #expect(error?.code == .invalidParameter && error?.offset == 9)
    #expect(throws: DatabaseError.self) { try found("year:1979") }
    #expect(throws: DatabaseError.self) {
      try films.query().where { $0.matches("no index", "x") }.count()
    }
    #expect(throws: DatabaseError.self) { try films.query().ranked().all() }
  }

  @Test func `ranked documents come best first, with scores and their explanation`() throws {
    let query = films.query().where { $0.matches("by text", "alien OR space") }.ranked()
    let hits = try query.hits()
    #expect(try query.all().map(\.value.id) == ["alien", "solaris"])
    #expect(hits.map(\.documentID) == ["alien", "solaris"])
    #expect(hits[0].score > hits[1].score)
    let score = try #require(try query.explainScore(of: "alien"))
    #expect(score.score == hits[0].score)
    #expect(score.parts.map(\.phrase) == ["alien", "space"])
    #expect(score.parts[0].counts == [1, 1, 0] && score.parts[0].frequency == 4)
    #expect(try query.limit(1).hits().count == 1)
    #expect(try query.limit(1, offset: 1).all().map(\.value.id) == ["solaris"])
    #expect(try query.sorted { $0.year }.documentIDs() == ["solaris", "alien"])
    #expect(try query.where { $0.year < 1975 }.hits().map(\.documentID) == ["solaris"])
    #expect(try query.ranked(by: "by text").documentIDs() == ["alien", "solaris"])
  }

  @Test func `snippets and highlights are ranges of the original text`() throws {
    let plot =
      String(repeating: "Nothing happens here. ", count: 20) + "The Straße is İstanbul's, in SPACE at last."
    try films.save(Film(id: "long", title: "Long", plot: plot, tags: ["a", "strasse x strasse"]))
    let hits = try films.query().where { $0.matches("by text", "strasse space") }.ranked().hits()
    let hit = try #require(hits.first)
    let snippet = try #require(try hit.snippet(words: 8))
    #expect(snippet.field == "plot" && snippet.text == plot)
    #expect(snippet.highlights.map { String(plot[$0]) } == ["Straße", "SPACE"])
    #expect(snippet.marked("[", "]") == "…The [Straße] is İstanbul's, in [SPACE] at last.")
    #expect(snippet.excerpt.count < 60)
    let tags = try hit.highlights(in: "tags[]")
    #expect(
      tags.map { text in text.highlights.map { String(text.text[$0]) } } == [[], ["strasse", "strasse"]])
    #expect(tags[1].marked("<", ">") == "<strasse> x <strasse>")
    #expect(try hit.highlights(in: "no field") == [])
    #expect(try hit.snippet(in: "no field") == nil)
    #expect(try hit.snippet(in: "title")?.marked("[", "]") == "Long")
  }

  @Test func `completions and suggestions are terms of the index`() async throws {
    let documents = films.documents
    let words = try await documents.completions(of: "S", in: "by text")
    #expect(words.map(\.word) == ["space", "solaris", "station"])
    let first = try await documents.completions(of: "s", in: "by text", limit: 1)
    #expect(first.map(\.documentCount) == [2])
    #expect(try await documents.suggestions(for: "allien", in: "by text").map(\.word) == ["alien"])
    #expect(try await documents.completions(of: "x", in: "by text") == [])
    await #expect(throws: DatabaseError.self) { try await documents.completions(of: "s", in: "none") }
  }

  @Test func `live results follow words`() async throws {
    var results = films.query().where { $0.matches("by text", "space") }.live().makeAsyncIterator()
    #expect(try await results.next()?.values.map(\.value.id) == ["alien", "solaris"])
    try await films.save(Film(id: "moon", title: "Moon", plot: "Alone in space"))
    #expect(try await results.next()?.values.map(\.value.id) == ["alien", "moon", "solaris"])
    try await films.delete("alien")
    #expect(try await results.next()?.values.map(\.value.id) == ["moon", "solaris"])
  }

  @Test func `live hits follow words, with scores and highlights of their state`() async throws {
    let query = films.query().where { $0.matches("by text", "space") }
    var results = query.liveHits().makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(first.values.map(\.documentID) == ["alien", "solaris"])
    try await films.save(Film(id: "moon", title: "Space", plot: "Alone in space"))
    let second = try #require(try await results.next())
    #expect(second.values.map(\.documentID) == ["moon", "alien", "solaris"])
    let hits = try await query.hits()
    #expect(second.values.map(\.score) == hits.map(\.score))
    #expect(try second.values[0].snippet()?.marked("[", "]") == "[Space]")
    let plot = try second.values[1].snippet(in: "plot")?.marked("[", "]")
    #expect(plot == "A crew meets an alien in [space]")
    let ids = first.values.map(\.documentID)
    let difference = try #require(
      CollectionDifference(second.difference.map { $0.mapped(\.documentID) }))
    #expect(ids.applying(difference) == ["moon", "alien", "solaris"])
    // A page of the results of any query, as `hits()` returns it.
    var page = query.ranked().limit(1, offset: 1).liveHits().makeAsyncIterator()
    #expect(try await page.next()?.values.map(\.documentID) == ["alien"])
    try await films.delete("moon")
    #expect(try await page.next()?.values.map(\.documentID) == ["solaris"])
    var unranked = films.query().liveHits().makeAsyncIterator()
    let error = await #expect(throws: DatabaseError.self) { try await unranked.next() }
    #expect(error?.code == .invalidParameter)
  }

  #if canImport(Observation)
    @MainActor @Test func `observed hits are always those of the current state`() async throws {
      func query(_ typed: String) -> Query<Stored<Film>> {
        films.query().where { $0.matches("by text", .words(typed, completing: true)) }
      }
      let observed = ObservedQuery(hits: query("sp"))
      while !observed.isLoaded { await Task.yield() }
      #expect(observed.values.map(\.documentID) == ["alien", "solaris"])
      try await films.save(Film(id: "moon", title: "Moon", plot: "Alone in space"))
      while observed.values.count == 2 { await Task.yield() }
      let hits = try await query("sp").hits()
      #expect(observed.values.map(\.score) == hits.map(\.score))
      observed.observe(hits: query("alien"))
      while !observed.isLoaded { await Task.yield() }
      #expect(try observed.values.first?.snippet()?.marked("[", "]") == "[Alien]")
      #expect(observed.error == nil)
    }
  #endif

  @Test func `a migration changes words, also of an index that it creates`() throws {
    var migrator = DatabaseMigrator()
    migrator.batchSize = 2
    migrator.registerMigration("exclaim", in: "films") { (document: inout MutableDocument) in
      document["title"].string = (document["title"].string ?? "") + " returns"
    }
    migrator.registerMigration("index") { database in
      try database["films"].createIndex(
        "stems", fullText: ["title", "plot"], options: FullTextOptions(language: .english))
    }
    migrator.registerMigration("shorten", in: "films") { (document: inout MutableDocument) in
      document["plot"].string = nil
    }
    try migrator.migrate(database)
    #expect(try found("returns") == ["alien", "amelie", "brazil", "solaris"])
    let stems = films.query().where { $0.matches("stems", "returned") }
    #expect(try stems.documentIDs() == ["alien", "amelie", "brazil", "solaris"])
    #expect(try found("plot:a") == [])
    #expect(try stems.explain().indexes == ["stems"])
    #expect(try database.verify().isSound)
  }

  @Test func `words cannot be a condition on elements or of an index`() throws {
    let documents = films.documents
    #expect(throws: DatabaseError.self) {
      try documents.createIndex("part", on: ["year"], where: { $0.matches("by text", "space") })
    }
  }

  @Test func `statements match, rank and show words`() throws {
    func rows(_ text: String) throws -> [String] {
      try database.query(text).rows().map { try $0.toJSON() }
    }
    #expect(
      try rows("SELECT RAW meta().id FROM films WHERE MATCH(`by text`, 'space')") == [
        #""alien""#, #""solaris""#,
      ])
    #expect(
      try rows("SELECT RAW title FROM films WHERE MATCH(films.`by text`, 'dream*') AND year < 1980")
        == [#""Solaris""#])
    #expect(
      try rows("SELECT RAW meta().id FROM films WHERE NOT MATCH('by text', 'space') AND year > 1990")
        == [#""amelie""#])
    #expect(
      try rows(
        "SELECT RAW meta().id FROM films WHERE MATCH(`by text`, 'alien OR space') ORDER BY RANK(`by text`) DESC"
      )
        == [#""alien""#, #""solaris""#])
    #expect(
      try rows(
        "SELECT RAW meta().id FROM films WHERE MATCH(`by text`, 'alien OR space') ORDER BY RANK(`by text`)")
        == [#""solaris""#, #""alien""#])
    #expect(
      try rows(
        "SELECT RAW SNIPPET(`by text`, '<', '>', 6) FROM films WHERE MATCH(`by text`, 'station') AND LOWER(title) = 'solaris'"
      ) == [#""A <station> in space dreams""#])
    // A condition that no predicate can express reads the words of each document.
    #expect(
      try rows(
        "SELECT RAW meta().id FROM films WHERE MATCH(`by text`, 'clerk') OR LOWER(title) = 'alien' ORDER BY title"
      )
        == [#""alien""#, #""brazil""#])
    #expect(try rows("SELECT COUNT(*) AS n FROM films WHERE MATCH(`by text`, 'space')") == [#"{"n":2}"#])
    let hits = try films.query().where { $0.matches("by text", "space") }.hits()
    let scores = try database.query(
      "SELECT RAW RANK(`by text`) FROM films WHERE MATCH(`by text`, 'space')"
    ).rows(as: Double.self)
    #expect(Set(scores) == Set(hits.map(\.score)))
  }

  @Test func `a statement can use scores anywhere, and they are those of hits`() throws {
    struct Row: Decodable {
      var id: String
      var score: Double?
    }
    for number in 100..<400 {
      let words = String(repeating: " sky", count: number % 5) + (number % 3 == 0 ? " blue sky" : " red")
      try films.save(Film(id: "film \(number)", title: "Film", plot: "A\(words)", year: number))
    }
    for text in ["sky", "sky OR blue", "\"blue sky\"", "bl*", "sky NOT blue", "plot:red"] {
      let hits = try films.query().where { $0.matches("by text", FullTextQuery(text)) }.hits()
      let scores = Dictionary(uniqueKeysWithValues: hits.map { ($0.documentID, $0.score) })
      #expect(scores.count > 50)
      let middle = hits[hits.count / 2].score
      func rows(_ rest: String) throws -> [Row] {
        try database.query(
          "SELECT meta().id, RANK(`by text`) AS score FROM films WHERE \(rest)",
          ["text": DocumentValue(text), "middle": DocumentValue(middle)]
        ).rows(as: Row.self)
      }
      func expectScores(_ found: [Row], _ wanted: (Double) -> Bool = { _ in true }) {
        #expect(found.count == scores.values.count(where: wanted))
        #expect(found.allSatisfy { $0.score == scores[$0.id] && wanted($0.score ?? -1) })
      }
      let match = "MATCH(`by text`, $text)"
      expectScores(try rows("\(match)"))
      expectScores(try rows("\(match) ORDER BY meta().id DESC"))
      expectScores(try rows("\(match) ORDER BY year DESC, title"))
      expectScores(try rows("\(match) AND RANK(`by text`) > $middle")) { $0 > middle }
      expectScores(try rows("RANK(`by text`) <= $middle AND \(match)")) { $0 <= middle }
      expectScores(try rows("\(match) AND LOWER(title) = 'film' ORDER BY RANK(`by text`)"))
      let best = try rows("\(match) ORDER BY score DESC LIMIT 40 OFFSET 2")
      #expect(best.map(\.id) == hits.dropFirst(2).prefix(40).map(\.documentID))
      expectScores(try rows("\(match)"))  // Again, with the caches of the first time.
      // A document that another condition finds has no score.
      let either = try rows("\(match) OR UPPER(title) = 'BRAZIL'")
      #expect(either.count == scores.count + 1)
      #expect(either.allSatisfy { $0.score == scores[$0.id] })
      let most = try database.query(
        "SELECT RAW MAX(RANK(`by text`)) FROM films WHERE \(match)", ["text": DocumentValue(text)]
      ).rows(as: Double.self)
      #expect(most == [hits[0].score])
    }
  }

  @Test(arguments: [
    ("SELECT title FROM films WHERE MATCH(`by text`, 'x AND')", 54),
    ("SELECT title FROM films\nWHERE MATCH(`by text`, \"sky\nNOT\")", 4),
    ("SELECT title FROM films WHERE MATCH(`by text`, 'it''s AND')", 48),
    ("SELECT RANK(`by text`) FROM films", 8),
  ])
  func `the error of a statement points at the place in the query`(text: String, column: Int) throws {
    let error = #expect(throws: DatabaseError.self) { try database.query(text) }
    #expect(error?.column == column, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    "SELECT title FROM films WHERE MATCH(`by text`)", "SELECT MATCH(`by text`, 'x') FROM films",
    "SELECT RANK(`by text`) FROM films", "SELECT title FROM films WHERE MATCH(`by text`, title)",
    "SELECT title FROM films WHERE MATCH(`by text`, 'x AND')", "SELECT title FROM films WHERE MATCH(1, 'x')",
    "SELECT COUNT(*), RANK(`by text`) FROM films WHERE MATCH(`by text`, 'x')",
    "SELECT SNIPPET(`by text`, 1, 2) FROM films WHERE MATCH(`by text`, 'x')",
  ])
  func `statements that use words wrongly are refused`(text: String) throws {
    let error = #expect(throws: DatabaseError.self) { try database.query(text) }
    #expect(error?.code == .invalidParameter && error?.line == 1)
  }
}
