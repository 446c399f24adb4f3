import Foundation
import Latewood
import LatewoodSimulation
import LatewoodTestSupport
import Testing

/// Encrypted databases of documents, as programs use them.
@Suite struct EncryptedDatabaseTests {
  private let directory: TemporaryDirectory
  private static let key = Array(repeating: UInt8(7), count: 32)
  private static let other = Array(repeating: UInt8(8), count: 32)

  init() throws { directory = try TemporaryDirectory() }

  private func configuration(
    _ key: [UInt8]? = key, _ suite: CipherSuite = .chaCha20
  ) -> Database.Configuration {
    var configuration = Database.Configuration()
    configuration.encryptionKey = key.map { .raw($0) }
    configuration.cipherSuite = suite
    configuration.compaction = .manual
    return configuration
  }

  private func open(_ key: [UInt8]? = key, at path: String? = nil) throws -> Database {
    try Database.open(at: path ?? directory.file, configuration: configuration(key))
  }

  // MARK: Everything that a database holds

  /// Words that occur in everything that `fill` stores: ids, members, values, names of collections,
  /// indexes and views, local documents and blobs.
  private static let secrets = [
    "quokka", "Wombat", "numbat", "bilby", "dunnart", "kowari", "potoroo", "bettong", "phascogale",
    "antechinus", "mulgara", "planigale", "ningaui", "pademelon", "cuscus", "wallaroo",
  ]

  private func fill(_ database: Database) throws {
    let films = try database.createCollection("quokkas")
    try films.createIndex("by Wombat", on: ["wombat"])
    try films.createIndex("numbat words", fullText: ["plot"])
    let view = try view(of: films)
    for number in 0..<60 {
      var film = try MutableDocument(id: "dunnart \(number)")
      film["wombat"] = "Wombat \(number % 10)"
      film["plot"] = "kowari and potoroo number \(number)"
      film["long"].string = String(repeating: "bettong \(number) ", count: number % 20 == 0 ? 9000 : 3)
      film["picture"].blob = try database.saveBlob(
        Data(String(repeating: "phascogale \(number) ", count: 200 * (number % 3)).utf8),
        contentType: "text/antechinus")
      try films.save(film)
    }
    try films.update("dunnart 1") { $0["wombat"] = "mulgara" }
    try films.delete("dunnart 2")
    try films.setLocalDocument("planigale", ["at": "ningaui"])
    try films.setExpiration(of: "dunnart 3", Date(timeIntervalSinceNow: 1e6))
    _ = try view.count()
    try database.createCollection("scope.pademelon").save(MutableDocument(id: "cuscus", ["a": "wallaroo"]))
  }

  private func view(of films: DocumentCollection) throws -> DocumentView {
    try films.view("bilby", version: 1) { film, emit in emit(["bilby", film["wombat"]], film.id.count) }
  }

  private func check(_ database: Database, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let films = try #require(try database.collection("quokkas"))
    #expect(try films.count == 59, sourceLocation: sourceLocation)
    let found = try films.query().where { $0["wombat"] == "Wombat 4" }.documentIDs()
    #expect(found.count == 6, sourceLocation: sourceLocation)
    #expect(
      try films.query().where { $0.matches("numbat words", "potoroo 17") }.documentIDs() == ["dunnart 17"],
      sourceLocation: sourceLocation)
    let rows = try view(of: films).rows(ViewQuery(key: ["bilby", "mulgara"]))
    #expect(rows.map(\.documentID) == ["dunnart 1"], sourceLocation: sourceLocation)
    let film = try #require(try films.document("dunnart 20"))
    #expect(film["long"].string?.hasPrefix("bettong 20 bettong 20") == true, sourceLocation: sourceLocation)
    let blob = try #require(film["picture"].blob)
    #expect(
      try database.content(of: blob).data().starts(with: Data("phascogale 20".utf8)),
      sourceLocation: sourceLocation)
    #expect(
      try films.localDocument("planigale")?["at"].string == "ningaui", sourceLocation: sourceLocation)
    #expect(try database.verify().faults == [], sourceLocation: sourceLocation)
  }

  /// Returns the secrets that are in a file. Parts of 6 bytes would be found, too.
  private func secrets(in path: String) throws -> [String] {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    return Self.secrets.filter { bytes.range(of: Data($0.utf8.prefix(6))) != nil }
  }

  @Test(arguments: CipherSuite.allCases)
  func `documents, indexes, words, views and blobs work as usual, and nothing of them is in the clear`(
    _ suite: CipherSuite
  ) throws {
    var database = try Database.open(at: directory.file, configuration: configuration(Self.key, suite))
    #expect(database.isEncrypted)
    try fill(database)
    try check(database)
    #expect(try secrets(in: directory.file) == [])
    try database.backup(to: directory("backup"))
    try database.close()
    database = try open()
    try check(database)
    try database.compact()
    try check(database)
    try database.close()
    try Database.copy(from: directory.file, to: directory("copy"), encryptionKey: .raw(Self.key))
    try Database.replace(at: directory("copy"), with: directory("backup"), encryptionKey: .raw(Self.key))
    for path in [directory.file, directory("backup"), directory("copy")] {
      #expect(try secrets(in: path) == [], "\(path)")
      var options = configuration()
      options.reading = .buffered(cacheBytes: 1 << 20)
      let again = try Database.open(at: path, mode: .readOnly, configuration: options)
      try check(again)
      try again.close()
    }
  }

  @Test func `the same database has all of it in the clear without encryption`() throws {
    let database = try open(nil)
    try fill(database)
    try database.close()
    // So that the test above means something.
    #expect(try secrets(in: directory.file) == Self.secrets)
  }

  // MARK: Keys

  @Test func `each wrong key has its own error`() throws {
    try open().close()
    refusal(.wrongKey) { _ = try open(Self.other) }
    refusal(.wrongKey) { _ = try open([1, 2, 3]) }
    #expect(refusal(.keyNeeded) { _ = try open(nil) }?.path == directory.file)
    refusal(.keyNeeded) { try Database.copy(from: directory.file, to: directory("copy"), encryptionKey: nil) }
    refusal(.wrongKey) {
      try Database.copy(from: directory.file, to: directory("copy"), encryptionKey: .raw(Self.other))
    }
    #expect(DatabaseError.Code.wrongKey.rawValue == 401)
    let plain = directory("plain.latewood")
    try open(nil, at: plain).close()
    refusal(.notEncrypted) { _ = try open(at: plain) }
    #expect(try Database.delete(at: directory.file))
  }

  @Test func `a second handle needs the key, too`() throws {
    let first = try open()
    try first.defaultCollection.save(MutableDocument(id: "a"))
    for mode in [Database.OpenMode.openOrCreate, .readOnly] {
      for (key, code) in [(nil, DatabaseError.Code.keyNeeded), (Self.other, .wrongKey)] {
        refusal(code) {
          _ = try Database.open(at: directory.file, mode: mode, configuration: configuration(key))
        }
      }
    }
    let second = try open()
    #expect(try second.defaultCollection.count == 1)
    // The writer lock that the batch holds does not matter.
    let third = try first.inBatch { try open() }
    #expect(try third.defaultCollection.count == 1)
    try third.close()
    try second.close()
    try first.close()
    // None of the handles that were refused keeps the file open.
    #expect(try Database.delete(at: directory.file))
  }

  @Test func `a password opens a database, and another spelling does not`() throws {
    var configuration = Database.Configuration()
    configuration.encryptionKey = .password("correct horse")
    let database = try Database.open(at: directory.file, configuration: configuration)
    try database.defaultCollection.save(MutableDocument(id: "a"))
    try database.close()
    let again = try Database.open(at: directory.file, configuration: configuration)
    #expect(try again.defaultCollection.count == 1)
    try again.close()
    configuration.encryptionKey = .password("Correct horse")
    refusal(.wrongKey) { _ = try Database.open(at: directory.file, configuration: configuration) }
    #expect("\(configuration)".contains("Correct horse") == false)
  }

  @Test func `a database is encrypted, gets another key, and is decrypted in place`() async throws {
    let database = try open(nil)
    try fill(database)
    try await database.changeEncryptionKey(to: .raw(Self.key))
    #expect(database.isEncrypted)
    try check(database)
    try await database.changeEncryptionKey(to: .raw(Self.other))
    try await database.changeEncryptionKey(to: .raw(Self.key), renewingFileKey: true)
    try await database.close()
    #expect(try secrets(in: directory.file) == [])
    refusal(.keyNeeded) { _ = try open(nil) }
    refusal(.wrongKey) { _ = try open(Self.other) }
    let encrypted = try open()
    try check(encrypted)
    try await encrypted.changeEncryptionKey(to: nil)
    #expect(!encrypted.isEncrypted)
    try await encrypted.close()
    let plain = try open(nil)
    try check(plain)
    try await plain.changeEncryptionKey(to: nil)
    refusal(.invalidParameter) {
      try plain.inBatch { try blocking { try plain.changeEncryptionKey(to: .raw(Self.key)) } }
    }
    try await plain.close()
  }

  @Test func `a copy is made after the key was changed`() throws {
    let database = try open()
    try fill(database)
    try database.changeEncryptionKey(to: .raw(Self.other))
    try Database.copy(from: directory.file, to: directory("copy"), encryptionKey: .raw(Self.other))
    try database.close()
    let copy = try open(Self.other, at: directory("copy"))
    try check(copy)
    try copy.close()
  }

  @Test func `a database of a URL is copied and replaced with its key`() async throws {
    let (file, copy) = (URL(filePath: directory.file), URL(filePath: directory("copy")))
    let first = try await Database.open(at: file, configuration: configuration())
    try await first.defaultCollection.save(MutableDocument(id: "a"))
    try await first.close()
    let key = EncryptionKey.raw(Self.key)
    func check() async throws {
      let database = try await Database.open(at: copy, configuration: configuration())
      #expect(try database.isEncrypted && database.defaultCollection.count == 1)
      try await database.close()
    }
    try await Database.copy(from: file, to: copy, encryptionKey: key)
    try await check()
    try await Database.replace(at: copy, with: file, encryptionKey: key)
    try await check()
    try blocking { try Database.replace(at: copy, with: file, encryptionKey: key) }
    try await check()
    #expect(try await Database.delete(at: copy))
    try blocking { try Database.copy(from: file, to: copy, encryptionKey: key) }
    try await check()
    refusal(.notFound) {
      try blocking { try Database.copy(from: copy.appending(path: "none"), to: copy, encryptionKey: key) }
    }
  }

  @Test func `an anchor refuses an older copy of a database, also for a second handle`() async throws {
    var database = try open()
    try await database.defaultCollection.save(MutableDocument(id: "a"))
    try await database.close()
    let older = try Data(contentsOf: URL(filePath: directory.file))
    database = try open()
    try await database.defaultCollection.save(MutableDocument(id: "b"))
    let anchor = try await database.anchor()
    var expecting = configuration()
    expecting.expectedAnchor = anchor
    for mode in [Database.OpenMode.openOrCreate, .readOnly] {
      let second = try await Database.open(at: directory.file, mode: mode, configuration: expecting)
      try await second.close()
      var other = configuration()
      other.expectedAnchor = StateAnchor("1-00112233445566778899aabbccddeeff")
      refusal(.rolledBack) {
        try blocking { _ = try Database.open(at: directory.file, mode: mode, configuration: other) }
      }
    }
    refusal(.invalidParameter) { try database.inBatch { try blocking { _ = try database.anchor() } } }
    try await database.defaultCollection.save(MutableDocument(id: "c"))
    try await database.close()
    database = try await Database.open(at: directory.file, configuration: expecting)
    #expect(try database.defaultCollection.count == 3)
    let newest = try await database.anchor()
    try await database.close()
    try older.write(to: URL(filePath: directory.file))
    for anchor in [anchor, newest] {
      expecting.expectedAnchor = anchor
      refusal(.rolledBack) {
        try blocking { _ = try Database.open(at: directory.file, configuration: expecting) }
      }
    }
    // Without an anchor it opens.
    database = try open()
    #expect(try database.defaultCollection.count == 1)
    try await database.close()
    let plain = try open(nil, at: directory("plain"))
    refusal(.notEncrypted) { try blocking { _ = try plain.anchor() } }
    try await plain.close()
  }

  @Test func `a directory opens and replaces encrypted databases by name`() throws {
    let all = DatabaseDirectory(path: directory.path)
    let first = try all.open("first", configuration: configuration())
    try first.defaultCollection.save(MutableDocument(id: "a"))
    try first.close()
    try all.replace("second", with: all.path(of: "first"), encryptionKey: .raw(Self.key))
    let second = try #require(try all.existing("second", configuration: configuration()))
    #expect(try second.isEncrypted && second.defaultCollection.contains("a"))
    try second.close()
  }

  @Test func `a database in memory is not encrypted`() throws {
    let database = try Database.inMemory(configuration: configuration())
    try database.defaultCollection.save(MutableDocument(id: "a"))
    #expect(!database.isEncrypted)
  }
}
