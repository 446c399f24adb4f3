import LatewoodBytes

/// The functions of statements, by name.
///
/// Unless documented otherwise, the result is missing if an argument is missing, and null if one is
/// null or of a type that the function does not accept.
enum SQLFunction: String, CaseIterable, Sendable {
  // Strings
  case lower, upper, length, trim, ltrim, rtrim, contains, position, replace, substr, concat
  // Numbers
  case abs, sign, ceil, floor, trunc, round, sqrt, div, idiv
  // Several values
  case greatest, least
  // Arrays
  case arrayLength = "array_length"
  case arrayContains = "array_contains"
  case arrayCount = "array_count"
  case arraySum = "array_sum"
  case arrayAverage = "array_avg"
  case arrayLeast = "array_min"
  case arrayGreatest = "array_max"
  // Types; these accept null and missing
  case isArray = "isarray"
  case isAtom = "isatom"
  case isBoolean = "isboolean"
  case isNumber = "isnumber"
  case isObject = "isobject"
  case isString = "isstring"
  case type
  case toBoolean = "toboolean"
  case toNumber = "tonumber"
  case toString = "tostring"
  // Null and missing
  case ifMissing = "ifmissing"
  case ifNull = "ifnull"
  case ifMissingOrNull = "ifmissingornull"
  case missingIf = "missingif"
  case nullIf = "nullif"

  /// Alternative names, as in Couchbase.
  private static let aliases: [String: SQLFunction] = [
    "coalesce": .ifMissingOrNull, "nvl": .ifMissingOrNull, "is_array": .isArray, "is_atom": .isAtom,
    "is_boolean": .isBoolean, "is_number": .isNumber, "is_object": .isObject, "is_string": .isString,
    "to_boolean": .toBoolean, "to_number": .toNumber, "to_string": .toString, "char_length": .length,
  ]

  init?(name: String) {
    let name = name.lowercased()
    guard let function = SQLFunction.aliases[name] ?? SQLFunction(rawValue: name) else { return nil }
    self = function
  }

  static var names: [String] {
    allCases.map(\.rawValue) + aliases.keys.sorted() + SQLAggregate.Kind.allCases.map(\.rawValue) + ["meta"]
      + SQLBinder.WordFunction.allCases.map(\.rawValue)
  }

  /// The number of arguments.
  var arity: ClosedRange<Int> {
    switch self {
    case .contains, .position, .div, .idiv, .arrayContains, .missingIf, .nullIf: 2...2
    case .replace: 3...4
    case .substr: 2...3
    case .round, .trunc: 1...2
    case .concat, .greatest, .least, .ifMissing, .ifNull, .ifMissingOrNull: 2...100
    default: 1...1
    }
  }
}
