import LatewoodDocuments
import LatewoodFleece

/// Group `instructions`: operations on documents (one for every ten records), and JSON.
extension Run where Engine == LatewoodEngine {
  func countDocuments(_ operation: CountedOperation) throws -> UInt64 {
    let count = options.records / 10
    var store = try openDocumentsToCount()
    var query = try QueryWorkload(store: store, count: count)
    if operation == .saveDocument {
      try countInstructions { try query.save(0..<count, over: false) }
      return count
    }
    try query.save(0..<count, over: false)
    switch operation {
    case .updateDocument:
      try store.store.checkpoint()
      try countInstructions { try query.save(0..<count, over: true) }
    case .getMember:
      try store.store.checkpoint()
      _ = try query.sumOfMember()
      var sum: Int64 = 0
      try countInstructions { sum = try query.sumOfMember() }
      guard sum == Int64(count * (count - 1) / 2) else { throw BenchmarkFailure("the sum is \(sum)") }
    case .feedFromBuffer:
      try countFeed(query)
    case .feedAfterOpening:
      try store.close()
      store = try openDocumentsToCount()
      query = try QueryWorkload(store: store, count: count)
      try countFeed(query)
    case .indexBuild:
      try store.store.checkpoint()
      try countInstructions { try query.createIndex("s") }
    case .indexUpdate:
      for field in ["n", "s", "day"] { try query.createIndex(field) }
      try store.store.checkpoint()
      try countInstructions { try query.save(0..<count, over: true) }
    default:
      return try countQueries(operation, query)
    }
    return count
  }

  /// The path of the documents.
  var pathToCount: String { options.directory.path + "/documents.latewood" }

  func openDocumentsToCount() throws -> DocumentStore {
    var chosen = DocumentOptions()
    chosen.store = optionsToCount
    chosen.expiresByItself = false
    return try DocumentStore.open(at: pathToCount, options: chosen)
  }

  private func countFeed(_ query: QueryWorkload) throws {
    var seen: UInt64 = 0
    try countInstructions {
      try query.store.reads(query.documents).forEachChange { _ in
        seen += 1
        return true
      }
    }
    guard seen == query.count else { throw BenchmarkFailure("the feed has \(seen) changes") }
  }

  /// Counts instructions per query, or per document in a range.
  private func countQueries(_ operation: CountedOperation, _ query: QueryWorkload) throws -> UInt64 {
    let count = query.count
    try query.createIndex("n")
    try query.store.store.checkpoint()
    let ask = {
      var random = SplitMix64(seed: 0x71)
      if operation == .pointQuery {
        return try (0..<count / 10).reduce(0) { sum, _ in
          try sum + query.find(#"{"n":\#(random.below(count))}"#)
        }
      }
      return try query.find(#"{"n":{"$gte":\#(count / 4),"$lt":\#(count / 4 * 3)}}"#, sort: "n")
    }
    _ = try ask()
    var found: UInt64 = 0
    try countInstructions { found = try ask() }
    guard found == (operation == .pointQuery ? count / 10 : count / 4 * 2) else {
      throw BenchmarkFailure("\(found) documents were found")
    }
    return found
  }

  // MARK: JSON

  /// Counts instructions per text of about 500 bytes.
  func countJSON(_ operation: CountedOperation) throws -> UInt64 {
    let texts = (0..<options.records / 20).map(Self.jsonText)
    var parser = JSONParser()
    let bodies = try texts.map { FleeceBody(try parser.parse($0)) }
    let write = {
      try bodies.reduce(0) { sum, body in
        try sum + body.withRoot { root throws(FleeceError) in try JSON.text(of: root).count }
      }
    }
    // The first conversion grows the buffers.
    _ = try write()
    var bytes = 0
    try countInstructions {
      bytes = try operation == .parseJSON ? texts.reduce(0) { try $0 + parser.parse($1).count } : write()
    }
    guard bytes > 0 else { throw BenchmarkFailure("JSON of no bytes") }
    return UInt64(texts.count)
  }

  /// A film with strings that need escapes and some that are not ASCII, numbers of both kinds, and
  /// arrays.
  private static func jsonText(_ number: UInt64) -> [UInt8] {
    var random = SplitMix64(seed: number)
    let words = ["forest", "river", "königlich", "лес", "森", #"say \"no\""#, #"line\n"#, "winter", "shadow"]
    func text(_ count: Int) -> String {
      (0..<count).map { _ in words[Int(random.below(UInt64(words.count)))] }.joined(separator: " ")
    }
    let cast = (0..<4).map { _ in "\"\(text(2))\"" }.joined(separator: ", ")
    let box = #"{"width": \#(random.below(2000)), "height": 90, "ratio": \#(random.unit())}"#
    return Array(
      """
      {"title": "\(text(3))", "year": \(1900 + number % 120), "rating": \(Double(random.below(100)) / 10),
       "cast": [\(cast)], "seen": \(number % 2 == 0), "next": null, "box": \(box),
       "votes": [\(random.next() >> 40), \(random.next() >> 1), -\(random.below(1000))],
       "extract": "\(text(24))"}
      """.utf8)
  }
}
