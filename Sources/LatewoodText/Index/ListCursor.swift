/// The documents of a list in memory: those with a phrase of several terms or with a prefix, which
/// have to be counted before the first score can be computed.
final class ListCursor: PhraseOccurrences {
  private(set) var number: UInt64 = 0
  private let postings: Postings
  private let rank: PhraseRank?
  private var index = 0
  /// The best score of each group of documents.
  private var best: [Double] = []

  private static let groupCount = 128

  init(_ postings: Postings, rank: PhraseRank?) {
    self.postings = postings
    self.rank = rank
    guard let rank else { return }
    for start in stride(from: 0, to: postings.count, by: ListCursor.groupCount) {
      let group = start..<min(start + ListCursor.groupCount, postings.count)
      best.append(group.reduce(0) { max($0, rank.score(postings.frequencies(at: $1), 0)) })
    }
  }

  var estimate: Int { postings.count }
  var frequencies: ArraySlice<UInt32> { postings.frequencies(at: index) }

  func readPlaces(to places: inout [Int]) throws { try postings.readPlaces(at: index, to: &places) }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    index = postings.index(of: target, from: index)
    if threshold > -.infinity {
      while index < postings.count, best[index / ListCursor.groupCount] <= threshold {
        index = (index / ListCursor.groupCount + 1) * ListCursor.groupCount
      }
    }
    number = index < postings.count ? postings.numbers[index] : TextIndexKey.infinite
  }

  func bound(at target: UInt64) throws -> ScoreBound {
    let index = postings.index(of: target, from: min(index, postings.count))
    guard index < postings.count else { return .end }
    let group = index / ListCursor.groupCount
    let end = min((group + 1) * ListCursor.groupCount, postings.count)
    return ScoreBound(score: best[group], through: postings.numbers[end - 1])
  }

  func score(_ length: Int) -> Double { rank?.score(frequencies, length) ?? 0 }

  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {
    if let rank { body(rank, frequencies) }
  }
}

/// The documents with several terms at fixed distances from each other. Without scores: see
/// ``ListCursor``.
final class PhraseCursor: PhraseOccurrences {
  // SAFETY: as in ``TermCursor``.
  @exclusivity(unchecked) private(set) var number: UInt64 = 0
  private let parts: [(cursor: any PhraseOccurrences, offset: Int)]
  /// The cursors of the parts if all are of terms, as usual: calls of these are much faster.
  private let terms: [TermCursor]?
  private let cursors: CursorGroup
  private let fields: [Bool]?
  @exclusivity(unchecked) private var found: [Int] = []
  /// The places of another part than the first.
  @exclusivity(unchecked) private var following: [Int] = []
  @exclusivity(unchecked) private var counts: [UInt32]

  init(_ parts: [(cursor: any PhraseOccurrences, offset: Int)], fields: [Bool]?, fieldCount: Int) {
    self.parts = parts
    self.fields = fields
    let terms = parts.compactMap { $0.cursor as? TermCursor }
    self.terms = terms.count == parts.count ? terms : nil
    counts = Array(repeating: 0, count: fieldCount)
    cursors = CursorGroup(parts.map { $0.cursor as any DocumentCursor })
  }

  var estimate: Int { cursors.estimate }
  var frequencies: ArraySlice<UInt32> { counts[...] }
  func readPlaces(to places: inout [Int]) { places.append(contentsOf: found) }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    number = try cursors.advance(to: target) {
      try find()
      return !found.isEmpty
    }
  }

  /// Finds the places of the first term that the others follow.
  private func find() throws {
    found.cut(to: 0)
    try readPlaces(of: 0, to: &found)
    if let fields { found.removeAll { !fields[$0 >> 40] } }
    for part in 1..<parts.count {
      if found.isEmpty { return }
      following.cut(to: 0)
      try readPlaces(of: part, to: &following)
      PhraseCursor.keep(&found, followedBy: following, at: parts[part].offset)
    }
    if found.isEmpty { return }
    for field in counts.indices { counts[field] = 0 }
    for place in found { counts[place >> 40] += 1 }
  }

  private func readPlaces(of part: Int, to places: inout [Int]) throws {
    if let terms { return try terms[part].readPlaces(to: &places) }
    try parts[part].cursor.readPlaces(to: &places)
  }

  /// Removes the places that no place of another term follows at a distance.
  private static func keep(_ places: inout [Int], followedBy others: [Int], at offset: Int) {
    var at = 0
    var kept = 0
    for index in places.indices {
      let wanted = places[index] + offset
      while at < others.count, others[at] < wanted { at += 1 }
      guard at < others.count else { break }
      if others[at] == wanted {
        places[kept] = places[index]
        kept += 1
      }
    }
    places.cut(to: kept)
  }

  func bound(at target: UInt64) throws -> ScoreBound { ScoreBound(score: .infinity, through: target) }
  func score(_ length: Int) -> Double { 0 }
  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {}
}
