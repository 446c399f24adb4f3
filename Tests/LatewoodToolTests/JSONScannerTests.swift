import LatewoodSimulation
import Testing

@testable import LatewoodTool

@Suite struct JSONScannerTests {
  /// Returns a text in compact form, read in pieces of a given length; nil if it is refused.
  private func compact(_ text: [UInt8], pieceLength: Int = 65536) -> [UInt8]? {
    var scanner = JSONScanner(input: JSONInput(text, pieceLength: pieceLength))
    var output: [UInt8] = []
    do throws(Failure) {
      try scanner.value(into: &output)
      try scanner.input.skipSpace()
      return try scanner.input.peek() == nil ? output : nil
    } catch { return nil }
  }

  private func failure(_ text: String) -> Failure? {
    var scanner = JSONScanner(input: JSONInput(Array(text.utf8)))
    var output: [UInt8] = []
    do throws(Failure) {
      try scanner.value(into: &output)
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
    #expect(inObject.message.hasPrefix("x cannot start a value"))
    // Columns count characters, not bytes.
    let afterText = try #require(failure(#"["é名👋" 1]"#))
    #expect(afterText.line == 1 && afterText.column == 8)
    #expect(afterText.exitCode == .badInput)
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
      _ = JSONText.members(of: text[...])
      _ = JSONText.string(text[...])
    }
  }
}
