import LatewoodFleece

/// Predicates for expressions, which find documents without evaluating the expression for each.
///
/// A predicate is true exactly when its expression is true. Its negation also includes null and
/// missing, so there is a separate predicate for "false": see `wanted`.
extension SQLExpression {
  /// The origin of an expression's paths.
  enum Subject: Equatable {
    case document
    case variable(Int)
  }

  /// Returns the predicate that is true exactly for the documents, or elements, for which the
  /// expression is `wanted`; nil if there is none.
  func predicate(where wanted: Bool, of subject: Subject = .document) -> Predicate? {
    switch self {
    case .literal(.boolean(let value)): return .always(value == wanted)
    case .literal(.null), .literal(.missing): return .always(false)
    case .words(.match(let index, let query)) where subject == .document:
      let condition = Predicate.text(TextCondition(index: index, .query(query)))
      return wanted ? condition : .not(condition)
    case .not(let inner): return inner.predicate(where: !wanted, of: subject)
    case .all(let parts): return SQLExpression.joined(parts, wanted, subject, byAll: wanted)
    case .any(let parts): return SQLExpression.joined(parts, wanted, subject, byAll: !wanted)
    case .compare(let comparison, let left, let right):
      let asked = wanted ? comparison : comparison.opposite
      if let path = left.path(from: subject), let literal = right.literal {
        return SQLExpression.compare(asked, path, literal)
      }
      guard let path = right.path(from: subject), let literal = left.literal else { return nil }
      return SQLExpression.compare(asked.mirrored, path, literal)
    case .between(let value, let low, let high):
      guard let path = value.path(from: subject), let low = low.literal, let high = high.literal,
        let first = SQLExpression.compare(wanted ? .greaterOrEqual : .less, path, low),
        let second = SQLExpression.compare(wanted ? .lessOrEqual : .greater, path, high)
      else { return nil }
      return wanted ? .all([first, second]) : .any([first, second])
    case .test(let test, let value): return value.path(from: subject).flatMap { test.predicate($0, wanted) }
    case .like(let value, let pattern):
      guard wanted, let path = value.path(from: subject), case .string(let text)? = pattern.literal else {
        return nil
      }
      return SQLExpression.like(path, SQLPattern(text), exactly: true)
    case .among(let value, let list):
      guard wanted, let path = list.path(from: subject), let literal = value.literal else { return nil }
      return SQLExpression.contains(path, literal)
    case .amongConstants(let value, let constants):
      return value.path(from: subject).flatMap { constants.predicate($0, wanted) }
    case .call(.arrayContains, let arguments):
      guard wanted, let path = arguments[0].path(from: subject), let literal = arguments[1].literal else {
        return nil
      }
      return SQLExpression.contains(path, literal)
    case .quantified(let quantifier, let variable, let array, let condition):
      guard wanted, let path = array.path(from: subject),
        let inner = condition.predicate(where: true, of: .variable(variable))
      else { return nil }
      switch quantifier {
      case .any: return .field(path, .anyElement(inner))
      case .anyAndEvery: return .field(path, .everyElement(inner))
      case .every: return .any([.field(path, .hasCount(0)), .field(path, .everyElement(inner))])
      }
    default: return nil
    }
  }

  /// Returns a predicate that narrows the search: it is true for all documents for which the
  /// expression is true, and possibly for others.
  func hint(of subject: Subject = .document) -> Predicate? {
    if let exact = predicate(where: true, of: subject) { return exact }
    switch self {
    case .all(let parts):
      let hints = parts.compactMap { $0.hint(of: subject) }
      return hints.count == 1 ? hints[0] : hints.isEmpty ? nil : .all(hints)
    case .any(let parts):
      let hints = parts.compactMap { $0.hint(of: subject) }
      return hints.count == parts.count ? .any(hints) : nil
    case .quantified(let quantifier, let variable, let array, let condition):
      guard quantifier != .every, let path = array.path(from: subject),
        let inner = condition.hint(of: .variable(variable))
      else { return nil }
      return .field(path, .anyElement(inner))
    case .like(let value, let pattern):
      guard let path = value.path(from: subject), case .string(let text)? = pattern.literal else {
        return nil
      }
      return SQLExpression.like(path, SQLPattern(text), exactly: false)
    default: return nil
    }
  }

  /// Returns the path with which predicates obtain the same value; nil if it does not exist.
  func path(from subject: Subject) -> FieldPath? {
    switch self {
    case .fact(.id) where subject == .document: return FieldPath("_id")
    case .fact(.revisionID) where subject == .document: return FieldPath("_rev")
    case .document(let steps) where subject == .document:
      guard let path = SQLExpression.path(steps) else { return nil }
      // These names have another meaning in predicates.
      return path.steps.count == 1 && ["_id", "_rev"].contains(path.steps[0].name) ? nil : path
    case .variable(let index, let steps) where subject == .variable(index): return SQLExpression.path(steps)
    default: return nil
    }
  }

  private static func path(_ steps: [SQLStep]) -> FieldPath? {
    var path = FieldPath.root
    for step in steps {
      // In a predicate's path, a number may be both a name and an index.
      guard case .member(let name) = step, name.index == nil else { return nil }
      path.steps.append(name)
    }
    return path
  }

  // MARK: Parts

  private static func joined(
    _ parts: [SQLExpression], _ wanted: Bool, _ subject: Subject, byAll: Bool
  ) -> Predicate? {
    var predicates: [Predicate] = []
    for part in parts {
      guard let predicate = part.predicate(where: wanted, of: subject) else { return nil }
      predicates.append(predicate)
    }
    return byAll ? .all(predicates) : .any(predicates)
  }

  private static func constant(_ literal: SQLLiteral) -> Constant? {
    do {
      var writer = FleeceWriter()
      try literal.write(to: &writer)
      return try Constant(fleece: writer.finish())
    } catch {
      return nil
    }
  }

  /// A test for values other than null and missing, which sort before all others.
  static let isValued: FieldTest? = constant(.null).map { .compare(.greater, $0) }

  private static func compare(
    _ comparison: Comparison, _ path: FieldPath, _ literal: SQLLiteral
  ) -> Predicate? {
    if !literal.isValued { return .always(false) }
    guard let constant = constant(literal) else { return nil }
    let test = Predicate.field(path, .compare(comparison, constant))
    switch comparison {
    case .equal, .greater, .greaterOrEqual: return test
    // Null sorts before all other values, but is not less than any.
    case .less, .lessOrEqual, .notEqual: return isValued.map { .all([test, .field(path, $0)]) }
    }
  }

  /// Returns the predicate for an array that contains an element.
  private static func contains(_ path: FieldPath, _ literal: SQLLiteral) -> Predicate? {
    if !literal.isValued { return .always(false) }
    return constant(literal).map { .field(path, .anyElement(.field(.root, .compare(.equal, $0)))) }
  }

  private static func like(_ path: FieldPath, _ pattern: SQLPattern, exactly: Bool) -> Predicate? {
    let (text, rest) = pattern.beginning
    guard let constant = constant(.string(text)) else { return nil }
    switch rest {
    case .nothing: return .field(path, .compare(.equal, constant))
    case .anything: return .field(path, .begins(constant))
    case .more: return exactly || text.isEmpty ? nil : .field(path, .begins(constant))
    }
  }
}

extension Predicate {
  /// Returns the condition that a field has a value other than null.
  package static func isValued(_ path: FieldPath) -> Predicate? {
    SQLExpression.isValued.map { .field(path, $0) }
  }
}

extension SQLTest {
  /// Returns the predicate for a test of a path with the result `wanted`. In a statement, any path
  /// that does not lead to a value is missing.
  fileprivate func predicate(_ path: FieldPath, _ wanted: Bool) -> Predicate? {
    let isNull = Predicate.field(path, .hasType(.null))
    let isThere = Predicate.field(path, .exists)
    guard let isValued = SQLExpression.isValued.map({ Predicate.field(path, $0) }) else { return nil }
    switch (self, wanted) {
    case (.isNull, true), (.isNotNull, false): return isNull
    case (.isNull, false), (.isNotNull, true), (.isValued, true), (.isNotValued, false): return isValued
    case (.isMissing, true), (.isNotMissing, false): return .not(isThere)
    case (.isMissing, false), (.isNotMissing, true): return isThere
    case (.isValued, false), (.isNotValued, true): return .not(isValued)
    }
  }
}

extension Comparison {
  /// The comparison that is equivalent with its operands exchanged.
  var mirrored: Comparison {
    switch self {
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .equal: .equal
    case .notEqual: .notEqual
    case .greaterOrEqual: .lessOrEqual
    case .greater: .less
    }
  }
}

extension SQLLiteral {
  var isValued: Bool {
    switch self {
    case .missing, .null: false
    default: true
    }
  }
}
