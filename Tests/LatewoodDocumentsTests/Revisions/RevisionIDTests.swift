import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

@Suite struct RevisionIDTests {
  @Test func `text and back is the same, and nothing else is taken`() throws {
    for text in ["1-00", "12-01ff", "281474976710656-" + String(repeating: "ab", count: 32)] {
      #expect(try RevisionID(text).description == text)
    }
    for text in [
      "", "1", "1-", "-00", "0-00", "01-00", "1-0", "1-0g", "1-AB", "+1-00", "1--00", " 1-00", "1-00 ",
      "281474976710657-00", "99999999999999999999-00", "1-" + String(repeating: "ab", count: 33), "a-00",
    ] {
      #expect(throws: DocumentError.self, "\(text)") { try RevisionID(text) }
    }
  }

  @Test func `order is by generation, then by the bytes of the digest`() throws {
    let ordered = ["1-00", "1-0000", "1-01", "1-ff", "2-00", "9-ff", "10-00", "10-0000000000000000000001"]
    let ids = try ordered.map { try RevisionID($0) }
    for (first, second) in zip(ids, ids.dropFirst()) { #expect(first < second) }
    #expect(ids.shuffled().sorted() == ids)
  }

  @Test func `an edit has the id that its definition gives`() throws {
    func edit(_ parent: RevisionID?, _ isDeleted: Bool, _ body: [UInt8]) -> RevisionID {
      body.withUnsafeBytes { RevisionID(editing: parent, isDeleted: isDeleted, body: $0) }
    }
    let first = edit(nil, false, Array(#"{"a":1}"#.utf8))
    #expect(first.description == "1-01b32f00870016827bc358d42c8c682bd50b4b4d")
    let second = edit(first, false, (0..<900).map { UInt8(truncatingIfNeeded: $0 * 7 + 3) })
    #expect(second.description == "2-0176118502cd01c42fb49d3fa2192b0df0771427")
    let third = edit(second, true, [])
    #expect(third.description == "3-01beb85d711da6c663ce7228db3334457f6a230a")
    #expect(edit(second, false, []) != third)
    #expect(edit(second, true, [0]) != third)
    #expect(edit(first, true, []) != third)
  }
}
