import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

@Suite struct RevisionIDTests {
  @Test func `ids round-trip through text, and malformed text is refused`() throws {
    for text in ["1-00", "12-01ff", "281474976710656-" + String(repeating: "ab", count: 32)] {
      let id = try RevisionID(text)
      #expect(id.description == text && !id.digest.isText)
    }
    for text in [
      "1-0", "1-5ac", "1-5AC", "1-AB", "1-0g", "1--00", "1-abc-def", "3-xyz", "1-00 ", "1-é🍐", "1-\u{A0}",
      "10-" + String(repeating: "a", count: 45), "10-" + String(repeating: "Z", count: 46),
      "1-" + String(repeating: "A", count: 32), "1-" + String(repeating: "x", count: 33),
    ] {
      let id = try RevisionID(text)
      #expect(id.description.utf8.elementsEqual(text.utf8) && id.digest.isText)
      #expect(RevisionDigest(text: id.digest.bytes) == id.digest)
    }
    #expect(try RevisionID("1-5ac") != RevisionID("1-5AC"))
    // The same bytes, written as text and as digits.
    #expect(try RevisionID("1-5ac") != RevisionID("1-356163"))
    // Canonically equivalent in Unicode, but different to replicas that compare bytes.
    #expect(try RevisionID("1-\u{E9}") != RevisionID("1-e\u{301}"))
    for text in [
      "", "1", "1-", "-00", "0-00", "01-00", "+1-00", " 1-00", "1-a\n", "1-\0", "1-\u{7F}", "1-\u{9F}",
      "281474976710657-00", "99999999999999999999-00", "1-" + String(repeating: "ab", count: 33), "a-00",
      "1-" + String(repeating: "x", count: 47), "1-" + String(repeating: "x", count: 45) + "é",
      "1-" + String(repeating: "a", count: 47), "1-" + String(repeating: "a", count: 65),
    ] {
      #expect(throws: DatabaseError.self, "\(text)") { try RevisionID(text) }
    }
  }

  @Test func `ids are ordered by generation, then by the bytes of the digest`() throws {
    let ordered = ["1-00", "1-0000", "1-01", "1-ff", "2-00", "9-ff", "10-00", "10-0000000000000000000001"]
    let ids = try ordered.map { try RevisionID($0) }
    for (first, second) in zip(ids, ids.dropFirst()) { #expect(first < second) }
    #expect(ids.shuffled().sorted() == ids)
  }

  @Test func `digests of both kinds are ordered by their text`() throws {
    let long = String(repeating: "f", count: 46)
    let ordered = [
      "1--", "1-00", "1-1", "1-10", "1-1e", "1-5", "1-5AC", "1-5a", "1-5ac", "1-5ac0", "1-ABC", "1-a",
      "1-abc",
      "1-abc-def", "1-b", "1-\(long.dropLast(1))", "1-\(long)", "1-\(long.dropLast(1))g", "1-x",
      "1-\(String(repeating: "x", count: 40))", "1-\(String(repeating: "x", count: 40))y", "1-é", "2-!",
      "10-!",
    ]
    let ids = try ordered.map { try RevisionID($0) }
    for (place, first) in ids.enumerated() {
      for second in ids[(place + 1)...] { #expect(first < second && !(second < first), "\(first) \(second)") }
    }
    #expect(ids.shuffled().sorted() == ids)
  }

  @Test func `an edit of a text digest differs from an edit of its hexadecimal form`() throws {
    func edit(_ parent: String) throws -> RevisionID {
      try [1, 2, 3].withUnsafeBytes {
        RevisionID(editing: try RevisionID(parent), isDeleted: false, body: $0)
      }
    }
    #expect(try edit("1-5ac") != edit("1-356163"))
    let long = String(repeating: "x", count: 45)
    #expect(try edit("1-\(long)a") != edit("1-\(long)b"))
    #expect(try edit("9-5ac").generation == 10)
  }

  @Test func `an edit has the id given by its definition`() throws {
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
