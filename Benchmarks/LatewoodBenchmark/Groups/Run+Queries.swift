import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// Group `queries`: building, using and maintaining indexes over documents of about 400 bytes.
extension Run where Engine == LatewoodEngine {
  func queriesGroup() throws {
    options.directory.makeEmpty()
    let count = options.scaled(50_000)
    var chosen = DocumentOptions()
    chosen.store.durability = .relaxed
    chosen.store.compaction = .manual
    let store = try DocumentStore.open(at: options.directory.path + "/queries.latewood", options: chosen)
    let query = try QueryWorkload(store: store, count: count)
    try measure("query-fill", operations: count) { try query.save(0..<count, over: false) }
    try store.store.checkpoint()
    for field in ["n", "s", "day"] {
      try measure("index-build-\(field)", operations: count) { try query.createIndex(field) }
    }
    try store.store.checkpoint()
    try ask(query)
    try measure("index-update-3", operations: count / 5) { try query.save(0..<(count / 5), over: true) }
    for fault in try store.verify(deep: true, includesStore: false).faults.prefix(3) {
      report.require("query-verify", "\(fault)", "no fault", false)
    }
    printMemory("queries")
    try store.close()
    try measureLiveQuery()
  }

  private func ask(_ query: QueryWorkload) throws {
    let count = query.count
    var random = SplitMix64(seed: 0x71)
    var found: UInt64 = 0
    let points = options.scaled(20_000)
    try measure("query-point", operations: points) {
      for _ in 0..<points {
        found += try query.find(#"{"n":\#(random.below(count))}"#)
      }
    }
    report.require("query-point", "\(found) documents", "\(points)", found == points)
    let width = min(count, 2000)
    try measure("query-range-bodies") {
      let found = try query.find(#"{"n":{"$gte":100,"$lt":\#(100 + width)}}"#, sort: "n")
      return (found, ())
    }
    let counts = options.scaled(20_000)
    try measure("query-count-range", operations: counts) {
      for _ in 0..<counts {
        let low = random.below(count - width + 1)
        let found = try query.count(#"{"n":{"$gte":\#(low),"$lt":\#(low + width)}}"#)
        report.require("query-count-range", "\(found)", "\(width)", found == width)
      }
    }
    let pages = options.scaled(5000)
    try measure("query-offset", operations: pages) {
      for _ in 0..<pages { _ = try query.find("{}", sort: "n", skip: Int(count / 2), limit: 10) }
    }
    try measure("query-top-10", operations: pages) {
      for _ in 0..<pages { _ = try query.find("{}", sort: "n:desc", limit: 10) }
    }
    try measure("query-scan", operations: count) { _ = try query.find(#"{"text":"none"}"#) }
  }
}

/// The documents, and the queries about them.
struct QueryWorkload {
  let store: DocumentStore
  let documents: CollectionHandle
  let count: UInt64
  /// Created once, because creating it takes longer than saving it.
  private let text = String(repeating: "word ", count: 66)

  init(store: DocumentStore, count: UInt64) throws {
    guard let documents = try store.collection(CollectionHandle.defaultName) else {
      throw BenchmarkFailure("there is no default collection")
    }
    (self.store, self.documents, self.count) = (store, documents, count)
  }

  private func identifier(_ number: UInt64) -> String { "document-\(number)" }

  private func body(_ number: UInt64) throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("n")
    try writer.integer(Int64(number))
    try writer.key("s")
    try writer.string("name \(number &* 0x9E37_79B9 % count)")
    try writer.key("day")
    try writer.integer(Int64(number % 365))
    try writer.key("text")
    try writer.string(text)
    try writer.endDictionary()
    return try writer.finish()
  }

  func save(_ numbers: Range<UInt64>, over: Bool) throws {
    let order = Permutation(count: count, seed: Permutation.fillSeed)
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 100) {
      try store.write { writer in
        for place in start..<min(numbers.upperBound, start + 100) {
          let number = order[place]
          let id = identifier(number)
          let parent = over ? try writer.reads(documents).head(of: id)?.winner : nil
          try writer.save(id, in: documents, body: body(over ? number + count : number), parent: parent)
        }
      }
    }
    try store.sync()
  }

  func createIndex(_ field: String) throws {
    let definition = try IndexDefinition([IndexDefinition.Part(parsing: field)])
    try store.createIndex(field, definition, in: documents)
  }

  private func request(_ selector: String) throws -> FindRequest {
    FindRequest(try MangoParser.predicate(json: selector))
  }

  func count(_ selector: String) throws -> UInt64 {
    UInt64(try store.reads(documents).count(request(selector)))
  }

  /// Reads one member of each document, by id, and returns the sum of their numbers.
  func sumOfMember() throws -> Int64 {
    let reads = try store.reads(documents)
    var sum: Int64 = 0
    for number in 0..<count {
      guard let (_, body) = try reads.document(identifier(number)) else { continue }
      if case .integer(let value) = try FleeceBody(body).root.element(for: "n")?.number() { sum += value }
    }
    return sum
  }

  /// Returns the number of documents found, each with its body.
  func find(
    _ selector: String, sort: String? = nil, skip: Int = 0, limit: Int = .max
  ) throws -> UInt64 {
    var request = try request(selector)
    if let sort {
      let part = try IndexDefinition.Part(parsing: sort)
      request.order = [FindRequest.Order(part.path, isDescending: part.isDescending)]
    }
    (request.skip, request.limit) = (skip, limit)
    var found: UInt64 = 0
    try store.reads(documents).find(request) { _ in
      found += 1
      return true
    }
    return found
  }
}
