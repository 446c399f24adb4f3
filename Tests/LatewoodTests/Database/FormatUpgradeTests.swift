import Latewood
import LatewoodSimulation
import Testing

/// The two formats of documents, as an app sees them.
@Suite struct FormatUpgradeTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func open(copyOf file: String, mode: Database.OpenMode = .openExisting) throws -> Database {
    try Repository.write(try Repository.read(file), to: directory.file)
    return try Database.open(at: directory.file, mode: mode)
  }

  /// The documents of a collection as JSON, by id, and their revisions.
  private func contents(of database: Database) throws -> (json: [String: String], revisions: [String: String])
  {
    var (json, revisions): ([String: String], [String: String]) = ([:], [:])
    for name in try database.collectionNames {
      for document in try database[name].documents() {
        json["\(name)/\(document.id)"] = try document.toJSON()
        revisions["\(name)/\(document.id)"] = document.revisionID
      }
    }
    return (json, revisions)
  }

  @Test func `files of both formats have the same contents, under other names of revisions`() throws {
    let first = try open(copyOf: "Tests/golden/documents.latewood")
    let older = try contents(of: first)
    #expect(try first.documentFormat == .version1)
    try first.close()
    let second = try open(copyOf: "Tests/golden/documents-2.latewood")
    let newer = try contents(of: second)
    #expect(try second.documentFormat == .version2 && second.verify().faults == [])
    #expect(older.json == newer.json && older.json.count == 49)
    let films = older.revisions.keys.filter { $0.hasPrefix("films/") }
    #expect(films.count == 40)
    for id in films {
      #expect(
        older.revisions[id]?.hasPrefix("1-01") == true && newer.revisions[id]?.hasPrefix("1-02") == true)
    }
    try second.close()
  }

  @Test func `a database of release 0.2.0 keeps its format until it is upgraded`() throws {
    var database = try open(copyOf: "Tests/golden-older/bodies-apart.latewood")
    let before = try contents(of: database)
    #expect(try database.documentFormat == .version1)
    let people = try database.defaultCollection
    try people.save(MutableDocument(id: "before", ["n": 1]))
    #expect(try people.document("before")?.revisionID.hasPrefix("1-01") == true)
    #expect(try database.upgradeDocumentFormat())
    #expect(try !database.upgradeDocumentFormat())
    #expect(try contents(of: database).json.merging(before.json) { $1 } == contents(of: database).json)
    #expect(try people.document("before")?.revisionID.hasPrefix("1-01") == true)
    var document = try #require(try people.document("before")?.toMutable())
    document["n"] = 2
    try people.save(document)
    #expect(try people.document("before")?.revisionID.hasPrefix("2-02") == true)
    #expect(try people.revisions(of: "before").map { $0.id.prefix(4) } == ["2-02", "1-01"])
    try database.compact()
    _ = try database.backup(to: directory.file + ".backup")
    try database.close()
    for path in [directory.file, directory.file + ".backup"] {
      database = try Database.open(at: path)
      #expect(try database.documentFormat == .version2 && database.verify().faults == [])
      for (id, revision) in before.revisions { #expect(try contents(of: database).revisions[id] == revision) }
      #expect(try database.defaultCollection.document("before")?.int("n") == 2)
      try database.close()
    }
  }

  @Test func `the configuration chooses the format of new databases only`() throws {
    var configuration = Database.Configuration()
    #expect(configuration.documentFormat == .newest)
    configuration.documentFormat = .version1
    var database = try Database.open(at: directory.file, configuration: configuration)
    #expect(try database.documentFormat == .version1)
    try database.close()
    database = try Database.open(at: directory.file)
    #expect(try database.documentFormat == .version1)
    try database.close()
    database = try Database.open(at: directory.file, mode: .readOnly)
    #expect(throws: DatabaseError.self) { try database.upgradeDocumentFormat() }
    #expect(try database.documentFormat == .version1)
    try database.close()
  }

  @Test func `equal values have the same revision identifier, however they are written`() throws {
    var seen: Set<String> = []
    for value in [DocumentValue(1), DocumentValue(1.0)] {
      let database = try Database.inMemory()
      var document = try MutableDocument(id: "a")
      document["b"] = value
      document["a"] = DocumentValue("text")
      try database.defaultCollection.save(document)
      let saved = try #require(try database.defaultCollection.document("a"))
      seen.insert(saved.revisionID)
      try database.close()
    }
    #expect(seen.count == 1)
  }
}
