/// The documents with a term, read block by block.
final class TermCursor: PhraseOccurrences {
  // SAFETY: accesses to a property cannot overlap, because none calls code outside of this type
  // that could reach it, and a query has its cursors for itself. Checking them at run time took a
  // fifth of a query for a phrase.
  @exclusivity(unchecked) private(set) var number: UInt64 = 0
  private let space: any TextIndexSpace
  private let term: [UInt8]
  private let fieldCount: Int
  private let withPlaces: Bool
  /// Whether each field is searched; nil if all are.
  private let fields: [Bool]?
  private let rank: PhraseRank?

  /// The part of the directory that the cursor or a bound has reached; nil after the last.
  @exclusivity(unchecked) private var part: (bound: UInt64, directory: BlockDirectory)?
  /// The index of a block in it.
  @exclusivity(unchecked) private var blockIndex = 0
  /// The block that was read last.
  @exclusivity(unchecked) private var postings: Postings
  @exclusivity(unchecked) private var postingsBound: UInt64?
  /// The places of that block; nil if the postings have them.
  @exclusivity(unchecked) private var blockPlaces: BlockPlaces?
  /// The index of the current document in it.
  @exclusivity(unchecked) private var index = 0
  /// The bound of the block whose best score is known, and the score.
  @exclusivity(unchecked) private var best: (block: UInt64, score: Double)?

  let estimate: Int

  /// - Parameters:
  ///   - entry: the entry of the term.
  ///   - rank: nil to find documents without their scores.
  init(
    _ term: [UInt8], _ entry: TermEntry, in space: any TextIndexSpace, fields: [Bool]?, withPlaces: Bool,
    rank: PhraseRank?
  ) throws {
    self.term = term
    self.space = space
    self.fields = fields
    self.withPlaces = withPlaces
    self.rank = rank
    fieldCount = entry.counts.fieldDocuments.count
    estimate = entry.counts.documents
    postings = entry.postings ?? Postings(fieldCount: fieldCount)
    if let postings = entry.postings {
      // A directory of a single block, which has been read.
      var points = ScorePoints(fieldCount: fieldCount)
      if rank != nil {
        for index in postings.numbers.indices { points.add(postings.frequencies(at: index), 0) }
      }
      let bound = TextIndexKey.infinite
      var directory = BlockDirectory()
      directory.blocks = [BlockDirectory.Block(bound: bound, count: postings.count, points: points)]
      part = (bound, directory)
      postingsBound = bound
    } else {
      part = try BlockDirectory.part(of: term, from: 0, in: space, fieldCount: fieldCount)
    }
  }

  var frequencies: ArraySlice<UInt32> { postings.frequencies(at: index) }
  func readPlaces(to places: inout [Int]) throws {
    if blockPlaces == nil { return try postings.readPlaces(at: index, to: &places) }
    try blockPlaces?.read(at: index, to: &places)
  }

  // MARK: Blocks

  var isOfAllFields: Bool { fields == nil }

  /// Moves to the first document from a number on.
  ///
  /// - Returns: its number.
  func move(to target: UInt64) throws -> UInt64 {
    try advance(to: target, above: -.infinity)
    return number
  }

  /// The number of the last document in the block of the current one.
  var lastInBlock: UInt64 { postings.numbers[postings.count - 1] }

  /// The numbers of the documents in the block from the current one on.
  var restOfBlock: ArraySlice<UInt64> { postings.numbers[index...] }

  /// Moves to a document that is in the block, and not before the current one.
  func move(inBlockTo target: UInt64) {
    index = postings.index(of: target, from: index)
    number = target
  }

  /// Moves to the block that a document belongs to, without reading it.
  private func block(at target: UInt64) throws -> BlockDirectory.Block? {
    while let (bound, directory) = part {
      while blockIndex < directory.blocks.count {
        if directory.blocks[blockIndex].bound >= target { return directory.blocks[blockIndex] }
        blockIndex += 1
      }
      blockIndex = 0
      part = nil
      guard bound < TextIndexKey.infinite else { break }
      part = try BlockDirectory.part(
        of: term, from: max(target, bound + 1), in: space, fieldCount: fieldCount)
    }
    return nil
  }

  private func bestScore(of block: BlockDirectory.Block, _ rank: PhraseRank) -> Double {
    if let best, best.block == block.bound { return best.score }
    let score = block.points.maximum { rank.score($0, $1) }
    best = (block.bound, score)
    return score
  }

  func advance(to target: UInt64, above threshold: Double) throws {
    guard number < target else { return }
    // Most steps stay in a block.
    if fields == nil, number > 0, let last = postings.numbers.last, target <= last {
      index = postings.index(of: target, from: index)
      number = postings.numbers[index]
      return
    }
    var target = target
    while let block = try block(at: target) {
      let canSkip = threshold > -.infinity && rank.map { bestScore(of: block, $0) <= threshold } ?? false
      if !canSkip {
        if postingsBound != block.bound {
          if withPlaces {
            (postings, blockPlaces) = try PostingBlock.readLazily(
              term, block.bound, from: space, fieldCount: fieldCount)
          } else {
            postings = try PostingBlock.read(
              term, block.bound, from: space, fieldCount: fieldCount, withPlaces: false)
          }
          postingsBound = block.bound
          index = 0
        }
        index = postings.index(of: target, from: index)
        while index < postings.count, !isInFields { index += 1 }
        if index < postings.count {
          number = postings.numbers[index]
          return
        }
      }
      guard block.bound < TextIndexKey.infinite else { break }
      target = block.bound + 1
    }
    number = TextIndexKey.infinite
  }

  private var isInFields: Bool {
    guard let fields else { return true }
    return zip(frequencies, fields).contains { $0 > 0 && $1 }
  }

  func bound(at target: UInt64) throws -> ScoreBound {
    guard let rank, let block = try block(at: target) else { return .end }
    return ScoreBound(score: bestScore(of: block, rank), through: block.bound)
  }

  func score(_ length: Int) -> Double { rank?.score(frequencies, length) ?? 0 }

  func forEachPhrase(_ body: (PhraseRank, ArraySlice<UInt32>) -> Void) {
    if let rank { body(rank, frequencies) }
  }
}
