import Foundation
import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The documents that queries find, and their order.
@Suite struct RankingTests {
  private struct Line: Decodable {
    var documents: [[String]]?
    var language: String?
    var query: String?
    var ids: [Int]?
    var scores: [Double]?
  }

  /// Written by Tests/text/fts5.py.
  @Test func `matches and scores agree with FTS5`() throws {
    let table = String(decoding: try Repository.read("Tests/text/fts5.jsonl"), as: UTF8.self)
    let lines = try table.split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
    let documents = try #require(lines[0].documents)
    var tokens: [String: [[[TextToken]]]] = [:]
    for line in lines.dropFirst() {
      let text = try #require(line.query)
      let name = line.language ?? ""
      var analyzer = TextAnalyzer(TextOptions(language: TextLanguage(rawValue: name)))
      let known = tokens[name] ?? documents.map { $0.map { analyzer.tokens(of: $0) } }
      tokens[name] = known
      let query = try BoundTextQuery(try TextQueryParser.parse(text), fields: ["title", "plot"], &analyzer)
      let scores = scores(of: query, in: known, weights: [5, 1])
      #expect(scores.map(\.id) == line.ids, "\(text)")
      for (score, expected) in zip(scores, line.scores ?? []) {
        #expect(abs(score.score - expected) <= 1e-9 * max(1, abs(expected)), "\(text): \(score.id)")
      }
    }
    #expect(lines.count > 400)
  }

  private func scores(
    of query: BoundTextQuery, in documents: [[[TextToken]]], weights: [Double]
  ) -> [(id: Int, score: Double)] {
    let lengths = documents.map { $0.reduce(0) { $0 + $1.count } }
    let ranking = BM25(documentCount: documents.count, totalLength: lengths.reduce(0, +))
    let idfs = query.phrases.indices.map { number in
      // FTS5 counts the documents with a phrase in the fields of the query, without its other
      // conditions.
      ranking.idf(documents.count { TextOccurrences(of: query.only(number), in: $0).isMatch })
    }
    var result: [(id: Int, score: Double)] = []
    for (id, document) in documents.enumerated() {
      let occurrences = TextOccurrences(of: query, in: document)
      guard occurrences.isMatch else { continue }
      var score = 0.0
      for (number, found) in occurrences.found.enumerated() where !found.isEmpty {
        let frequency = found.reduce(0) { $0 + weights[$1.field] }
        score += ranking.part(idf: idfs[number], frequency: frequency, length: lengths[id])
      }
      result.append((id, score))
    }
    return result
  }

  @Test func `near phrases have few words between them`() throws {
    var analyzer = TextAnalyzer(TextOptions())
    let tokens = [analyzer.tokens(of: "a x b x x a b c"), analyzer.tokens(of: "b")]
    func positions(_ text: String) throws -> [[Int]] {
      let query = try BoundTextQuery(try TextQueryParser.parse(text), fields: [], &analyzer)
      return TextOccurrences(of: query, in: tokens).found.map { $0.map(\.position) }
    }
    #expect(try positions("NEAR(a b, 0)") == [[5], [6]])
    #expect(try positions("NEAR(a b, 1)") == [[0, 5], [2, 6]])
    #expect(try positions("NEAR(a b, 2)") == [[0, 5], [2, 6]])
    #expect(try positions("NEAR(\"a b\" c, 0)") == [[5], [7]])
    #expect(try positions("NEAR(a b y)") == [[], [], []])
  }

  @Test func `highlights are words of the original text`() throws {
    let text = "The Straße. 東京都に行く STRASSES"
    var analyzer = TextAnalyzer(TextOptions(language: .english))
    func highlights(_ query: String) throws -> [String] {
      let query = try BoundTextQuery(try TextQueryParser.parse(query), fields: [], &analyzer)
      let found = TextOccurrences(of: query, in: [analyzer.tokens(of: text)]).found.flatMap { $0 }
      return TextExcerpt.highlights(found).map { String(decoding: Array(text.utf8)[$0], as: UTF8.self) }
    }
    #expect(try highlights("strasse") == ["Straße", "STRASSES"])
    #expect(try highlights("stra*") == ["Straße", "STRASSES"])
    #expect(try highlights("東京都") == ["東京都"])
    #expect(try highlights("京") == ["京都"])
    #expect(try highlights("\"the straße\" OR straße") == ["The Straße", "STRASSES"])
    #expect(try highlights("the NOT straße") == [])
  }

  @Test func `an excerpt shows the most phrases, from the beginning of a sentence`() throws {
    let filler = Array(repeating: "word", count: 30).joined(separator: " ")
    let text = "One king. \(filler) The queen met a king here. \(filler)"
    var analyzer = TextAnalyzer(TextOptions())
    func excerpt(_ query: String, _ count: Int) throws -> (String, [String]) {
      let query = try BoundTextQuery(try TextQueryParser.parse(query), fields: [], &analyzer)
      let tokens = analyzer.tokens(of: text)
      let found = TextOccurrences(of: query, in: [tokens]).found.flatMap { $0 }
      let excerpt = TextExcerpt(of: text, tokens, found, wordCount: count)
      let bytes = Array(text.utf8)
      return (
        String(decoding: bytes[excerpt.range], as: UTF8.self),
        excerpt.highlights.map { String(decoding: bytes[$0], as: UTF8.self) }
      )
    }
    #expect(try excerpt("king queen", 8) == ("word The queen met a king here. word", ["queen", "king"]))
    #expect(try excerpt("king", 3) == ("One king. word", ["king"]))
    #expect(try excerpt("absent", 2) == ("One king", []))
    #expect(try excerpt("king", 1000).0 == text)
    var pairs = analyzer.tokens(of: "東京都京都")
    let query = try BoundTextQuery(.words("京"), fields: [], &analyzer)
    let found = TextOccurrences(of: query, in: [pairs]).found[0]
    #expect(TextExcerpt(of: "東京都京都", pairs, found, wordCount: 2).range == 0..<9)
    pairs = []
    #expect(TextExcerpt(of: "", pairs, [], wordCount: 2).range == 0..<0)
  }
}

extension BoundTextQuery {
  /// The query for one phrase.
  fileprivate func only(_ number: Int) -> BoundTextQuery {
    var copy = self
    copy.root = .phrase(number)
    return copy
  }
}
