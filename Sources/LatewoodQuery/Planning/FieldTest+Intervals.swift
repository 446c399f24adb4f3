import LatewoodBytes

extension FieldTest {
  /// The intervals with the keys of all values that the test accepts, in order and without
  /// overlaps.
  var intervals: [KeyInterval] {
    switch self {
    case .compare(let comparison, let constant): return FieldTest.intervals(comparison, constant)
    case .isAmong(let constants):
      // An array is accepted if one of its elements is.
      return KeyInterval.united(constants.points + [KeyInterval(.array, needsCheck: true)])
    case .equalsAny(let constants): return constants.points
    case .exists: return [.present()]
    // A field of a value without members has the same key, but does not match.
    case .isMissing: return [KeyInterval(.missing, needsCheck: true)]
    case .hasType(let type): return [type.interval]
    case .hasCount, .countIs, .containsAll, .anyElement, .everyElement:
      return [KeyInterval(.array, needsCheck: true)]
    case .lengthIs: return [KeyInterval(.string, needsCheck: true)]
    case .hasRemainder: return [KeyInterval(.number, needsCheck: true)]
    case .begins(let constant):
      // Leave out the two bytes at the end of a string.
      guard constant.tag == .string else { return [] }
      return [KeyInterval(beginning: constant.key.dropLast(2))]
    case .matches: return [KeyInterval(.string, needsCheck: true)]
    case .anyKey: return [KeyInterval(.object, needsCheck: true)]
    case .fails(.equalsAny(let constants)) where constants.sorted.count <= FieldTest.gapLimit:
      return constants.gaps
    case .fails: return [.present(needsCheck: true)]
    }
  }

  /// The maximum number of excluded values whose gaps are separate intervals.
  private static let gapLimit = 1000

  private static func intervals(_ comparison: Comparison, _ constant: Constant) -> [KeyInterval] {
    switch comparison {
    case .equal: return [KeyInterval(beginning: constant.key, isPoint: true)]
    case .less: return below(constant)
    case .lessOrEqual: return [KeyInterval(low: least, high: KeyOrder.successor(ofPrefix: constant.key))]
    case .greater: return above(constant)
    case .greaterOrEqual: return [KeyInterval(low: constant.key, high: nil)]
    case .notEqual: return below(constant) + above(constant)
    }
  }

  /// The key of null, the least value that exists.
  fileprivate static let least = [CollationTag.null.rawValue]

  private static func below(_ constant: Constant) -> [KeyInterval] {
    constant.key == least ? [] : [KeyInterval(low: least, high: constant.key)]
  }

  private static func above(_ constant: Constant) -> [KeyInterval] {
    KeyOrder.successor(ofPrefix: constant.key).map { [KeyInterval(low: $0, high: nil)] } ?? []
  }

  /// The intervals of elements, at least one of which an array must contain to be accepted; nil if
  /// the test does not concern elements.
  ///
  /// An array with such an element is accepted, unless a check is needed.
  var elementIntervals: [KeyInterval]? {
    switch self {
    case .anyElement(let predicate):
      guard let (found, isWhole) = predicate.elementIntervals else { return nil }
      return isWhole ? found : found.map { $0.checked }
    case .containsAll(let constants):
      // A constant that is an array may equal the entire field.
      guard let first = constants.listed.first, first.tag != .array else { return nil }
      return [KeyInterval(beginning: first.key, isPoint: true, needsCheck: constants.listed.count > 1)]
    default: return nil
    }
  }
}

extension Predicate {
  /// The intervals of a condition on an element, and whether they express it completely.
  fileprivate var elementIntervals: (intervals: [KeyInterval], isWhole: Bool)? {
    switch self {
    case .field(let path, let test) where path.steps.isEmpty: return (test.intervals, true)
    case .all(let parts):
      var found: [KeyInterval]?
      var isWhole = true
      for part in parts {
        guard let (more, isAll) = part.elementIntervals else {
          isWhole = false
          continue
        }
        found = found.map { KeyInterval.intersection($0, more) } ?? more
        isWhole = isWhole && isAll
      }
      return found.map { ($0, isWhole) }
    case .any(let parts):
      var found: [KeyInterval] = []
      var isWhole = true
      for part in parts {
        guard let (more, isAll) = part.elementIntervals else { return nil }
        found += more
        isWhole = isWhole && isAll
      }
      return (KeyInterval.united(found), isWhole)
    case .always, .not, .field, .fields, .text: return nil
    }
  }
}

extension ConstantSet {
  /// The intervals of the values, in order.
  fileprivate var points: [KeyInterval] {
    sorted.map { KeyInterval(beginning: $0.key, isPoint: true) }
  }

  /// The intervals of all other existing values, in order.
  fileprivate var gaps: [KeyInterval] {
    var gaps: [KeyInterval] = []
    var low: [UInt8]? = FieldTest.least
    for constant in sorted {
      if let low, low != constant.key { gaps.append(KeyInterval(low: low, high: constant.key)) }
      low = KeyOrder.successor(ofPrefix: constant.key)
    }
    if let low { gaps.append(KeyInterval(low: low, high: nil)) }
    return gaps
  }
}

extension KeyInterval {
  fileprivate var checked: KeyInterval {
    var interval = self
    interval.needsCheck = true
    return interval
  }
}

extension ValueType {
  fileprivate var interval: KeyInterval {
    switch self {
    case .null: KeyInterval(.null)
    case .boolean:
      KeyInterval(
        low: [CollationTag.no.rawValue], high: KeyOrder.successor(ofPrefix: [CollationTag.yes.rawValue]))
    case .number: KeyInterval(.number)
    case .string: KeyInterval(.string)
    case .data: KeyInterval(.data)
    case .array: KeyInterval(.array)
    case .object: KeyInterval(.object)
    }
  }
}
