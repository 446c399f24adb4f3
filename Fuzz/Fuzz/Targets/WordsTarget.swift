import LatewoodText

/// A text, then a line feed, then a query for words.
///
/// A query that can be parsed is bound and searched for in the text. The offset of an error is
/// inside the query. The words of any text are a query. Ranges contain whole scalars, and a word
/// alone has the same term as in the text.
final class WordsTarget: FuzzTarget {
  private var analyzers: [TextAnalyzer]

  init() {
    let options =
      [TextOptions(), TextOptions(folding: []), TextOptions(language: .english, stopWords: ["the"])]
      + TextLanguage.allCases.map { TextOptions(language: $0) }
    analyzers = options.map(TextAnalyzer.init)
  }

  var words: [[UInt8]] {
    [
      " AND ", " OR ", " NOT ", "NEAR(", ", 3)", "\"", "*", "^2", ":", "{a b}:", "+", "title:", "\n", "é",
      "e\u{301}",
      "ß", "東京", "カナ", "ไทย", "한국", "l'", "’s", "3.14", "\u{200D}", "👩", "İ", "running", "ational", "kkelijk",
    ].map { Array($0.utf8) }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.count
    let text = String(decoding: input[..<end], as: UTF8.self)
    let written = String(decoding: input[min(end + 1, input.count)...], as: UTF8.self)
    var queries = [TextQuery.words(text), TextQuery.words(written, any: true, lastIsPrefix: true)]
    do throws(TextQueryError) { queries.append(try TextQueryParser.parse(written)) } catch {
      if !(0...written.utf8.count).contains(error.offset) { find("the place of an error is outside") }
    }
    let bytes = Array(text.utf8)
    for index in analyzers.indices {
      let tokens = analyzers[index].tokens(of: text)
      var position = -1
      for token in tokens {
        if token.position <= position { find("positions do not grow") }
        position = token.position
        if token.term.count > TextAnalyzer.termLimit { find("a term is too long") }
        guard let word = String(validating: bytes[token.range], as: UTF8.self) else {
          find("a range cuts a scalar")
        }
        let alone = analyzers[index].tokens(of: word).first?.term
        if alone != token.term { find("a word has another term alone") }
      }
      for query in queries {
        tolerate {
          let bound = try BoundTextQuery(query, fields: ["title", "plot"], &analyzers[index])
          let occurrences = TextOccurrences(of: bound, in: [tokens, []])
          let found = occurrences.found.flatMap { $0 }
          if !occurrences.isMatch, !found.isEmpty { find("words of a query that finds nothing") }
          let excerpt = TextExcerpt(of: text, tokens, found, wordCount: 8)
          if String(validating: bytes[excerpt.range], as: UTF8.self) == nil {
            find("an excerpt cuts a scalar")
          }
        }
      }
    }
    // The query for the words of a text finds the text, unless folding leaves no words.
    let tokens = analyzers[0].tokens(of: text)
    tolerate {
      let bound = try BoundTextQuery(queries[0], fields: [], &analyzers[0])
      if bound.root != nil, !TextOccurrences(of: bound, in: [tokens]).isMatch {
        find("a text lacks its words")
      }
    }
  }
}
