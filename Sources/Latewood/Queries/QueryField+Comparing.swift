import LatewoodQuery

// MARK: Fields compared with each other

extension QueryField where Value: Encodable {
  /// Returns a condition that holds if the two fields have the same value. Fields that are
  /// missing or null are equal.
  public static func == (left: QueryField, right: QueryField) -> QueryCondition {
    left.compare(.equal, field: right)
  }
  /// Returns a condition that holds if the two fields have different values. Fields that are
  /// missing or null are equal.
  public static func != (left: QueryField, right: QueryField) -> QueryCondition {
    left.compare(.notEqual, field: right)
  }
}

/// A field that is missing or null is neither less nor greater than another one.
extension QueryField where Value: Encodable & Comparable {
  /// Returns a condition that holds if the field is less than another field.
  public static func < (left: QueryField, right: QueryField) -> QueryCondition {
    left.compare(.less, field: right)
  }
  /// Returns a condition that holds if the field is less than another field, or equals it.
  public static func <= (left: QueryField, right: QueryField) -> QueryCondition {
    left.compare(.lessOrEqual, field: right)
  }
  /// Returns a condition that holds if the field is greater than another field.
  public static func > (left: QueryField, right: QueryField) -> QueryCondition {
    left.compare(.greater, field: right)
  }
  /// Returns a condition that holds if the field is greater than another field, or equals it.
  public static func >= (left: QueryField, right: QueryField) -> QueryCondition {
    left.compare(.greaterOrEqual, field: right)
  }
}

extension QueryField {
  /// Returns a condition that holds if the field is less than another field.
  public static func < <Wrapped: Encodable & Comparable>(
    left: QueryField, right: QueryField
  ) -> QueryCondition where Value == Wrapped? { left.compare(.less, field: right) }
  /// Returns a condition that holds if the field is less than another field, or equals it.
  public static func <= <Wrapped: Encodable & Comparable>(
    left: QueryField, right: QueryField
  ) -> QueryCondition where Value == Wrapped? { left.compare(.lessOrEqual, field: right) }
  /// Returns a condition that holds if the field is greater than another field.
  public static func > <Wrapped: Encodable & Comparable>(
    left: QueryField, right: QueryField
  ) -> QueryCondition where Value == Wrapped? { left.compare(.greater, field: right) }
  /// Returns a condition that holds if the field is greater than another field, or equals it.
  public static func >= <Wrapped: Encodable & Comparable>(
    left: QueryField, right: QueryField
  ) -> QueryCondition where Value == Wrapped? { left.compare(.greaterOrEqual, field: right) }
}

/// A field that is missing or null is neither less nor greater than another one.
extension AnyQueryField {
  /// Returns a condition that holds if the two fields have the same value. Fields that are
  /// missing or null are equal.
  public static func == (left: AnyQueryField, right: AnyQueryField) -> QueryCondition {
    left.compare(.equal, field: right)
  }
  /// Returns a condition that holds if the two fields have different values. Fields that are
  /// missing or null are equal.
  public static func != (left: AnyQueryField, right: AnyQueryField) -> QueryCondition {
    left.compare(.notEqual, field: right)
  }
  /// Returns a condition that holds if the field is less than another field.
  public static func < (left: AnyQueryField, right: AnyQueryField) -> QueryCondition {
    left.compare(.less, field: right)
  }
  /// Returns a condition that holds if the field is less than another field, or equals it.
  public static func <= (left: AnyQueryField, right: AnyQueryField) -> QueryCondition {
    left.compare(.lessOrEqual, field: right)
  }
  /// Returns a condition that holds if the field is greater than another field.
  public static func > (left: AnyQueryField, right: AnyQueryField) -> QueryCondition {
    left.compare(.greater, field: right)
  }
  /// Returns a condition that holds if the field is greater than another field, or equals it.
  public static func >= (left: AnyQueryField, right: AnyQueryField) -> QueryCondition {
    left.compare(.greaterOrEqual, field: right)
  }
}

// MARK: Boolean fields as conditions

extension QueryField where Value == Bool {
  /// Returns a condition that holds if the field is not true.
  public static prefix func ! (field: QueryField) -> QueryCondition { !(field == true) }
  /// Returns a condition that holds if both fields are true.
  public static func && (left: QueryField, right: QueryField) -> QueryCondition {
    left == true && right == true
  }
  /// Returns a condition that holds if the field is true and the condition holds.
  public static func && (left: QueryField, right: QueryCondition) -> QueryCondition {
    left == true && right
  }
  /// Returns a condition that holds if the condition holds and the field is true.
  public static func && (left: QueryCondition, right: QueryField) -> QueryCondition {
    left && right == true
  }
  /// Returns a condition that holds if at least one of the fields is true.
  public static func || (left: QueryField, right: QueryField) -> QueryCondition {
    left == true || right == true
  }
  /// Returns a condition that holds if the field is true or the condition holds.
  public static func || (left: QueryField, right: QueryCondition) -> QueryCondition {
    left == true || right
  }
  /// Returns a condition that holds if the condition holds or the field is true.
  public static func || (left: QueryCondition, right: QueryField) -> QueryCondition {
    left || right == true
  }
}
