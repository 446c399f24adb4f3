import LatewoodBytes

/// The part of an index that contains all documents of a query.
package struct IndexBounds: Sendable {
  /// The intervals of keys, in order and without overlaps.
  package var ranges: [KeyInterval]
  /// Whether the bounds express all conditions: documents outside `needsCheck` ranges match.
  package var isWhole: Bool
  /// The number of leading parts of the index that have a single value in these bounds.
  package var fixedParts: Int
  /// Whether each range has a single value in every part, so that its entries are ordered by id.
  package var isByID: Bool
  /// Whether a document may have several entries in these ranges.
  package var mayRepeat: Bool

  /// Whether these are the bounds of the entire index.
  package var isAll: Bool { ranges.count == 1 && ranges[0].low.isEmpty && ranges[0].high == nil }
}

/// A list of conditions, all of which must hold.
package struct Conjunction: Sendable {
  package private(set) var parts: [Predicate] = []

  package init(_ predicate: Predicate) { add(predicate) }

  private mutating func add(_ predicate: Predicate) {
    switch predicate {
    case .all(let more): for part in more { add(part) }
    case .always(true): break
    default: parts.append(predicate)
    }
  }
}

extension IndexDefinition {
  /// The number of ranges beyond which no further part of the index is used.
  private static let rangeLimit = 64
  /// The number of ranges beyond which a further part is not used.
  private static let productLimit = 10_000

  /// Returns the bounds of the documents that may meet the conditions; nil if the index may lack
  /// some of them.
  package func bounds(for conditions: Conjunction) -> IndexBounds? {
    if condition == nil, parts.count == 1, !parts[0].isEach, !parts[0].isDescending {
      return parts[0].bounds(for: conditions)
    }
    var rest = conditions.parts
    guard removeCondition(from: &rest) else { return nil }
    var prefixes = [KeyInterval(low: [], high: nil, isPoint: true)]
    var (fixed, count) = (0, 0)
    var eachIsPoint = false
    for part in parts {
      var others = rest
      guard let intervals = part.intervals(in: &others),
        count == 0 || prefixes.count * intervals.count <= IndexDefinition.productLimit
      else { break }
      rest = others
      count += 1
      let arePoints = intervals.allSatisfy(\.isPoint)
      if part.isEach { eachIsPoint = arePoints }
      if arePoints, intervals.count == 1, fixed == count - 1 { fixed = count }
      prefixes =
        count == 1 ? intervals : prefixes.flatMap { prefix in intervals.map { prefix.followed(by: $0) } }
      if !arePoints || prefixes.count > IndexDefinition.rangeLimit { break }
    }
    if hasEach, !parts.prefix(count).contains(where: { $0.isEach }) { return nil }
    let ranges = IndexDefinition.ranges(prefixes)
    let isByID = count == parts.count && ranges.allSatisfy(\.isPoint)
    return IndexBounds(
      ranges: ranges, isWhole: rest.isEmpty, fixedParts: fixed, isByID: isByID,
      mayRepeat: hasEach && !(eachIsPoint && ranges.count <= 1))
  }

  /// Returns the ranges of keys for intervals, adapted to the maximum length of keys.
  fileprivate static func ranges(_ intervals: [KeyInterval]) -> [KeyInterval] {
    var intervals = intervals
    for place in intervals.indices where intervals[place].isLonger(than: IndexKey.lengthLimit) {
      intervals[place] = intervals[place].cut(to: IndexKey.lengthLimit)
    }
    return intervals.count == 1 ? intervals : KeyInterval.united(intervals)
  }

  /// Removes the condition of the index from others; returns false if they do not imply it.
  private func removeCondition(from rest: inout [Predicate]) -> Bool {
    guard let condition else { return true }
    for wanted in Conjunction(condition).parts {
      guard let bytes = wanted.storedForm, let place = rest.firstIndex(where: { $0.storedForm == bytes })
      else { return false }
      rest.remove(at: place)
    }
    return true
  }

  /// Returns the order in which this index contains documents within some bounds; nil if it is not
  /// the requested one.
  ///
  /// - Parameters:
  ///   - order: the fields to sort by, and whether each is descending.
  ///   - bounds: the bounds.
  package func order(
    for order: [(path: FieldPath, isDescending: Bool)], in bounds: IndexBounds
  ) -> IndexOrder? {
    let fixed = Set(parts.prefix(bounds.fixedParts).filter { !$0.isEach }.map(\.path))
    let wanted = order.filter { !fixed.contains($0.path) }
    let rest = parts.dropFirst(bounds.fixedParts)
    guard wanted.count == rest.count || !wanted.isEmpty && wanted.count < rest.count, !bounds.mayRepeat,
      !rest.contains(where: { $0.isEach })
    else { return nil }
    var isReversed: Bool?
    for (field, part) in zip(wanted, rest) {
      guard field.path == part.path else { return nil }
      let turns = field.isDescending != part.isDescending
      if let isReversed, isReversed != turns { return nil }
      isReversed = turns
    }
    return IndexOrder(
      isReversed: isReversed ?? false,
      leadingParts: wanted.count == rest.count ? nil : bounds.fixedParts + wanted.count)
  }
}

extension IndexDefinition.Part {
  /// Returns the bounds in an index with only this part, ascending and without a condition.
  /// Equivalent to the general form, but much faster.
  fileprivate func bounds(for conditions: Conjunction) -> IndexBounds {
    var isWhole = true
    let found: [KeyInterval]?
    if conditions.parts.count == 1 {
      found = intervals(of: conditions.parts[0])
      isWhole = found != nil
    } else {
      var common = KeyIntersection()
      for condition in conditions.parts {
        if let more = intervals(of: condition) { common.add(more) } else { isWhole = false }
      }
      found = common.intervals
    }
    guard let found else {
      return IndexBounds(
        ranges: [KeyInterval(low: [], high: nil, isPoint: true)], isWhole: isWhole, fixedParts: 0,
        isByID: false, mayRepeat: false)
    }
    let ranges = IndexDefinition.ranges(found)
    let arePoints = found.allSatisfy(\.isPoint)
    return IndexBounds(
      ranges: ranges, isWhole: isWhole, fixedParts: arePoints && found.count == 1 ? 1 : 0,
      isByID: ranges.allSatisfy(\.isPoint), mayRepeat: false)
  }

  /// Returns the intervals to which conditions narrow this part, in order; nil if they do not
  /// narrow it. Removes the conditions that the result expresses completely.
  fileprivate func intervals(in conditions: inout [Predicate]) -> [KeyInterval]? {
    if !isEach, !isDescending, conditions.count == 1 {
      guard let found = intervals(of: conditions[0]) else { return nil }
      conditions.removeAll(keepingCapacity: true)
      return found
    }
    var common = KeyIntersection()
    var rest: [Predicate] = []
    for condition in conditions {
      // Different elements of an array may meet different conditions.
      if let more = isEach && !common.isEmpty ? nil : intervals(of: condition) {
        common.add(more)
      } else {
        rest.append(condition)
      }
    }
    guard let found = common.intervals else { return nil }
    conditions = rest
    guard isDescending else { return found }
    return found.compactMap(\.descending).sorted { $0.low.lexicographicallyPrecedes($1.low) }
  }

  private func intervals(of condition: Predicate) -> [KeyInterval]? {
    switch condition {
    case .field(path, let test): return isEach ? test.elementIntervals : test.intervals
    case .any(let parts):
      var all: [KeyInterval] = []
      for part in parts {
        guard let more = intervals(of: part) else { return nil }
        all += more
      }
      return KeyInterval.united(all)
    default: return nil
    }
  }
}

extension KeyInterval {
  /// Returns the interval of the next part, prefixed with the key of the previous parts.
  fileprivate func followed(by next: KeyInterval) -> KeyInterval {
    KeyInterval(
      low: low + next.low, high: next.high.map { low + $0 } ?? KeyOrder.successor(ofPrefix: low),
      isPoint: isPoint && next.isPoint, needsCheck: needsCheck || next.needsCheck)
  }

  /// Returns whether a bound is longer than a limit.
  fileprivate func isLonger(than limit: Int) -> Bool { low.count > limit || high?.count ?? 0 > limit }

  /// Returns the interval for keys cut to a length.
  fileprivate func cut(to limit: Int) -> KeyInterval {
    var interval = self
    if low.count > limit {
      interval.low = Array(low.prefix(limit))
      interval.needsCheck = true
    }
    if let high, high.count > limit {
      interval.high = KeyOrder.successor(ofPrefix: Array(high.prefix(limit)))
      interval.needsCheck = true
    }
    return interval
  }
}

extension Predicate {
  /// The stored bytes of the flat form, which are the same for equal conditions; nil if the
  /// condition cannot be stored.
  var storedForm: [UInt8]? {
    do { return try flattened.selector() } catch { return nil }
  }
}

/// The order in which an index contains the documents of a request.
package struct IndexOrder: Sendable, Equatable {
  /// Whether the index must be read backwards.
  package var isReversed: Bool
  /// The number of leading parts of the keys that give the order, if the index has further parts;
  /// nil if all do. Documents that agree in these parts are not in the order of their ids.
  package var leadingParts: Int?

  package init(isReversed: Bool, leadingParts: Int? = nil) {
    self.isReversed = isReversed
    self.leadingParts = leadingParts
  }
}
