/// The documents with a term, some of which have other postings than in the blocks of the term.
final class ChangedCursor: PhraseOccurrences {
  private(set) var number: UInt64 = 0
  private let blocks: TermCursor
  private let changes: TermChanges
  private let changed: ListCursor
  let estimate: Int

  init(
    _ blocks: TermCursor, _ changes: TermChanges, estimate: Int, fields: [Bool]?, rank: PhraseRank?
  ) {
    self.blocks = blocks
    self.changes = changes
    self.estimate = estimate
    changed = ListCursor(fields.map { changes.postings.inFields($0) } ?? changes.postings, rank: rank)
  }

  private var current: any PhraseOccurrences { changed.number == number ? changed : blocks }

  var frequencies: ArraySlice<UInt32> { current.frequencies }
  func readPlaces(to places: inout [Int]) throws { try current.readPlaces(to: &places) }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    try changed.advance(to: target, above: threshold)
    try blocks.advance(to: target, above: threshold)
    while blocks.number < TextIndexKey.infinite, changes.mention(blocks.number) {
      try blocks.advance(to: blocks.number + 1, above: threshold)
    }
    number = min(changed.number, blocks.number)
  }

  func bound(at target: UInt64) throws -> ScoreBound {
    let (left, right) = (try changed.bound(at: target), try blocks.bound(at: target))
    return ScoreBound(score: max(left.score, right.score), through: min(left.through, right.through))
  }

  func score(_ length: Int) -> Double { current.score(length) }

  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) { current.forEachPhrase(body) }
}

extension Postings {
  /// Returns the postings of documents that have the term in one of some fields.
  func inFields(_ fields: [Bool]) -> Postings {
    var result = Postings(fieldCount: fieldCount)
    for index in numbers.indices where zip(frequencies(at: index), fields).contains(where: { $0 > 0 && $1 }) {
      result.append(self, at: index)
    }
    return result
  }
}
