import LatewoodBytes
import LatewoodStore

/// Stored partial sums of the values of a view's rows, so that a range can be summed without
/// reading all its rows.
///
/// ```
/// level 3   *  . . . . . . . . . . . . . . . . . . . .  D
/// level 2   *  . . . . .  B  . . . . . . . . . . . . .  D
/// level 1   *  .  A  . .  B  . . .  C  . . . . . . . .  D  . .  E
/// rows      r  r  r  r r  r  r r r  r  r  r r r r r r   r  r r  r  r
/// ```
///
/// The number of zero four-bit groups at the end of the hash of a row's key is the number of levels
/// at which the row begins a *block*: one row in 16 begins one at level 1, one in 256 one at level
/// 2, and so on. A block ends before the next row that begins one at its level. The rows before the
/// first such row are also a block, with an empty key (`*`). The blocks depend only on the rows,
/// not on their history, and a change of a row changes one block at each level, recomputed from
/// about 16 blocks below it.
///
/// Key: `level 1 byte | key of the first row`. Value: ``ViewStatistics``. A block whose rows have
/// no values is not stored, and neither is a level at which no row begins a block.
struct ViewSums {
  /// On disk: the hash determines the blocks.
  private static let hashSeed: UInt64 = 0
  private static let bitsPerLevel = 4
  static let levelLimit = 12

  let rows: Keyspace
  let sums: Keyspace

  /// Returns the highest level at which a row begins a block; 0 if it does not begin a block.
  static func level(of row: [UInt8]) -> Int {
    let hash = row.withUnsafeBytes { XXH64.hash($0, seed: hashSeed) }
    return min(levelLimit, hash.trailingZeroBitCount / bitsPerLevel)
  }

  static func key(_ level: Int, _ row: [UInt8]) -> [UInt8] { [UInt8(level)] + row }

  /// Returns the range of the blocks of a level that begin with a row.
  static func starts(of level: Int) -> KeyRange {
    KeyRange(lower: .excluded([UInt8(level)]), upper: .excluded([UInt8(level + 1)]))
  }

  // MARK: Updating

  /// Recomputes the sums of changed blocks. O(rows · log n).
  ///
  /// - Parameter changed: the keys of rows that were added, removed or modified.
  func update(_ changed: Set<[UInt8]>, in transaction: Transaction) throws {
    // The keys of changed rows, or of changed blocks of the level below.
    var dirty = changed
    // Changed rows that begin blocks, and whether they exist now.
    var starts: [[UInt8]: Bool] = [:]
    for row in changed where ViewSums.level(of: row) > 0 {
      starts[row] = try transaction.contains(row, in: rows)
    }
    for level in 1...ViewSums.levelLimit {
      starts = starts.filter { ViewSums.level(of: $0.key) >= level }
      // In order, so that equal changes produce equal files.
      for row in ViewSums.sorted(starts.keys) {
        if starts[row] == true {
          try transaction.put(ViewSums.key(level, row), ViewStatistics().encoded(), in: sums)
        } else {
          try transaction.delete(ViewSums.key(level, row), in: sums)
        }
      }
      guard try transaction.first(in: sums, ViewSums.starts(of: level)) != nil else {
        let rest = KeyRange.from([UInt8(level)])
        if try transaction.first(in: sums, rest) != nil { try transaction.deleteRange(rest, in: sums) }
        return
      }
      var blocks: Set<[UInt8]> = []
      for key in dirty {
        blocks.insert(try block(of: level, with: key, in: transaction))
        // The rows of a new block were in the previous block; the rows of a removed block are in it
        // now.
        if starts[key] != nil { blocks.insert(try block(of: level, before: key, in: transaction)) }
      }
      for start in ViewSums.sorted(blocks) {
        let stats = try children(of: level, start, in: transaction)
        if stats.count > 0 {
          try transaction.put(ViewSums.key(level, start), stats.encoded(), in: sums)
        } else {
          try transaction.delete(ViewSums.key(level, start), in: sums)
        }
      }
      dirty = blocks.union(starts.keys)
    }
  }

  private static func sorted(_ keys: some Sequence<[UInt8]>) -> [[UInt8]] {
    keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Returns the key of the block of a level that contains a row.
  private func block(of level: Int, with row: [UInt8], in source: some Readable) throws -> [UInt8] {
    let range = KeyRange(
      lower: .excluded([UInt8(level)]), upper: .included(ViewSums.key(level, row)))
    return try source.last(in: sums, range).map { Array($0.key.dropFirst()) } ?? []
  }

  /// Returns the key of the block of a level that ends before a row.
  private func block(of level: Int, before row: [UInt8], in source: some Readable) throws -> [UInt8] {
    let range = KeyRange(
      lower: .excluded([UInt8(level)]), upper: .excluded(ViewSums.key(level, row)))
    return try source.last(in: sums, range).map { Array($0.key.dropFirst()) } ?? []
  }

  /// Adds up the contents of a block: rows, or blocks of the level below.
  func children(of level: Int, _ start: [UInt8], in source: some Readable) throws -> ViewStatistics {
    let next = KeyRange(
      lower: .excluded(ViewSums.key(level, start)), upper: .excluded([UInt8(level + 1)]))
    let end = try source.first(in: sums, next).map { Array($0.key.dropFirst()) }
    var stats = ViewStatistics()
    try forEachSum(
      of: level - 1, KeyRange(lower: .included(start), upper: end.map { .excluded($0) } ?? .unbounded), source
    ) {
      stats.add($0)
    }
    return stats
  }

  /// Calls a closure with the values of a range of rows, at level 0, or with the sums of the blocks
  /// that begin in the range.
  func forEachSum(
    of level: Int, _ range: KeyRange, _ source: some Readable, _ body: (ViewStatistics) -> Void
  ) throws {
    guard level > 0 else {
      try source.forEach(in: rows, range) { key, value in
        try StoredRow.reading(key, value) { row in
          var stats = ViewStatistics()
          stats.add(try row.number())
          body(stats)
          return true
        }
      }
      return
    }
    try source.forEach(in: sums, ViewSums.keys(of: level, range)) { _, value in
      body(try value.reading { (bytes) throws(DatabaseError) in try ViewStatistics(bytes) })
      return true
    }
  }

  /// Returns the range of the blocks of a level that begin in a range of rows.
  static func keys(of level: Int, _ range: KeyRange) -> KeyRange {
    func bound(_ bound: KeyRange.Bound, _ open: KeyRange.Bound) -> KeyRange.Bound {
      switch bound {
      case .unbounded: open
      case .included(let row): .included(key(level, row))
      case .excluded(let row): .excluded(key(level, row))
      }
    }
    return KeyRange(
      lower: bound(range.lower, .included([UInt8(level)])),
      upper: bound(range.upper, .excluded([UInt8(level + 1)])))
  }
}

/// Adds up the values of a range, from at most the blocks of the highest level and about 16 of each
/// lower level on either side.
struct ViewSumWalk<Source: Readable> {
  private let sums: ViewSums
  private let source: Source
  /// The number of sums and rows read.
  private(set) var visited = 0

  init(_ sums: ViewSums, _ source: Source) {
    self.sums = sums
    self.source = source
  }

  /// - Parameter range: a range of rows that includes its lower bound and excludes its upper one.
  mutating func stats(in range: KeyRange) throws -> ViewStatistics {
    let top = try source.last(in: sums.sums, .all)?.key.first ?? 0
    var stats = ViewStatistics()
    try add(range, Int(top), &stats)
    return stats
  }

  /// Recursion depth is limited: more than 12 levels are an error.
  private mutating func add(_ range: KeyRange, _ level: Int, _ stats: inout ViewStatistics) throws {
    guard level > 0 else { return try addEach(0, range, &stats) }
    guard level <= ViewSums.levelLimit else {
      throw DatabaseError(.corruptData, "a view has sums of level \(level)")
    }
    let blocks = ViewSums.keys(of: level, range)
    // The first block may begin before the range, and the last one may end after it.
    guard let first = try source.first(in: sums.sums, blocks).map({ Array($0.key.dropFirst()) }),
      let last = try source.last(in: sums.sums, blocks).map({ Array($0.key.dropFirst()) })
    else { return try add(range, level - 1, &stats) }
    if !first.isEmpty, range.lower != .unbounded {
      try add(KeyRange(lower: range.lower, upper: .excluded(first)), level - 1, &stats)
    }
    guard range.upper != .unbounded else {
      return try addEach(level, KeyRange(lower: .included(first), upper: .unbounded), &stats)
    }
    try addEach(level, KeyRange(lower: .included(first), upper: .excluded(last)), &stats)
    try add(KeyRange(lower: .included(last), upper: range.upper), level - 1, &stats)
  }

  private mutating func addEach(_ level: Int, _ range: KeyRange, _ stats: inout ViewStatistics) throws {
    var (sum, count) = (stats, 0)
    try sums.forEachSum(of: level, range, source) {
      sum.add($0)
      count += 1
    }
    stats = sum
    visited += count
  }
}
