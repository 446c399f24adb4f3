import Foundation
import LatewoodFleece
import Testing

@testable import Latewood

@Suite struct DocumentValueTests {
  private let stored = try? DocumentValue(
    json:
      #"{"a":{"b":[10,{"c":"deep"}]},"n":null,"t":true,"i":-7,"big":18446744073709551615,"d":1.5,"s":"text","e":{}}"#
  )

  @Test func `a path leads to a value, or to a missing one`() throws {
    let value = try #require(stored)
    #expect(value["a"]["b"][1]["c"].string == "deep")
    #expect(value["a"]["b"][0].int == 10)
    for nothing in [
      value["x"], value["x"]["y"][3]["z"], value["a"]["b"][2], value["a"]["b"][-1], value["s"]["t"],
      value["i"][0],
    ] {
      #expect(!nothing.exists && nothing.kind == nil && nothing.string == nil && nothing.count == 0)
    }
    #expect(value["n"].exists && value["n"].isNull && value.contains("n") && !value.contains("x"))
    #expect(value.keys == ["a", "big", "d", "e", "i", "n", "s", "t"])
    #expect(value.count == 8 && value["e"].count == 0 && value["e"].kind == .dictionary)
  }

  @Test func `reading a value as another type returns nil`() throws {
    let value = try #require(stored)
    #expect(value["t"].bool == true && value["t"].int == nil && value["t"].string == nil)
    #expect(
      value["i"].int == -7 && value["i"].int64 == -7 && value["i"].uint64 == nil && value["i"].double == -7)
    #expect(
      value["big"].uint64 == .max && value["big"].int == nil
        && value["big"].double == 0x1p64)
    #expect(value["d"].double == 1.5 && value["d"].float == 1.5 && value["d"].int == nil)
    #expect(
      value["s"].string == "text" && value["s"].date == nil && value["s"].data == nil
        && value["s"].blob == nil)
    #expect(value["n"].bool == nil && value["a"].array == nil && value["a"]["b"].dictionary == nil)
    #expect((value["x"].int ?? 5) == 5)
  }

  @Test func `literals and Swift values build a document value`() throws {
    var value: DocumentValue = [
      "null": .null, "yes": true, "one": 1, "half": 0.5, "text": "x", "list": [1, "two", [3]],
    ]
    value["nested"]["made"]["on the way"] = 5
    value["list"][3] = ["k": "v"]
    value["list"].append(nil)
    value["list"].insert("first", at: 0)
    value["list"].removeElement(at: 1)
    value["half"].double = 0.25
    value["yes"].bool = nil
    value["float"] = DocumentValue(Float(1.5))
    value["small"] = DocumentValue(UInt8(200))
    value["large"].uint64 = .max
    value.removeValue(forKey: "one")
    value.removeValue(forKey: "no such key")
    #expect(
      try value.toJSON()
        == #"{"float":1.5,"half":0.25,"large":18446744073709551615,"list":["first","two",[3],{"k":"v"},null],"nested":{"made":{"on the way":5}},"null":null,"small":200,"text":"x"}"#
    )
    #expect(try DocumentValue(json: value.toJSON()) == value)
  }

  @Test func `changing a nested value leaves the stored value unchanged`() throws {
    let value = try #require(stored)
    var copy = value
    copy["a"]["b"][1]["c"] = "changed"
    copy["s"] = .null
    #expect(value["a"]["b"][1]["c"].string == "deep" && value["s"].string == "text")
    #expect(copy["a"]["b"][1]["c"].string == "changed" && copy["a"]["b"][0].int == 10 && copy["s"].isNull)
    #expect(copy != value)
    copy["a"]["b"][1]["c"] = "deep"
    copy["s"] = "text"
    #expect(copy == value)
  }

  @Test func `keys that Swift considers equal remain two members`() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed)
    var value: DocumentValue = [:]
    value[composed] = 1
    value[decomposed] = 2
    #expect(value.count == 2 && value[composed].int == 1 && value[decomposed].int == 2)
    let read = try DocumentValue(json: value.toJSON())
    #expect(read == value && read.count == 2)
    #expect(DocumentValue(composed) != DocumentValue(decomposed))
    // A Swift dictionary cannot hold both keys, so the conversion fails instead of losing one
    // silently.
    let document = try MutableDocument(id: "a", json: value.toJSON())
    #expect(value.dictionary == nil && read.dictionary == nil && document.dictionary("x") == nil)
    #expect(document.toDictionary().isEmpty && document.count == 2)
    #expect(throws: DecodingError.self) { try document.decode(as: [String: Int].self) }
    value[decomposed] = nil
    value.removeValue(forKey: decomposed)
    #expect(value.dictionary == [composed: 1])
  }

  @Test func `values are equal if their JSON is`() {
    #expect(DocumentValue(5) == 5 && DocumentValue("x") == "x" && DocumentValue(true) == true)
    #expect(DocumentValue(1.0) == 1)
    #expect(DocumentValue(1.5) != 1)
    #expect(DocumentValue(UInt64.max) != -1)
    #expect(DocumentValue(UInt64(5)) == 5)
    #expect(DocumentValue(Data([1])) != "AQ==")
    #expect(DocumentValue.null != DocumentValue.missing)
    #expect((["a": 1, "b": [2]] as DocumentValue) == ["b": [2], "a": 1])
    #expect((["a": 1] as DocumentValue) != ["a": 1, "b": 2])
    #expect(DocumentValue(0.0) != DocumentValue(-0.0))
  }

  @Test func `a number that is not finite cannot be written`() {
    let error = #expect(throws: DatabaseError.self) { try DocumentValue(Double.nan).toJSON() }
    #expect(error?.code == .invalidParameter)
  }

  @Test func `dates are written as UTC text with milliseconds`() throws {
    for (text, seconds) in [
      ("1970-01-01T00:00:00.000Z", 0), ("2026-03-01T09:30:00.123Z", 1_772_357_400.123),
      ("1969-12-31T23:59:59.999Z", -0.001),
      ("2000-02-29T12:00:00.000Z", 951_825_600), ("0000-01-01T00:00:00.000Z", -62_167_219_200),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799.999), ("1900-03-01T00:00:00.000Z", -2_203_891_200),
    ] as [(String, Double)] {
      let date = Date(timeIntervalSince1970: seconds)
      #expect(DocumentValue(date).string == text)
      let read = try #require(DocumentValue(text).date)
      #expect(abs(read.timeIntervalSince1970 - seconds) < 1e-4)
    }
    #expect(DocumentValue(Date(timeIntervalSince1970: 0.0006)).string == "1970-01-01T00:00:00.0006000Z")
  }

  @Test func `other standard date forms are read, and invalid ones are not`() {
    func seconds(_ text: String) -> Double? { DocumentValue(text).date?.timeIntervalSince1970 }
    for (text, expected) in [
      ("1970-01-02", 86400), ("1970-01-01T01:00Z", 3600), ("1970-01-01T01:00:00+01:00", 0),
      ("1970-01-01 00:00:01", 1),
      ("1970-01-01T00:00:00.5Z", 0.5), ("1970-01-01T00:00:00,25-0030", 1800.25),
      ("1970-01-01T02:00:00+02", 0),
      ("1970-01-01t00:00:00.1234567891234z", 0.123456789), ("1972-06-30T23:59:60Z", 78_796_800),
    ] as [(String, Double)] {
      // Dates count from 2001 in doubles, so the last digits are lost.
      #expect(abs((seconds(text) ?? .infinity) - expected) < 1e-6, "\(text)")
    }
    for text in [
      "", "1970", "1970-13-01", "1970-02-29", "1970-01-00", "1970-01-01T24:00Z", "1970-01-01T00:60Z",
      "1970-01-01T00:00:61Z",
      "1970-01-01T00", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00Zx", "1970-01-01T00:00:00+1", "1970-1-1",
      "x970-01-01",
      "19700101", "1970-01-01T", "+1970-01-01", "1970-01-01T00:00:00+24:00",
    ] {
      #expect(seconds(text) == nil, "\(text)")
    }
  }

  @Test func `days over a thousand years round-trip`() {
    for day in stride(from: -180_000, through: 180_000, by: 11) {
      let date = Date(timeIntervalSince1970: Double(day) * 86400)
      if Timestamp.text(date).flatMap({ Timestamp.date($0) }) != date {
        Issue.record("\(date)")
        break
      }
    }
  }

  private static let digest = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

  @Test func `a blob is a dictionary in JSON`() throws {
    let blob = try Blob(contentType: "image/jpeg", digest: Self.digest, length: 12)
    let value = DocumentValue(blob)
    let json = #"{"@type":"blob","content_type":"image/jpeg","digest":"\#(Self.digest)","length":12}"#
    #expect(try value.toJSON() == json)
    let read = try DocumentValue(json: json)
    #expect(read.isBlob && Blob.isBlob(read) && read.blob == blob)
    let sum = try #require(blob.sum)
    #expect(sum.count == 32 && Blob(contentType: nil, sum: sum, length: 0).digest == Self.digest)
    for other in [
      #"{"@type":"blub","digest":"\#(Self.digest)","length":1}"#, #"{"digest":"\#(Self.digest)"}"#,
      #"{"@type":"blob"}"#,
      #"{"@type":"blob","digest":"sha1-47DE","length":1}"#, #"["blob"]"#, #""blob""#,
    ] {
      #expect(try !DocumentValue(json: other).isBlob, "\(other)")
    }
    let error = #expect(throws: DatabaseError.self) {
      try Blob(contentType: nil, digest: "sha256-AAAA", length: 0)
    }
    #expect(error?.code == .invalidParameter)
  }

  @Test func `a digest is a complete SHA-256 or SHA-1`() throws {
    for (prefix, length) in [("sha256-", 32), ("sha1-", 20)] {
      for count in [0, length - 1, length, length + 1, 52 - length] {
        let digest = prefix + Data(repeating: 7, count: count).base64EncodedString()
        let value: DocumentValue = ["@type": "blob", "digest": DocumentValue(digest)]
        #expect(value.isBlob == (count == length), "\(digest)")
        #expect((try? Blob(contentType: nil, digest: digest, length: 0)) == value.blob)
        #expect(value.blob?.sum?.count == (count == 32 && length == 32 ? 32 : nil))
      }
    }
  }

  @Test func `data is stored as binary, and as base64 in JSON`() throws {
    var value: DocumentValue = [:]
    value["data"].data = Data([0xFF, 0x00])
    #expect(
      value["data"].data == Data([0xFF, 0x00]) && value["data"].string == nil && value["data"].kind == .data)
    #expect(try value.toJSON() == #"{"data":"/wA="}"#)
  }

  @Test func `values round-trip through any coder`() throws {
    let value = try #require(stored)
    let data = try JSONEncoder().encode(value)
    #expect(try JSONDecoder().decode(DocumentValue.self, from: data) == value)
    let fleece = try FleeceEncoder(special: SpecialTypes()).encode(value)
    #expect(try FleeceDecoder(special: SpecialTypes()).decode(DocumentValue.self, from: fleece) == value)
  }

  @Test func `errors in JSON text report the line and column`() {
    let error = #expect(throws: DatabaseError.self) { try DocumentValue(json: "{\n \"a\": tru }") }
    #expect(error?.code == .invalidJSON && error?.line == 2 && error?.column == 10)
    #expect(error?.description.hasSuffix("[17001]") == true)
  }
}
