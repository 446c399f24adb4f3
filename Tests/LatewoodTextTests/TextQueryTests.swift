import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The language of queries for words.
@Suite struct TextQueryTests {
  private func word(_ text: String, _ isPrefix: Bool = false) -> TextQuery {
    .phrase(TextQuery.Phrase(text, isPrefix: isPrefix))
  }

  @Test func `operators bind as in FTS5`() throws {
    let cases: [(String, TextQuery)] = [
      ("a", word("a")), ("a b", .all([word("a"), word("b")])), ("a AND b", .all([word("a"), word("b")])),
      ("a OR b c", .any([word("a"), .all([word("b"), word("c")])])),
      ("a AND b OR c", .any([.all([word("a"), word("b")]), word("c")])),
      ("a NOT b c", .without(word("a"), .all([word("b"), word("c")]))),
      ("a b NOT c NOT d", .without(.all([word("a"), word("b")]), .any([word("c"), word("d")]))),
      ("a AND b NOT c", .all([word("a"), .without(word("b"), word("c"))])),
      ("(a OR b) c", .all([.any([word("a"), word("b")]), word("c")])),
      ("\"a \"\"b\" c*", .all([word("a \"b"), word("c", true)])), ("a + b + c*", word("a b c", true)),
      ("title:a b", .all([.fields(["title"], word("a")), word("b")])),
      ("{title plot}: (a OR b)", .fields(["title", "plot"], .any([word("a"), word("b")]))),
      ("cast[].name:a", .fields(["cast[].name"], word("a"))), ("\"a b\":c", .fields(["a b"], word("c"))),
      ("a^2.5 b", .all([.boost(2.5, word("a")), word("b")])),
      ("NEAR(a b)", .near([.init("a"), .init("b")], distance: 10)),
      ("NEAR(a \"b c\"*, 3)", .near([.init("a"), .init("b c", isPrefix: true)], distance: 3)),
      ("NEAR (a)", .all([word("NEAR"), word("a")])),
      ("and or near", .all([word("and"), word("or"), word("near")])),
      ("", .all([])), ("  ", .all([])), ("O'Brien's 3.5-inch", .all([word("O'Brien's"), word("3.5-inch")])),
    ]
    for (text, query) in cases { #expect(try TextQueryParser.parse(text) == query, "\(text)") }
  }

  @Test(arguments: [
    ("\"a", 0), ("a \"b", 2), ("(a", 2), ("a)", 1), ("a OR", 4), ("OR a", 0), ("a AND OR b", 6), ("a NOT", 5),
    ("*", 0), ("a : ", 4), ("{a b", 4), ("{a b} c", 6), ("{}:a", 1), ("a^", 2), ("a^x", 2), ("a^0", 3),
    ("NEAR()", 6),
    ("NEAR(a, b)", 8), ("NEAR(a", 6), ("NEAR(a, 1.5)", 11), ("a + ", 4), (",", 0), ("()", 1), ("é ^", 4),
    ("a ** ", 3),
  ])
  func `an error has the offset of the problem`(_ text: String, _ offset: Int) throws {
    let error = try #require(throws: TextQueryError.self) { try TextQueryParser.parse(text) }
    #expect(error.offset == offset, "\(text): \(error)")
  }

  @Test(arguments: [
    ("sky AND", "expected a word at the end of the query"),
    ("OR sky", "OR stands between two words: put it in quotes to search for it"),
    ("\"sky", "this quote is not closed: add a second one"),
    ("(sky", "a parenthesis is not closed: add \")\""),
    ("NEAR(a, far)", "expected a whole number of words after the comma of NEAR"),
    ("sky^high", "expected a positive number after \"^\", as in \"word^2\""),
    (":", "expected a word here; put other characters in quotes"),
  ])
  func `an error tells what to write`(_ text: String, _ reason: String) throws {
    let error = try #require(throws: TextQueryError.self) { try TextQueryParser.parse(text) }
    #expect(error.reason == reason)
  }

  @Test func `depth, length and the number of words are limited`() {
    let deep = { (count: Int) in
      String(repeating: "(", count: count) + "a" + String(repeating: ")", count: count)
    }
    #expect(throws: Never.self) { try TextQueryParser.parse(deep(63)) }
    #expect(throws: TextQueryError.self) { try TextQueryParser.parse(deep(64)) }
    #expect(throws: TextQueryError.self) { try TextQueryParser.parse(deep(60_000 / 2)) }
    #expect(throws: TextQueryError.self) {
      try TextQueryParser.parse(String(repeating: "a:", count: 1000) + "b")
    }
    let words = { (count: Int) in String(repeating: "a ", count: count) }
    #expect(throws: Never.self) { try TextQueryParser.parse(words(1000)) }
    #expect(throws: TextQueryError.self) { try TextQueryParser.parse(words(1001)) }
    #expect(throws: Never.self) { try TextQueryParser.parse(String(repeating: "a", count: 65_536)) }
    #expect(throws: TextQueryError.self) { try TextQueryParser.parse(String(repeating: "a", count: 65_537)) }
  }

  @Test func `the words of any text are a query`() throws {
    #expect(TextQuery.words("cats AND (dogs\" *") == .all([word("cats"), word("AND"), word("dogs")]))
    #expect(TextQuery.words("new yor", lastIsPrefix: true) == .all([word("new"), word("yor", true)]))
    #expect(TextQuery.words("new yor ", lastIsPrefix: true) == .all([word("new"), word("yor")]))
    #expect(TextQuery.words("a b", any: true) == .any([word("a"), word("b")]))
    #expect(TextQuery.words("\"…*") == .all([]))
    #expect(TextQuery.words("東京 x") == .all([word("東京"), word("x")]))
    var random = SeededRandom(seed: 31)
    var analyzer = TextAnalyzer(TextOptions(language: .english))
    for _ in 0..<2000 {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: (0..<20).compactMap { _ in Unicode.Scalar(randomScalar(&random)) })
      let query = TextQuery.words(String(view), any: Bool.random(using: &random), lastIsPrefix: true)
      _ = try BoundTextQuery(query, fields: [], &analyzer)
    }
  }

  @Test func `a random text is a query or an error inside of it`() {
    var random = SeededRandom(seed: 37)
    let parts = [
      "a", "\"", "(", ")", "{", "}", ":", "*", "^", "2", "+", ",", " ", " OR ", " AND ", " NOT ", "NEAR(",
      "é",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0..<12, using: &random)).map { _ in
        parts[Int.random(in: 0..<parts.count, using: &random)]
      }.joined()
      do throws(TextQueryError) { _ = try TextQueryParser.parse(text) } catch {
        #expect(0...text.utf8.count ~= error.offset, "\(text)")
      }
    }
  }

  @Test func `a query is bound to terms and fields`() throws {
    var analyzer = TextAnalyzer(TextOptions(language: .english, stopWords: ["the"]))
    func bound(_ text: String) throws -> BoundTextQuery {
      try BoundTextQuery(try TextQueryParser.parse(text), fields: ["title", "plot"], &analyzer)
    }
    let query = try bound("plot:\"King of the Cities\"^2 OR Runn*")
    #expect(
      query.phrases.map { $0.terms.map { String(decoding: $0.bytes, as: UTF8.self) } } == [
        ["king", "of", "citi"], ["runn"],
      ])
    #expect(query.phrases[0].terms.map(\.offset) == [0, 1, 3])
    #expect(query.phrases[0].fields == [1] && query.phrases[0].boost == 2 && query.phrases[1].fields == nil)
    #expect(query.phrases[1].terms[0].accepts(Array("runner".utf8)))
    #expect(try bound("the").root == nil)
    #expect(try bound("the*").root == .phrase(0))
    #expect(try bound("the king").root == .phrase(0))
    #expect(try bound("title:(plot:a)").phrases[0].fields == [])
    #expect(throws: BoundTextQuery.UnknownField(name: "x")) { try bound("x:a") }
    #expect(TextQueryParser.offset(ofField: "x", in: "x y:a {z \"x\"}:b x:c") == 9)
    let pairs = try bound("東京都 猫").phrases
    #expect(pairs[0].terms.map(\.prefix) == [nil, nil] && pairs[1].terms[0].prefix == Array("猫".utf8))
    #expect(try bound("\"" + String(repeating: "a ", count: 30_000) + "\"").phrases[0].terms.count == 64)
  }
}
