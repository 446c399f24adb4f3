import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

/// Finding documents by their contents, compared with filtering a plain list of them.
@Suite struct FindTests {
  private struct Film {
    var id: String
    var year: Int
    var title: String?
  }

  private let store: DocumentStore
  private let collection: CollectionHandle
  private let films: [Film]

  init() throws {
    var random = SeededRandom(seed: 7)
    films = (0..<300).map { number in
      Film(
        id: "film-\(number * 7 % 300)", year: 1970 + random.below(20),
        title: random.oneIn(10) ? nil : random.pick(["Alien", "Brazil", "Ran", "Tron"]))
    }.sorted { $0.id < $1.id }
    store = try DocumentStore.inMemory()
    collection = try store.createCollection("films")
    let films = films
    let collection = collection
    try store.write { writer in
      for film in films.shuffled(using: &random) {
        let title = film.title.map { #","title":"\#($0)""# } ?? ""
        _ = try writer.save(
          film.id, in: collection, body: JSON.fleece(from: #"{"year":\#(film.year)\#(title)}"#), parent: nil)
      }
      let gone = try writer.save(
        "film-000", in: collection, body: JSON.fleece(from: #"{"year":1975}"#), parent: nil)
      _ = try writer.save(
        "film-000", in: collection, body: JSON.fleece(from: "{}"), parent: gone.revision, isDeleted: true)
    }
  }

  private func find(
    _ selector: String, by order: [FindRequest.Order] = [], skip: Int = 0, limit: Int = .max
  ) throws -> (ids: [String], read: Int) {
    var request = FindRequest(try MangoParser.predicate(json: selector))
    request.order = order
    request.skip = skip
    request.limit = limit
    var ids: [String] = []
    let read = try store.reads(collection).find(request) { document in
      ids.append(document.id)
      return true
    }
    return (ids, read)
  }

  @Test func `a total over an index that holds the field reads no documents`() throws {
    let year = FieldPath("year")
    let seventies = FindRequest(try MangoParser.predicate(json: #"{"year": {"$gte": 1972, "$lt": 1980}}"#))
    func total(_ request: FindRequest) throws -> (sum: Int?, read: Int) {
      var read = 0
      let total = try store.reads(collection).total(PreparedFind(request), of: year, isWhole: true) {
        document, total in
        read += 1
        try document.withField(year) { lookup throws(FleeceError) in
          guard let value = try ScalarValue(lookup.value) else { return }
          _ = total.add(value)
        }
      }
      return (total.whole, read)
    }
    let found = films.filter { (1972..<1980).contains($0.year) }
    let expected = found.reduce(0) { $0 + $1.year }
    let scanned = try total(seventies)
    #expect(scanned == (expected, found.count))
    for definition in ["year", "year:desc", "year,title", "title,year:desc"] {
      let parts = try definition.split(separator: ",").map { try IndexDefinition.Part(parsing: String($0)) }
      try store.createIndex("index", IndexDefinition(parts), in: collection)
      // An index by title contains all films; the range of years still has to be checked.
      let isRange = parts[0].path == year
      #expect(try total(seventies) == (expected, isRange ? 0 : found.count), "\(definition)")
      let all = films.reduce(0) { $0 + $1.year }
      #expect(try total(FindRequest()).sum == all, "\(definition)")
      var limited = seventies
      limited.order = [FindRequest.Order(year)]
      (limited.skip, limited.limit) = (2, 5)
      let years = found.map(\.year).sorted()
      #expect(try total(limited).sum == years[2..<7].reduce(0, +), "\(definition)")
      try store.dropIndex("index", in: collection)
    }
  }

  @Test func `documents are found in id order, without tombstones`() throws {
    let found = try find(#"{"year": {"$gte": 1975, "$lt": 1980}}"#)
    #expect(found.ids == films.filter { (1975..<1980).contains($0.year) }.map(\.id))
    #expect(found.read == films.count)
  }

  @Test(arguments: [0, 1, 63, 64, 65, 129, 299, 300, 301])
  func `sorting agrees with a plain sort, for every skip and limit`(skip: Int) throws {
    // A missing title sorts before all others; ties are decided by the id.
    let sorted = films.sorted {
      ($1.year, $0.title ?? "", $0.id) < ($0.year, $1.title ?? "", $1.id)
    }
    let order = [
      FindRequest.Order(FieldPath("year"), isDescending: true), FindRequest.Order(FieldPath("title")),
    ]
    for limit in [0, 1, 64, 100, Int.max] {
      let found = try find("{}", by: order, skip: skip, limit: limit)
      #expect(found.ids == sorted.dropFirst(skip).prefix(limit).map(\.id), "\(skip), \(limit)")
      #expect(try find("{}", skip: skip, limit: limit).ids == films.dropFirst(skip).prefix(limit).map(\.id))
    }
  }

  @Test(arguments: [
    #"{"_id": "film-21"}"#, #"{"_id": {"$gt": "film-5", "$lte": "film-77"}}"#,
    #"{"_id": {"$beginsWith": "film-9"}}"#, #"{"$and": [{"_id": {"$gte": "film-3"}}, {"year": 1975}]}"#,
    #"{"_id": {"$lt": "film-4"}, "year": {"$ne": 1975}}"#, #"{"_id": {"$gt": "film-5", "$lt": "film-2"}}"#,
    #"{"$or": [{"_id": "film-21"}, {"year": 1975}]}"#, #"{"_id": {"$gt": 5}}"#, #"{"_id": {"$lt": 5}}"#,
  ])
  func `conditions on ids limit the documents read, never the documents found`(
    selector: String
  ) throws {
    let predicate = try MangoParser.predicate(json: selector)
    let expected = try films.filter { film in
      var writer = FleeceWriter()
      try writer.beginDictionary()
      try writer.key("_id")
      try writer.string(film.id)
      try writer.key("year")
      try writer.integer(Int64(film.year))
      try writer.endDictionary()
      return try FleeceBody(written: try writer.finish()).withRoot { root throws(FleeceError) in
        try predicate.matches(root)
      }
    }
    let found = try find(selector)
    #expect(found.ids == expected.map(\.id))
    #expect(found.read <= films.count)
    if selector.hasPrefix(#"{"_id": "film-21""#) { #expect(found.read == 1) }
  }

  @Test func `a batch finds the documents it saved, and a snapshot the earlier ones`() throws {
    let snapshot = try store.snapshot()
    let selector = try MangoParser.predicate(json: #"{"year": 2049}"#)
    func count(_ reads: DocumentReads) throws -> Int {
      var count = 0
      try reads.find(FindRequest(selector)) { _ in
        count += 1
        return true
      }
      return count
    }
    let collection = collection
    try store.write { writer in
      _ = try writer.save("new", in: collection, body: JSON.fleece(from: #"{"year":2049}"#), parent: nil)
      #expect(try count(writer.reads(collection)) == 1)
    }
    #expect(try count(snapshot.reads(collection)) == 0)
    #expect(try count(store.reads(collection)) == 1)
  }
}
