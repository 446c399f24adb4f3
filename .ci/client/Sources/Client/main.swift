import Foundation
import Latewood
import LatewoodStore

let path = CommandLine.arguments[1]

func check(_ condition: Bool, _ what: String) throws {
  if !condition { throw CheckFailed(what: what) }
}

struct CheckFailed: Error { var what: String }

let store = try Store.open(at: path)
let fruit = try store.keyspace("fruit")
try store.write { transaction in
  try transaction.put("apple", "red", in: fruit)
  try transaction.put("pear", "green", in: fruit)
  try transaction.put("plum", "blue", in: fruit)
}
try check(try store.get("apple", in: fruit) == Array("red".utf8), "a value comes back")
let snapshot = try store.snapshot()
func drop(_ key: String) async throws {
  try await store.write { transaction in try transaction.delete(key, in: fruit) }
}
try await drop("pear")
let keys = try store.entries(in: fruit, .prefix("p")).map { String(decoding: $0.key, as: UTF8.self) }
try check(keys == ["plum"], "a prefix range sees the delete")
try check(try snapshot.count(in: fruit) == 3, "a snapshot does not")
let length = try store.withValue("plum", in: fruit) { value in value.byteCount }

/// Reads in the loop that a user writes whose snapshots may be closed elsewhere. With typed errors
/// Swift 6.3.1 would crash on it, as on the loops for documents below.
func readAgain(_ key: String, from first: Snapshot) throws -> [UInt8]? {
  var snapshot = first
  while true {
    do {
      return try snapshot.get(key, in: fruit)
    } catch let error as StoreError where error.code == .snapshotClosed {
      snapshot = try store.snapshot()
    }
  }
}
let closed = try store.snapshot()
closed.close()
try check(try readAgain("plum", from: closed) == Array("blue".utf8), "a closed snapshot is noticed")
try check(length == 4, "a value is read without a copy")
do {
  try store.write { transaction in
    try transaction.put("lost", "1", in: fruit)
    throw CheckFailed(what: "on purpose")
  }
} catch is CheckFailed {}
try check(try !store.contains("lost", in: fruit), "a throwing closure leaves no trace")
try store.close()
do {
  _ = try store.get("apple", in: fruit)
  throw CheckFailed(what: "a closed store was read")
} catch let error as StoreError {
  try check(error.code == .closed, "a closed store says so")
}
let again = try Store.open(at: path, mode: .readOnly)
try check(try again.verify().isSound, "the file is sound")

struct Fruit: Codable, Equatable {
  var name: String
  var colours: [String]
}
let apple = Fruit(name: "apple", colours: ["red", "green"])
var document = try MutableDocument(id: "apple", encoding: apple)
try check(try document.decode(as: Fruit.self) == apple, "a document is a Codable type again")
document["origin"]["country"] = "Kazakhstan"
try check(document["origin"]["country"].string == "Kazakhstan", "a path leads to what was set")
try check(document.int("origin") == 0 && document.count == 3, "a member of another type reads as the default")
let (harvest, exported, note) = ("autumn", ["Spain", "Peru"], String?.none)
document["harvest"] = harvest
document["trade"] = ["to": exported, "since": 1995, "note": note]
document["name"] = nil
let countries: [String]? = document["trade"]["to"]
try check(countries == exported && document["harvest"] == harvest, "variables are set and read")
try check(document.value(at: "trade.to[1]").string == "Peru", "a path of text leads to an element")
try check(document["trade"]["to"].map(\.string) == exported, "an array is a sequence")
try check(!document.contains("name") && document["trade"].count == 2, "nil removes a member")
document.removeValue(forKey: "harvest")
document["trade"] = nil
document["name"] = apple.name
let copy = try MutableDocument(id: "copy", json: document.toJSON())
try check(copy.hasSameContent(as: document), "JSON comes back")
do {
  _ = try MutableDocument(id: "_reserved")
  throw CheckFailed(what: "a bad id was accepted")
} catch let error as DatabaseError {
  try check(error.code == .badDocumentID, "a bad id says so")
}

/// Counts in the loop that a user writes who has not heard of `update`. If all calls in it said
/// `throws(DatabaseError)`, Swift 6.3.1 would crash on it.
func countVisit(in visits: DocumentCollection) throws {
  while true {
    do {
      var document = try visits.document("visits")?.toMutable() ?? MutableDocument(id: "visits")
      document["count"].int = document.int("count") + 1
      try visits.save(document)
      return
    } catch let error as DatabaseError where error.code == .conflict {
      continue
    }
  }
}
func countVisitAside(in visits: DocumentCollection) async throws {
  for _ in 0... {
    do {
      var document = try await visits.document("visits")?.toMutable() ?? MutableDocument(id: "visits")
      document["count"].int = document.int("count") + 1
      try await visits.save(document)
      return
    } catch let error as DatabaseError where error.code == .conflict {
      await Task.yield()
    }
  }
}
func countVisits() async throws {
  let visits = try Database.inMemory().defaultCollection
  try await withThrowingTaskGroup(of: Void.self) { group in
    for _ in 0..<4 {
      group.addTask { for _ in 0..<25 { try await countVisitAside(in: visits) } }
      group.addTask { for _ in 0..<25 { try countVisit(in: visits) } }
    }
    try await group.waitForAll()
  }
  try check(try await visits.document("visits")?.int("count") == 200, "a loop that retries loses no change")
}
try await countVisits()

struct Movie: Codable {
  var title: String
  var year: Int
  var cast: [String]
}
struct Visitor: Codable, Identifiable, Equatable, Sendable {
  var id: UUID
  var name: String
  var came: Date
  var paid: Decimal
}
func keepVisitors() async throws {
  let database = try Database.inMemory()
  let visitors = try database.collection("visitors", of: Visitor.self)
  let anna = Visitor(id: UUID(), name: "Anna", came: .now, paid: Decimal(string: "12.30") ?? 0)
  var saved = try await visitors.save(anna)
  try check(saved.value == anna && visitors[anna.id] == anna, "a value comes back equal")
  try await visitors.update(anna.id) { $0.paid += 1 }
  do {
    saved.name = "Anna Maria"
    saved = try await visitors.save(saved)
    throw CheckFailed(what: "a stale save went through")
  } catch let error as DatabaseError where error.code == .conflict {
    saved = try await visitors.document(anna.id) ?? saved
  }
  saved.name = "Anna Maria"
  try await visitors.save(saved)
  let found = try await visitors.query().where { $0.name == "Anna Maria" && $0.came == anna.came }.all()
  try check(found.map(\.paid.description) == ["13.3"], "a query finds values")
  var more: [Visitor] = []
  for number in 0..<10 { more.append(Visitor(id: UUID(), name: "\(number)", came: .now, paid: 0)) }
  try await visitors.save(contentsOf: more)
  try check(try await visitors.all().count == 11, "many are saved at once")
  for try await change in visitors.feed(since: 3) {
    try check(change.document?.name == "0", "a feed has values")
    break
  }
  try check(try await visitors.delete(anna.id), "a value is deleted")
}
try await keepVisitors()

func findMovies() async throws {
  var configuration = Database.Configuration()
  configuration.compaction = CompactionPolicy()
  configuration.durability = Durability.synchronous
  let database = try await Database.open(at: path + ".movies", configuration: configuration)
  let movies = try await database.createCollection("movies")
  for (title, year, cast) in [
    ("Star Wars", 1977, ["Harrison Ford", "Carrie Fisher"]), ("Alien", 1979, ["Sigourney Weaver"]),
    ("Blade Runner", 1982, ["Harrison Ford"]),
  ] {
    try await movies.save(Movie(title: title, year: year, cast: cast), as: title)
  }
  let recent = movies.query(Movie.self)
    .where { $0.year >= 1975 && $0.cast.contains("Harrison Ford") }
    .sorted { ($0.year.descending, $0.title) }
    .limit(20)
  let list = try await recent.all()
  try check(list.map(\.title) == ["Blade Runner", "Star Wars"], "a query finds and sorts")
  try check(try await recent.count() == 2, "a query counts")
  let rows = try await recent.select { ($0.title, $0.year) }.rows()
  try check(rows.map(\.1) == [1982, 1977], "a query gives columns")
  try await movies.createIndex("by year", of: Movie.self) { ($0.year.descending, $0.title) }
  let seventies = movies.query(Movie.self).where { $0.year >= 1970 && $0.year < 1980 }
  let newest = movies.query(Movie.self).sorted { ($0.year.descending, $0.title) }.limit(2)
  let columns = newest.select { ($0.title, $0.year) }
  try check(try await columns.explain().isCovering, "an index covers the rows of its fields")
  try check(try await columns.rows().map(\.0) == ["Blade Runner", "Alien"], "and gives them")
  try check(try await seventies.max { $0.year } == 1979, "a query finds the greatest value")
  try check(try await seventies.average { $0.year } == 1978, "a query finds the mean")
  let titles = try await seventies.distinct { $0.title }
  try check(titles == ["Alien", "Star Wars"], "a query finds the different values")
  let perYear = try await movies.query(Movie.self).grouped { $0.year }.count()
  try check(perYear == [1977: 1, 1979: 1, 1982: 1], "a query groups")
  let untyped = try await movies.query().where { $0["cast"][0] == "Sigourney Weaver" }.all()
  try check(untyped.map(\.id) == ["Alien"], "a query needs no type")
  let films = try database.query(
    "SELECT title, year FROM movies WHERE year >= $since ORDER BY year LIMIT 20", ["since": 1978])
  try check(
    try await films.rows().map { $0["title"].string } == ["Alien", "Blade Runner"], "a statement finds rows")
  struct Role: Codable, Sendable {
    var actor: String
    var films: Int
  }
  let roles = try await database.query(
    "SELECT actor, COUNT(*) AS films FROM movies UNNEST movies.cast AS actor GROUP BY actor HAVING COUNT(*) > 1"
  ).rows(as: Role.self)
  try check(roles.map(\.actor) == ["Harrison Ford"], "a statement groups")
  let alien = try database.query(
    "SELECT title FROM movies UNNEST movies.cast AS a WHERE a = 'Sigourney Weaver'")
  try check(try await alien.explain().suggestion == "cast[]", "a statement says what index would help")
  try await movies.createIndex("by actor", of: Movie.self) { $0.cast.each }
  try check(try await alien.explain().indexes == ["by actor"], "a statement uses an index")
  try check(try await alien.rows().map { $0["title"].string } == ["Alien"], "and finds the same")
  var updates = recent.live().makeAsyncIterator()
  var shown: [Movie] = []
  for expected in [["Blade Runner", "Star Wars"], ["Witness", "Blade Runner", "Star Wars"]] {
    guard let update = try await updates.next() else { throw CheckFailed(what: "a live query ends") }
    shown = shown.applying(update.difference) ?? []
    try check(shown.map(\.title) == expected, "a difference leads to the values")
    try check(update.values.map(\.title) == expected, "a live query says what there is")
    try await movies.save(Movie(title: "Witness", year: 1985, cast: ["Harrison Ford"]), as: "Witness")
  }
  try await movies.update("Witness") { $0.isDeleted = true }
  var seen = try await movies.mutableDocument("seen")
  seen["titles"] = shown.map(\.title)
  try await movies.save(seen)
  try await movies.expire("seen", after: .seconds(3600))
  try check(try await movies.expirations().map(\.id) == ["seen"], "a document is going to expire")
  try check(try await database.verify().isSound, "the database is sound")
  try await database.delete()
}
try await findMovies()
print("client: all checks passed")
