import LatewoodFleece

/// The groups of a run, with their aggregates so far.
struct SQLGroups {
  private struct Group {
    var keys: [SQLLiteral]
    var accumulators: [SQLAccumulator]
  }

  private let grouping: SQLProgram.Grouping
  private var groups: [Group] = []
  /// The index of each group by its key.
  private var places: [[UInt8]: Int] = [:]

  init(_ grouping: SQLProgram.Grouping) { self.grouping = grouping }

  /// Adds the current row of an evaluator.
  mutating func add(_ evaluator: inout SQLEvaluator, _ memory: inout SQLMemory) throws {
    var values: [SQLValue] = []
    var key = CollationKey()
    for expression in grouping.keys {
      let value = try evaluator.value(expression)
      try value.append(to: &key)
      values.append(value)
    }
    try evaluator.spend(key.bytes.count)
    let place: Int
    if let known = places[key.bytes] {
      place = known
    } else {
      var keys: [SQLLiteral] = []
      for value in values { keys.append(try value.literal()) }
      place = groups.count
      places[key.bytes] = place
      groups.append(Group(keys: keys, accumulators: accumulators()))
      try memory.take(2 * key.bytes.count + SQLMemory.entry * (1 + keys.count + grouping.aggregates.count))
    }
    for (index, aggregate) in grouping.aggregates.enumerated() {
      guard let argument = aggregate.argument else {
        groups[place].accumulators[index].addRows(1)
        continue
      }
      let value = try evaluator.value(argument)
      try memory.take(groups[place].accumulators[index].add(value))
    }
  }

  /// Adds rows of a single group, whose contents are not needed.
  mutating func add(rows count: Int) {
    if groups.isEmpty {
      places[[]] = 0
      groups.append(Group(keys: [], accumulators: accumulators()))
    }
    for index in groups[0].accumulators.indices { groups[0].accumulators[index].addRows(count) }
  }

  private func accumulators() -> [SQLAccumulator] {
    grouping.aggregates.map { SQLAccumulator($0.kind, isDistinct: $0.isDistinct) }
  }

  /// Returns the groups in the order of their keys; without GROUP BY there is one group, even
  /// without rows.
  func rows() -> [(keys: [SQLLiteral], aggregates: [SQLLiteral])] {
    if groups.isEmpty, grouping.keys.isEmpty { return [([], accumulators().map(\.result))] }
    return places.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      .map { (groups[$0.value].keys, groups[$0.value].accumulators.map(\.result)) }
  }
}
