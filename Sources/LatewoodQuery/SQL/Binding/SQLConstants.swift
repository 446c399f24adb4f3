import LatewoodFleece

/// The constant list of an IN, sorted once: a value is found in O(log n) comparisons.
struct SQLConstants: Sendable, Equatable {
  private let list: SQLLiteral
  private let values: ConstantSet
  /// Whether an element is null, which might equal any value.
  let hasUnknown: Bool

  /// Returns nil if an expression is not a constant array. O(n log n) for `n` elements.
  init?(_ expression: SQLExpression) {
    guard let list = expression.literal else { return nil }
    do throws(FleeceError) {
      guard case .element(let element) = list, try element.kind == .array, let count = try element.count()
      else { return nil }
      var constants: [Constant] = []
      constants.reserveCapacity(count)
      for index in 0..<count {
        if let value = try element.element(at: index) { constants.append(try Constant(value)) }
      }
      let valued = constants.filter { !$0.isNull }
      self.list = list
      values = ConstantSet(valued)
      hasUnknown = valued.count < constants.count
    } catch { return nil }
  }

  /// Returns whether a value is in the list, and the work of finding out: the number of bytes and
  /// comparisons.
  ///
  /// - Parameter key: the collation key of the value.
  func contains(_ key: [UInt8]) -> (isThere: Bool, work: Int) {
    var comparisons = 0
    let place = values.place { constant in
      comparisons += 1
      return Constant.order(key, constant.key)
    }
    return (place != nil, key.count + comparisons)
  }

  /// Returns the predicate that is true exactly where the value at a path is in the list, or is
  /// known not to be.
  ///
  /// - Parameter wanted: whether it must be in the list.
  func predicate(_ path: FieldPath, _ wanted: Bool) -> Predicate? {
    if wanted { return .field(path, .equalsAny(values)) }
    // An unknown element might equal the value.
    if hasUnknown { return .always(false) }
    guard let isValued = SQLExpression.isValued else { return nil }
    let others: [Predicate] =
      values.sorted.count > Predicate.equalityLimit
      ? [.field(path, .fails(.equalsAny(values)))]
      : values.sorted.map { .field(path, .compare(.notEqual, $0)) }
    return .all(others + [.field(path, isValued)])
  }

  static func == (left: SQLConstants, right: SQLConstants) -> Bool { left.list == right.list }
}
