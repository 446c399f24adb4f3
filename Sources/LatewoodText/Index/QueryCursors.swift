/// The documents with several phrases near each other.
final class NearCursor: DocumentCursor {
  private(set) var number: UInt64 = 0
  private let phrases: [any PhraseOccurrences]
  /// The lengths of the phrases, in positions.
  private let lengths: [Int]
  private let distance: Int
  private let ranks: [PhraseRank]
  private let cursors: CursorGroup
  private let fieldCount: Int
  /// How often each phrase is near the others, by field.
  private var frequencies: [[UInt32]] = []

  /// - Parameter ranks: the ranks of the phrases; empty without scores.
  init(
    _ phrases: [any PhraseOccurrences], lengths: [Int], distance: Int, ranks: [PhraseRank], fieldCount: Int
  ) {
    self.phrases = phrases
    self.lengths = lengths
    self.distance = distance
    self.ranks = ranks
    self.fieldCount = fieldCount
    cursors = CursorGroup(phrases.map { $0 as any DocumentCursor })
  }

  var estimate: Int { cursors.estimate }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    number = try cursors.advance(to: target) {
      let found = TextOccurrences.near(
        try phrases.map { (phrase) in
          var places: [Int] = []
          try phrase.readPlaces(to: &places)
          return places.map {
            TextOccurrences.Occurrence(
              phrase: 0, field: $0 >> 40, position: $0 & Postings.positionLimit, range: 0..<0)
          }
        }, lengths: lengths, distance)
      frequencies = found.map { (occurrences) in
        var counts = [UInt32](repeating: 0, count: fieldCount)
        for occurrence in occurrences { counts[occurrence.field] += 1 }
        return counts
      }
      return !found[0].isEmpty
    }
  }

  func bound(at target: UInt64) throws -> ScoreBound {
    try CombinedBound.sum(phrases.map { try $0.bound(at: target) })
  }

  func score(_ length: Int) -> Double {
    var sum = 0.0
    for (rank, frequencies) in zip(ranks, frequencies) { sum += rank.score(frequencies[...], length) }
    return sum
  }

  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {
    for (rank, frequencies) in zip(ranks, frequencies) { body(rank, frequencies[...]) }
  }
}

enum CombinedBound {
  /// Returns the bound of a sum of scores. It adds them in the order in which scores are added, so
  /// that rounding does not make it less than a score.
  static func sum(_ bounds: [ScoreBound]) -> ScoreBound {
    bounds.reduce(.end) {
      ScoreBound(score: $0.score + $1.score, through: min($0.through, $1.through))
    }
  }
}

/// The documents that all parts find.
final class AllCursor: DocumentCursor {
  private(set) var number: UInt64 = 0
  private let parts: [any DocumentCursor]
  private let cursors: CursorGroup
  /// The bound that was computed last.
  private var known = ScoreBound(score: 0, through: 0)

  init(_ parts: [any DocumentCursor]) {
    self.parts = parts
    cursors = CursorGroup(parts)
  }

  var estimate: Int { cursors.estimate }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    guard threshold > -.infinity else {
      number = try cursors.advance(to: target)
      return
    }
    var target = target
    while true {
      while try knownBound(at: target).score <= threshold {
        guard known.through < TextIndexKey.infinite else {
          number = TextIndexKey.infinite
          return
        }
        target = known.through + 1
      }
      number = try cursors.advance(to: target)
      if number <= known.through || number == TextIndexKey.infinite { return }
      // Look at the bound there before.
      target = number
      if try knownBound(at: target).score > threshold { return }
    }
  }

  func countRest() throws -> Int {
    guard let count = try cursors.countRest() else { return try countOneByOne() }
    number = TextIndexKey.infinite
    return count
  }

  /// Returns the bound at a target, which is computed again only after the last number that it is
  /// for.
  private func knownBound(at target: UInt64) throws -> ScoreBound {
    if known.through < target { known = try bound(at: target) }
    return known
  }

  func bound(at target: UInt64) throws -> ScoreBound {
    try CombinedBound.sum(parts.map { try $0.bound(at: target) })
  }

  func score(_ length: Int) -> Double { parts.reduce(0) { $0 + $1.score(length) } }

  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {
    for part in parts { part.forEachPhrase(body) }
  }
}

/// The documents that one of several parts finds.
///
/// With scores, only *essential* parts are asked for the next document: the others together cannot
/// exceed the threshold in any document up to the end of the nearest block. This is MaxScore, with
/// the bounds of blocks.
final class AnyCursor: DocumentCursor {
  private(set) var number: UInt64 = 0
  private let parts: [any DocumentCursor]
  /// The essential parts of documents up to a number, with a threshold or a higher one.
  private var essential: [any DocumentCursor]
  private var through = TextIndexKey.infinite
  private var knownThreshold = -Double.infinity

  init(_ parts: [any DocumentCursor]) {
    self.parts = parts
    essential = parts
  }

  var estimate: Int { parts.reduce(0) { $0 + $1.estimate } }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    var target = target
    while true {
      if threshold > -.infinity, through < target || threshold > knownThreshold {
        let bounds = try parts.map { try $0.bound(at: target) }
        through = CombinedBound.sum(bounds).through
        essential = essentialParts(bounds, threshold)
        knownThreshold = threshold
      }
      var next = TextIndexKey.infinite
      for part in essential {
        try part.advance(to: target)
        next = min(next, part.number)
      }
      if next <= through {
        number = next
        guard next < TextIndexKey.infinite else { return }
        for part in parts { try part.advance(to: next) }
        return
      }
      target = through + 1
    }
  }

  private func essentialParts(_ bounds: [ScoreBound], _ threshold: Double) -> [any DocumentCursor] {
    let order = parts.indices.sorted { bounds[$0].score < bounds[$1].score }
    var sum = 0.0
    let first = order.firstIndex { (part) in
      sum += bounds[part].score
      // Scores are added in another order. The margin exceeds the difference.
      return sum * (1 + 1e-12) > threshold
    }
    return order[(first ?? order.count)...].map { parts[$0] }
  }

  func bound(at target: UInt64) throws -> ScoreBound {
    try CombinedBound.sum(parts.map { try $0.bound(at: target) })
  }

  func score(_ length: Int) -> Double {
    parts.reduce(0) { $1.number == number ? $0 + $1.score(length) : $0 }
  }

  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {
    for part in parts where part.number == number { part.forEachPhrase(body) }
  }
}

/// The documents that one part finds and another does not.
final class WithoutCursor: DocumentCursor {
  private(set) var number: UInt64 = 0
  private let part: any DocumentCursor
  private let excluded: any DocumentCursor

  init(_ part: any DocumentCursor, _ excluded: any DocumentCursor) {
    self.part = part
    self.excluded = excluded
  }

  var estimate: Int { part.estimate }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    var target = target
    while true {
      try part.advance(to: target, above: threshold)
      number = part.number
      guard number < TextIndexKey.infinite else { return }
      try excluded.advance(to: number)
      guard excluded.number == number else { return }
      target = number + 1
    }
  }

  func bound(at target: UInt64) throws -> ScoreBound { try part.bound(at: target) }
  func score(_ length: Int) -> Double { part.score(length) }
  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) { part.forEachPhrase(body) }
}
