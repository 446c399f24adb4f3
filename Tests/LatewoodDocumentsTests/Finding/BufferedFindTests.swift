import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Finding documents in a file that is read into a small cache instead of being mapped.
@Suite struct BufferedFindTests {
  private static let count = 4000

  @Test(arguments: [400, 800])
  func `a document stays in memory while a closure reads others`(length: Int) throws {
    let directory = try TemporaryDirectory()
    var options = DocumentOptions()
    options.store.reading = .buffered(cacheBytes: 1 << 20)
    options.store.durability = .relaxed
    var store = try DocumentStore.open(at: directory.database, mode: .createNew, options: options)
    var collection = try store.defaultCollection()
    let pad = String(repeating: "p", count: length)
    for start in stride(from: 0, to: Self.count, by: 1000) {
      try store.write { writer in
        for number in start..<start + 1000 {
          let body = try JSON.fleece(
            from: #"{"n":\#(number),"g":\#(number % 2000),"pad":"\#(pad)","end":\#(number)}"#)
          _ = try writer.save("d\(100_000 + number)", in: collection, body: body, parent: nil)
        }
      }
    }
    try store.createIndex("g", IndexDefinition([IndexDefinition.Part(parsing: "g")]), in: collection)
    try store.store.checkpoint()
    try store.close()
    store = try DocumentStore.open(at: directory.database, mode: .openExisting, options: options)
    collection = try store.defaultCollection()
    let reads = try store.reads(collection)
    for selector in [#"{"g":77}"#, #"{"g":{"$gte":77,"$lte":78}}"#, #"{"n":{"$lt":2}}"#] {
      for order in [nil, "n"] {
        var request = FindRequest(try MangoParser.predicate(json: selector))
        if let order { request.order = [FindRequest.Order(FieldPath(order))] }
        request.limit = 2
        try reads.find(request) { document in
          func number(_ name: String) throws -> Int64? {
            try document.withField(FieldPath(name)) { lookup throws(FleeceError) in
              guard case .integer(let number)? = try lookup.value?.number() else { return nil }
              return number
            }
          }
          let before = try number("end")
          var seen = 0
          try reads.forEachWholeDocument { _, _, body in
            seen += body?.count ?? 0
            return true
          }
          #expect(seen > Self.count * length)
          let after = try number("end")
          #expect(before != nil && before == after, "\(selector) \(order ?? "")")
          #expect(document.id == "d\(100_000 + (before ?? 0))", "\(selector) \(order ?? "")")
          return true
        }
      }
    }
    try store.close()
  }
}
