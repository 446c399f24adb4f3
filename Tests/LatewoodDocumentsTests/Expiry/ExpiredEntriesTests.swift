import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Index entries of documents that have expired but are not purged yet.
@Suite struct ExpiredEntriesTests {
  @Test(arguments: ["n", "n:desc"])
  func `a range of entries read together omits expired documents`(part: String) throws {
    let clock = TestClock()
    let store = try DocumentStore.inMemory(options: clock.options())
    let collection = try store.createCollection("things")
    let now = clock.now
    try store.write { writer in
      for number in 0..<40 {
        let id = "d\(10 + number)"
        _ = try writer.save(id, in: collection, body: JSON.fleece(from: #"{"n":\#(number)}"#), parent: nil)
        if number % 4 == 1 { try writer.setExpiry(of: id, in: collection, now + 10) }
      }
    }
    try store.createIndex("n", IndexDefinition([IndexDefinition.Part(parsing: part)]), in: collection)
    var request = FindRequest()
    request.order = [FindRequest.Order(FieldPath("n"), isDescending: part != "n")]
    request.limit = 30
    let (field, prepared) = (FieldPath("n"), PreparedFind(request))
    func integers() throws -> [Int] {
      try store.reads(collection).findIntegers(prepared, field) { document in
        Issue.record("\(document.id) was read")
        return .min
      }
    }
    let numbers = part == "n" ? Array(0..<40) : Array((0..<40).reversed())
    #expect(try integers() == Array(numbers.prefix(30)))
    clock.advance(20)
    #expect(try integers() == numbers.filter { $0 % 4 != 1 })
  }
}
