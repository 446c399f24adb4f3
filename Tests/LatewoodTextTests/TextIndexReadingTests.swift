import LatewoodSimulation
import Testing

@testable import LatewoodText

/// How much of an index a query reads, and the terms that it suggests.
@Suite struct TextIndexReadingTests {
  /// 10,000 documents of which each has "a", and half of them "b".
  private static func frequentWords() throws -> MemorySpace {
    var random = SeededRandom(seed: 67)
    let space = MemorySpace()
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    for number in 0..<10_000 {
      let id = Array("\(number)".utf8)
      var words: [String] = []
      // The frequencies of words in texts fall off quickly.
      repeat { words.append("a") } while Int.random(in: 0..<3, using: &random) == 0
      if number % 2 == 0 { words.append("b") }
      if number % 1000 == 0 { words.append("rare") }
      for _ in 0..<Int.random(in: 2..<12, using: &random) { words.append("filler") }
      try writer.change(id, from: nil, to: [[words.joined(separator: " ")]])
    }
    try writer.finish()
    try writer.mergeRecent()
    return space
  }

  private func query(_ text: String) throws -> BoundTextQuery {
    var analyzer = TextAnalyzer(TextOptions())
    return try BoundTextQuery(try TextQueryParser.parse(text), fields: ["f"], &analyzer)
  }

  @Test func `the best ten of a frequent word read few of its blocks`() throws {
    let space = try TextIndexReadingTests.frequentWords()
    let blocks = space.entries.count { $0.key.starts(with: Array("pa\u{0}".utf8)) }
    #expect(blocks == 79)
    let reader = try TextIndexReader(space, fieldCount: 1)
    func reads(_ kind: Unicode.Scalar, _ body: () throws -> Void) throws -> Int {
      space.reads = [:]
      try body()
      return space.reads[kind] ?? 0
    }
    func expectBest(_ text: String, atMost limit: Int) throws {
      let query = try query(text)
      var all: [TextMatch] = []
      try reader.forEachScore(of: query, weights: [1]) {
        all.append($0)
        return true
      }
      all.sort { ($0.score, $1.number) > ($1.score, $0.number) }
      var best: [TextMatch] = []
      let count = try reads("p") { best = try reader.best(10, of: query, weights: [1]) }
      #expect(best == Array(all.prefix(10)))
      #expect(count <= limit, "\(text): \(count) blocks")
    }
    try expectBest("a", atMost: 30)
    try expectBest("a OR rare", atMost: 32)
    try expectBest("a NOT rare", atMost: 30)
    // A rare word leads to at most one block of the other for each document.
    try expectBest("a rare", atMost: 10)
    for text in ["a", "b", "filler"] {
      let count = try reads("p") { _ = try reader.count(of: try query(text)) }
      #expect(count == 0)
    }
    let lengths = try reads("l") { _ = try reader.count(of: try query("a b")) }
    let documents = try reads("i") { _ = try reader.best(10, of: try query("a b"), weights: [1]) }
    #expect(lengths == 0 && documents == 0)
  }

  @Test func `single documents have the scores of all, in any order, and cost few reads`() throws {
    let space = try TextIndexReadingTests.frequentWords()
    let reader = try TextIndexReader(space, fieldCount: 1)
    var random = SeededRandom(seed: SeededRandom.seed(83))
    for text in ["a", "b", "b OR rare", "a NOT b", #""a b""#, "ra*", "NEAR(a b, 3)", "nothing", ""] {
      let query = try query(text)
      var scores: [UInt64: Double] = [:]
      try reader.forEachScore(of: query, weights: [1]) {
        scores[$0.number] = $0.score
        return true
      }
      var scorer = TextScorer(reader, query, weights: [1])
      let ascending = stride(from: UInt64(1), through: 10_001, by: 700)
      for number in ascending { #expect(try scorer.score(of: number) == scores[number]) }
      #expect(scorer.passCount == 1)
      for _ in 0..<20 {
        let number = random.next() % 10_002
        #expect(try scorer.score(of: number) == scores[number], "\(text), \(number); \(random.replay)")
      }
      #expect(scorer.passCount > 1)
      #expect(try scorer.score(of: 0) == nil && scorer.score(of: .max) == nil)
    }
    var scorer = TextScorer(reader, try query("a"), weights: [1])
    space.reads = [:]
    for number in stride(from: UInt64(10_000), to: 0, by: -1000) { _ = try scorer.score(of: number) }
    #expect(space.reads["p"] ?? 0 <= 10)
    #expect(scorer.passCount == 10 && scorer.affordablePassCount == 156)
    scorer = TextScorer(reader, try query(#""a b""#), weights: [1])
    #expect(scorer.affordablePassCount == 1)
  }

  @Test func `documents that are all equal are not read to the end`() throws {
    let space = MemorySpace()
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    for number in 0..<5000 { try writer.change(Array("\(number)".utf8), from: nil, to: [["a b c"]]) }
    try writer.finish()
    try writer.mergeRecent()
    space.reads = [:]
    let best = try TextIndexReader(space, fieldCount: 1).best(10, of: try query("a b"), weights: [1])
    #expect(best.map(\.number) == Array(1...10))
    #expect(space.reads["p"] ?? 0 <= 2)
  }

  @Test func `an update changes few entries`() throws {
    let space = try TextIndexReadingTests.frequentWords()
    let before = space.changeCount
    var limits = TextIndexLimits()
    limits.recentLength = 0
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions(), limits: limits)
    try writer.change(Array("new".utf8), from: nil, to: [["a b rare"]])
    try writer.finish()
    // Both entries of the document, lengths and statistics; an entry, a block and a part of the
    // directory for each frequent word, and an entry for the rare one.
    #expect(space.changeCount - before == 4 + 2 * 3 + 1)
  }

  @Test func `completions are the most frequent terms`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(71))
    let space = MemorySpace()
    let words = ZipfWords(count: 300)
    var model = TextIndexModel(fieldCount: 1, options: TextOptions())
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    for number in 0..<200 {
      let texts = [[words.text(10, &random)]]
      try writer.change([UInt8(number)], from: nil, to: texts)
      model.set(texts, for: [UInt8(number)])
    }
    try writer.finish()
    let reader = try TextIndexReader(space, fieldCount: 1)
    let terms = model.terms.map { TextTerm(term: $0.key, documentCount: $0.value) }
    func isBefore(_ left: TextTerm, _ right: TextTerm) -> Bool {
      left.documentCount != right.documentCount
        ? left.documentCount > right.documentCount : left.term.lexicographicallyPrecedes(right.term)
    }
    for prefix in ["", "b", "c", "bb", "zz"].map({ Array($0.utf8) }) {
      let expected = terms.filter { $0.term.starts(with: prefix) }.sorted(by: isBefore)
      for limit in [0, 1, 5, 1000] {
        #expect(try reader.completions(of: prefix, limit: limit) == Array(expected.prefix(limit)))
      }
    }
    for word in ["b", "cb", "bc", "bcd", "xyzzy", "é", ""] {
      for distance in 1...2 {
        let expected = terms.compactMap { (term) -> TextSuggestion? in
          let found = editDistance(
            Array(word.unicodeScalars), Array(String(decoding: term.term, as: UTF8.self).unicodeScalars))
          return 1...distance ~= found ? TextSuggestion(term: term, distance: found) : nil
        }.sorted { $0.distance != $1.distance ? $0.distance < $1.distance : isBefore($0.term, $1.term) }
        let found = try reader.suggestions(for: Array(word.utf8), distance: distance, limit: 1000)
        #expect(found == expected, "\(word) \(distance) \(random.replay)")
      }
    }
  }

  @Test func `suggestions skip terms that begin differently`() throws {
    let space = MemorySpace()
    let words = ZipfWords(count: 5000).words
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    try writer.change([1], from: nil, to: [[words.joined(separator: " ")]])
    try writer.finish()
    space.readKeys = []
    let reader = try TextIndexReader(space, fieldCount: 1)
    _ = try reader.suggestions(for: Array("bcdefg".utf8), distance: 1, limit: 5)
    #expect(space.readKeys.count < words.count / 4, "\(space.readKeys.count) of \(words.count)")
  }

  /// The number of scalars to insert, remove, replace or exchange with their neighbour, of which no
  /// part is changed twice: by recursion on the first scalars.
  private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var known: [[Int]: Int] = [:]
    func distance(_ i: Int, _ j: Int) -> Int {
      if i == left.count || j == right.count { return left.count - i + right.count - j }
      if let known = known[[i, j]] { return known }
      var least = min(distance(i + 1, j), distance(i, j + 1)) + 1
      least = min(least, distance(i + 1, j + 1) + (left[i] == right[j] ? 0 : 1))
      if i + 1 < left.count, j + 1 < right.count, left[i] == right[j + 1], left[i + 1] == right[j] {
        least = min(least, distance(i + 2, j + 2) + 1)
      }
      known[[i, j]] = least
      return least
    }
    return distance(0, 0)
  }

  @Test func `an explanation shows what a score consists of`() throws {
    let space = MemorySpace()
    var analyzer = TextAnalyzer(TextOptions())
    var writer = try TextIndexWriter(space, fieldCount: 2, options: TextOptions())
    try writer.change([1], from: nil, to: [["dark night"], ["a night of the dark night"]])
    try writer.change([2], from: nil, to: [["day"], ["no dark"]])
    for number: UInt8 in 3..<9 { try writer.change([number], from: nil, to: [["x"], []]) }
    try writer.finish()
    let reader = try TextIndexReader(space, fieldCount: 2)
    let text = "title:night^2 \"dark night\" OR absent"
    let query = try BoundTextQuery(
      try TextQueryParser.parse(text), fields: ["title", "plot"], &analyzer)
    let number = try #require(try reader.number(of: [1]))
    let score = try #require(try reader.explain(number, for: query, weights: [5, 1]))
    #expect(score.length == 8 && score.documentCount == 8 && score.totalLength == 17)
    #expect(score.parts.map(\.phrase) == ["night", "dark night"])
    #expect(score.parts.map(\.documentCount) == [1, 1])
    #expect(score.parts.map(\.counts) == [[1, 2], [1, 1]])
    #expect(score.parts.map(\.frequency) == [5, 6] && score.parts.map(\.boost) == [2, 1])
    #expect(score.parts[0].score + score.parts[1].score == score.score)
    #expect(
      try reader.best(1, of: query, weights: [5, 1]) == [TextMatch(number: number, score: score.score)])
    #expect(try reader.explain(number + 1, for: query, weights: [5, 1]) == nil)
    #expect(try reader.id(of: number) == [1])
    #expect(try reader.number(of: [77]) == nil)
  }

  @Test func `lengths of documents are read in any order`() throws {
    let space = MemorySpace()
    var random = SeededRandom(seed: SeededRandom.seed(98))
    var expected: [UInt64: Int] = [:]
    var lengths = TextLengths()
    for number: UInt64 in 1..<400 where Int.random(in: 0..<5, using: &random) > 0 {
      expected[number] = Int.random(in: 0..<[100, 300, 1 << 20][Int(number) / 140], using: &random)
      try lengths.set(expected[number], of: number, in: space)
    }
    try lengths.finish(in: space)
    var reader = TextLengthReader()
    for number in Array(1..<500) + (0..<1000).map({ _ in UInt64.random(in: 1..<500, using: &random) }) {
      #expect(try reader.length(of: number, in: space) == expected[number], "\(random.replay)")
    }
  }

  @Test func `documents in common are found and counted across blocks`() throws {
    let space = MemorySpace()
    let factors = [2, 3, 5, 7, 31, 500]
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    for number in 1...4000 {
      // The words of every sixth document are in another order.
      var words = factors.filter { number % $0 == 0 }.map { "w\($0)" }
      if number % 36 == 0 { words.reverse() }
      try writer.change(Array("\(number)".utf8), from: nil, to: [[words.joined(separator: " ")]])
    }
    try writer.finish()
    try writer.mergeRecent()
    let reader = try TextIndexReader(space, fieldCount: 1)
    func expect(_ text: String, _ isFound: (Int) -> Bool) throws {
      let query = try query(text)
      var found: [UInt64] = []
      try reader.forEachMatch(of: query) {
        found.append($0)
        return true
      }
      #expect(found == (1...4000).filter(isFound).map { UInt64($0) }, "\(text)")
      #expect(try reader.count(of: query) == found.count, "\(text)")
      #expect(try reader.best(5000, of: query, weights: [1]).count == found.count, "\(text)")
    }
    for words in [[2], [2, 3], [500, 2], [2, 3, 5], [31, 2, 7], [2, 3, 5, 7], [500, 31], [500, 7, 3]] {
      try expect(words.map { "w\($0)" }.joined(separator: " ")) { number in
        words.allSatisfy { number % $0 == 0 }
      }
    }
    try expect(#""w2 w3""#) { $0 % 6 == 0 && $0 % 36 != 0 }
    try expect(#""w3 w2""#) { $0 % 36 == 0 }
    try expect("(w2 w3) w5") { $0 % 30 == 0 }
    try expect("w2 w3 NOT w5") { $0 % 6 == 0 && $0 % 5 != 0 }
    try expect("w2 w3 w11") { _ in false }
  }
}
