import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The entries of an index: blocks, directories, and bytes that no index has written.
@Suite struct TextIndexBlockTests {
  @Test func `postings are decoded as they were encoded`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(43))
    for round in 0..<300 {
      let fieldCount = [1, 2, 5, Postings.fieldLimit][round % 4]
      var postings = Postings(fieldCount: fieldCount)
      var number: UInt64 = 0
      for _ in 0..<[1, 2, 127, 128, 129].randomElement(using: &random)! {
        number += UInt64.random(in: 1...(1 << UInt64.random(in: 0..<40, using: &random)), using: &random)
        let count = Bool.random(using: &random) ? 1 : Int.random(in: 1..<20, using: &random)
        let places = (0..<count).map { _ in
          Postings.place(
            Int.random(in: 0..<fieldCount, using: &random),
            Int.random(in: 0...(1 << Int.random(in: 0..<40, using: &random)), using: &random))
        }
        postings.append(number, places: Set(places).sorted())
      }
      let bytes = PostingBlock.encode(postings)
      #expect(try PostingBlock.decode(bytes, fieldCount: fieldCount, withPlaces: true) == postings)
      let short = try PostingBlock.decode(bytes, fieldCount: fieldCount, withPlaces: false)
      #expect(short.numbers == postings.numbers && short.frequencies == postings.frequencies)
      for end in 0..<min(bytes.count, 40) {
        #expect(throws: TextIndexDamage.self) {
          try PostingBlock.decode(Array(bytes[..<end]), fieldCount: fieldCount, withPlaces: true)
        }
      }
      #expect(throws: TextIndexDamage.self) {
        try PostingBlock.decode(bytes + [0], fieldCount: fieldCount, withPlaces: true)
      }
      let entry = TermEntry(postings)
      #expect(try TermEntry(entry.encoded(), fieldCount: fieldCount, withPlaces: true) == entry)
    }
  }

  @Test func `a posting of a frequent word takes two bytes`() throws {
    var postings = Postings(fieldCount: 1)
    for number: UInt64 in 1...128 { postings.append(number * 3, places: [Int(number % 100)]) }
    #expect(PostingBlock.encode(postings).count == 2 + 2 * 128)
  }

  @Test func `the points of a block cover its documents`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(47))
    for _ in 0..<200 {
      let fieldCount = Int.random(in: 1...3, using: &random)
      var points = ScorePoints(fieldCount: fieldCount)
      var documents: [([UInt32], Int)] = []
      for _ in 0..<Int.random(in: 1..<60, using: &random) {
        let frequencies = (0..<fieldCount).map { _ in UInt32.random(in: 0..<9, using: &random) }
        documents.append((frequencies, Int.random(in: 0..<100, using: &random)))
        points.add(frequencies[...], documents[documents.count - 1].1)
        #expect(points.lengths.count <= ScorePoints.limit)
      }
      for (frequencies, length) in documents { #expect(points.cover(frequencies[...], length)) }
      var directory = BlockDirectory()
      directory.blocks = [
        BlockDirectory.Block(bound: 70, count: 7, points: points),
        BlockDirectory.Block(
          bound: TextIndexKey.infinite, count: 1, points: ScorePoints(fieldCount: fieldCount)),
      ]
      #expect(try BlockDirectory(directory.encoded(), fieldCount: fieldCount) == directory)
    }
  }

  @Test func `numbers in keys are in order`() throws {
    let numbers: [UInt64] = [
      0, 1, 127, 128, 255, 256, 65_535, 65_536, 1 << 32, 1 << 47, TextIndexKey.infinite,
    ]
    let keys = numbers.map { TextIndexKey.block([97], $0) }
    for (number, key) in zip(numbers, keys) { #expect(try TextIndexKey.number(in: key, from: 3) == number) }
    for (key, next) in zip(keys, keys.dropFirst()) { #expect(key.lexicographicallyPrecedes(next)) }
    for tail: [UInt8] in [
      [], [1], [0], [2, 0, 5], [2, 5], [8, 1, 1, 1, 1, 1, 1, 1, 1], [0xFF, 0], [1, 2, 3],
    ] {
      #expect(throws: TextIndexDamage.self) { try TextIndexKey.number(in: tail, from: 0) }
    }
  }

  /// One document more or less around each size at which postings move.
  @Test(arguments: [1, 2])
  func `blocks are divided and merged at every size`(_ fieldCount: Int) throws {
    let space = MemorySpace()
    let options = TextOptions()
    var limits = TextIndexLimits()
    (limits.postings, limits.inlineLength, limits.directoryBlocks) = (8, 16, 4)
    limits.recentLength = 0
    var present: Set<Int> = []
    func expectSound() throws {
      var check = try TextIndexCheck(space, fieldCount: fieldCount, options: options)
      for number in present { try check.check([UInt8(number)], [["x w\(number)"]]) }
      #expect(try check.finish() == [], "\(present.count) documents")
      let entry = try TextIndexReader(space, fieldCount: fieldCount).frequencies(of: Array("x".utf8))
      #expect(entry == (present.count, present.count))
    }
    func change(_ number: Int) throws {
      var writer = try TextIndexWriter(space, fieldCount: fieldCount, options: options, limits: limits)
      let text = [["x w\(number)"]]
      if present.remove(number) != nil {
        try writer.change([UInt8(number)], from: text, to: nil)
      } else {
        present.insert(number)
        try writer.change([UInt8(number)], from: nil, to: text)
      }
      try writer.finish()
      try expectSound()
    }
    func count(_ kind: Unicode.Scalar) -> Int {
      space.entries.count { $0.key.starts(with: [UInt8(ascii: kind), UInt8(ascii: "x")]) }
    }
    for number in 0..<80 { try change(number) }
    #expect(count("p") == 10 && count("d") == 3, "\(count("p")) blocks")
    // From the front, then from everywhere.
    for number in 0..<20 { try change(number) }
    #expect(count("p") <= 9)
    for number in stride(from: 21, to: 80, by: 2) { try change(number) }
    #expect(count("p") <= 8 && count("d") <= 3)
    for number in stride(from: 20, to: 78, by: 2) { try change(number) }
    #expect(count("p") == 0 && count("d") == 0)
    #expect(present == [78])
    try change(78)
    #expect(space.entries.count == 1)
  }

  @Test func `words that an old document gets are put into the right block`() throws {
    let space = MemorySpace()
    let options = TextOptions()
    var limits = TextIndexLimits()
    (limits.postings, limits.inlineLength, limits.directoryBlocks) = (4, 8, 3)
    limits.recentLength = 0
    let order = Array(0..<60).shuffled(using: &TextIndexBlockTests.random)
    var writer = try TextIndexWriter(space, fieldCount: 1, options: options, limits: limits)
    for number in 0..<60 { try writer.change([UInt8(number)], from: nil, to: [["a"]]) }
    try writer.finish()
    for (index, number) in order.enumerated() {
      try writer.change([UInt8(number)], from: [["a"]], to: [["x"]])
      if index % 3 == 0 { try writer.finish() }
    }
    try writer.finish()
    var check = try TextIndexCheck(space, fieldCount: 1, options: options)
    for number in order { try check.check([UInt8(number)], [["x"]]) }
    #expect(try check.finish() == [])
    #expect(try TextIndexReader(space, fieldCount: 1).frequencies(of: [97]) == (0, 0))
  }

  private static var random: SeededRandom {
    get { SeededRandom(seed: 53) }
    set {}
  }

  // MARK: Damage

  private struct Sample {
    var entries: [MemorySpace.Entry] = []
    var texts: [[String]] = []
  }

  /// An index with an entry of every kind.
  private func sample() throws -> Sample {
    var random = SeededRandom(seed: 59)
    let words = ZipfWords(count: 12)
    var sample = Sample()
    let space = MemorySpace()
    var limits = TextIndexLimits()
    (limits.postings, limits.inlineLength, limits.directoryBlocks) = (4, 8, 3)
    var writer = try TextIndexWriter(space, fieldCount: 2, options: TextOptions(), limits: limits)
    for number in 0..<40 {
      sample.texts.append([words.text(3, &random), words.text(5, &random)])
      try writer.change([UInt8(number)], from: nil, to: sample.texts[number].map { [$0] })
      if number == 30 {
        try writer.finish()
        try writer.mergeRecent()
      }
    }
    try writer.finish()
    sample.entries = space.entries
    return sample
  }

  private func space(_ entries: [MemorySpace.Entry]) -> MemorySpace {
    let space = MemorySpace()
    for entry in entries { space.put(entry.value, for: entry.key) }
    return space
  }

  private func faults(_ space: MemorySpace, _ texts: [[String]]) throws -> [String] {
    var check: TextIndexCheck
    do { check = try TextIndexCheck(space, fieldCount: 2, options: TextOptions()) } catch {
      return ["\(error)"]
    }
    for (number, texts) in texts.enumerated() { try check.check([UInt8(number)], texts.map { [$0] }) }
    return try check.finish()
  }

  @Test func `a check finds every entry that is missing or in excess`() throws {
    let sample = try sample()
    #expect(try faults(space(sample.entries), sample.texts) == [])
    let kinds = Set(sample.entries.map { $0.key[0] })
    #expect(kinds == Set("sinltdpr".utf8))
    for entry in sample.entries {
      let space = space(sample.entries)
      space.delete(entry.key)
      #expect(try !faults(space, sample.texts).isEmpty, "\(entry)")
    }
    #expect(try !faults(space(sample.entries), Array(sample.texts.dropLast())).isEmpty)
    #expect(try !faults(space(sample.entries), sample.texts + [["b", "c"]]).isEmpty)
    for number in 0..<40 {
      var texts = sample.texts
      texts[number][1] = "another text with five words"
      #expect(try !faults(space(sample.entries), texts).isEmpty)
    }
  }

  @Test func `hostile bytes are errors or other results, but nothing worse`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(61))
    let replay = random.replay
    let sample = try sample()
    let words = ZipfWords(count: 12)
    var analyzer = TextAnalyzer(TextOptions())
    var foundCount = 0
    let rounds = Effort.count(1500, low: 600)
    for _ in 0..<rounds {
      var entries = sample.entries
      let index = Int.random(in: 0..<entries.count, using: &random)
      var bytes = entries[index].value
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes.removeSubrange(at...)
      case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
      case 2:
        bytes.replaceSubrange(at..<(at + 1), with: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
      case 3: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 4: bytes = entries[Int.random(in: 0..<entries.count, using: &random)].value
      default: bytes[at] = UInt8.random(in: 0...255, using: &random)
      }
      guard bytes != entries[index].value else { continue }
      entries[index].value = bytes
      let space = space(entries)
      if try !faults(space, sample.texts).isEmpty { foundCount += 1 }
      for _ in 0..<2 {
        let query = try BoundTextQuery(
          words.query(2, fieldCount: 2, &random), fields: ["f0", "f1"], &analyzer)
        do {
          let reader = try TextIndexReader(space, fieldCount: 2)
          _ = try reader.count(of: query)
          _ = try reader.best(3, of: query, weights: [2, 1])
          _ = try reader.explain(7, for: query, weights: [2, 1])
          _ = try reader.completions(of: [], limit: 3)
          _ = try reader.suggestions(for: [98, 99], distance: 2, limit: 3)
        } catch is TextIndexDamage {}
      }
      do {
        var limits = TextIndexLimits()
        (limits.postings, limits.inlineLength, limits.directoryBlocks) = (4, 8, 3)
        var writer = try TextIndexWriter(space, fieldCount: 2, options: TextOptions(), limits: limits)
        for number in 0..<40 where Bool.random(using: &random) {
          let new = Bool.random(using: &random) ? nil : [["b c"], ["d"]]
          try writer.change([UInt8(number)], from: sample.texts[number].map { [$0] }, to: new)
        }
        try writer.finish()
      } catch is TextIndexDamage {}
    }
    // Most of the rest are points that are too good, which is allowed.
    #expect(foundCount > rounds * 3 / 4, "\(replay): \(foundCount)")
  }
}
