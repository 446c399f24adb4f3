import LatewoodDocuments

/// The way in which a view combines the values of many rows into one.
public struct ViewReduction: Sendable {
  enum Kind: Sendable {
    case none, count, sum, stats
    case custom(
      reduce: @Sendable ([ViewRow]) throws -> DocumentValue,
      rereduce: @Sendable ([DocumentValue]) throws -> DocumentValue)
  }

  let kind: Kind

  /// No reduction: rows are not combined. They can still be counted.
  public static let none = ViewReduction(kind: .none)
  /// The number of rows, from the counts in the tree: O(log n) for a range.
  public static let count = ViewReduction(kind: .count)
  /// The sum of the values, from sums that are kept with the rows: expected O(log n) for a range. A
  /// map that emits a value other than a finite number fails.
  public static let sum = ViewReduction(kind: .sum)
  /// The sum, number, minimum, maximum and sum of squares of the values: see ``ViewStatistics``. It
  /// costs as much as ``sum``. A map that emits a value other than a finite number fails.
  public static let stats = ViewReduction(kind: .stats)

  /// The maximum number of rows, or of results, in one call of a closure of
  /// ``custom(reduce:rereduce:)``.
  public static let customLimit = 100

  /// Creates a custom reduction. Its results are not stored: each query computes them from the rows
  /// of its range, with at most 100 rows in memory for each of O(log n) levels.
  ///
  /// - Parameters:
  ///   - reduce: combines 1 to 100 consecutive rows.
  ///   - rereduce: combines 2 to 100 results of either closure, in order.
  public static func custom(
    reduce: @escaping @Sendable (_ rows: [ViewRow]) throws -> DocumentValue,
    rereduce: @escaping @Sendable (_ values: [DocumentValue]) throws -> DocumentValue
  ) -> ViewReduction {
    ViewReduction(kind: .custom(reduce: reduce, rereduce: rereduce))
  }

  var stored: StoredReduction {
    switch kind {
    case .none: .none
    case .count: .count
    case .sum: .sum
    case .stats: .stats
    case .custom: .custom
    }
  }
}

extension ViewStatistics {
  /// The statistics under the names of CouchDB's `_stats`.
  var documentValue: DocumentValue {
    [
      "sum": number(sum), "count": DocumentValue(count), "min": min.map(number) ?? .null,
      "max": max.map(number) ?? .null, "sumsqr": number(sumOfSquares),
    ]
  }
}

/// Returns a number in the form in which documents hold it: a whole number as an integer.
func number(_ value: Double) -> DocumentValue {
  if let whole = Int64(exactly: value) {
    DocumentValue(.integer(whole))
  } else {
    DocumentValue(.double(value))
  }
}

/// Reduces any number of rows, with few in memory.
struct CustomReduction {
  let reduce: @Sendable ([ViewRow]) throws -> DocumentValue
  let rereduce: @Sendable ([DocumentValue]) throws -> DocumentValue
  private var rows: [ViewRow] = []
  /// The results that wait to be combined. All results of one level represent the same number of
  /// rows.
  private var levels: [[DocumentValue]] = []

  init(
    _ reduce: @escaping @Sendable ([ViewRow]) throws -> DocumentValue,
    _ rereduce: @escaping @Sendable ([DocumentValue]) throws -> DocumentValue
  ) {
    self.reduce = reduce
    self.rereduce = rereduce
  }

  mutating func add(_ row: ViewRow) throws {
    rows.append(row)
    if rows.count == ViewReduction.customLimit { try flush() }
  }

  private mutating func flush() throws {
    var result = try reduce(rows)
    rows.removeAll(keepingCapacity: true)
    var level = 0
    while true {
      if level == levels.count { levels.append([]) }
      levels[level].append(result)
      guard levels[level].count == ViewReduction.customLimit else { return }
      result = try rereduce(levels[level])
      levels[level] = []
      level += 1
    }
  }

  /// Returns the result; null if there were no rows.
  mutating func finish() throws -> DocumentValue {
    if !rows.isEmpty { try flush() }
    var result: DocumentValue?
    for level in levels {
      let parts = level + (result.map { [$0] } ?? [])
      // Earlier rows are in higher levels, so the result so far is the last part.
      result = parts.count > 1 ? try rereduce(parts) : parts.first ?? result
    }
    return result ?? .null
  }
}
