import LatewoodSimulation
import Testing

@testable import LatewoodText

/// Recent changes that are not yet in the postings of their terms.
@Suite struct RecentSegmentTests {
  private func changes(_ fieldCount: Int, _ random: inout SeededRandom) -> TermChanges {
    var changes = TermChanges(fieldCount: fieldCount)
    for number: UInt64 in 1..<40 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: changes.removed.append(number)
      case 1:
        let places = (0..<Int.random(in: 1..<4, using: &random)).map { _ in
          Postings.place(
            Int.random(in: 0..<fieldCount, using: &random), Int.random(in: 0..<300, using: &random))
        }
        changes.postings.append(number, places: Set(places).sorted())
      default: break
      }
    }
    changes.counts.documents = Int.random(in: -9...9, using: &random)
    changes.counts.occurrences = Int.random(in: -900...900, using: &random)
    for field in 0..<fieldCount {
      changes.counts.fieldDocuments[field] =
        fieldCount == 1 ? changes.counts.documents : Int.random(in: -9...9, using: &random)
    }
    return changes
  }

  private func postings(_ all: [UInt64: [Int]], _ fieldCount: Int) -> Postings {
    var postings = Postings(fieldCount: fieldCount)
    for (number, places) in all.sorted(by: { $0.key < $1.key }) { postings.append(number, places: places) }
    return postings
  }

  @Test func `changes are decoded as they were encoded`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(91))
    for round in 0..<200 {
      let fieldCount = [1, 2, 7][round % 3]
      let changes = changes(fieldCount, &random)
      var bytes: [UInt8] = []
      changes.encode(to: &bytes)
      let decoded = try IndexBytes.read(bytes, what: "changes") {
        try TermChanges(&$0, fieldCount: fieldCount, withPlaces: true)
      }
      #expect(decoded == changes, "\(random.replay)")
      for end in 0..<bytes.count {
        #expect(throws: TextIndexDamage.self) {
          try IndexBytes.read(Array(bytes[..<end]), what: "changes") {
            try TermChanges(&$0, fieldCount: fieldCount, withPlaces: true)
          }
        }
      }
    }
  }

  @Test func `later changes replace earlier ones document by document`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(92))
    for _ in 0..<300 {
      let fieldCount = Int.random(in: 1...2, using: &random)
      var all: [UInt64: [Int]] = [:]
      for number: UInt64 in 1..<50 where Bool.random(using: &random) { all[number] = [Int(number)] }
      let old = postings(all, fieldCount)
      var adding = TermChangesSum(fieldCount: fieldCount)
      var counts = TermCounts(fieldCount: fieldCount)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let next = changes(fieldCount, &random)
        for number in next.removed { all[number] = nil }
        for (index, number) in next.postings.numbers.enumerated() {
          all[number] = try next.postings.places(at: index)
        }
        var bytes: [UInt8] = []
        next.encode(to: &bytes)
        try IndexBytes.read(bytes, what: "changes") { try adding.add(&$0, withPlaces: true) }
        counts = counts + next.counts
      }
      let sum = adding.total()
      #expect(sum.applied(to: old) == postings(all, fieldCount), "\(random.replay)")
      #expect(sum.counts == counts)
      #expect(zip(sum.removed, sum.removed.dropFirst()).allSatisfy { $0 < $1 })
      #expect(sum.removed.allSatisfy { !sum.postings.numbers.contains($0) })
    }
  }

  @Test func `a small transaction writes few entries, and few segments remain`() throws {
    let space = MemorySpace()
    let words = ZipfWords(count: 2000)
    var random = SeededRandom(seed: SeededRandom.seed(93))
    var texts: [[[String]]] = []
    var (most, mergeCount) = (0, 0)
    for number in 0..<150 {
      let before = space.putCount
      var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
      texts.append([[words.text(40, &random)]])
      try writer.change([UInt8(number / 50), UInt8(number % 50)], from: nil, to: texts[number])
      try writer.finish()
      most = max(most, try RecentSegments.read(from: space).segments.count)
      // Both entries of the document, its length, the statistics, the segment and its list.
      if space.putCount - before > 6 { mergeCount += 1 }
    }
    #expect(mergeCount <= 150 / 15, "\(random.replay): \(mergeCount) transactions merge")
    #expect(most <= 24, "\(random.replay): \(most) segments")
    var check = try TextIndexCheck(space, fieldCount: 1, options: TextOptions())
    for (number, text) in texts.enumerated() {
      try check.check([UInt8(number / 50), UInt8(number % 50)], text)
    }
    #expect(try check.finish() == [])
    #expect(space.entries.allSatisfy { $0.key[0] != UInt8(ascii: "t") })
  }

  @Test func `recent changes become postings when they are long`() throws {
    let space = MemorySpace()
    let words = ZipfWords(count: 500)
    var random = SeededRandom(seed: SeededRandom.seed(94))
    var limits = TextIndexLimits()
    limits.recentLength = 4000
    var hadPostings = false
    for number: UInt8 in 0..<60 {
      var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions(), limits: limits)
      try writer.change([number], from: nil, to: [[words.text(50, &random)]])
      try writer.finish()
      #expect(try RecentSegments.read(from: space).length <= limits.recentLength, "\(random.replay)")
      hadPostings = hadPostings || space.entries.contains { $0.key[0] == UInt8(ascii: "t") }
    }
    #expect(hadPostings)
  }

  @Test(arguments: [1, 40, 500]) func `a merge proceeds in parts, between which documents change`(
    _ budget: Int
  ) throws {
    let space = MemorySpace()
    let words = ZipfWords(count: 300)
    var random = SeededRandom(seed: SeededRandom.seed(96))
    var model = TextIndexModel(fieldCount: 2, options: TextOptions())
    func change(_ number: UInt8, _ merging: TextIndexWriter.Merging) throws {
      var writer = try TextIndexWriter(space, fieldCount: 2, options: TextOptions())
      let texts = number % 5 == 4 ? nil : [[words.text(20, &random)], [words.text(3, &random)]]
      try writer.change([number], from: model.documents[[number]]?.texts, to: texts)
      model.set(texts, for: [number])
      try writer.finish(merging)
    }
    func expectSound() throws {
      var check = try TextIndexCheck(space, fieldCount: 2, options: TextOptions())
      for (id, document) in model.documents { try check.check(id, document.texts) }
      #expect(try check.finish() == [], "\(random.replay)")
      let reader = try TextIndexReader(space, fieldCount: 2)
      for (term, count) in model.terms {
        #expect(try reader.frequencies(of: term).documents == count, "\(random.replay)")
      }
    }
    for number: UInt8 in 0..<10 where number % 5 != 4 { try change(number, .never) }
    #expect(try RecentSegments.read(from: space).segments.count == 8)
    var parts = 0
    while try RecentSegments.read(from: space).isMerging || parts == 0 {
      var writer = try TextIndexWriter(space, fieldCount: 2, options: TextOptions())
      try writer.mergeRecent(budget)
      parts += 1
      guard parts % 23 == 1 else { continue }
      try expectSound()
      try change(UInt8(5 * random.below(5)), .later)
      try expectSound()
    }
    #expect(parts > 1)
    // What was changed during the merge is left to the next one.
    #expect(try !RecentSegments.read(from: space).isEmpty)
    try expectSound()
    var writer = try TextIndexWriter(space, fieldCount: 2, options: TextOptions())
    try writer.mergeRecent()
    #expect(space.entries.allSatisfy { $0.key[0] != UInt8(ascii: "r") })
    try expectSound()
  }

  @Test(arguments: [false, true]) func `insertions are encoded as other changes are`(
    _ hasOthers: Bool
  ) throws {
    var random = SeededRandom(seed: SeededRandom.seed(97))
    for _ in 0..<40 {
      var pending = PendingPostings()
      var number: UInt64 = 0
      for _ in 0..<30 {
        let isAgain = hasOthers && number > 0 && random.below(4) == 0
        if !isAgain { number += UInt64([1, 1, 3, 200, 1 << 40].randomElement(using: &random) ?? 1) }
        pending.begin(number)
        var position = 0
        for _ in 0..<random.below(8) {
          position += 1 + random.below([1, 5, 300, 1 << 20].randomElement(using: &random) ?? 1)
          let term = [UInt8](repeating: 97, count: 1 + random.below(4))
          let isOld = hasOthers && random.below(6) == 0
          pending.add(term.withUnsafeBufferPointer { pending.number(of: $0) }, position, isOld: isOld)
        }
      }
      let (space, other) = (MemorySpace(), MemorySpace())
      var writer = SegmentWriter(1, space)
      try pending.write(to: &writer, fieldCount: 1)
      var otherWriter = SegmentWriter(1, other)
      try pending.forEachTerm(fieldCount: 1) { try otherWriter.append($0, $1) }
      #expect(try writer.finish() == otherWriter.finish())
      #expect(space.entries.map(\.value) == other.entries.map(\.value), "\(random.replay)")
    }
  }

  @Test func `changes of many documents with a term are merged a part at a time`() throws {
    let space = MemorySpace()
    for segment: UInt8 in 0..<3 {
      var writer = try TextIndexWriter(space, fieldCount: 1, options: TextOptions())
      for number: UInt8 in 0..<100 { try writer.change([segment, number], from: nil, to: [["a b"]]) }
      try writer.finish(.never)
    }
    let numbers = try RecentSegments.read(from: space).segments.map(\.number)
    var merger = try SegmentMerger(numbers, in: space, from: [], fieldCount: 1)
    var found: [String] = []
    while let term = try merger.next(limit: 150, withPlaces: true) {
      found.append("\(String(decoding: term, as: UTF8.self)) \(merger.changes.postings.count)")
    }
    #expect(found == ["a 200", "a 100", "b 200", "b 100"])
  }

  @Test func `a cursor begins with a term, or with the next one`() throws {
    let space = MemorySpace()
    var random = SeededRandom(seed: SeededRandom.seed(97))
    func word() -> [UInt8] {
      (0..<Int.random(in: 1...12, using: &random)).map { _ in UInt8.random(in: 97...99, using: &random) }
    }
    let terms = Set((0..<2500).map { _ in word() }).sorted { $0.lexicographicallyPrecedes($1) }
    var writer = SegmentWriter(1, space)
    for term in terms {
      var changes = TermChanges(fieldCount: 1)
      changes.postings.append(UInt64(term.count), places: [1])
      try writer.append(term[...], changes)
    }
    _ = try writer.finish()
    #expect(space.entries.count > 2)
    for wanted in terms + (0..<1000).map({ _ in word() }) + [[0x60], [0x7A]] {
      var index = terms.firstIndex { !$0.lexicographicallyPrecedes(wanted) } ?? terms.count
      var cursor = try SegmentCursor(1, in: space, from: wanted)
      for _ in 0..<2 where index < terms.count {
        try #require(cursor.term == terms[index], "\(random.replay)")
        var sum = TermChangesSum(fieldCount: 1)
        try cursor.addChanges(to: &sum, withPlaces: true)
        #expect(sum.total().postings.numbers == [UInt64(terms[index].count)])
        try cursor.next()
        index += 1
      }
      #expect(cursor.isAtEnd == (index == terms.count), "\(random.replay)")
    }
  }

  @Test func `places of a document are read without those before it`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(95))
    for round in 0..<60 {
      let fieldCount = [1, 3][round % 2]
      var postings = Postings(fieldCount: fieldCount)
      for number: UInt64 in 1...100 {
        let places = (0..<Int.random(in: 1..<30, using: &random)).map { _ in
          Postings.place(
            Int.random(in: 0..<fieldCount, using: &random),
            Int.random(in: 0..<[50, 5000, 1 << 30].randomElement(using: &random)!, using: &random))
        }
        postings.append(number, places: Set(places).sorted())
      }
      let space = MemorySpace()
      space.put(PostingBlock.encode(postings), for: TextIndexKey.block([97], 100))
      var (read, places) = try PostingBlock.readLazily([97], 100, from: space, fieldCount: fieldCount)
      #expect(read.numbers == postings.numbers && read.frequencies == postings.frequencies)
      for index in 0..<100 where Bool.random(using: &random) {
        for _ in 0..<2 {
          var found: [Int] = []
          try places.read(at: index, to: &found)
          #expect(try found == postings.places(at: index), "\(random.replay)")
        }
      }
    }
  }
}
