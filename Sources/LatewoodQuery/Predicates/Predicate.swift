import LatewoodFleece

/// A condition on a document, or on a value inside one: the common form of selectors and other
/// query languages.
///
/// Except for `isMissing`, a test of a field is false if the path does not lead to a value. So
/// `not` of a test differs from the opposite test; the negations of a selector are moved down to
/// its tests by the parser.
package enum Predicate: Sendable {
  case always(Bool)
  case all([Predicate])
  case any([Predicate])
  indirect case not(Predicate)
  case field(FieldPath, FieldTest)
  /// Compares two fields. A field that is missing or null equals another such field. It differs
  /// from all other values, but is neither less nor greater.
  indirect case fields(FieldPath, Comparison, FieldPath)
  /// The words of a document, by the rules of a full-text index. Only conditions on whole documents
  /// contain this case.
  indirect case text(TextCondition)
}

extension Predicate {
  /// The same condition without an `all` in an `all`, or an `any` in an `any`: the form of
  /// conditions joined one by one does not depend on how they were joined.
  var flattened: Predicate {
    switch self {
    case .all(let parts):
      .all(
        parts.flatMap { part in
          let part = part.flattened
          if case .all(let inner) = part { return inner }
          return [part]
        })
    case .any(let parts):
      .any(
        parts.flatMap { part in
          let part = part.flattened
          if case .any(let inner) = part { return inner }
          return [part]
        })
    case .not(let part): .not(part.flattened)
    case .field(let path, let test): .field(path, test.flattened)
    case .always, .fields, .text: self
    }
  }
}

extension Predicate {
  /// The names of the members of documents that the condition tests, in order, each once.
  package var memberNames: [String] {
    var names: [String] = []
    func add(_ path: FieldPath) {
      if let name = path.steps.first?.name, !names.contains(name) { names.append(name) }
    }
    func visit(_ predicate: Predicate) {
      switch predicate {
      case .always, .text: break
      case .all(let parts), .any(let parts): for part in parts { visit(part) }
      case .not(let part): visit(part)
      case .field(let path, _): add(path)
      case .fields(let left, _, let right):
        add(left)
        add(right)
      }
    }
    visit(self)
    return names
  }
}

extension FieldTest {
  fileprivate var flattened: FieldTest {
    switch self {
    case .anyElement(let predicate): .anyElement(predicate.flattened)
    case .everyElement(let predicate): .everyElement(predicate.flattened)
    case .anyKey(let predicate): .anyKey(predicate.flattened)
    case .fails(let test): .fails(test.flattened)
    default: self
    }
  }
}

/// A test of the value at a path.
package indirect enum FieldTest: Sendable {
  case compare(Comparison, Constant)
  /// The value, or an element if it is an array, equals one of the constants.
  case isAmong(ConstantSet)
  /// The value equals one of the constants. An array does not equal its elements.
  case equalsAny(ConstantSet)
  case exists
  /// An object on the path lacks the member. As in CouchDB, the test is false if a value on the
  /// path is not an object.
  case isMissing
  case hasType(ValueType)
  /// An array with this number of elements.
  case hasCount(Int)
  /// An array whose number of elements compares in this way with a number.
  case countIs(Comparison, Int)
  /// A string whose number of characters, as Swift counts them, compares in this way with a number.
  case lengthIs(Comparison, Int)
  /// An integer with this remainder, which has the sign of the integer.
  case hasRemainder(Int64, modulo: Int64)
  case begins(Constant)
  case matches(Pattern)
  /// An array that contains all of these constants; or, if the only constant is an array, that
  /// array.
  case containsAll(ConstantSet)
  case anyElement(Predicate)
  /// An array with at least one element, all of which match.
  case everyElement(Predicate)
  /// An object with a member whose name matches.
  case anyKey(Predicate)
  /// The path leads to a value for which the test is false.
  case fails(FieldTest)
}

package enum Comparison: Sendable, CaseIterable {
  case less, lessOrEqual, equal, notEqual, greaterOrEqual, greater

  package func accepts(_ order: Int) -> Bool {
    switch self {
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .equal: order == 0
    case .notEqual: order != 0
    case .greaterOrEqual: order >= 0
    case .greater: order > 0
    }
  }

  var opposite: Comparison {
    switch self {
    case .less: .greaterOrEqual
    case .lessOrEqual: .greater
    case .equal: .notEqual
    case .notEqual: .equal
    case .greaterOrEqual: .less
    case .greater: .lessOrEqual
    }
  }
}

/// The types that a query can test for, by their names in selectors.
package enum ValueType: String, Sendable, CaseIterable {
  case null, boolean, number, string, data, array, object

  init(_ value: FleeceValue) {
    switch CollationTag(value) {
    case .missing, .null: self = .null
    case .no, .yes: self = .boolean
    case .number: self = .number
    case .string: self = .string
    case .data: self = .data
    case .array: self = .array
    case .object: self = .object
    }
  }
}
