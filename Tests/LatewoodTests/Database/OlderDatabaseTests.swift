import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// A file in the form of release 0.2.0, which kept every body apart from the record of its
/// document. It is opened without a conversion, and changed documents get today's form.
@Suite struct OlderDatabaseTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try Repository.write(try Repository.read("Tests/golden-older/bodies-apart.latewood"), to: directory.file)
  }

  /// Expects the contents of the file, except for film 0, which the tests change.
  private func expectContents(of database: Database, films count: Int = 40) throws {
    let people = try database.defaultCollection
    let films = try database.collection("films", of: GoldenFilm.self)
    #expect(try database.collectionNames == ["_default", "films"])
    #expect(try films.count == count && people.count == 8 && database.revisionDepth == 3)
    let film = try #require(try films.document("film 17"))
    #expect(film.title == "Title 3" && film.year == 1977 && film.cast == ["actor 0", "actor 1"])
    #expect(try people.document("anna")?.int("edit") == 5)
    #expect(try people.document("waiting")?.hasConflicts == true)
    #expect(try people.conflicts(of: "waiting").first?["by"].string == "me")
    #expect(try people.document("ben") == nil && people.revisions(of: "ben").first?.isDeleted == true)
    let blob = try #require(try people.document("photo")?["blob"].blob)
    #expect(try database.content(of: blob).data().count == 5000)
    #expect(try people.localDocument("place")?["at"].int == 17)
    #expect(try films.expiration(of: "film 3") == Date(timeIntervalSince1970: 4_000_000_000))
    #expect(try films.query().where { $0.code == "c7" }.all().map(\.documentID) == ["film 7"])
    #expect(try films.query().where { $0.cast.contains("actor 1") }.count() == 13)
    #expect(try database.verify().faults == [])
  }

  @Test func `an older database is read completely, even without write access`() throws {
    for mode in [Database.OpenMode.readOnly, .openExisting] {
      let database = try Database.open(at: directory.file, mode: mode)
      try expectContents(of: database)
      let earlier = try database.defaultCollection.revisions(of: "anna").map(\.id)
      #expect(earlier.map { $0.prefix(2) } == ["5-", "4-", "3-"])
      #expect(try database.defaultCollection.document("anna", revision: earlier[2])?.int("edit") == 3)
      try database.close()
    }
  }

  @Test func `an older database can be changed, compacted and backed up, and reopens`() throws {
    let database = try Database.open(at: directory.file)
    let films = try database.collection("films", of: GoldenFilm.self)
    try films.update("film 0") { $0.year = 2000 }
    try films.save(GoldenFilm(id: "new", title: "New", year: 2001, code: "c40", cast: []))
    try expectContents(of: database, films: 41)
    _ = try database.backup(to: directory.file + ".backup")
    try database.compact()
    try expectContents(of: database, films: 41)
    try database.close()
    for path in [directory.file, directory.file + ".backup"] {
      let again = try Database.open(at: path)
      try expectContents(of: again, films: 41)
      let films = try again.collection("films", of: GoldenFilm.self)
      #expect(try films.document("film 0")?.year == 2000 && films.document("new")?.year == 2001)
      try again.close()
    }
  }
}
