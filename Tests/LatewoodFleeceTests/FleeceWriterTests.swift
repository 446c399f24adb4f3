import Testing

@testable import LatewoodFleece

@Suite struct FleeceWriterTests {
  @Test func `calls that do not form a complete value are refused`() throws {
    func expectMisuse(
      _ work: (inout FleeceWriter) throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      var writer = FleeceWriter()
      do {
        try work(&writer)
        Issue.record("accepted", sourceLocation: sourceLocation)
      } catch {
        #expect((error as? FleeceError)?.kind == .misuse, sourceLocation: sourceLocation)
      }
    }
    expectMisuse { _ = try $0.finish() }
    expectMisuse {
      try $0.null()
      try $0.null()
    }
    expectMisuse { try $0.key("a") }
    expectMisuse {
      try $0.beginArray()
      try $0.key("a")
    }
    expectMisuse {
      try $0.beginDictionary()
      try $0.null()
    }
    expectMisuse {
      try $0.beginDictionary()
      try $0.key("a")
      try $0.endDictionary()
    }
    expectMisuse {
      try $0.beginDictionary()
      try $0.key("a")
      try $0.key("b")
    }
    expectMisuse {
      try $0.beginArray()
      try $0.endDictionary()
    }
    expectMisuse {
      try $0.beginArray()
      _ = try $0.finish()
    }
  }

  @Test func `a writer can be reused, even after an error`() throws {
    var writer = FleeceWriter()
    try writer.beginArray()
    #expect(throws: FleeceError.self) { _ = try writer.finish() }
    for _ in 0..<3 {
      try writer.beginDictionary()
      try writer.key("foo")
      try writer.unsigned(123)
      try writer.endDictionary()
      #expect(try writer.finish() == FleeceText.bytes("43666f6f 7001 8003 007b 8003"))
    }
  }

  @Test func `nesting is limited`() throws {
    var writer = FleeceWriter()
    for _ in 0..<FleeceLimits.depth { try writer.beginArray() }
    var error: FleeceError?
    do throws(FleeceError) { try writer.beginArray() } catch let thrown { error = thrown }
    #expect(error?.kind == .tooDeep)
    for _ in 0..<FleeceLimits.depth { try writer.endArray() }
    _ = try writer.finish()
  }

  @Test func `data and undefined are written, and numbers that are not finite are refused`() throws {
    var writer = FleeceWriter()
    try writer.beginArray()
    try writer.data([])
    try writer.data([0xFF])
    try writer.data([1, 2, 3])
    try writer.undefined()
    #expect(throws: FleeceError.self) { try writer.double(.nan) }
    #expect(throws: FleeceError.self) { try writer.double(.infinity) }
    try writer.string("")
    try writer.double(-0.0)
    try writer.endArray()
    let fleece = try writer.finish()
    #expect(try FleeceText.json(fleece) == #"["","/w==","AQID",null,"",-0.0]"#)
    let root = try FleeceBody(fleece).root
    #expect(try root.element(at: 0)?.data() == [])
    #expect(try root.element(at: 1)?.data() == [0xFF])
    #expect(try root.element(at: 2)?.data() == [1, 2, 3])
    #expect(try root.element(at: 2)?.string() == nil)
    #expect(try root.element(at: 3)?.kind == .undefined)
    #expect(try root.element(at: 6) == nil)
    #expect(try root.element(at: -1) == nil)
  }

  @Test func `strings of every length around the limits round-trip`() throws {
    for length in [0, 1, 2, 3, 14, 15, 16, 127, 128, 129, 130, 16383, 16384, 70_000] {
      let text = String(repeating: "é", count: length / 2) + (length.isMultiple(of: 2) ? "" : "x")
      var writer = FleeceWriter()
      try writer.beginArray()
      for _ in 0..<3 { try writer.string(text) }
      try writer.endArray()
      let fleece = try writer.finish()
      for index in 0..<3 { #expect(try FleeceBody(fleece).root.element(at: index)?.string() == text) }
      // Long strings are not shared; short ones are written once.
      if length > 1, length <= FleeceLimits.sharedStringLength { #expect(fleece.count < 2 * length + 40) }
    }
  }

  @Test func `keys that are long, empty or differ only at the end round-trip`() throws {
    let long = String(repeating: "k", count: 500)
    let keys = [
      "", "a", "ab", "abcdefgh", "abcdefgha", "abcdefghb", long + "a", long + "b", long, "abcdefg\u{0}",
    ]
    var writer = FleeceWriter()
    try writer.beginArray()
    for _ in 0..<2 {
      try writer.beginDictionary()
      for key in keys {
        try writer.key(key)
        try writer.string(key)
      }
      try writer.endDictionary()
    }
    try writer.endArray()
    let root = try FleeceBody(writer.finish()).root
    try root.validate()
    for index in 0..<2 {
      for key in keys { #expect(try root.element(at: index)?.element(for: key)?.string() == key) }
      #expect(try root.element(at: index)?.members()?.count == keys.count)
    }
  }
}
