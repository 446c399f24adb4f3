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
  var places: ArraySlice<Int> { postings.places(at: index) }

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
  /// The parts, beginning with the rarest.
  private let cursors: [any DocumentCursor]
  private let fields: [Bool]?
  @exclusivity(unchecked) private var found: [Int] = []
  @exclusivity(unchecked) private var counts: [UInt32]

  init(_ parts: [(cursor: any PhraseOccurrences, offset: Int)], fields: [Bool]?, fieldCount: Int) {
    self.parts = parts
    self.fields = fields
    counts = Array(repeating: 0, count: fieldCount)
    cursors = parts.map { $0.cursor as any DocumentCursor }.sorted { $0.estimate < $1.estimate }
  }

  var estimate: Int { cursors.first?.estimate ?? 0 }
  var places: ArraySlice<Int> { found[...] }
  var frequencies: ArraySlice<UInt32> { counts[...] }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    number = try CommonDocuments.advance(cursors, to: target) {
      try find()
      return !found.isEmpty
    }
  }

  /// Finds the places of the first term that the others follow.
  private func find() throws {
    found.removeAll(keepingCapacity: true)
    found.append(contentsOf: try parts[0].cursor.places)
    if let fields { found.removeAll { !fields[$0 >> 40] } }
    for (cursor, offset) in parts.dropFirst() {
      guard !found.isEmpty else { return }
      keepFollowed(by: try cursor.places, at: offset)
    }
    if found.isEmpty { return }
    for field in counts.indices { counts[field] = 0 }
    for place in found { counts[place >> 40] += 1 }
  }

  private func keepFollowed(by places: ArraySlice<Int>, at offset: Int) {
    var at = places.startIndex
    var kept = 0
    for place in found {
      while at < places.endIndex, places[at] < place + offset { at += 1 }
      guard at < places.endIndex else { break }
      if places[at] == place + offset {
        found[kept] = place
        kept += 1
      }
    }
    found.removeLast(found.count - kept)
  }

  func bound(at target: UInt64) throws -> ScoreBound { ScoreBound(score: .infinity, through: target) }
  func score(_ length: Int) -> Double { 0 }
  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {}
}
