import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// The file of documents in Tests/golden, as an app sees it: every release opens the files of
/// earlier releases and finds their complete contents.
@Suite struct GoldenDatabaseTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let people: DocumentCollection
  private let films: TypedCollection<GoldenFilm>

  init() throws {
    directory = try TemporaryDirectory()
    try Repository.write(try Repository.read("Tests/golden/documents.latewood"), to: directory.file)
    database = try Database.open(at: directory.file, mode: .openExisting)
    people = try database.defaultCollection
    films = try database.collection("films", of: GoldenFilm.self)
  }

  @Test func `documents and collections are complete`() throws {
    #expect(try database.collectionNames == ["_default", "films"])
    #expect(try films.count == 40 && people.count == 9)
    #expect(
      try people.documentIDs() == [
        "anna", "foreign", "früchte 🍐", "icon", "lost", "photo", "resolved", "same", "waiting",
      ])
    let film = try #require(try films.document("film 17"))
    #expect(film.title == "Title 3" && film.year == 1977 && film.cast == ["actor 0", "actor 1"])
    let fruit = try #require(try people.document("früchte 🍐"))
    #expect(fruit["null"].isNull && fruit["yes"].bool == true && fruit["int"].int == -9_007_199_254_740_993)
    #expect(fruit["big"] == DocumentValue(UInt64.max) && fruit["real"].double == 0.1)
    #expect(fruit["text"].string == "\u{1}\"é" && fruit["list"][1][1]["a"].count == 0)
    #expect(database.revisionDepth == 3)
    #expect(try database.identity.count == 32)
    #expect(try people.localDocumentNames == ["place"] && people.localDocument("place")?["at"].int == 17)
    let verified = try database.verify()
    #expect(verified.faults == [] && verified.blobs == 2 && verified.missingBlobs == 1)
  }

  @Test func `revisions, deletions and conflicts are complete`() throws {
    let revisions = try people.revisions(of: "anna")
    #expect(revisions.map { $0.id.prefix(2) } == ["5-", "4-", "3-"])
    #expect(try people.document("anna")?.int("edit") == 5)
    #expect(try people.document("anna", revision: revisions[2].id)?.int("edit") == 3)
    #expect(try people.document("ben") == nil && people.revisions(of: "ben").first?.isDeleted == true)
    #expect(try people.revisions(of: "purged").isEmpty)
    let waiting = try #require(try people.document("waiting"))
    let others = try people.conflicts(of: "waiting")
    #expect(waiting.hasConflicts && others.first?["by"].string == "me")
    #expect(others.count == 1 && waiting["by"].string == "them")
    #expect(try people.commonAncestor(waiting, others[0])?["by"].string == "root")
    #expect(try people.revisions(of: "waiting").count { $0.isLeaf } == 3)
    let resolved = try #require(try people.document("resolved"))
    #expect(!resolved.hasConflicts && resolved["by"].string == "both")
    #expect(try people.conflicts(of: "resolved").isEmpty)
    #expect(try people.document("foreign")?.revisionID == "2-abc-def")
    #expect(try people.conflicts(of: "foreign").map(\.revisionID) == ["2-ABC"])
    #expect(try people.revisions(of: "foreign").map(\.id) == ["2-abc-def", "2-ABC", "1-5ac"])
  }

  @Test func `blobs, expiry and the feed are complete`() throws {
    func blob(_ id: String) throws -> Blob { try #require(try people.document(id)?["blob"].blob) }
    let (small, large, lost) = (try blob("icon"), try blob("photo"), try blob("lost"))
    #expect(try blob("same") == small)
    #expect(try database.content(of: small).data() == Data([1, 2, 3]))
    #expect(
      try database.content(of: large).data() == Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
    refusal(.notFound) { _ = try database.content(of: lost) }
    #expect(try !database.hasContent(of: lost) && small.contentType == "image/png")
    #expect(try films.expiration(of: "film 3") == Date(timeIntervalSince1970: 4_000_000_000))
    #expect(try films.expirations().count == 1)
    #expect(try films.changes(since: 38).map(\.documentID) == ["film 38", "film 39"])
    #expect(try films.lastSequence == 40)
    #expect(
      try people.changes().map(\.id) == [
        "anna", "ben", "früchte 🍐", "icon", "photo", "same", "lost", "waiting", "resolved",
        "foreign",
      ])
    #expect(try people.changes().filter(\.isDeleted).map(\.id) == ["ben"])
  }

  @Test func `indexes are complete and used by queries`() throws {
    let indexes = try films.documents.indexes
    #expect(indexes.map(\.name) == ["by code", "by year", "cast", "new"])
    #expect(indexes.map(\.fields) == [["code"], ["title", "year:desc"], ["cast[]"], ["year"]])
    #expect(indexes.map(\.count) == [40, 40, 39, 10] && indexes.allSatisfy(\.isReady))
    #expect(indexes.map(\.isUnique) == [true, false, false, false])
    #expect(indexes.map(\.isPartial) == [false, false, false, true])
    let query = films.query().where { $0.code == "c7" }
    #expect(try query.explain().indexes == ["by code"])
    #expect(try query.all().map(\.documentID) == ["film 7"])
    let titled = try films.query().where { $0.title == "Title 2" }.sorted { $0.year.descending }.all()
    #expect(titled.map(\.year) == [1997, 1990, 1983, 1976, 1969, 1962])
    let actor = films.query().where { $0.cast.contains("actor 1") }
    #expect(try actor.count() == 13 && actor.explain().indexes == ["cast"])
  }

  @Test func `the database can be changed and compacted`() throws {
    refusal(.notUnique) {
      try films.save(GoldenFilm(id: "new", title: "New", year: 2000, code: "c7", cast: []))
    }
    try films.save(GoldenFilm(id: "new", title: "New", year: 2000, code: "c40", cast: ["actor 0"]))
    #expect(try films.lastSequence == 41)
    let waiting = try #require(try people.document("waiting"))
    try people.resolveConflicts(choosing: waiting)
    #expect(try people.conflicts(of: "waiting").isEmpty)
    try people.update("anna") { $0["edit"] = 6 }
    #expect(try people.revisions(of: "anna").map { $0.id.prefix(2) } == ["6-", "5-", "4-"])
    try films.delete("film 39")
    for isCompacted in [false, true] {
      if isCompacted { try database.compact() }
      #expect(try films.documents.indexes.map(\.count) == [40, 40, 40, 10])
      #expect(try database.verify().faults == [])
    }
    try database.close()
    let again = try Database.open(at: directory.file)
    #expect(try again.collection("films")?.count == 40 && again.defaultCollection.count == 9)
    try again.close()
  }
}
