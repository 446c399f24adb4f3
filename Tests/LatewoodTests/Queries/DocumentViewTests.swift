import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// Views as programs use them.
@Suite struct DocumentViewTests {
  private struct Refused: Error {}

  private let database: Database
  private let films: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    films = try database.createCollection("films")
    for number in 0..<30 {
      var film = try MutableDocument(id: "film \(100 + number)")
      film["year"] = 1980 + number % 3
      film["score"] = number % 7
      film["title"] = "Film \(number)"
      film["tags"] = number % 2 == 0 ? ["even", "tag \(number % 5)"] : ["odd"]
      try films.save(film)
    }
  }

  private func byTag(_ reduction: ViewReduction = .count) throws -> DocumentView {
    try films.view("by tag", version: 1, reduce: reduction) { film, emit in
      for tag in film["tags"] { emit([tag, film["year"]], film["score"]) }
    }
  }

  @Test func `rows are sorted, and include their documents if requested`() throws {
    let view = try films.view("by title", version: 1) { film, emit in emit(film["title"], film.id) }
    let rows = try view.rows(ViewQuery(from: "Film 7", includesDocuments: true))
    #expect(rows.map(\.documentID) == ["film 107", "film 108", "film 109"])
    #expect(rows[0].key.string == "Film 7" && rows[0].value.string == "film 107")
    #expect(rows[0].document?["score"].int == 0)
    #expect(
      try view.rows(ViewQuery(prefix: "Film 2", descending: true, skip: 1, limit: 2)).map(\.documentID)
        == ["film 128", "film 127"])
    #expect(try view.rows(ViewQuery(key: "Film 3"))[0].document == nil)
    let found = try view.rows(ViewQuery(keys: ["Film 9", "none", "Film 1"]))
    #expect(found.map(\.documentID) == ["film 109", "film 101"])
    #expect(try view.count(ViewQuery(keys: ["Film 9", "none", "Film 1"])) == 2)
    let some = ViewQuery(keys: ["Film 9", "none", "Film 1", "Film 2"], skip: 1, limit: 1)
    #expect(try view.rows(some).map(\.documentID) == ["film 101"])
    var first: [String] = []
    try view.forEachRow { row in
      first.append(row.documentID)
      return first.count < 2
    }
    #expect(first == ["film 100", "film 101"])
    try films.delete("film 100")
    #expect(try view.count() == 29)
  }

  @Test func `ids bound a range within equal keys`() throws {
    let view = try films.view("by year", version: 1) { film, emit in emit(film["year"]) }
    var query = ViewQuery(from: 1980, through: 1980)
    (query.fromID, query.throughID) = ("film 106", "film 112")
    #expect(try view.rows(query).map(\.documentID) == ["film 106", "film 109", "film 112"])
    query.includesEnd = false
    #expect(try view.rows(query).map(\.documentID) == ["film 106", "film 109"])
    query = ViewQuery(from: 1980, through: 1980, descending: true)
    (query.fromID, query.throughID) = ("film 112", "film 106")
    #expect(try view.rows(query).map(\.documentID) == ["film 112", "film 109", "film 106"])
  }

  @Test func `a range that ends before it begins is refused, whether or not rows are wanted`() throws {
    let view = try films.view("by year", version: 1, reduce: .count) { film, emit in emit(film["year"]) }
    var reversedIDs = ViewQuery(from: 1980, through: 1980)
    (reversedIDs.fromID, reversedIDs.throughID) = ("film 112", "film 106")
    var sameIDs = ViewQuery(from: 1980, through: 1980, descending: true)
    (sameIDs.fromID, sameIDs.throughID) = ("film 106", "film 112")
    let queries = [
      ViewQuery(from: 1981, through: 1980), ViewQuery(from: 1980, through: 1981, descending: true),
      reversedIDs,
      sameIDs, ViewQuery(prefix: 7),
    ]
    for var query in queries {
      for (skip, limit) in [(0, Int.max), (0, 1), (0, 0), (1000, 0), (1000, 1)] {
        (query.skip, query.limit) = (skip, limit)
        refusal(.invalidParameter) { _ = try view.rows(query) }
        refusal(.invalidParameter) { _ = try view.groups(query) }
        refusal(.invalidParameter) { _ = try view.count(query) }
        refusal(.invalidParameter) { _ = try view.reduce(query) }
      }
    }
    #expect(try view.rows(ViewQuery(from: 1980, through: 1980, limit: 0)).isEmpty)
    #expect(try view.rows(ViewQuery(from: 1980, through: 1980, includesEnd: false)).isEmpty)
    #expect(throws: DatabaseError.self) { try view.rows(ViewQuery(keys: [.null], limit: -1)) }
  }

  @Test func `groups and reductions match the rows`() throws {
    let counts = try byTag().groups(level: 1)
    #expect(counts.map { "\($0.key) \($0.value)" }.prefix(2) == [#"["even"] 15"#, #"["odd"] 15"#])
    #expect(try byTag().groups(ViewQuery(prefix: ["odd"])).map(\.value.int) == [5, 5, 5])
    #expect(try byTag().groups(ViewQuery(descending: true, skip: 1, limit: 1), level: 1)[0].key == ["tag 3"])
    #expect(try byTag().reduce(ViewQuery(prefix: ["odd"])).int == 15)
    let odd = stride(from: 1, to: 30, by: 2).map { $0 % 7 }
    let stats = try byTag(.stats)
    #expect(try stats.statistics(ViewQuery(prefix: ["odd"])).sum == Double(odd.reduce(0, +)))
    let value = try stats.reduce(ViewQuery(prefix: ["odd"]))
    #expect(value["sumsqr"].int == odd.map { $0 * $0 }.reduce(0, +))
    #expect(value["max"].int == 6 && value["min"].int == 0 && value["count"].int == 15)
    #expect(try byTag(.sum).reduce(ViewQuery(key: "none")).int == 0)
    #expect(try stats.name == "by tag" && byTag(.sum).reduce().int == byTag(.stats).statistics().sum.toInt)
  }

  @Test(arguments: [0, 1, 2, 99, 100, 101, 200, 9_999, 10_000, 10_001])
  func `a custom reduction sees every row once, in order`(count: Int) throws {
    let numbers = try database.createCollection("numbers")
    try database.inBatch {
      for start in stride(from: 0, to: count, by: 1000) {
        var document = try MutableDocument(id: "from \(start)")
        document["n"] = Array(start..<min(start + 1000, count))
        try numbers.save(document)
      }
    }
    // Intervals that must touch, so that a wrong order shows.
    @Sendable func joined(_ parts: [(Int, Int)]) throws -> DocumentValue {
      guard parts.count <= 100, !parts.isEmpty else { throw Refused() }
      for (left, right) in zip(parts, parts.dropFirst()) where left.1 != right.0 { throw Refused() }
      return [DocumentValue(parts[0].0), DocumentValue(parts[parts.count - 1].1)]
    }
    let view = try numbers.view(
      "all", version: 1,
      reduce: .custom(
        reduce: { rows in try joined(rows.map { ($0.key.int ?? -1, ($0.key.int ?? -1) + 1) }) },
        rereduce: { values in try joined(values.map { ($0[0].int ?? -1, $0[1].int ?? -1) }) })
    ) { document, emit in
      for number in document["n"] { emit(number) }
    }
    #expect(try view.reduce() == (count == 0 ? .null : [0, DocumentValue(count)]))
    #expect(try view.groups(ViewQuery(limit: 3)).count == min(count, 3))
  }

  @Test func `an invalid query is refused`() throws {
    let view = try films.view("plain", version: 1) { film, emit in emit(film["year"]) }
    func refuses(_ code: DatabaseError.Code, _ body: () throws -> Void) {
      #expect { try body() } throws: { ($0 as? DatabaseError)?.code == code }
    }
    refuses(.invalidParameter) { _ = try view.reduce() }
    refuses(.invalidParameter) { _ = try view.groups() }
    refuses(.invalidParameter) { _ = try view.statistics() }
    refuses(.invalidParameter) { _ = try byTag().groups(level: 0) }
    refuses(.invalidParameter) { _ = try view.rows(ViewQuery(from: 2, through: 1)) }
    refuses(.invalidParameter) { _ = try view.rows(ViewQuery(prefix: 1)) }
    refuses(.invalidParameter) { _ = try view.rows(ViewQuery(limit: -1)) }
    refuses(.invalidParameter) { _ = try view.rows(ViewQuery(key: DocumentValue(Double.nan))) }
    refuses(.invalidParameter) { _ = try films.view("", version: 1) { _, _ in } }
    var query = ViewQuery(keys: [1])
    query.from = 2
    refuses(.invalidParameter) { _ = try view.rows(query) }
    query = ViewQuery()
    query.fromID = "film"
    refuses(.invalidParameter) { _ = try view.rows(query) }
    #expect(try films.dropView("plain"))
    refuses(.notFound) { _ = try view.rows() }
    refuses(.busy) { _ = try database.inBatch { try films.dropView("by tag") } }
  }

  @Test func `failing maps and invalid keys are reported`() throws {
    let view = try films.view("bad", version: 1) { film, emit in
      emit(film["title"])
      if film.id == "film 103" { throw Refused() }
      if film.id == "film 104" { emit(Double.nan) }
      if film.id == "film 105" { emit(String(repeating: "x", count: 9000)) }
    }
    #expect(try view.count() == 27)
    #expect(try view.failures().map(\.documentID) == ["film 103", "film 104", "film 105"])
    #expect(try view.failures(limit: 1)[0].reason == "Refused()")
    #expect(try films.storedViews[0].failureCount == 3)
    try films.purge("film 103")
    #expect(try view.failures().count == 2)
  }

  @Test func `views work in batches, and asynchronously`() async throws {
    let view = try await films.view("by year", version: 1, reduce: .count) { film, emit in emit(film["year"])
    }
    #expect(try await view.count() == 30)
    let sizes = try saveInBatch(view)
    #expect(sizes == (31, 4))
    #expect(try await view.rows(ViewQuery(key: 2030)).map(\.documentID) == ["new"])
    #expect(try await view.reduce().int == 31)
    #expect(try await view.groups().last?.key.int == 2030)
    #expect(try await view.failures().isEmpty)
    try await view.catchUp()
    #expect(try films.storedViews.map(\.behind) == [0])
    #expect(try await films.dropView("by year"))
  }

  /// Saves in a batch, and returns the numbers of rows and groups that the batch then sees.
  private func saveInBatch(_ view: DocumentView) throws -> (Int, Int) {
    try database.inBatch {
      var film = try MutableDocument(id: "new")
      film["year"] = 2030
      try films.save(film)
      return (try view.count(), try view.groups().count)
    }
  }

  @Test func `a view in a read-only database stays the way its writer left it`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/views.latewood"
    func opened(_ database: Database) throws -> DocumentView {
      try database.defaultCollection.view("ids", version: 1) { document, emit in emit(document.id) }
    }
    let writer = try Database.open(at: path)
    try writer.defaultCollection.save(MutableDocument(id: "a"))
    #expect(try opened(writer).count() == 1)
    let reader = try Database.open(at: path, mode: .readOnly)
    #expect(try opened(reader).count() == 1)
    // In one process they share the view, so a reader cannot remove it from the writer.
    #expect { _ = try reader.defaultCollection.view("ids", version: 2) { _, _ in } } throws: {
      ($0 as? DatabaseError)?.code == .conflict
    }
    try writer.defaultCollection.save(MutableDocument(id: "b"))
    #expect(try opened(reader).count() == 2)
    try reader.close()
    try writer.close()
  }
}

extension Double {
  fileprivate var toInt: Int? { Int(exactly: self) }
}
