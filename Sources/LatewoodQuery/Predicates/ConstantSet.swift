import LatewoodFleece

/// Values to compare with, sorted once. A value is found among `n` of them in O(log n) comparisons.
package struct ConstantSet: Sendable {
  /// The values in their original order, which a stored selector repeats.
  package let listed: [Constant]
  /// The distinct values, in order.
  let sorted: [Constant]
  /// Whether a value is an array or an object, which are compared by their keys.
  private let hasCollections: Bool

  /// O(n log n) for `n` values.
  package init(_ constants: [Constant]) {
    listed = constants
    var distinct: [Constant] = []
    distinct.reserveCapacity(constants.count)
    for constant in constants.sorted(by: { Constant.order($0.key, $1.key) < 0 })
    where distinct.last?.key != constant.key {
      distinct.append(constant)
    }
    sorted = distinct
    hasCollections = distinct.last.map { $0.tag >= .array } ?? false
  }

  /// Returns whether a value equals one of the values.
  func contains(_ value: FleeceValue) throws(FleeceError) -> Bool { try place(of: value) != nil }

  /// Returns whether an array contains all of the values. O(elements x log n).
  func areAll(in array: FleeceArray) throws(FleeceError) -> Bool {
    if array.count < sorted.count { return false }
    var found = [Bool](repeating: false, count: sorted.count)
    var rest = sorted.count
    for index in 0..<array.count where rest > 0 {
      guard let place = try place(of: array.value(at: index)), !found[place] else { continue }
      found[place] = true
      rest -= 1
    }
    return rest == 0
  }

  /// Returns the index in `sorted` of the value that another one equals; nil if there is none.
  private func place(of value: FleeceValue) throws(FleeceError) -> Int? {
    if CollationTag(value) >= .array {
      if !hasCollections { return nil }
      // One key for all comparisons.
      var key = CollationKey()
      try key.append(value)
      return place(ofKey: key.bytes)
    }
    return try place { constant throws(FleeceError) in try constant.compare(value) }
  }

  /// Returns the index in `sorted` of the value with a collation key; nil if there is none.
  func place(ofKey key: [UInt8]) -> Int? { place { constant in Constant.order(key, constant.key) } }

  /// Returns the index in `sorted` of a value by at most log n + 1 comparisons; nil if it is not
  /// there.
  ///
  /// - Parameter compare: returns a number less than, equal to or greater than zero if the wanted
  ///   value is less than, equal to or greater than a constant.
  func place<E: Error>(by compare: (Constant) throws(E) -> Int) throws(E) -> Int? {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      let order = try compare(sorted[middle])
      if order == 0 { return middle }
      if order < 0 { high = middle } else { low = middle + 1 }
    }
    return nil
  }
}

extension Predicate {
  /// More equalities of one field than this in an `any` become one test.
  static let equalityLimit = 8
  /// The number of nested conditions in which equalities are looked for.
  private static let joiningDepth = 8

  /// Makes one test of a sorted set of values of many equalities of one field. O(parts).
  ///
  /// ```
  /// year == 1975 || year == 1976 || ...        year is equal to one of {1975, 1976, ...}
  /// ```
  package mutating func joinEqualities() {
    if mayJoin(Predicate.joiningDepth) { self = joined(Predicate.joiningDepth) }
  }

  /// Returns whether an `any` has enough parts. Most predicates have none, and are not copied.
  private func mayJoin(_ depth: Int) -> Bool {
    switch self {
    case .always, .field, .fields, .text: return false
    case .not(let part): return depth > 0 && part.mayJoin(depth - 1)
    case .any(let parts) where parts.count > Predicate.equalityLimit: return true
    case .all(let parts), .any(let parts):
      return depth > 0
        && parts.withUnsafeBufferPointer { parts in
          // Simple conditions are not copied.
          for index in parts.indices {
            switch parts[index] {
            case .always, .field, .fields, .text: continue
            case .not, .all, .any: if parts[index].mayJoin(depth - 1) { return true }
            }
          }
          return false
        }
    }
  }

  private func joined(_ depth: Int) -> Predicate {
    if depth == 0 { return self }
    switch self {
    case .always, .field, .fields, .text: return self
    case .not(let part): return .not(part.joined(depth - 1))
    case .all(let parts): return .all(parts.map { $0.joined(depth - 1) })
    case .any(let parts): return Predicate.joined(parts.map { $0.joined(depth - 1) })
    }
  }

  private static func joined(_ parts: [Predicate]) -> Predicate {
    var values: [FieldPath: [Constant]] = [:]
    for case .field(let path, .compare(.equal, let constant)) in parts {
      values[path, default: []].append(constant)
    }
    var rest: [Predicate] = []
    for part in parts {
      guard case .field(let path, .compare(.equal, _)) = part, let constants = values[path],
        constants.count > equalityLimit || constants.isEmpty
      else {
        rest.append(part)
        continue
      }
      // The set takes the place of the first of its equalities.
      if !constants.isEmpty { rest.append(.field(path, .equalsAny(ConstantSet(constants)))) }
      values[path] = []
    }
    return rest.count == 1 ? rest[0] : .any(rest)
  }
}
