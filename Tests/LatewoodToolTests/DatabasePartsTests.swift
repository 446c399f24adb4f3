import LatewoodFleece
import Testing

@testable import LatewoodTool

@Suite struct DatabasePartsTests {
  @Test func `an exported entry is recognized only in its exact form`() {
    func entry(_ text: String) -> ExportedEntry? {
      Array(text.utf8).withUnsafeBytes { ExportedEntry(JSONSlice($0)) }
    }
    #expect(entry(#"{"key":"a","value":"b"}"#) == ExportedEntry(key: [0x61], value: [0x62]))
    #expect(entry(#"{"value":"","key":{"base64":"/w=="}}"#) == ExportedEntry(key: [0xFF], value: []))
    for other in [
      #"{"key":"a"}"#, #"{"key":"a","value":1}"#, #"{"key":"a","value":"b","c":1}"#,
      #"{"key":"","value":"b"}"#,
      #"{"key":{"base64":"/w"},"value":""}"#, #"{"key":"a","value":{"base64":"","x":1}}"#,
      #"{"key":"a","key":"b"}"#,
      #"["key","value"]"#, "{}", "1",
    ] {
      #expect(entry(other) == nil, "\(other)")
    }
  }

  @Test func `entries of any bytes round-trip`() throws {
    for bytes in [[0], [0xFF, 0xFE], Array("text \"quoted\" \n\u{0}名".utf8)] as [[UInt8]] {
      let entry = ExportedEntry(key: bytes, value: bytes)
      var writer = JSONOutput()
      entry.write(to: &writer)
      let compact = try #require(JSON.compact(writer.take()))
      #expect(compact.withUnsafeBytes { ExportedEntry(JSONSlice($0)) } == entry)
    }
  }

  @Test func `members of a value become its key`() throws {
    let value = Array(
      #"{"id":505874924095815681,"name":{"last":"\u00c5"},"ok":true,"none":null,"list":[1],"empty":""}"#.utf8)
    func key(_ field: String) throws -> String {
      let keys = try ImportKeys(field, of: .keyField)
      let key = try value.withContents { value in try keys.key(of: JSONSlice(value), at: 0)
      }
      return String(decoding: key, as: UTF8.self)
    }
    #expect(try key("id") == "505874924095815681")
    #expect(try key("name.last") == "Å")
    #expect(try key("ok") == "true")
    for field in ["none", "list", "name", "missing", "empty", "", "name."] {
      #expect(throws: Failure.self, "\(field)") { try key(field) }
    }
  }

  @Test func `keys made by counting sort like their numbers`() throws {
    let keys = [0, 1, 9, 10, 99, 100, 4_294_967_296].map { ImportKeys.place($0) }
    for (a, b) in zip(keys, keys.dropFirst()) { #expect(a.lexicographicallyPrecedes(b)) }
    #expect(
      try ImportKeys.place.key(of: JSONSlice(UnsafeRawBufferPointer(start: nil, count: 0)), at: 7)
        == Array("0000000007".utf8))
  }

  @Test func `the record of an import round-trips`() {
    for shape in ImportRecord.Shape.allCases {
      let record = ImportRecord(shape: shape, source: "films \"1970\".json", isComplete: shape == .array)
      #expect(ImportRecord(record.encoded) == record)
    }
    for other in ["", "{}", "[]", #"{"shape":"table","source":"x","complete":true}"#, #"{"shape":"array"}"#] {
      #expect(ImportRecord(Array(other.utf8)) == nil)
    }
  }

  @Test func `only complete lines count as acknowledgements`() {
    var acknowledgements = Acknowledgements()
    acknowledgements.take(Array("1\n2\n3".utf8))
    #expect(acknowledgements.last == 2)
    acknowledgements.take(Array("\n".utf8))
    #expect(acknowledgements.last == 3 && acknowledgements.isInOrder)
    acknowledgements.take(Array("5\n".utf8))
    #expect(!acknowledgements.isInOrder)
  }

  @Test func `the demo has all its records as valid JSON`() {
    let entries = TreeCores.entries()
    #expect(entries.count == 200 && Set(entries.map(\.key)).count == 200)
    for entry in entries {
      let value = Array(entry.value.utf8)
      #expect(JSON.compact(value) == value, "\(entry.value)")
    }
  }
}
