import LatewoodFleece

/// The groups of a run, with their aggregates so far, in parts that fit into memory.
///
/// All rows are added for each part, in the same order. A part consists of the groups whose keys
/// are in the range from `start` to before `end`, and has all rows of these groups. When they
/// exceed the memory, those with the last keys are dropped, and the first dropped key becomes
/// `end`. The next part starts there.
///
/// If a single group has too many distinct values, a part has only some of them: those from
/// `valueStart` to before `valueEnd`, in the order of their keys. The next part has the same group
/// with its aggregates so far, and starts at `valueEnd`.
struct SQLGroups {
  private struct Group {
    let key: [UInt8]
    let keys: [SQLLiteral]
    var accumulators: [SQLAccumulator]
    /// The approximate memory of the group, in bytes.
    var byteCount: Int
  }

  private let grouping: SQLProgram.Grouping
  /// The expressions of GROUP BY in the order of the groups.
  private let order: [SQLProgram.GroupOrder]
  private var memory: Int
  /// About the most memory once there are several parts.
  private let partMemory: Int
  private var groups: [Group] = []
  /// The index of each group by its key.
  private var places: [[UInt8]: Int] = [:]
  private var start: [UInt8] = []
  private var end: [UInt8]?
  /// Whether there are groups from `end` on.
  private var hasMore = false
  private var valueStart: [UInt8] = []
  private var valueEnd: [UInt8]?
  /// Whether the part continues the group of the part before.
  private var isContinued: Bool { !valueStart.isEmpty }
  /// About the memory of the groups. After each addition it is at most the memory of a part, or
  /// there is one group.
  private(set) var byteCount = 0
  /// Whether the groups did not fit into one part.
  private(set) var isInParts = false

  /// - Parameters:
  ///   - order: the expressions by which the groups are ordered.
  ///   - memory: about the most memory, in bytes.
  ///   - partMemory: about the most memory once there are several parts, in bytes.
  init(
    _ grouping: SQLProgram.Grouping, order: [SQLProgram.GroupOrder], memory: Int, partMemory: Int
  ) {
    self.grouping = grouping
    self.order = order
    self.memory = memory
    self.partMemory = partMemory
  }

  /// Adds the current row of an evaluator, if its group is in this part.
  mutating func add(_ evaluator: inout SQLEvaluator) throws {
    var values: [SQLValue] = []
    for expression in grouping.keys { values.append(try evaluator.value(expression)) }
    var key = CollationKey()
    for place in order {
      try key.append(values[place.key], isDescending: place.isDescending)
    }
    try evaluator.spend(key.bytes.count)
    guard contains(key.bytes) else { return }
    let place = try places[key.bytes] ?? addGroup(key.bytes, values)
    for (index, aggregate) in grouping.aggregates.enumerated() {
      let isDistinct = groups[place].accumulators[index].isDistinct
      // The part before has already added all rows.
      if isContinued, !isDistinct { continue }
      guard let argument = aggregate.argument else {
        groups[place].accumulators[index].addRows(1)
        continue
      }
      let value = try evaluator.value(argument)
      let growth =
        isDistinct
        ? try groups[place].accumulators[index].addDistinct(value, from: valueStart, to: valueEnd)
        : try groups[place].accumulators[index].add(value)
      groups[place].byteCount += growth
      byteCount += growth
    }
    if byteCount > memory { try cut() }
  }

  private mutating func contains(_ key: [UInt8]) -> Bool {
    if Constant.order(key, start) < 0 { return false }
    guard let end, Constant.order(key, end) >= 0 else { return true }
    hasMore = true
    return false
  }

  private mutating func addGroup(_ key: [UInt8], _ values: [SQLValue]) throws -> Int {
    // A group of which only some values are kept is the last of its part, so it is left to the
    // next.
    if valueEnd != nil, let last = groups.first {
      drop(from: last.key, keeping: 0)
      (valueStart, valueEnd) = ([], nil)
    }
    let keys = try values.map { value in try value.literal() }
    let accumulators = accumulators()
    let byteCount =
      key.count + keys.reduce(0) { $0 + $1.keptByteCount } + SQLMemory.entry
      + MemoryLayout<Group>.stride + MemoryLayout<SQLAccumulator>.stride * accumulators.count
    places[key] = groups.count
    groups.append(Group(key: key, keys: keys, accumulators: accumulators, byteCount: byteCount))
    self.byteCount += byteCount
    return groups.count - 1
  }

  /// Drops the groups with the last keys, down to three quarters of the memory of a part; of a
  /// single group, distinct values.
  private mutating func cut() throws {
    isInParts = true
    memory = partMemory
    guard groups.count > 1 else { return cutValues() }
    try sort { Constant.order($0, $1) < 0 }
    var kept = 1
    var keptBytes = groups[0].byteCount
    while kept < groups.count - 1, keptBytes + groups[kept].byteCount <= memory - memory / 4 {
      keptBytes += groups[kept].byteCount
      kept += 1
    }
    drop(from: groups[kept].key, keeping: kept)
  }

  private mutating func sort(by precedes: ([UInt8], [UInt8]) -> Bool) throws {
    try groups.sortCounting { precedes($0.key, $1.key) }
  }

  /// Leaves all groups from a key on to further parts.
  ///
  /// - Parameter kept: the number of groups before the key, which come first.
  private mutating func drop(from key: [UInt8], keeping kept: Int) {
    end = key
    hasMore = true
    groups.removeLast(groups.count - kept)
    byteCount = groups.reduce(0) { $0 + $1.byteCount }
    places.removeAll(keepingCapacity: true)
    for (index, group) in groups.enumerated() { places[group.key] = index }
  }

  /// Drops the last distinct values of the only group, down to half of the memory.
  private mutating func cutValues() {
    var keys = groups[0].accumulators.flatMap(\.distinctKeys)
    guard keys.count > 1 else { return }
    keys.sort { Constant.order($0, $1) < 0 }
    var (kept, keptBytes) = (0, 0)
    repeat {
      keptBytes += SQLAccumulator.byteCount(ofKey: keys[kept])
      kept += 1
    } while kept < keys.count - 1 && keptBytes < memory / 2
    // Several aggregates may have the same value, which is kept or dropped in all of them.
    guard let bound = keys[kept...].first(where: { $0 != keys[0] }) else { return }
    valueEnd = bound
    end = groups[0].key + [0]
    var dropped = 0
    for index in groups[0].accumulators.indices {
      dropped += groups[0].accumulators[index].dropDistinct(from: bound)
    }
    groups[0].byteCount -= dropped
    byteCount -= dropped
  }

  /// Adds rows of a single group, whose contents are not needed.
  mutating func add(rows count: Int) {
    if groups.isEmpty { addOnlyGroup() }
    for index in groups[0].accumulators.indices { groups[0].accumulators[index].addRows(count) }
  }

  private mutating func addOnlyGroup() {
    places[[]] = 0
    groups.append(Group(key: [], keys: [], accumulators: accumulators(), byteCount: 0))
  }

  private func accumulators() -> [SQLAccumulator] {
    grouping.aggregates.map { SQLAccumulator($0.kind, isDistinct: $0.isDistinct) }
  }

  /// Ends a part, whose groups `takeNext` then returns. Without GROUP BY there is one group, even
  /// without rows.
  mutating func endPart() throws {
    if groups.isEmpty, grouping.keys.isEmpty { addOnlyGroup() }
    byteCount = 0
    for place in groups.indices {
      for index in groups[place].accumulators.indices {
        groups[place].byteCount -= groups[place].accumulators[index].addDistinctTogether()
      }
      byteCount += groups[place].byteCount
    }
    places = [:]
    // The first group is taken from the end.
    try sort { Constant.order($0, $1) > 0 }
  }

  /// Removes and returns the next group, in the order of the groups; nil at the end of the part.
  mutating func takeNext() -> (keys: [SQLLiteral], aggregates: [SQLLiteral])? {
    guard valueEnd == nil, let group = groups.popLast() else { return nil }
    byteCount -= group.byteCount
    return (group.keys, group.accumulators.map(\.result))
  }

  /// Begins the next part. Returns false if there is none; the next part is then the first one
  /// again.
  mutating func beginNextPart() -> Bool {
    if let valueEnd, let group = groups.first {
      (start, end) = (group.key, group.key + [0])
      (valueStart, self.valueEnd) = (valueEnd, nil)
      places = [group.key: 0]
      return true
    }
    let next = hasMore ? end : nil
    groups = []
    byteCount = 0
    start = next ?? []
    (end, valueStart, hasMore) = (nil, [], false)
    return next != nil
  }
}

extension SQLLiteral {
  /// About the memory of the value, in bytes.
  fileprivate var keptByteCount: Int {
    let content =
      switch self {
      case .string(let text): text.utf8.count < 16 ? 0 : text.utf8.count + 32
      case .element(let element): element.body.bytes.count + 64
      default: 0
      }
    return MemoryLayout<SQLLiteral>.stride + content
  }
}
