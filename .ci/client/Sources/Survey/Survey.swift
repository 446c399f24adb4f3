import Foundation
import Latewood

/// A sighting, as the first version of the app saved it, and as the club still sends it.
struct FirstSighting: Codable, Identifiable {
  var id: String
  var species: String
  var count: Int
  var site: String
  var seen: Date
}

/// A sighting of today: it has a habitat, and may have a photo.
struct Sighting: Codable, Identifiable {
  var id: String
  var species: String
  var count: Int
  var site: String
  var habitat: String
  var seen = Date.now
  var photo: Blob?
}

/// A survey of birds from the first import to the backup: what an app does with a database.
///
/// It works in a directory of its own, which it removes, and checks what it reads. It ends with
/// exit code 1 if anything is not as it should be.
@main
struct Survey {
  static let club = """
    [
      {"id": "a1", "species": "Grey heron", "count": 2, "site": "Pond", "seen": "2026-05-01T06:30:00Z"},
      {"id": "a2", "species": "Coot", "count": 11, "site": "Pond", "seen": "2026-05-01T06:45:00Z"},
      {"id": "a3", "species": "Dipper", "count": 1, "site": "Weir", "seen": "2026-05-02T07:10:00Z"}
    ]
    """

  static func main() async {
    do {
      if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "count" {
        try await count(at: CommandLine.arguments[2])
      } else {
        let directory = URL.temporaryDirectory.appending(path: "survey-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await survey(in: directory)
      }
    } catch {
      FileHandle.standardError.write(Data("survey: \(error)\n".utf8))
      exit(1)
    }
  }

  static func survey(in directory: URL) async throws {
    let path = directory.appending(path: "survey.latewood").path
    let database = try await Database.open(at: path)

    try await importSightings(from: directory.appending(path: "club.json"), into: database)
    try await migrate(database)

    let sightings = try database.collection("sightings", of: Sighting.self)
    try await follow(sightings)
    try await correct(sightings)
    try await addPhoto(to: "a1", of: sightings, in: database)
    try await expireDraft(in: database)

    try await sightings.createIndex("by species") { ($0.species, $0.count.descending) }
    let coots = sightings.query().where { $0.species == "Coot" }.sorted { $0.count.descending }
    try check(try await coots.all().map(\.count) == [11, 9, 8, 7], "a query finds all coots, the most first")

    try check(try countInAnotherProcess(path) == 8, "another process reads while this one has it open")
    try await backUp(database, to: directory.appending(path: "backup.latewood").path)
    try await database.close()
  }

  /// Imports a JSON array: `Codable` reads it, and one batch saves it.
  static func importSightings(from file: URL, into database: Database) async throws {
    try Data(club.utf8).write(to: file)

    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let list = try decoder.decode([FirstSighting].self, from: Data(contentsOf: file))
    let sightings = try database.collection("sightings", of: FirstSighting.self)
    try await sightings.save(contentsOf: list)

    let found = try await sightings.document("a1")
    try check(found?.seen == list[0].seen, "a date comes back as it was")
    try check(try sightings.count == 3, "the array is imported")
  }

  /// Gives the sightings of the first version a habitat. It runs once in the life of a database.
  static func migrate(_ database: Database) async throws {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("add habitat", in: "sightings", from: FirstSighting.self) { old in
      Sighting(
        id: old.id, species: old.species, count: old.count, site: old.site,
        habitat: old.site == "Weir" ? "river" : "lake", seen: old.seen)
    }
    try await migrator.migrate(database)
    try await migrator.migrate(database)  // has nothing left to do

    let dipper = try await database.collection("sightings", of: Sighting.self).document("a3")
    try check(dipper?.habitat == "river", "the migration added a field")
  }

  /// Saves from several tasks at once, while another one follows the collection.
  static func follow(_ sightings: TypedCollection<Sighting>) async throws {
    let follower = Task {
      var heard: [String: Int] = [:]
      for try await change in sightings.feed() {  // what there is, then what comes
        heard[change.documentID] = change.document?.count
        if heard.count == 8 { break }
      }
      return heard
    }

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 5...9 {
        group.addTask {
          let species = number > 6 ? "Coot" : "Mallard"
          try await sightings.save(
            Sighting(id: "b\(number)", species: species, count: number, site: "Lake", habitat: "lake"))
        }
      }
      try await group.waitForAll()
    }
    let heard = try await follower.value
    try check(heard["a2"] == 11 && heard["b9"] == 9, "the feed has the old sightings and the new ones")
  }

  /// Edits a sighting that somebody else has changed meanwhile: the save is refused, so that no
  /// edit is lost.
  static func correct(_ sightings: TypedCollection<Sighting>) async throws {
    guard var mine = try await sightings.document("a1") else { throw SurveyFailed("a1 is missing") }
    try await sightings.update("a1") { $0.count = 3 }  // somebody else

    mine.site = "Reeds"
    do {
      try await sightings.save(mine)
      throw SurveyFailed("a stale save was accepted")
    } catch let error as DatabaseError where error.code == .conflict {
      try await sightings.update("a1") { $0.site = "Reeds" }  // my change, made to theirs
    }
    let merged = try await sightings.document("a1")
    try check(merged?.count == 3 && merged?.site == "Reeds", "a conflict is resolved, both edits are kept")
  }

  /// Keeps a photo beside the sighting, which has only its description.
  static func addPhoto(
    to id: String, of sightings: TypedCollection<Sighting>, in database: Database
  ) async throws {
    let picture = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* $0) })  // stands for a JPEG
    let photo = try await database.saveBlob(picture, contentType: "image/jpeg")
    try await sightings.update(id) { $0.photo = photo }

    guard let kept = try await sightings.document(id)?.photo else { throw SurveyFailed("no photo") }
    let content = try await database.content(of: kept)
    try check(try await content.data() == picture, "the photo comes back")
    try check(try await content.data(in: 10..<20) == picture[10..<20], "and a part of it")
  }

  /// Keeps a draft for a moment. Nobody has to delete it.
  static func expireDraft(in database: Database) async throws {
    let drafts = try database.collection("drafts", of: Sighting.self)
    try await drafts.save(Sighting(id: "draft", species: "?", count: 1, site: "Weir", habitat: "river"))
    try await drafts.documents.expire("draft", after: .seconds(1))
    while try await drafts.document("draft") != nil { try await Task.sleep(for: .milliseconds(50)) }
    try check(try drafts.count == 0, "the draft has expired")
  }

  /// Backs the open database up, and reads the backup.
  static func backUp(_ database: Database, to path: String) async throws {
    let report = try await database.backup(to: path)
    let backup = try await Database.open(at: path, mode: .readOnly)
    let copies = try backup.collection("sightings", of: Sighting.self)
    try check(try report.bytesCopied > 0 && copies.count == 8, "the backup has every sighting")
    try await backup.close()
  }

  /// Starts this program again to count the sightings, and returns what it prints.
  static func countInAnotherProcess(_ path: String) throws -> Int? {
    let reader = Process()
    reader.executableURL = URL(filePath: CommandLine.arguments[0])
    reader.arguments = ["count", path]
    let output = Pipe()
    reader.standardOutput = output
    try reader.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    reader.waitUntilExit()
    return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// Prints the number of sightings: all that the second process does.
  static func count(at path: String) async throws {
    let database = try await Database.open(at: path, mode: .readOnly)
    print(try database.collection("sightings", of: Sighting.self).count)
  }

  static func check(_ holds: Bool, _ claim: String) throws {
    guard holds else { throw SurveyFailed(claim) }
    print("ok  \(claim)")
  }
}

struct SurveyFailed: Error, CustomStringConvertible {
  var description: String

  init(_ claim: String) { description = "failed: \(claim)" }
}
