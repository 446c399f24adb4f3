import LatewoodDocuments
import LatewoodFleece
import Testing

@testable import Latewood

/// Parsers and writers that are reused, and the fast paths of a save.
@Suite struct KeptEncodersTests {
  private let text = #"{"b":2,"list":[1,"x"],"a":"some text that is no key"}"#

  @Test func `an error does not affect the next text`() throws {
    for broken in [#"{"b":[1,{"c":"#, #"{"b":"\ud800"}"#, "{} {}", ""] {
      #expect(throws: FleeceError.self) { _ = try KeptEncoders.fleece(from: broken) }
      #expect(try KeptEncoders.fleece(from: text) == JSON.fleece(from: text))
    }
  }

  @Test func `an error does not affect the next value`() throws {
    let value = try DocumentValue(json: text)
    for _ in 0..<3 {
      #expect(throws: FleeceError.self) {
        _ = try KeptEncoders.written { (writer: inout FleeceWriter) throws(FleeceError) in
          try writer.beginDictionary()
          try writer.key("left")
          throw FleeceError(.misuse, "on purpose")
        }
      }
      let written = try KeptEncoders.written { (writer: inout FleeceWriter) throws(FleeceError) in
        try value.write(to: &writer)
      }
      #expect(try written == JSON.fleece(from: text))
    }
  }

  @Test func `texts of any lengths can follow each other, even on several threads`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          for length in [1, 20_000, 10, 16_384, 3, 100_000, 0] {
            let text = #"{"text":"\#(String(repeating: "\(task)", count: length))"}"#
            let (kept, fresh) = (try KeptEncoders.fleece(from: text), try JSON.fleece(from: text))
            #expect(kept == fresh)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(arguments: [
    #"{"A":1,"_id":2,"a":3}"#, #"{"_id":2}"#, #"{"Z":1,"_id":2}"#, #"{"_a":1,"_id":2,"b":0}"#,
  ])
  func `a reserved member is found at any position`(_ json: String) throws {
    let stored = try MutableDocument(id: "a", json: json)
    #expect(throws: DatabaseError.self) { _ = try stored.encodedBody() }
    var built = stored
    built["other"] = 1
    #expect(throws: DatabaseError.self) { _ = try built.encodedBody() }
    built["_id"] = nil
    #expect(throws: Never.self) { _ = try built.encodedBody() }
  }

  @Test func `control characters of one and two bytes are refused in ids, their neighbours are not`() {
    for id in ["a\u{1F}", "\u{7F}", "a\u{80}b", "\u{9F}", "£\u{85}"] {
      #expect(NameRules.objection(toID: id) != nil)
    }
    for id in [" ", "~", "\u{A0}", "£", "é", "Â", "a b"] { #expect(NameRules.objection(toID: id) == nil) }
  }

  @Test func `keys that Swift considers equal stay two members`() throws {
    var document = try MutableDocument(id: "a", json: #"{"\u00e9":1,"e\u0301":2}"#)
    document["other"] = 3
    #expect(document.body.count == 3)
    #expect(document["\u{E9}"].int == 1 && document["e\u{301}"].int == 2)
  }
}
