import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The terms of texts.
@Suite struct TextAnalyzerTests {
  private func terms(_ text: String, _ options: TextOptions = TextOptions()) -> [String] {
    var analyzer = TextAnalyzer(options)
    return analyzer.tokens(of: text).map { String(decoding: $0.term, as: UTF8.self) }
  }

  @Test func `words are folded and reduced to stems`() {
    #expect(terms("The Searches of Zürich") == ["the", "searches", "of", "zurich"])
    #expect(terms("Searching, searched!", TextOptions(language: .english)) == ["search", "search"])
    #expect(terms("Cafés, café’s", TextOptions(language: .english)) == ["cafe", "cafe"])
    #expect(terms("Relational", TextOptions(language: .porter)) == ["relat"])
    #expect(terms("don’t don't", TextOptions()) == ["don't", "don't"])
    #expect(terms("co\u{AD}operate", TextOptions()) == ["cooperate"])
    #expect(terms("cafe\u{301} café", TextOptions(language: .english)) == ["cafe", "cafe"])
  }

  @Test func `diacritics are folded after the stem`() {
    // "ité" is a suffix, and "ite" is not.
    #expect(terms("l’Éternité éternel", TextOptions(language: .french)) == ["etern", "eternel"])
    #expect(terms("ETERNITE\u{301}", TextOptions(language: .french)) == ["etern"])
    #expect(
      terms("acción", TextOptions(language: .spanish)) == terms("acciones", TextOptions(language: .spanish)))
    #expect(terms("Häuser", TextOptions(language: .german)) == ["haus"])
    #expect(terms("gåvorna", TextOptions(language: .swedish)) == ["gav"])
    #expect(terms("gåvorna", TextOptions(language: .swedish, folding: .letterCase)) == ["ga\u{30A}v"])
  }

  @Test func `scripts without spaces make pairs, with the last character alone`() {
    #expect(terms("東京都 x") == ["東京", "京都", "都", "x"])
    #expect(terms("猫") == ["猫"])
    #expect(terms("ｶﾞｶ").count == 2)
    var analyzer = TextAnalyzer(TextOptions())
    let tokens = analyzer.tokens(of: "ab 東京")
    #expect(tokens.map(\.kind) == [.word, .pair, .last])
    #expect(tokens.map(\.position) == [0, 1, 2])
    #expect(tokens.map(\.range) == [0..<2, 3..<9, 6..<9])
  }

  /// Neighbours that Unicode's rules join, split or ignore.
  private static let pieces =
    [
      "a", "Z", "word", "9", "42", " ", " ", "\n", "\r\n", "\t", "_", "'", "’", ".", ",", ":", ";", "\"", "-",
      "(",
    ]
    + [
      "é", "e\u{301}", "\u{AD}", "\u{200D}", "\u{200B}", "א", "ß", "猫", "ｶ", "น", "🇩🇪", "👩‍💻", "\u{202F}", "·",
      "\0",
    ]
    + [String(repeating: "x", count: 99), "x", "İ", "１", "the"]

  @Test(arguments: 0..<4)
  func `plain words are the words that the rules of Unicode find`(_ number: Int) {
    var random = SeededRandom(seed: SeededRandom.seed(UInt64(80 + number)))
    let replay = random.replay
    let options = [
      TextOptions(), TextOptions(language: .english), TextOptions(folding: [], stopWords: ["the", "a"]),
      TextOptions(language: .porter, stopWords: ["word"]),
    ][number]
    var (plain, complete) = (TextAnalyzer(options), TextAnalyzer(options))
    for _ in 0..<Effort.count(1500, low: 400) {
      let text = (0..<Int.random(in: 0..<14, using: &random))
        .map { _ in TextAnalyzerTests.pieces.randomElement(using: &random) ?? "" }.joined()
      var expected: [TextToken] = []
      var position = 0
      complete.forEachScalarTerm(of: text, at: &position, offset: 0) { (term, place) in
        expected.append(
          TextToken(term: term, position: place.position, range: place.range, kind: place.kind))
      }
      #expect(plain.tokens(of: text) == expected, "\(replay): \(text.debugDescription)")
      #expect(plain.forEachToken(of: text) { _ in } == position, "\(replay): \(text.debugDescription)")
    }
  }

  @Test func `plain words leave little of an English text to the rules`() {
    var text = "The film's director, Mr. Smith, made 3.5 films (in 2001); \"Alien\" wasn't one. Café!"
    var words = PlainWords()
    var pieces: [String] = []
    text.withUTF8 { (bytes) in
      while let piece = words.next(in: bytes) {
        if case .other(let range) = piece { pieces.append(String(decoding: bytes[range], as: UTF8.self)) }
      }
    }
    #expect(pieces == ["film's", "3.5", "wasn't", "Café!"])
  }

  @Test func `stop words are compared without diacritics before the stem`() {
    var analyzer = TextAnalyzer(TextOptions(language: .french, stopWords: ["été"]))
    let tokens = analyzer.tokens(of: "ÉTÉ ete éte\u{301} étés")
    #expect(tokens.map(\.kind) == [.stopWord, .stopWord, .stopWord, .word])
  }

  @Test func `stop words have positions`() {
    var analyzer = TextAnalyzer(TextOptions(language: .english, stopWords: ["The", "of"]))
    let tokens = analyzer.tokens(of: "the end OF time")
    #expect(tokens.map(\.kind) == [.stopWord, .word, .stopWord, .word])
    #expect(tokens.map(\.position) == [0, 1, 2, 3])
  }

  @Test func `a term of any word has a limited length`() {
    let word = String(repeating: "é", count: 1 << 19)
    #expect(
      terms(word, TextOptions(folding: [])).map(\.utf8.count).allSatisfy { $0 <= TextAnalyzer.termLimit })
    #expect(terms(word) == [String(repeating: "e", count: TextAnalyzer.termLimit)])
    #expect(terms("x" + String(repeating: "\u{301}", count: 100_000)) == ["x"])
    let run = terms(String(repeating: "東", count: 1000))
    #expect(run.count == 1000)
    #expect(terms("東" + String(repeating: "\u{3099}", count: 100_000)).allSatisfy { $0.utf8.count <= 120 })
  }

  @Test func `ranges cover the words in the text`() {
    var random = SeededRandom(seed: 23)
    for options in [
      TextOptions(), TextOptions(language: .porter), TextOptions(language: .english, folding: []),
    ] {
      var analyzer = TextAnalyzer(options)
      for _ in 0..<500 {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: (0..<30).compactMap { _ in Unicode.Scalar(randomScalar(&random)) })
        let text = String(view)
        let utf8 = Array(text.utf8)
        for token in analyzer.tokens(of: text) {
          let word = String(validating: utf8[token.range], as: UTF8.self)
          // Read alone, a word has the same term.
          let alone = word.map { analyzer.tokens(of: $0) }
          #expect(alone?.first?.term == token.term, "\(text.debugDescription)")
        }
      }
    }
  }
}
