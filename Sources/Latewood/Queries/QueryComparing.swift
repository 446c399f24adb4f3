import LatewoodQuery

/// An operand of conditions: a ``QueryField`` or an ``AnyQueryField``.
protocol QueryOperand {
  var path: Result<FieldPath, DatabaseError> { get }
}

extension QueryField: QueryOperand {}
extension AnyQueryField: QueryOperand {}

extension QueryOperand {
  func test(_ test: Result<FieldTest, DatabaseError>) -> QueryCondition {
    QueryCondition(path.flatMap { path in test.map { .field(path, $0) } })
  }

  func compare(_ comparison: Comparison, _ value: some Encodable) -> QueryCondition {
    test(QueryConstant.make(value).map { .compare(comparison, $0) })
  }

  /// Null equals both null and a missing member, because a nil optional is stored by omitting its
  /// member.
  func equals(_ value: some Encodable) -> QueryCondition {
    let constant = QueryConstant.make(value)
    if case .success(let constant) = constant, constant.isNull { return isNothing }
    return test(constant.map { .compare(.equal, $0) })
  }

  func isAmong(_ values: some Sequence<some Encodable>) -> QueryCondition {
    // Unlike in a selector, an array does not equal its elements.
    test(QueryConstant.all(values).map { .equalsAny(ConstantSet($0)) })
  }

  var isNothing: QueryCondition {
    test(.success(.exists)).negatedOr(test(.success(.hasType(.null))))
  }

  func begins(with prefix: String) -> QueryCondition {
    test(QueryConstant.make(prefix).map { .begins($0) })
  }

  func matchesExpression(_ text: String) -> QueryCondition {
    do throws(QueryError) {
      return test(.success(.matches(try Pattern(text))))
    } catch {
      return test(.failure(DatabaseError(.invalidParameter, error.description)))
    }
  }

  /// Returns a condition that compares the field with another one.
  func compare(_ comparison: Comparison, field other: some QueryOperand) -> QueryCondition {
    QueryCondition(path.flatMap { left in other.path.map { .fields(left, comparison, $0) } })
  }

  func elements(_ inner: QueryCondition, every: Bool) -> QueryCondition {
    switch path {
    case .failure(let error): QueryCondition(.failure(error))
    case .success(let path):
      inner.withoutText.wrapped { .field(path, every ? .everyElement($0) : .anyElement($0)) }
    }
  }
}

extension QueryCondition {
  /// The condition itself, unless it is on the words of a document, which elements do not have.
  fileprivate var withoutText: QueryCondition {
    guard case .success(let predicate) = predicate, predicate.hasText else { return self }
    return QueryCondition(
      .failure(
        DatabaseError(
          .invalidParameter, "a condition on the words of a document cannot be inside one on elements")))
  }

  fileprivate func negatedOr(_ other: QueryCondition) -> QueryCondition { !self || other }
}

// MARK: Typed fields

extension QueryField where Value: Encodable {
  /// Returns a condition that holds if the field has the value.
  public static func == (field: QueryField, value: Value) -> QueryCondition { field.equals(value) }
  /// Returns a condition that holds if the field has a different value, or none.
  public static func != (field: QueryField, value: Value) -> QueryCondition { !(field == value) }

  /// Returns a condition that holds if the field has one of the values.
  public func isIn(_ values: some Sequence<Value>) -> QueryCondition { isAmong(values) }
}

extension QueryField where Value: Encodable & Comparable {
  /// Returns a condition that holds if the field has a lesser value.
  public static func < (field: QueryField, value: Value) -> QueryCondition { field.compare(.less, value) }
  /// Returns a condition that holds if the field has this value or a lesser one.
  public static func <= (field: QueryField, value: Value) -> QueryCondition {
    field.compare(.lessOrEqual, value)
  }
  /// Returns a condition that holds if the field has a greater value.
  public static func > (field: QueryField, value: Value) -> QueryCondition { field.compare(.greater, value) }
  /// Returns a condition that holds if the field has this value or a greater one.
  public static func >= (field: QueryField, value: Value) -> QueryCondition {
    field.compare(.greaterOrEqual, value)
  }

  /// Returns a condition that holds if the value lies in the range.
  public func isIn(_ range: ClosedRange<Value>) -> QueryCondition {
    self >= range.lowerBound && self <= range.upperBound
  }

  /// Returns a condition that holds if the value lies in the half-open range.
  public func isIn(_ range: Range<Value>) -> QueryCondition {
    self >= range.lowerBound && self < range.upperBound
  }
}

extension QueryField {
  /// Returns a condition that holds if the field has the value.
  public static func == <Wrapped: Encodable>(
    field: QueryField, value: Wrapped
  ) -> QueryCondition where Value == Wrapped? { field.equals(value) }
  /// Returns a condition that holds if the field has a different value, or none.
  public static func != <Wrapped: Encodable>(
    field: QueryField, value: Wrapped
  ) -> QueryCondition where Value == Wrapped? { !field.equals(value) }

  /// Returns a condition that holds if the field is missing or null.
  public static func == <Wrapped>(
    field: QueryField, nothing: _OptionalNilComparisonType
  ) -> QueryCondition where Value == Wrapped? { field.isNothing }
  /// Returns a condition that holds if the field has a value other than null.
  public static func != <Wrapped>(
    field: QueryField, nothing: _OptionalNilComparisonType
  ) -> QueryCondition where Value == Wrapped? { !field.isNothing }

  /// Returns a condition that holds if the field has a lesser value.
  public static func < <Wrapped: Encodable & Comparable>(
    field: QueryField, value: Wrapped
  ) -> QueryCondition where Value == Wrapped? { field.compare(.less, value) }
  /// Returns a condition that holds if the field has this value or a lesser one.
  public static func <= <Wrapped: Encodable & Comparable>(
    field: QueryField, value: Wrapped
  ) -> QueryCondition where Value == Wrapped? { field.compare(.lessOrEqual, value) }
  /// Returns a condition that holds if the field has a greater value.
  public static func > <Wrapped: Encodable & Comparable>(
    field: QueryField, value: Wrapped
  ) -> QueryCondition where Value == Wrapped? { field.compare(.greater, value) }
  /// Returns a condition that holds if the field has this value or a greater one.
  public static func >= <Wrapped: Encodable & Comparable>(
    field: QueryField, value: Wrapped
  ) -> QueryCondition where Value == Wrapped? { field.compare(.greaterOrEqual, value) }
}

extension QueryField where Value == String {
  /// Returns a condition that holds if the string begins with the bytes of another.
  public func hasPrefix(_ prefix: String) -> QueryCondition { begins(with: prefix) }

  /// Holds where a regular expression matches anywhere in the string, in time proportional to its
  /// length. See <doc:FindingDocuments> for the syntax.
  public func matches(_ expression: String) -> QueryCondition { matchesExpression(expression) }
}

extension QueryField where Value == String? {
  /// Returns a condition that holds if the field is a string that begins with the bytes of another.
  public func hasPrefix(_ prefix: String) -> QueryCondition { begins(with: prefix) }

  /// Holds where there is a string in which a regular expression matches anywhere, in time
  /// proportional to its length. See <doc:FindingDocuments> for the syntax.
  public func matches(_ expression: String) -> QueryCondition { matchesExpression(expression) }
}

extension QueryField where Value: Sequence {
  /// Returns a condition that holds if an element equals a value.
  public func contains(_ element: Value.Element) -> QueryCondition where Value.Element: Encodable {
    array.elements(QueryField<Value.Element>(.success(.root)).compare(.equal, element), every: false)
  }

  /// Returns a condition that holds if an element meets a condition.
  public func contains(where condition: (QueryField<Value.Element>) -> QueryCondition) -> QueryCondition {
    array.elements(condition(QueryField<Value.Element>(.success(.root))), every: false)
  }

  /// Returns a condition that holds if there are elements, and all of them meet a condition.
  public func allSatisfy(_ condition: (QueryField<Value.Element>) -> QueryCondition) -> QueryCondition {
    array.elements(condition(QueryField<Value.Element>(.success(.root))), every: true)
  }

  /// Returns a condition that holds if the number of elements is `count`.
  public func hasCount(_ count: Int) -> QueryCondition { array.test(.success(.hasCount(count))) }
}

// MARK: Fields of any type

extension AnyQueryField {
  /// Returns a condition that holds if the field has the value. Numbers are compared by value,
  /// regardless of their type.
  public static func == (field: AnyQueryField, value: some Encodable) -> QueryCondition {
    field.equals(value)
  }
  /// Returns a condition that holds if the field has a different value, or none.
  public static func != (field: AnyQueryField, value: some Encodable) -> QueryCondition {
    !field.equals(value)
  }

  /// Returns a condition that holds if the field is missing or null.
  public static func == (field: AnyQueryField, nothing: _OptionalNilComparisonType) -> QueryCondition {
    field.isNothing
  }
  /// Returns a condition that holds if the field has a value other than null.
  public static func != (field: AnyQueryField, nothing: _OptionalNilComparisonType) -> QueryCondition {
    !field.isNothing
  }

  /// Returns a condition that holds if the value precedes the given one in the order of all values.
  public static func < (field: AnyQueryField, value: some Encodable) -> QueryCondition {
    field.compare(.less, value)
  }
  /// Returns a condition that holds if the value precedes the given one in the order of all values,
  /// or equals it.
  public static func <= (field: AnyQueryField, value: some Encodable) -> QueryCondition {
    field.compare(.lessOrEqual, value)
  }
  /// Returns a condition that holds if the value follows the given one in the order of all values.
  public static func > (field: AnyQueryField, value: some Encodable) -> QueryCondition {
    field.compare(.greater, value)
  }
  /// Returns a condition that holds if the value follows the given one in the order of all values,
  /// or equals it.
  public static func >= (field: AnyQueryField, value: some Encodable) -> QueryCondition {
    field.compare(.greaterOrEqual, value)
  }

  /// A condition that holds if the field is null. A missing field is not null.
  public var isNull: QueryCondition { test(.success(.hasType(.null))) }

  /// A condition that holds if the document does not have the field. A field that is null is not
  /// missing.
  public var isMissing: QueryCondition { !test(.success(.exists)) }

  /// Returns a condition that holds if the field has one of the values.
  public func isIn(_ values: some Sequence<some Encodable>) -> QueryCondition { isAmong(values) }

  /// Returns a condition that holds if the field is a string that begins with the bytes of another.
  public func hasPrefix(_ prefix: String) -> QueryCondition { begins(with: prefix) }

  /// Holds where the field is a string in which a regular expression matches anywhere, in time
  /// proportional to its length. See <doc:FindingDocuments> for the syntax.
  public func matches(_ expression: String) -> QueryCondition { matchesExpression(expression) }

  /// Returns a condition that holds if the field is an array with an element that equals a value.
  public func contains(_ element: some Encodable) -> QueryCondition {
    elements(AnyQueryField(.success(.root)).compare(.equal, element), every: false)
  }

  /// Returns a condition that holds if the field is an array with an element that meets a
  /// condition.
  public func contains(where condition: (AnyQueryField) -> QueryCondition) -> QueryCondition {
    elements(condition(AnyQueryField(.success(.root))), every: false)
  }
}
