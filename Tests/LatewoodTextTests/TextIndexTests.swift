import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The index for words against a plain model.
@Suite struct TextIndexTests {
  private static func limits(_ postings: Int, _ length: Int, _ inline: Int, _ blocks: Int) -> TextIndexLimits
  {
    var limits = TextIndexLimits()
    limits.postings = postings
    limits.blockLength = length
    limits.inlineLength = inline
    limits.directoryBlocks = blocks
    return limits
  }

  /// Limits at which terms soon have many blocks, blocks of one posting, or parts of one block.
  private static let someLimits = [
    limits(8, 60, 20, 4), limits(4, 1000, 4, 8), limits(16, 20, 50, 3), limits(1, 1, 1, 1), TextIndexLimits(),
  ]

  @Test(arguments: 0..<10) func `random commits agree with the model`(_ number: Int) throws {
    var random = SeededRandom(seed: SeededRandom.seed(UInt64(number)))
    var limits = TextIndexTests.someLimits[number % 5]
    limits.recentLength = [4 << 20, 0, 700][number % 3]
    limits.mergeLength = [64 << 10, 1, 150][number % 5 % 3]
    limits.directCount = number % 4 == 3 ? 40 : 100_000
    let fieldCount = [1, 2, 3][number % 3]
    let weights = (0..<fieldCount).map { _ in Double.random(in: 0...5, using: &random) }
    let options = TextOptions(stopWords: number % 4 == 1 ? ["b"] : [])
    let words = ZipfWords(count: 120)
    let space = MemorySpace()
    var model = TextIndexModel(fieldCount: fieldCount, options: options)
    func text() -> String {
      words.text(Int.random(in: 0..<(Bool.random(using: &random) ? 4 : 30), using: &random), &random)
    }
    func texts() -> [[String]] {
      (0..<fieldCount).map { _ in
        (0..<([0, 1, 1, 1, 1, 2].randomElement(using: &random) ?? 1)).map { _ in text() }
      }
    }
    for commit in 0..<16 {
      var writer = try TextIndexWriter(space, fieldCount: fieldCount, options: options, limits: limits)
      // The documents become more, and then fewer until none are left.
      for _ in 0..<Int.random(in: 1..<20, using: &random) {
        let id = Array("d\(Int.random(in: 0..<40, using: &random))".utf8)
        let old = model.documents[id]?.texts
        var new: [[String]]? = texts()
        switch Int.random(in: 0..<6, using: &random) {
        case 0...(commit < 10 ? 0 : 4): new = nil
        case 1:
          // One field changes, or nothing.
          if let old {
            new = old
            new?[Int.random(in: 0..<fieldCount, using: &random)] = [text()]
          }
        case 2: new = old
        default: break
        }
        guard old != nil || new != nil else { continue }
        try writer.change(id, from: old, to: new)
        model.set(new, for: id)
      }
      if commit == 15 {
        for (id, document) in model.documents {
          try writer.change(id, from: document.texts, to: nil)
          model.set(nil, for: id)
        }
      }
      try writer.finish()
      if commit == 15 { try writer.mergeRecent() }
      try expectEqual(space, &model, options, weights, words, &random)
    }
    #expect(space.entries.map(\.key) == [TextIndexKey.statistics], "\(random.replay)")
  }

  private func expectEqual(
    _ space: MemorySpace, _ model: inout TextIndexModel, _ options: TextOptions, _ weights: [Double],
    _ words: ZipfWords, _ random: inout SeededRandom
  ) throws {
    let fieldCount = model.fieldCount
    let replay = random.replay
    var check = try TextIndexCheck(space, fieldCount: fieldCount, options: options)
    for (id, document) in model.documents { try check.check(id, document.texts) }
    #expect(try check.finish() == [], "\(replay)")
    let reader = try TextIndexReader(space, fieldCount: fieldCount)
    let terms = model.terms
    for (term, count) in terms { #expect(try reader.frequencies(of: term).documents == count, "\(replay)") }
    #expect(
      try reader.completions(of: [], limit: terms.count + 1).map(\.term).sorted {
        $0.lexicographicallyPrecedes($1)
      } == terms.keys.sorted { $0.lexicographicallyPrecedes($1) })
    for _ in 0..<6 {
      let query = try model.bind(words.query(3, fieldCount: fieldCount, &random))
      let expected = model.scores(of: query, weights: weights)
      var found: [UInt64] = []
      try reader.forEachMatch(of: query) {
        found.append($0)
        return true
      }
      #expect(found == expected.map(\.number), "\(replay): \(query)")
      #expect(try reader.count(of: query) == expected.count, "\(replay): \(query)")
      var scores: [TextMatch] = []
      try reader.forEachScore(of: query, weights: weights) {
        scores.append($0)
        return true
      }
      #expect(scores.map(\.number) == found, "\(replay): \(query)")
      for (score, wanted) in zip(scores, expected) {
        #expect(abs(score.score - wanted.score) <= 1e-9 * max(1, wanted.score), "\(replay): \(query)")
      }
      // Exactly the best of all scores, although blocks are skipped.
      let sorted = scores.sorted { ($0.score, $1.number) > ($1.score, $0.number) }
      let limit = [1, 2, 3, 10, 1000].randomElement(using: &random) ?? 1
      let best = try reader.best(limit, of: query, weights: weights)
      #expect(best == Array(sorted.prefix(limit)), "\(replay): \(query)")
      if let first = best.first {
        let score = try #require(try reader.explain(first.number, for: query, weights: weights))
        #expect(score.score == first.score)
        #expect(abs(score.parts.reduce(0) { $0 + $1.score } - first.score) < 1e-9 * max(1, first.score))
      }
    }
  }

  @Test func `equal texts write nothing, and a change in one field only what changes`() throws {
    let space = MemorySpace()
    let options = TextOptions(language: .english)
    var limits = TextIndexLimits()
    limits.recentLength = 0
    func change(_ id: String, _ old: [[String]]?, _ new: [[String]]?) throws -> Int {
      let before = space.changeCount
      var writer = try TextIndexWriter(space, fieldCount: 2, options: options, limits: limits)
      try writer.change(Array(id.utf8), from: old, to: new)
      try writer.finish()
      return space.changeCount - before
    }
    let old = [["One title"], ["a long plot with many words"]]
    _ = try change("a", old, old)
    #expect(space.entries.isEmpty)
    // Both entries of the document, its length, the statistics, and 8 terms.
    #expect(try change("a", nil, old) == 12)
    #expect(try change("a", old, old) == 0)
    // "title" to "name".
    #expect(try change("a", old, [["One name"], ["a long plot with many words"]]) == 2)
    // A longer title: a term, the length twice, and the statistics.
    #expect(
      try change("a", [["One name"], ["a long plot with many words"]], [["One name now"], old[1]]) == 4)
    // A shorter one. It improves the scores of all terms, but an entry with postings has no bounds.
    #expect(try change("a", [["One name now"], old[1]], [["One name"], old[1]]) == 4)
    #expect(try change("a", [["One name"], old[1]], nil) == 11 + 1)
    #expect(space.entries.count == 1)
  }

  @Test func `a change that the index does not know is an error`() throws {
    let space = MemorySpace()
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    #expect(throws: TextIndexDamage.self) { try writer.change([1], from: [["a"]], to: [["b"]]) }
    #expect(throws: TextIndexDamage.self) { try writer.change([1], from: [["a"]], to: nil) }
    try writer.change([1], from: nil, to: [["a b"]])
    #expect(throws: TextIndexDamage.self) { try writer.change([1], from: nil, to: [["a"]]) }
    #expect(throws: TextIndexDamage.self) { try writer.change([1], from: [["a b c"]], to: [["b"]]) }
    #expect(throws: TextIndexDamage.self) { try writer.change([1], from: [["a"]], to: nil) }
  }

  @Test func `words of different texts of a field are not neighbours`() throws {
    let space = MemorySpace()
    var analyzer = TextAnalyzer(TextOptions())
    var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
    try writer.change([1], from: nil, to: [["one two", "three"]])
    try writer.finish()
    let reader = try TextIndexReader(space, fieldCount: 1)
    func count(_ text: String) throws -> Int {
      try reader.count(of: try BoundTextQuery(try TextQueryParser.parse(text), fields: ["f"], &analyzer))
    }
    #expect(try count("\"one two\"") == 1)
    #expect(try count("\"two three\"") == 0)
    #expect(try count("NEAR(two three)") == 0)
    #expect(try count("NEAR(two three, 16)") == 1)
  }

  @Test func `long and hostile texts are indexed`() throws {
    let space = MemorySpace()
    let options = TextOptions()
    let texts = [
      String(repeating: "word ", count: 30_000), (0..<5_000).map { "w\($0)" }.joined(separator: " "),
      "\u{0}\u{1F}\u{7F}\u{FEFF}", "\u{301}\u{302}a", "東京都 คน ok", String(repeating: "é", count: 10_000),
    ]
    var writer = try TextIndexWriter(space, fieldCount: 1, options: options)
    for (number, text) in texts.enumerated() { try writer.change([UInt8(number)], from: nil, to: [[text]]) }
    try writer.finish()
    var check = try TextIndexCheck(space, fieldCount: 1, options: options)
    for (number, text) in texts.enumerated() { try check.check([UInt8(number)], [[text]]) }
    #expect(try check.finish() == [])
    let reader = try TextIndexReader(space, fieldCount: 1)
    #expect(try reader.frequencies(of: Array("word".utf8)) == (1, 30_000))
    for (number, text) in texts.enumerated() { try writer.change([UInt8(number)], from: [[text]], to: nil) }
    try writer.finish()
    try writer.mergeRecent()
    #expect(space.entries.count == 1)
  }
}
