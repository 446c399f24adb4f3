import Testing

@testable import LatewoodFleece

/// Texts at the edges of RFC 8259: some must be accepted, the others must be rejected.
@Suite struct JSONGrammarTests {
  @Test func `valid JSON is accepted`() throws {
    for (text, expected) in [
      ("[[]   ]", "[[]]"), ("[\"\"]", "[\"\"]"), ("[]", "[]"), ("[ ]", "[]"), ("[\"a\"]", "[\"a\"]"),
      ("[false]", "[false]"), ("[null, 1, \"1\", {}]", "[null,1,\"1\",{}]"), ("[1\n]", "[1]"),
      (" [1]", "[1]"),
      ("[1,null,null,null,2]", "[1,null,null,null,2]"), ("[2] ", "[2]"), ("[123e65]", "[1.23e+67]"),
      ("[0e+1]", "[0]"), ("[0e1]", "[0]"), ("[ 4]", "[4]"), ("[-0]", "[0]"), ("[-123]", "[-123]"),
      ("[-1]", "[-1]"),
      ("[1E22]", "[1e+22]"), ("[1E-2]", "[0.01]"), ("[1E+2]", "[100]"), ("[123e45]", "[1.23e+47]"),
      ("[123.456e78]", "[1.23456e+80]"), ("[1e-2]", "[0.01]"), ("[1e+2]", "[100]"), ("[123]", "[123]"),
      ("[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]", "[-1e-78]"),
      ("{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"asd\":\"sdf\",\"dfg\":\"fgh\"}"),
      ("{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"c\"}"),
      ("{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"a\":3,\"b\":2}"), ("{}", "{}"), ("{\"\":0}", "{\"\":0}"),
      ("{\"foo\\u0000bar\": 42}", "{\"foo\\u0000bar\":42}"), ("{\n\"a\": \"b\"\n}", "{\"a\":\"b\"}"),
      ("[\"\\u0060\\u012a\\u12AB\"]", "[\"`Īካ\"]"), ("[\"\\uD801\\udc37\"]", "[\"𐐷\"]"),
      ("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]", "[\"😹💍\"]"),
      ("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\"\\\\/\\b\\f\\n\\r\\t\"]"),
      ("[\"\\\\u0000\"]", "[\"\\\\u0000\"]"), ("[\"\\\"\"]", "[\"\\\"\"]"),
      ("[\"a/*b*/c/*d//e\"]", "[\"a/*b*/c/*d//e\"]"),
      ("[\"\\\\a\"]", "[\"\\\\a\"]"), ("[\"\\u0012\"]", "[\"\\u0012\"]"), ("[\"\\uFFFF\"]", "[\"\u{FFFF}\"]"),
      ("[\"asd\"]", "[\"asd\"]"), ("[ \"asd\"]", "[\"asd\"]"), ("[\"\\uDBFF\\uDFFF\"]", "[\"\u{10FFFF}\"]"),
      ("[\"new\\u00A0line\"]", "[\"new\u{A0}line\"]"), ("[\"\u{10FFFF}\"]", "[\"\u{10FFFF}\"]"),
      ("[\"\\u0000\"]", "[\"\\u0000\"]"),
      ("[\"\\u0022\"]", "[\"\\\"\"]"), ("[\"\u{7F}\"]", "[\"\u{7F}\"]"),
      ("[\"\u{2028}\u{2029}\"]", "[\"\u{2028}\u{2029}\"]"),
      ("[\"€𝄞\"]", "[\"€𝄞\"]"), ("\" \"", "\" \""), ("42", "42"), ("-0.1", "-0.1"), ("null", "null"),
      ("true", "true"),
      ("\"\"", "\"\""), ("[\"a\"]\n", "[\"a\"]"), ("[true]", "[true]"), (" [] ", "[]"), ("\u{FEFF}{}", "{}"),
      ("\t\r\n [\t\r\n 1\t\r\n ,\t\r\n 2 ]", "[1,2]"), ("[20.1,1.1]", "[20.1,1.1]"),
      ("[100000000000000000000]", "[1e+20]"),
      ("[-237462374673276894279832749832423479823246327846]", "[-2.374623746732769e+47]"),
      ("[1e-10000]", "[0]"), ("[123456789123456789]", "[123456789123456789]"),
    ] {
      #expect((try? FleeceText.canonical(text)) == expected, "\(text)")
    }
  }

  @Test func `invalid JSON is refused with its position`() throws {
    for text in [
      "", " ", "[1 true]", "[a\u{E9}]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]",
      "[\"\",]", "[\"x\"",
      "[x", "[3[4]]", "[\u{FF11}]", "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]",
      "[\"\u{B}a\"\\f]",
      "[*]", "[\"\"", "[1,", "[1,\n1\n,1", "[{}", "[fals]", "[nul]", "[tru]", "[++1234]", "[+1]", "[+Inf]",
      "[-01]", "[-1.0.]",
      "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]",
      "[0e+]", "[0e]", "[1.0e+]",
      "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]",
      "[1+2]", "[0x1]", "[0x42]",
      "[Infinity]", "[0e+-1]", "[-123.123foo]", "[123e400]", "[-1e999]", "[-foo]", "[- 1]", "[-012]",
      "[-.123]", "[-1x]",
      "[1ea]", "[1.]", "[.123]", "[1.2a-3]", "[1.8011670033376514H-308]", "[012]", "[\"x\", truth]",
      "{[: \"x\"}\n",
      "{\"x\", null}", "{\"x\"::\"b\"}", "{\"a\":\"a\" 123}", "{key: 'value'}", "{\"a\" b}", "{:\"b\"}",
      "{\"a\" \"b\"}", "{\"a\":", "{\"a\"",
      "{1:1}", "{9999E9999:1}", "{null:null,null:null}", "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}",
      "{\"a\":\"b\"}/**/",
      "{\"a\":\"b\"}/**//", "{\"a\":\"b\"}//", "{\"a\":\"b\",,\"c\":\"d\"}", "{a: \"b\"}", "{\"a\":\"a",
      "{ \"foo\" : \"bar\", \"a\" }",
      "{\"a\":\"b\"}#", "[\"\\uD800\\\"]", "[\"\\uD800\\u\"]", "[\"\\uD800\\u1\"]", "[\"\\uD800\\u1x\"]",
      "[\u{E9}]", "[\"\\x00\"]",
      "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\🌀\"]", "[\"\\\"]", "[\"\\u00A\"]", "[\"\\uD834\\uDd\"]",
      "[\"\\uD800\\uD800\\x\"]", "[\"\\a\"]",
      "[\"\\uqqqq\"]", "[\\u0020\"asd\"]", "[\\n]", "\"", "['single quote']", "abc", "[\"\\", "[\"a\u{0}a\"]",
      "[\"new\nline\"]",
      "[\"\t\"]", "\"\\UA66D\"", "\"\"x", "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]", "a\u{E5}", "[True]",
      "1]", "{\"x\": true,", "[][]",
      "]", "{}}", "{\"\":", "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"", "['", "[,", "[{", "[\"a",
      "[\"a\"", "{", "{]", "{,", "{[",
      "{\"a", "{'a'", "[\"\\{[\"\\{[\"\\{[\"\\{", "*", "{\"a\":\"b\"}#{}", "[\\u000A\"\"]", "[1",
      "[ false, nul", "[ true, fals", "[ false, tru",
      "{\"asd\":\"asd\"", "\u{E5}", "\u{2060}[]", "[\u{C}]", "\u{FEFF}", "{\"a\":1\u{A0}}", "[1}",
      "{\"a\":1]", "[\"\\uDFAA\"]",
      "[\"\\uD888\\u1234\"]", "[\"\\uDd1e\\uD834\"]", "[\"\\uD800\"]", "[\"\\uD800\\n\"]", "[\"\\uDADA\"]",
      "[\"\\ud800abc\"]", "tru", "nulll",
      "truefalse", "-", "0x", "00", "1.e1", "1 2",
    ] {
      let error = #expect(throws: FleeceError.self, "\(text)") { _ = try FleeceText.fleece(text) }
      #expect(error?.kind == .invalidJSON, "\(text)")
      #expect(error?.offset.map { $0 <= text.utf8.count } == true && error?.line != nil, "\(text)")
    }
  }

  @Test func `invalid UTF-8 is refused`() throws {
    for bytes in [
      [0xFF], [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80],
      [0xE0, 0x9F, 0xBF],
      [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82], [0xF0, 0x80, 0x80, 0x80],
      [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFE], [0xE9],
      [0xFC, 0x80, 0x80, 0x80],
    ] as [[UInt8]] {
      for padding in [0, 1, 7, 8, 20] {
        let text = Array("[\"".utf8) + [UInt8](repeating: 0x61, count: padding) + bytes
        for text in [text + Array("\"]".utf8), text + Array("\\n\"]".utf8), text] {
          let error = #expect(throws: FleeceError.self) { _ = try JSON.fleece(from: text) }
          #expect(error?.kind == .invalidJSON && (error?.offset ?? 0) >= 2 + padding)
        }
      }
    }
    #expect(throws: FleeceError.self) { _ = try JSON.fleece(from: [0xEF, 0xBB]) }
    #expect(throws: FleeceError.self) { _ = try JSON.fleece(from: [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00]) }
    #expect(throws: FleeceError.self) { _ = try JSON.fleece(from: [0x00, 0x5B, 0x00, 0x5D]) }
    #expect(throws: FleeceError.self) { _ = try JSON.fleece(from: [UInt8]()) }
  }

  @Test func `control characters in a string are refused at every offset of a word`() throws {
    for byte in 0..<0x20 as Range<UInt8> {
      for padding in 0..<18 {
        let text =
          Array("[\"".utf8) + [UInt8](repeating: 0x61, count: padding) + [byte] + Array("bbbbbbbbbb\"]".utf8)
        let error = #expect(throws: FleeceError.self) { _ = try JSON.fleece(from: text) }
        #expect(error?.offset == 2 + padding)
      }
    }
  }

  @Test func `an error reports the line and the column`() throws {
    func place(_ text: String) -> [Int?] {
      do throws(FleeceError) {
        _ = try JSON.fleece(from: text)
        return []
      } catch {
        return [error.offset, error.line, error.column]
      }
    }
    #expect(place("[1,\n  2,\n  x]") == [11, 3, 3])
    #expect(place("x") == [0, 1, 1])
    #expect(place("{\"é日\": tru }") == [13, 1, 11])
    #expect(place("[\n\"a\nb\"]") == [4, 2, 3])
    #expect(place("[1,2") == [4, 1, 5])
    #expect(place("[\"\\ud800\"]") == [2, 1, 3])
  }

  @Test func `nesting is limited, and uses no stack`() async throws {
    let limit = FleeceLimits.depth
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      func text(_ depth: Int) -> String {
        String(repeating: open, count: depth) + (open == "[" ? "" : "1")
          + String(repeating: close, count: depth)
      }
      let deepest = text(limit)
      #expect(try FleeceText.canonical(deepest) == deepest)
      let error = #expect(throws: FleeceError.self) { _ = try FleeceText.fleece(text(limit + 1)) }
      #expect(error?.kind == .tooDeep)
      #expect(throws: FleeceError.self) {
        _ = try FleeceText.fleece(String(repeating: open, count: 1_000_000))
      }
    }
  }

  @Test func `a large object with its members in the worst order is sorted`() throws {
    let count = 20_000
    let keys = (0..<count).map { String($0 * 7919 % count, radix: 7) }
    let text = "{" + keys.reversed().map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}"
    let body = FleeceBody(try FleeceText.fleece(text))
    let members = try #require(try body.root.members())
    #expect(members.map(\.key) == Set(keys).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
  }
}
