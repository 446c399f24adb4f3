import Latewood
import Testing

/// Loops over documents and changes whose closures change documents.
@Suite struct ChangingLoopTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database["people"]
    // Short bodies stand in their records, long ones do not.
    try people.save(
      contentsOf: (0..<50).map { number in
        try MutableDocument(
          id: number < 10 ? "p0\(number)" : "p\(number)",
          ["n": DocumentValue(number), "text": DocumentValue(String(repeating: "x", count: number * 100))])
      })
  }

  private func inBatch(_ isBatch: Bool, _ body: () throws -> Void) throws {
    if isBatch { try database.inBatch(body) } else { try body() }
  }

  @Test(arguments: [false, true]) func `saving in a loop over documents`(isBatch: Bool) throws {
    var seen: [Int] = []
    try inBatch(isBatch) {
      try people.forEachDocument { document in
        let number = document.int("n")
        seen.append(number)
        // Its own document, a later one, an earlier one, and new ones at the end.
        try people.update(document.id) { $0["n"] = DocumentValue(number + 1000) }
        if number == 5 { try people.update("p40") { $0["n"] = -1 } }
        if number == 6 { try people.update("p02") { $0["n"] = -1 } }
        try people.save(MutableDocument(id: "q\(number)"))
        return true
      }
    }
    #expect(seen == Array(0..<50))
    #expect(try people.count == 100 && people.document("p07")?["n"].int == 1007)
    #expect(try database.verify().faults == [])
  }

  @Test(arguments: [false, true]) func `deleting and purging in a loop over documents`(isBatch: Bool) throws {
    var seen: [String] = []
    try inBatch(isBatch) {
      try people.forEachDocument { document in
        seen.append(document.id)
        #expect(document["text"].string?.count == document.int("n") * 100)
        if document.id == "p10" {
          for id in ["p20", "p21"] { try people.delete(id) }
        }
        if document.id == "p11", isBatch {
          for id in ["p30", "p31"] { try people.purge(id) }
        }
        return document.id < "p45"
      }
    }
    let all = (0...45).map { $0 < 10 ? "p0\($0)" : "p\($0)" }
    #expect(seen == (isBatch ? all.filter { $0 != "p30" && $0 != "p31" } : all))
    #expect(try database.verify().faults == [])
  }

  @Test(arguments: [false, true], [false, true]) func `saving in a loop over changes`(
    isBatch: Bool, isDescending: Bool
  ) throws {
    var seen: [UInt64] = []
    try inBatch(isBatch) {
      try people.forEachChange(descending: isDescending, FeedOptions(includesDocuments: true)) { change in
        seen.append(change.sequence)
        let number = try #require(change.document).int("n")
        #expect(number == Int(change.sequence) - 1 && change.document?.revisionID == change.revisionID)
        try people.update(change.id) { $0["n"] = 77 }
        if number == 25 { try people.update(isDescending ? "p03" : "p44") { $0["n"] = -1 } }
        return true
      }
    }
    let all = (1...50).map { UInt64($0) }
    #expect(seen == (isDescending ? all.reversed() : all))
    #expect(try people.query().where { $0["n"] == 77 }.all().count == 50)
    #expect(try database.verify().faults == [])
  }

  @Test func `changing documents while a query reads them is refused with advice`() throws {
    let error = refusal(.invalidParameter) {
      try database.inBatch {
        func change(_ document: Document) throws -> Bool {
          try people.update(document.id) { $0["n"] = 0 }
          return true
        }
        try people.query().where { $0["n"] > 3 }.forEach(change)
      }
    }
    #expect(error?.message.contains("transaction") == false, "\(error?.description ?? "")")
    #expect(error?.advice.contains("afterwards") == true)
  }

  @Test func `values of a typed collection are saved in a loop over them`() throws {
    struct Counter: Codable, Identifiable {
      var id: String
      var n: Int
    }
    let counters = try database.collection("counters", of: Counter.self)
    try counters.save(contentsOf: (0..<50).map { Counter(id: "c\(100 + $0)", n: $0) })
    try database.inBatch {
      func increase(_ stored: Stored<Counter>) throws -> Bool {
        var value = stored.value
        value.n += 1
        try counters.save(value, .lastWriteWins)
        return true
      }
      try counters.forEach(AllDocumentsQuery(), increase)
    }
    #expect(try counters.all().map(\.value.n) == Array(1...50))
  }
}
