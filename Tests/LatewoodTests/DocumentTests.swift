import Foundation
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import Latewood

@Suite struct DocumentTests {
  private func document(_ json: String) throws -> Document {
    Document(
      id: "doc", revision: .first, sequence: 7,
      body: try MutableDocument(id: "doc", json: json).encodedBody())
  }

  @Test func `metadata has the same names as in CouchDB, next to the document's own members`() throws {
    let alive = try document(#"{"name":"Ana","Z":1}"#)
    #expect(
      try alive.bodyWithMetadata.toJSON() == #"{"Z":1,"_id":"doc","_rev":"1-ab","_sequence":7,"name":"Ana"}"#)
    #expect(alive.bodyWithMetadata["name"] == "Ana" && alive["_id"].kind == nil && alive.count == 2)
    let gone = Document(id: "é", revision: .first, sequence: 1, flags: .deleted, body: [])
    #expect(
      try gone.bodyWithMetadata.toJSON() == #"{"_deleted":true,"_id":"é","_rev":"1-ab","_sequence":1}"#)
    let local = Document(id: "x", revision: nil, sequence: 0, body: [])
    #expect(try local.bodyWithMetadata.toJSON() == #"{"_id":"x"}"#)
    let damaged = Document(id: "x", revision: .first, sequence: 1, body: [0x00, 0x01])
    refusal(.corruptRevisionData) { _ = try damaged.bodyWithMetadata.toJSON() }
    for reserved in try document("{}").bodyWithMetadata.keys {
      refusal(.corruptRevisionData) { _ = try MutableDocument(id: "x", [reserved: 1]).encodedBody() }
    }
  }

  @Test func `a value inside encoded content compares by itself, not by the whole`() throws {
    let made = try MutableDocument(json: #"{"a":{"x":1},"b":{"x":2},"c":{"x":1}}"#)
    #expect(made["a"] != made["b"] && made["a"] == made["c"] && made["a"] != made.body)
  }

  @Test func `bytes in a foreign form are saved in canonical form`() throws {
    // An unreferenced number, and an empty dictionary.
    let foreign = Document(id: "x", revision: .first, sequence: 1, body: [0x00, 0x01, 0x70, 0x00])
    #expect(try foreign.toMutable().encodedBody() == [0x70, 0x00])
  }

  @Test func `a document reads its content from the stored bytes`() throws {
    let document = try document(#"{"name":"Ana","age":31,"address":{"city":"Porto"},"tags":["a","b"]}"#)
    #expect(document.id == "doc" && document.revisionID == "1-ab" && document.sequence == 7)
    #expect(!document.isDeleted && !document.hasConflicts)
    #expect(document["address"]["city"].string == "Porto")
    #expect(document.int("age") == 31 && document.int("name") == 0 && document.int("none", default: -1) == -1)
    #expect(document.string("name") == "Ana" && document.string("x", default: "y") == "y")
    #expect(document.array("tags")?.compactMap(\.string) == ["a", "b"])
    #expect(document.dictionary("address")?["city"] == "Porto")
    #expect(document.count == 4 && document.keys == ["address", "age", "name", "tags"])
    #expect(document.contains("age") && !document.contains("none"))
    #expect(document.map(\.key) == document.keys)
    #expect(try document.toJSON() == #"{"address":{"city":"Porto"},"age":31,"name":"Ana","tags":["a","b"]}"#)
    try document.validate()
  }

  @Test func `changing a copy does not change the document`() throws {
    let document = try document(#"{"a":1}"#)
    var copy = document.toMutable()
    #expect(
      copy.id == "doc" && copy.revisionID == "1-ab" && copy.sequence == 7
        && copy.hasSameContent(as: document))
    copy["b"]["c"] = [1, 2]
    copy["a"] = .null
    #expect(try copy.toJSON() == #"{"a":null,"b":{"c":[1,2]}}"#)
    #expect(try document.toJSON() == #"{"a":1}"#)
    copy.removeValue(forKey: "a")
    #expect(copy.keys == ["b"] && !copy.hasSameContent(as: document))
  }

  @Test func `equal content has equal bytes, however it was created`() throws {
    let read = try MutableDocument(id: "x", json: #"{"b":2.0,"a":[1,{"z":null,"y":"é"}]}"#)
    let made = try MutableDocument(id: "x", ["a": [1, ["y": "é", "z": .null]], "b": 2])
    struct Made: Encodable {
      struct Inner: Encodable {
        var y = "é"
        func encode(to encoder: any Encoder) throws {
          var members = encoder.container(keyedBy: DocumentTests.Key.self)
          try members.encodeNil(forKey: .z)
          try members.encode(y, forKey: .y)
        }
      }
      var b: Float = 2
      func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: DocumentTests.Key.self)
        try members.encode(b, forKey: .b)
        var list = members.nestedUnkeyedContainer(forKey: .a)
        try list.encode(1)
        try list.encode(Inner())
      }
    }
    let encoded = try MutableDocument(id: "x", encoding: Made())
    #expect(try read.encodedBody() == made.encodedBody())
    #expect(try read.encodedBody() == encoded.encodedBody())
    #expect(
      try read.encodedBody() == document(#"{"b":2.0,"a":[1,{"z":null,"y":"é"}]}"#).toMutable().encodedBody())
  }
  enum Key: CodingKey { case a, b, y, z }

  struct Person: Codable, Equatable {
    var name: String
    var born: Date
    var photo: Data
    var home: URL
    var portrait: Blob?
    var anything: DocumentValue
  }

  @Test func `any Codable value converts to a document and back`() throws {
    let person = Person(
      name: "Ana", born: Date(timeIntervalSince1970: 1.5), photo: Data([1, 2, 3]),
      home: try #require(URL(string: "https://example.org/ana")),
      portrait: try Blob(
        contentType: "image/png", digest: "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", length: 3),
      anything: ["k": [1, nil, "x"]])
    let document = try MutableDocument(id: "ana", encoding: person)
    #expect(document["born"].string == "1970-01-01T00:00:01.500Z" && document["born"].date == person.born)
    #expect(document["photo"].data == person.photo)
    #expect(document["home"].string == "https://example.org/ana")
    #expect(document["portrait"].blob == person.portrait)
    #expect(try document.decode(as: Person.self) == person)
    let stored = Document(id: "ana", revision: .first, sequence: 1, body: try document.encodedBody())
    #expect(try stored.decode(as: Person.self) == person)
    // Through JSON, where data becomes text.
    let read = try MutableDocument(id: "ana", json: document.toJSON())
    #expect(try read.decode(as: Person.self) == person)
    #expect(throws: DecodingError.self) { try read.decode(as: [String: Int].self) }
    let error = #expect(throws: DatabaseError.self) { try MutableDocument(encoding: [1, 2]) }
    #expect(error?.code == .invalidParameter)
  }

  @Test func `valid document ids are accepted, and others refused`() throws {
    for id in ["a", "ü", "a b", "a/b", String(repeating: "x", count: 8000), "-", "日本語", "a_", "~"] {
      #expect(try MutableDocument(id: id).id == id)
    }
    for id in [
      "", "_x", String(repeating: "x", count: 8001), String(repeating: "é", count: 4001), "a\n", "a\u{0}",
      "\u{7F}", "\u{85}",
    ] {
      let error = #expect(throws: DatabaseError.self, "\(id)") { try MutableDocument(id: id) }
      #expect(error?.code == .badDocumentID && error?.code.rawValue == 29)
    }
    let made = (0..<50).map { _ in MutableDocument().id }
    #expect(Set(made).count == 50 && made.allSatisfy { UUID(uuidString: $0) != nil })
    #expect(
      MutableDocument().revisionID == nil && MutableDocument().sequence == 0 && MutableDocument().count == 0)
    func named(_ id: String) -> Document { Document(id: id, revision: .first, sequence: 1, body: []) }
    #expect(named("a") == named("a") && named("\u{E9}") != named("e\u{301}"))
  }

  @Test func `reserved members are refused`() throws {
    for key in ["_id", "_rev", "_deleted", "_attachments", "_removed", "_sequence"] {
      var document = MutableDocument()
      document[key] = 1
      let error = #expect(throws: DatabaseError.self) { try document.encodedBody() }
      #expect(error?.code == .corruptRevisionData && error?.code.rawValue == 5)
      var inside = MutableDocument()
      inside["a"][key] = 1
      _ = try inside.encodedBody(isStrict: true)
    }
    let other = try MutableDocument(["_other": 1, "a": 2])
    _ = try other.encodedBody()
    #expect(throws: DatabaseError.self) { try other.encodedBody(isStrict: true) }
  }

  @Test func `valid collection names are accepted, and others refused`() throws {
    for name in ["a", "A-1_%", "0", String(repeating: "x", count: 251), "_default", "a.b"] {
      try CollectionName.check(name)
    }
    let refused = [
      "", "_a", "%a", "a b", "ä", "a/b", String(repeating: "x", count: 252), "_Default", "a.", ".a", "a.b.c",
      "a._b", "_default.a", "_a.b",
    ]
    for name in refused {
      #expect(throws: DatabaseError.self, "\(name)") { try CollectionName.check(name) }
    }
  }

  @Test func `the root of a document must be a JSON object`() throws {
    var document = try MutableDocument(["kept": true])
    for text in ["[]", "1", "null", "\"x\"", "", "{", "{}x"] {
      let error = #expect(throws: DatabaseError.self) { try document.setJSON(text) }
      #expect(error?.code == .invalidJSON)
    }
    #expect(document.bool("kept"))
    try document.setJSON("{\"new\":1}")
    #expect(document.keys == ["new"])
    document.setContent(["other": 2])
    #expect(document.keys == ["other"])
    document.removeAll()
    #expect(document.isEmpty)
  }

  @Test func `a document converts to plain Swift values`() throws {
    let plain = try document(#"{"a":[1,"x",null,{"b":true}],"d":0.5,"u":18446744073709551615}"#)
      .toDictionary()
    let list = try #require(plain["a"] as? [any Sendable])
    #expect(list[0] as? Int64 == 1 && list[1] as? String == "x" && list[2] as? DocumentValue == .null)
    #expect((list[3] as? [String: any Sendable])?["b"] as? Bool == true)
    #expect(plain["d"] as? Double == 0.5 && plain["u"] as? UInt64 == .max)
  }

  @Test func `a damaged body reads as empty, and validation reports it`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let good = try document(#"{"name":"Ana","list":[1,2,{"x":"longer than fifteen bytes"}],"n":70000}"#)
      .stored.bytes
    for _ in 0..<2000 {
      var bytes = good
      bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
      let document = Document(id: "x", revision: .first, sequence: 1, body: bytes)
      for (_, value) in document {
        _ = (value.count, value.string, value.array, value.date, value.blob, value.number)
      }
      _ = document.toDictionary()
      _ = try? document.toJSON()
      do { try document.validate() } catch {
        #expect((error as? DatabaseError)?.code == .corruptRevisionData, "\(random.replay)")
      }
    }
    for bytes in [[1], [0x60, 0x00], [0x80, 0x01]] as [[UInt8]] {
      let document = Document(id: "x", revision: .first, sequence: 1, flags: .deleted, body: bytes)
      #expect(document.isDeleted && document.isEmpty)
      for work in [
        { try document.validate() }, { _ = try document.toJSON() },
        { _ = try document.decode(as: [String: Int].self) }, { _ = try document.toMutable().encodedBody() },
      ] as [() throws -> Void] {
        let error = #expect(throws: DatabaseError.self) { try work() }
        #expect(error?.code == .corruptRevisionData)
      }
      #expect(document["a"]["b"].int == nil && document.toDictionary().isEmpty && document != named("y"))
    }
    func named(_ id: String) -> Document { Document(id: id, revision: .first, sequence: 1, body: []) }
    try Document(id: "x", revision: .first, sequence: 1, body: []).validate()
  }

  @Test func `every error code has advice`() {
    for code in DatabaseError.Code.allCases {
      let error = DatabaseError(code, "something is wrong")
      #expect(!error.advice.isEmpty && error.description.contains("[\(code.rawValue)]"))
    }
  }
}
