import LatewoodFleece
import LatewoodQuery

/// A condition of a query, created by comparing a ``QueryField`` and combined with `&&`, `||` and
/// `!`.
///
/// A comparison with a field that a document does not have is always false; `!=` and `!` are the
/// opposite of that, as in Swift, where nil is not equal to 5.
public struct QueryCondition: Sendable {
  let predicate: Result<Predicate, DatabaseError>

  init(_ predicate: Result<Predicate, DatabaseError>) { self.predicate = predicate }

  private static func combine(
    _ left: QueryCondition, _ right: QueryCondition, _ make: ([Predicate]) -> Predicate
  ) -> QueryCondition {
    QueryCondition(
      left.predicate.flatMap { left in right.predicate.map { right in make([left, right]) } })
  }

  /// Returns a condition that holds if both conditions hold.
  public static func && (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    combine(left, right) { .all($0) }
  }

  /// Returns a condition that holds if at least one of the conditions holds.
  public static func || (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    combine(left, right) { .any($0) }
  }

  /// Returns a condition that holds if the given condition does not.
  public static prefix func ! (condition: QueryCondition) -> QueryCondition {
    QueryCondition(condition.predicate.map { .not($0) })
  }
}

/// Converts values to compare with into their stored form.
enum QueryConstant {
  static func make<Value: Encodable>(_ value: Value) -> Result<Constant, DatabaseError> {
    // Common types need no encoder.
    if Value.self == Int.self, let integer = value as? Int { return .success(Constant(Int64(integer))) }
    if Value.self == String.self, let text = value as? String, text.utf8.count <= plainLength {
      return .success(Constant(text))
    }
    if Value.self == Bool.self, let boolean = value as? Bool { return .success(Constant(boolean)) }
    do {
      return .success(try Constant(fleece: FleeceEncoder(special: SpecialTypes()).encode(value)))
    } catch {
      return .failure(
        DatabaseError(
          .invalidParameter, "a query cannot compare with \(value): it cannot be stored (\(error))"))
    }
  }

  /// The maximum length of a string that needs no check of its length, in bytes.
  private static let plainLength = 4096

  static func all(_ values: some Sequence<some Encodable>) -> Result<[Constant], DatabaseError> {
    var constants: [Constant] = []
    for value in values {
      switch make(value) {
      case .success(let constant): constants.append(constant)
      case .failure(let error): return .failure(error)
      }
    }
    return .success(constants)
  }
}
