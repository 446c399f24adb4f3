import LatewoodBytes

/// A part of the directory of a term: the blocks of the documents up to a bound, with the best
/// scores that they can have.
///
/// ```
/// part   = blockCount { block }
/// block  = gap postingCount pointCount { point }
/// point  = length { frequency }                                one for each field
/// ```
///
/// The gap is the difference from the previous bound, or from 0; it is 0 for the infinite bound.
struct BlockDirectory: Equatable {
  var blocks: [Block] = []

  /// The maximum number of blocks that a reader accepts.
  private static let countLimit: UInt64 = 4096

  struct Block: Equatable {
    /// The upper bound of the numbers of its documents.
    var bound: UInt64
    var count: Int
    var points: ScorePoints
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(blocks.count))
    var previous: UInt64 = 0
    for block in blocks {
      bytes.append(varint: block.bound == TextIndexKey.infinite ? 0 : block.bound - previous)
      previous = block.bound
      bytes.append(varint: UInt64(block.count))
      block.points.encode(to: &bytes)
    }
    return bytes
  }

  init() {}

  init(_ bytes: [UInt8], fieldCount: Int) throws {
    blocks = try IndexBytes.read(bytes, what: "a directory of blocks") { (reader) in
      let count = try reader.number(upTo: BlockDirectory.countLimit)
      var blocks: [Block] = []
      var previous: UInt64 = 0
      for _ in 0..<count {
        guard previous != TextIndexKey.infinite else { throw reader.damaged("a block after the last") }
        let gap = try reader.number()
        guard gap < TextIndexKey.numberLimit, previous < TextIndexKey.numberLimit else {
          throw reader.damaged("a bound is too large")
        }
        previous = gap == 0 ? TextIndexKey.infinite : previous + gap
        let count = try reader.number(upTo: UInt64(Postings.countLimit))
        let points = try ScorePoints(&reader, fieldCount: fieldCount)
        blocks.append(Block(bound: previous, count: count, points: points))
      }
      try reader.finish()
      return blocks
    }
  }
}

extension BlockDirectory {
  /// Returns the part of a term's directory that a document belongs to, or nil if all blocks are of
  /// earlier documents.
  static func part(
    of term: [UInt8], from number: UInt64, in space: any TextIndexSpace, fieldCount: Int
  ) throws -> (bound: UInt64, BlockDirectory)? {
    let start = TextIndexKey.directory(term, number)
    let head = Array(start[...(term.count + 1)])
    var result: (UInt64, BlockDirectory)?
    try space.forEach(from: start) { (key, value) in
      guard key.starts(with: head) else { return false }
      let bound = try TextIndexKey.number(in: key, from: head.count)
      let directory = try BlockDirectory(value, fieldCount: fieldCount)
      guard directory.blocks.last.map({ $0.bound <= bound }) ?? false else {
        throw TextIndexDamage("a part of a directory is empty, or has a block that is not in it")
      }
      result = (bound, directory)
      return false
    }
    return result
  }

  /// Calls a closure with all blocks of a term and the bound of the part that each of them is in.
  static func forEachBlock(
    of term: [UInt8], in space: any TextIndexSpace, fieldCount: Int,
    _ body: (_ block: Block, _ part: UInt64) throws -> Void
  ) throws {
    var next: UInt64? = 0
    while let start = next,
      let (bound, directory) = try part(of: term, from: start, in: space, fieldCount: fieldCount)
    {
      for block in directory.blocks { try body(block, bound) }
      next = bound == TextIndexKey.infinite ? nil : bound + 1
    }
  }
}

/// Pairs of frequencies and a length, of which one is at least as good for the score as any
/// document of a block: it has no lower frequency in any field, and is not longer.
///
/// The points are an upper bound, not a summary: they stay after a document was removed or has
/// become longer.
struct ScorePoints: Equatable {
  let fieldCount: Int
  /// The lengths of documents, in words.
  private(set) var lengths: [Int] = []
  /// The frequencies in each field of each point.
  private(set) var frequencies: [UInt32] = []

  /// The maximum number of points of a block.
  static let limit = 4

  init(fieldCount: Int) { self.fieldCount = fieldCount }

  func frequencies(at index: Int) -> ArraySlice<UInt32> {
    frequencies[(index * fieldCount)..<((index + 1) * fieldCount)]
  }

  /// Whether a point is at least as good as a document.
  func cover(_ new: ArraySlice<UInt32>, _ length: Int) -> Bool {
    if fieldCount == 1, let frequency = new.first {
      // Points are in the order of lengths, and so of frequencies.
      var index = lengths.count - 1
      while index >= 0, lengths[index] > length { index -= 1 }
      return index >= 0 && frequencies[index] >= frequency
    }
    for index in lengths.indices where lengths[index] <= length {
      if ScorePoints.isAtLeast(frequencies(at: index), new) { return true }
    }
    return false
  }

  private static func isAtLeast(_ left: ArraySlice<UInt32>, _ right: ArraySlice<UInt32>) -> Bool {
    var at = right.startIndex
    for frequency in left {
      if frequency < right[at] { return false }
      at += 1
    }
    return true
  }

  /// Adds a document.
  ///
  /// - Returns: false if nothing has changed.
  @discardableResult
  mutating func add(_ new: ArraySlice<UInt32>, _ length: Int) -> Bool {
    if cover(new, length) { return false }
    for index in lengths.indices.reversed()
    where lengths[index] >= length && ScorePoints.isAtLeast(new, frequencies(at: index)) {
      remove(index)
    }
    let index = lengths.firstIndex { $0 > length } ?? lengths.count
    lengths.insert(length, at: index)
    frequencies.insert(contentsOf: new, at: index * fieldCount)
    if lengths.count > ScorePoints.limit { mergeNearest() }
    return true
  }

  mutating func add(_ other: ScorePoints) {
    for index in other.lengths.indices { add(other.frequencies(at: index), other.lengths[index]) }
  }

  private mutating func remove(_ index: Int) {
    lengths.remove(at: index)
    frequencies.removeSubrange((index * fieldCount)..<((index + 1) * fieldCount))
  }

  /// Replaces two neighbours by a point that is as good as either, where that loses the least.
  private mutating func mergeNearest() {
    var (nearest, least) = (0, Double.infinity)
    for index in 1..<lengths.count {
      let ratio = Double(lengths[index] + 1) / Double(lengths[index - 1] + 1)
      let gain = zip(frequencies(at: index - 1), frequencies(at: index)).reduce(0) {
        $0 + Double($1.1 > $1.0 ? $1.1 - $1.0 : 0) / (Double($1.0) + 1)
      }
      if ratio * (1 + gain) < least { (nearest, least) = (index, ratio * (1 + gain)) }
    }
    let better = zip(frequencies(at: nearest - 1), frequencies(at: nearest)).map(max)
    let length = lengths[nearest - 1]
    remove(nearest)
    remove(nearest - 1)
    add(better[...], length)
  }

  /// Returns the greatest score of a point.
  func maximum(_ score: (_ frequencies: ArraySlice<UInt32>, _ length: Int) -> Double) -> Double {
    lengths.indices.reduce(0) { max($0, score(frequencies(at: $1), lengths[$1])) }
  }

  func encode(to bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(lengths.count))
    for index in lengths.indices {
      bytes.append(varint: UInt64(lengths[index]))
      for frequency in frequencies(at: index) { bytes.append(varint: UInt64(frequency)) }
    }
  }

  init(_ reader: inout IndexBytes, fieldCount: Int) throws {
    self.fieldCount = fieldCount
    let count = try reader.number(upTo: UInt64(ScorePoints.limit))
    for _ in 0..<count {
      let length = try reader.number(upTo: TextIndexKey.numberLimit)
      guard length >= lengths.last ?? 0 else { throw reader.damaged("points are not in order") }
      lengths.append(length)
      for _ in 0..<fieldCount { frequencies.append(UInt32(try reader.number(upTo: UInt64(UInt32.max)))) }
    }
  }
}
