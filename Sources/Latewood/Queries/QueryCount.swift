import LatewoodFleece
import LatewoodQuery

/// The number of elements of an array, or of characters of a text, in a condition of a query.
///
/// ```swift
/// let popular = movies.query(Movie.self).where { $0.cast.count > 2 && $0.title.count < 40 }
/// ```
///
/// If a document does not have the field, every comparison but `!=` is false.
public struct QueryCount: Sendable {
  private let field: AnyQueryField
  private let isText: Bool

  init(array field: AnyQueryField) { (self.field, isText) = (field, false) }
  init(text field: AnyQueryField) { (self.field, isText) = (field, true) }

  /// Returns a condition that holds if the number is equal.
  public static func == (count: QueryCount, number: Int) -> QueryCondition { count.compare(.equal, number) }
  /// Returns a condition that holds if the number is different, or there is none.
  public static func != (count: QueryCount, number: Int) -> QueryCondition { !(count == number) }
  /// Returns a condition that holds if the number is less.
  public static func < (count: QueryCount, number: Int) -> QueryCondition { count.compare(.less, number) }
  /// Returns a condition that holds if the number is less or equal.
  public static func <= (count: QueryCount, number: Int) -> QueryCondition {
    count.compare(.lessOrEqual, number)
  }
  /// Returns a condition that holds if the number is greater.
  public static func > (count: QueryCount, number: Int) -> QueryCondition { count.compare(.greater, number) }
  /// Returns a condition that holds if the number is greater or equal.
  public static func >= (count: QueryCount, number: Int) -> QueryCondition {
    count.compare(.greaterOrEqual, number)
  }

  private func compare(_ comparison: Comparison, _ number: Int) -> QueryCondition {
    let test: FieldTest =
      switch (isText, comparison) {
      case (true, _): .lengthIs(comparison, number)
      // The only comparison that can be the condition of an index.
      case (false, .equal): .hasCount(number)
      case (false, _): .countIs(comparison, number)
      }
    return field.test(.success(test))
  }
}

extension QueryField where Value: Sequence, Value.Element: Encodable {
  /// The number of elements, to compare with an integer.
  public var count: QueryCount { QueryCount(array: array) }

  /// A condition that holds if the array is empty. A missing field is not empty.
  public var isEmpty: QueryCondition { hasCount(0) }
}

extension QueryField where Value: Sequence {
  /// The field, if its type is stored as an array of its elements.
  var array: AnyQueryField {
    let isArray =
      !(Value.self is any RangeExpression.Type) && !(Value.self is any StringProtocol.Type)
      && !(Value.self is any ExpressibleByDictionaryLiteral.Type)
      && (Value.self as? any Decodable.Type).map { !Self.isSpecial($0) } ?? true
    if isArray { return AnyQueryField(path) }
    return AnyQueryField(
      .failure(
        DatabaseError(
          .invalidParameter, "a query cannot look into \(Value.self), which is not stored as an array",
          advice: "Compare the whole value, or store the part to compare as another member.")))
  }

  private static func isSpecial<Other: Decodable>(_ type: Other.Type) -> Bool {
    SpecialTypes().isSpecial(type)
  }
}

extension QueryField where Value == String {
  /// The number of characters, as Swift counts them, to compare with an integer. No index contains
  /// it.
  public var count: QueryCount { QueryCount(text: AnyQueryField(path)) }

  /// A condition that holds if the text is empty. A missing field is not empty.
  public var isEmpty: QueryCondition { self == "" }
}

extension QueryCondition {
  /// Returns a condition that holds if the condition does, or, for false, if it does not.
  public static func == (condition: QueryCondition, holds: Bool) -> QueryCondition {
    holds ? condition : !condition
  }
}
