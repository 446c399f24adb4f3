import LatewoodSimulation
import Testing

@testable import LatewoodFleece

@Suite struct JSONCheckTests {
  /// Returns a text in compact form; nil if it is refused. The text arrives in pieces.
  private func compact(_ text: [UInt8], pieceLength: Int = 65536) -> [UInt8]? {
    let whole = JSON.compact(text)
    var check = JSONCheck()
    var length = 0
    while true {
      length = min(length + pieceLength, text.count)
      do throws(FleeceError) {
        let part = text[..<length]
        let extent = try part.withUnsafeBytes { bytes in
          Result { () throws(FleeceError) in try check.value(of: bytes, isComplete: length == text.count) }
        }.get()
        guard let extent else { continue }
        let isAlone = text[extent.end...].allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        #expect(isAlone == (whole != nil))
        return whole
      } catch {
        #expect(whole == nil)
        return nil
      }
    }
  }

  private func failure(_ text: String) -> FleeceError? {
    var check = JSONCheck()
    do throws(FleeceError) {
      _ = try Array(text.utf8).withUnsafeBytes { bytes in
        Result { () throws(FleeceError) in try check.value(of: bytes) }
      }.get()
      return nil
    } catch { return error }
  }

  @Test(arguments: [
    ("0", "0"), ("-0", "-0"), (" 12 ", "12"), ("-1.50e+10", "-1.50e+10"), ("1E5", "1E5"),
    ("505874924095815681", "505874924095815681"), ("-65.613616999999977", "-65.613616999999977"),
    ("true", "true"), ("false", "false"), ("\tnull\r\n", "null"), (#""""#, #""""#),
    (#""a b\u00e9\n\"\\\/""#, #""a b\u00e9\n\"\\\/""#), (#""\ud800""#, #""\ud800""#), ("\"名前👋\"", "\"名前👋\""),
    ("[ ]", "[]"), ("{ }", "{}"), ("[ 1 , [ 2 , { } ] ]", "[1,[2,{}]]"),
    (#"{ "b" : 1 , "a" : [ ] , "b" : 2 }"#, #"{"b":1,"a":[],"b":2}"#), ("\"\u{7F}\"", "\"\u{7F}\""),
  ]) func `JSON is accepted, and only whitespace is dropped`(text: String, expected: String) {
    for pieceLength in [1, 2, 3, 7, 65536] {
      #expect(compact(Array(text.utf8), pieceLength: pieceLength) == Array(expected.utf8))
    }
  }

  @Test(arguments: [
    "", " ", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10", "NaN", "Infinity", "tru", "truE", "nulll",
    "'a'",
    "\"a", "\"a\nb\"", "\"a\tb\"", #""\x""#, #""\u12g4""#, #""\u12""#, "[1,]", "[,1]", "[1 2]", "[1", "{",
    "}",
    "{1:2}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a" 1}"#, #"{"a":1 "b":2}"#, #"{"a":1]"#, "[1}", "1 2",
    "// 1",
    "[1]]",
  ]) func `text that is not JSON is refused`(text: String) {
    for pieceLength in [1, 65536] {
      #expect(compact(Array(text.utf8), pieceLength: pieceLength) == nil, "\(text)")
    }
  }

  @Test(
    arguments: [
      [0xC0, 0x80], [0xC1, 0xBF], [0x80], [0xE0, 0x9F, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE3, 0x81], [0xFF],
    ] as [[UInt8]]) func `strings that are not UTF-8 are refused`(bytes: [UInt8])
  {
    #expect(compact([0x22] + bytes + [0x22]) == nil)
    #expect(compact([0x22] + bytes) == nil)
  }

  @Test func `scalars at the boundaries of UTF-8 are accepted`() {
    for scalar in [
      "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
    ] {
      let text = Array("\"\(scalar)\"".utf8)
      #expect(compact(text, pieceLength: 1) == text)
    }
  }

  @Test func `depth is limited`() {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    #expect(compact(nested(512)) != nil)
    #expect(compact(nested(513)) == nil)
    #expect(compact([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)) == nil)
  }

  @Test func `an error reports the line and the column`() throws {
    let inObject = try #require(failure("{\n  \"a\": 1,\n  \"b\": x\n}"))
    #expect(inObject.line == 3 && inObject.column == 8)
    #expect(inObject.reason.hasPrefix("x cannot start a value"))
    // Columns count characters, not bytes.
    let afterText = try #require(failure(#"["é名👋" 1]"#))
    #expect(afterText.line == 1 && afterText.column == 8)
  }

  @Test func `random bytes are accepted or refused, and never trap`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    let alphabet = Array(#"{}[]",:\u0123e.-tfn "#.utf8) + [0, 0x80, 0xE3, 0xFF, 0x0A]
    for _ in 0..<20_000 {
      let text = (0..<random.below(25)).map { _ in random.pick(alphabet) }
      let whole = compact(text)
      #expect(compact(text, pieceLength: 1) == whole, "\(text) \(random.replay)")
      // Compacting again changes nothing.
      if let whole { #expect(compact(whole) == whole, "\(text) \(random.replay)") }
      // Even unchecked pieces of text never trap.
      text.withUnsafeBytes { text in
        _ = JSONSlice(text).members()
        _ = JSONSlice(text).string()
      }
    }
  }

  @Test func `a text that is cut anywhere is neither refused nor accepted too early`() throws {
    let value = #"{"a":[1.5e-3,true,null,"\ud83d\ude00é👋\n"],"b":{}, "c" : -12 }"#
    for space in ["", " "] {
      let text = Array((value + space).utf8)
      for length in 0..<text.count {
        var check = JSONCheck()
        let extent = try text[..<length].withUnsafeBytes { bytes in
          Result { () throws(FleeceError) in try check.value(of: bytes, isComplete: false) }
        }.get()
        #expect(
          extent
            == (length > value.utf8.count ? JSONCheck.Extent(end: value.utf8.count, hasSpace: true) : nil))
      }
    }
    // A number may continue.
    for (text, isComplete) in [("12", false), ("12 ", true), ("12", true), ("[12]", true)] {
      var check = JSONCheck()
      let bytes = Array(text.utf8)
      let found = try bytes.withUnsafeBytes { bytes in
        Result { () throws(FleeceError) in try check.value(of: bytes, isComplete: isComplete) }
      }.get()
      #expect((found != nil) == isComplete)
    }
  }

  @Test func `white space between tokens is noticed, and nothing else`() throws {
    for (text, hasSpace) in [
      ("{}", false), ("[]", false), ("{ }", true), ("[ ]", true), ("[1,2]", false), ("[1, 2]", true),
      ("[1 ,2]", true), (#"{"a b":"c d"}"#, false), (#"{"a" :1}"#, true), (#"{"a": 1}"#, true),
      (#"{"a":{"b":[[],{}]},"c":[true,false,null]}"#, false), ("[[1\n],2]", true),
    ] {
      var check = JSONCheck()
      let bytes = Array(text.utf8)
      let extent = try bytes.withUnsafeBytes { bytes in
        Result { () throws(FleeceError) in try check.value(of: bytes) }
      }.get()
      #expect(extent == JSONCheck.Extent(end: bytes.count, hasSpace: hasSpace), "\(text)")
    }
  }

  @Test func `the values of a text are counted, for the memory that a document needs`() throws {
    for (text, count) in [("1", 1), ("[]", 1), ("[1,[2,{}]]", 5), (#"{"a":1,"b":[true,null]}"#, 5)] {
      var check = JSONCheck()
      let bytes = Array(text.utf8)
      _ = try bytes.withUnsafeBytes { bytes in
        Result { () throws(FleeceError) in try check.value(of: bytes) }
      }.get()
      #expect(check.valueCount == count, "\(text)")
    }
    #expect(JSONParser.memory(forTextOf: 1000, values: 100) > 2 * 1000 + 100 * 100)
  }

  @Test func `a text can be given up before its value is taken`() throws {
    var parser = JSONParser()
    for text in [
      #"{"a":"éa","b\n":["a","éa",1.5]}"#, "[]", "\"" + String(repeating: "x", count: 5000) + "\"",
    ] {
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      copy.copyBytes(from: text.utf8)
      try parser.prepare(UnsafeRawBufferPointer(copy))
      copy.initializeMemory(as: UInt8.self, repeating: 0)
      copy.deallocate()
      #expect(try parser.converted == JSON.fleece(from: text))
    }
  }

  @Test func `positions count lines and Unicode scalars`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<2_000 {
      let text = Array(
        String(
          String.UnicodeScalarView(
            (0..<random.below(40)).map { _ in random.pick(Array("a\n \u{E9}名👋".unicodeScalars)) })
        ).utf8)
      var expected = (line: 1, column: 1)
      for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
        expected = scalar == "\n" ? (expected.line + 1, 1) : (expected.line, expected.column + 1)
      }
      let cut = random.below(text.count + 1)
      var position = TextPosition()
      for part in [text[..<cut], text[cut...]] { part.withUnsafeBytes { position.pass($0) } }
      #expect(
        position.line == expected.line && position.column == expected.column, "\(text) \(random.replay)")
    }
  }
}
