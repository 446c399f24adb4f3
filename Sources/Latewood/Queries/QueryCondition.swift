import LatewoodFleece
import LatewoodQuery

/// A condition of a query, created by comparing a ``QueryField`` and combined with `&&`, `||` and
/// `!`.
///
/// A comparison with a field that a document does not have is always false; `!=` and `!` are the
/// opposite of that, as in Swift, where nil is not equal to 5.
///
/// Any number of conditions can be joined by `||`, or by `&&`, also one by one in a loop.
/// Conditions inside each other, such as an `||` in an `&&` in an `||`, may be 100 levels deep; a
/// query with a deeper one throws ``DatabaseError`` `invalidParameter`.
public struct QueryCondition: Sendable {
  private enum Form {
    case single(Predicate)
    /// A few conditions, all or any of which must hold.
    case few([Predicate], all: Bool)
    case many(JoinedConditions)
    /// Indirect, so that copies of a condition are cheap.
    indirect case failed(DatabaseError)
  }

  /// The maximum number of conditions inside each other.
  static let depthLimit = 100
  /// More conditions than this are joined without copying them.
  private static let fewLimit = 8

  private let form: Form
  /// The number of levels of conditions inside each other.
  private let depth: Int

  /// - Parameter depth: the number of levels of conditions in the predicate.
  init(_ predicate: Result<Predicate, DatabaseError>, depth: Int = 1) {
    self.depth = depth
    switch predicate {
    case .success(let predicate):
      form = depth > QueryCondition.depthLimit ? .failed(QueryCondition.tooDeep) : .single(predicate)
    case .failure(let error): form = .failed(error)
    }
  }

  private init(_ form: Form, depth: Int) {
    self.depth = depth
    self.form = depth > QueryCondition.depthLimit ? .failed(QueryCondition.tooDeep) : form
  }

  private static var tooDeep: DatabaseError {
    DatabaseError(
      .invalidParameter, "conditions of a query are nested more than \(depthLimit) levels deep",
      advice: "Join conditions by one operator, or test a list with isIn.")
  }

  /// The predicate of the condition. O(conditions).
  var predicate: Result<Predicate, DatabaseError> {
    switch form {
    case .single(let predicate): .success(predicate)
    case .few(let parts, let isAll): .success(isAll ? .all(parts) : .any(parts))
    case .many(let conditions): .success(conditions.predicate)
    case .failed(let error): .failure(error)
    }
  }

  /// Joins two conditions. O(1) amortized: conditions that are joined by one operator form one
  /// list.
  private static func join(_ left: QueryCondition, _ right: QueryCondition, all: Bool) -> QueryCondition {
    if case .single(let first) = left.form, case .single(let second) = right.form {
      return QueryCondition(.few([first, second], all: all), depth: max(left.depth, right.depth) + 1)
    }
    if case .failed = left.form { return left }
    if case .failed = right.form { return right }
    let depth = max(left.depth(inside: all), right.depth(inside: all)) + 1
    if let first = left.few(all), let second = right.few(all), first.count + second.count <= fewLimit {
      return QueryCondition(.few(first + second, all: all), depth: depth)
    }
    guard let first = left.part(all), let second = right.part(all) else { return left }
    return QueryCondition(.many(JoinedConditions(first, second, all: all)), depth: depth)
  }

  /// The levels below an operator, to which the conditions of this one are added.
  private func depth(inside all: Bool) -> Int {
    switch form {
    case .few(_, all): depth - 1
    case .many(let conditions) where conditions.isAll == all: depth - 1
    default: depth
    }
  }

  /// The conditions that become part of a list; nil if there are many.
  private func few(_ all: Bool) -> [Predicate]? {
    switch form {
    case .single(let predicate): [predicate]
    case .few(let parts, let isAll): isAll == all ? parts : [isAll ? .all(parts) : .any(parts)]
    case .many(let conditions): conditions.isAll == all ? nil : [conditions.predicate]
    case .failed: nil
    }
  }

  private func part(_ all: Bool) -> JoinedConditions.Part? {
    if case .many(let conditions) = form, conditions.isAll == all { return .joined(conditions) }
    return few(all).map { .few($0) }
  }

  /// Returns a condition that holds if both conditions hold.
  public static func && (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    join(left, right, all: true)
  }

  /// Returns a condition that holds if at least one of the conditions holds.
  public static func || (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    join(left, right, all: false)
  }

  /// Returns a condition that holds if the given condition does not.
  public static prefix func ! (condition: QueryCondition) -> QueryCondition {
    if case .single(.not(let inner)) = condition.form {
      return QueryCondition(.single(inner), depth: condition.depth - 1)
    }
    return condition.wrapped { .not($0) }
  }

  /// Returns a condition around this one.
  func wrapped(_ make: (Predicate) -> Predicate) -> QueryCondition {
    QueryCondition(predicate.map(make), depth: depth + 1)
  }
}

/// Many conditions joined by one operator: a tree whose leaves are its conditions in order. It
/// shares the lists that it was made of, so that joining copies none.
///
/// The tree of conditions that were joined in a loop is as deep as the loop is long, so nothing
/// here recurses.
// SAFETY: only `deinit` changes a part, of this object or of one that nothing else refers to.
private final class JoinedConditions: @unchecked Sendable {
  enum Part {
    case few([Predicate])
    case joined(JoinedConditions)
  }

  let isAll: Bool
  private var left: Part
  private var right: Part

  init(_ left: Part, _ right: Part, all: Bool) {
    isAll = all
    self.left = left
    self.right = right
  }

  /// O(conditions).
  var predicate: Predicate {
    var parts: [Predicate] = []
    var open = [right, left]
    while let part = open.popLast() {
      switch part {
      case .few(let more): parts += more
      case .joined(let inner): open += [inner.right, inner.left]
      }
    }
    return isAll ? .all(parts) : .any(parts)
  }

  deinit {
    var open: [JoinedConditions] = []
    takeParts(into: &open)
    while var joined = open.popLast() {
      // Otherwise the last owner does this.
      if isKnownUniquelyReferenced(&joined) { joined.takeParts(into: &open) }
    }
  }

  private func takeParts(into open: inout [JoinedConditions]) {
    if case .joined(let inner) = left { open.append(inner) }
    if case .joined(let inner) = right { open.append(inner) }
    left = .few([])
    right = .few([])
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
