import LatewoodFleece

/// The groups of a run, with their aggregates so far, in parts that fit into memory.
///
/// All rows are added for each part, in the same order. A part consists of the groups whose keys
/// are in the range from `start` to before `end`, and has all rows of these groups. When they
/// exceed the memory, those with the last keys are dropped, and the first dropped key becomes
/// `end`. The next part starts there.
struct SQLGroups {
  private struct Group {
    let key: [UInt8]
    let keys: [SQLLiteral]
    var accumulators: [SQLAccumulator]
    /// The approximate memory of the group, in bytes.
    var byteCount: Int
  }

  private let grouping: SQLProgram.Grouping
  private let memory: Int
  private var groups: [Group] = []
  /// The index of each group by its key.
  private var places: [[UInt8]: Int] = [:]
  private var start: [UInt8] = []
  private var end: [UInt8]?
  /// About the memory of the groups. After each addition it is at most `memory`, or there is one
  /// group.
  private(set) var byteCount = 0

  /// - Parameter memory: about the most memory for a part, in bytes.
  init(_ grouping: SQLProgram.Grouping, memory: Int) {
    self.grouping = grouping
    self.memory = memory
  }

  /// Adds the current row of an evaluator, if its group is in this part.
  ///
  /// Throws `tooLarge` if the distinct values of one group exceed the memory.
  mutating func add(_ evaluator: inout SQLEvaluator) throws {
    var values: [SQLValue] = []
    var key = CollationKey()
    for expression in grouping.keys {
      let value = try evaluator.value(expression)
      try value.append(to: &key)
      values.append(value)
    }
    try evaluator.spend(key.bytes.count)
    guard contains(key.bytes) else { return }
    let place = try places[key.bytes] ?? addGroup(key.bytes, values)
    for (index, aggregate) in grouping.aggregates.enumerated() {
      guard let argument = aggregate.argument else {
        groups[place].accumulators[index].addRows(1)
        continue
      }
      let growth = try groups[place].accumulators[index].add(evaluator.value(argument))
      groups[place].byteCount += growth
      byteCount += growth
    }
    if byteCount > memory { try cut() }
  }

  private func contains(_ key: [UInt8]) -> Bool {
    if key.lexicographicallyPrecedes(start) { return false }
    return end.map { key.lexicographicallyPrecedes($0) } ?? true
  }

  private mutating func addGroup(_ key: [UInt8], _ values: [SQLValue]) throws -> Int {
    let keys = try values.map { value in try value.literal() }
    let accumulators = accumulators()
    let byteCount =
      2 * key.count + SQLMemory.entry * (2 + keys.count) + MemoryLayout<Group>.stride
      + MemoryLayout<SQLAccumulator>.stride * accumulators.count
    places[key] = groups.count
    groups.append(Group(key: key, keys: keys, accumulators: accumulators, byteCount: byteCount))
    self.byteCount += byteCount
    return groups.count - 1
  }

  /// Drops the groups with the last keys, down to half of the memory.
  private mutating func cut() throws(QueryError) {
    guard groups.count > 1 else {
      // Without distinct values, a group does not grow with its rows.
      guard grouping.aggregates.contains(where: \.isDistinct) else { return }
      throw QueryError(
        .tooLarge,
        "the distinct values of a group need more than \(memory) bytes of memory. "
          + "Select fewer rows with WHERE, or count the rows of SELECT DISTINCT with ORDER BY")
    }
    groups.sort { $0.key.lexicographicallyPrecedes($1.key) }
    var kept = 1
    byteCount = groups[0].byteCount
    while kept < groups.count, byteCount + groups[kept].byteCount <= memory / 2 {
      byteCount += groups[kept].byteCount
      kept += 1
    }
    // Fewer than all, which exceed the memory.
    end = groups[kept].key
    groups.removeLast(groups.count - kept)
    places.removeAll(keepingCapacity: true)
    for (index, group) in groups.enumerated() { places[group.key] = index }
  }

  /// Adds rows of a single group, whose contents are not needed.
  mutating func add(rows count: Int) {
    if groups.isEmpty {
      places[[]] = 0
      groups.append(Group(key: [], keys: [], accumulators: accumulators(), byteCount: 0))
    }
    for index in groups[0].accumulators.indices { groups[0].accumulators[index].addRows(count) }
  }

  private func accumulators() -> [SQLAccumulator] {
    grouping.aggregates.map { SQLAccumulator($0.kind, isDistinct: $0.isDistinct) }
  }

  /// Ends a part: returns its groups in the order of their keys. Without GROUP BY there is one
  /// group, even without rows.
  mutating func takePart() -> some Sequence<(keys: [SQLLiteral], aggregates: [SQLLiteral])> {
    var part = groups
    if part.isEmpty, grouping.keys.isEmpty {
      part.append(Group(key: [], keys: [], accumulators: accumulators(), byteCount: 0))
    }
    groups = []
    places = [:]
    byteCount = 0
    part.sort { $0.key.lexicographicallyPrecedes($1.key) }
    return part.lazy.map { ($0.keys, $0.accumulators.map(\.result)) }
  }

  /// Begins the next part. Returns false if there is none; the next part is then the first one
  /// again.
  mutating func beginNextPart() -> Bool {
    start = end ?? []
    defer { end = nil }
    return end != nil
  }
}
