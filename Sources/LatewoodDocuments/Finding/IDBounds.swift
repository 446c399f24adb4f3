import LatewoodBytes
import LatewoodQuery
import LatewoodStore

/// The ids of all documents that may meet a condition. Documents are stored by id, so conditions on
/// the id need no index.
struct IDBounds {
  /// The intervals of the bytes of ids, in order and without overlaps; nil for all ids.
  private let intervals: [KeyInterval]?
  /// Whether all documents with these ids meet the condition.
  let isWhole: Bool

  /// The number of nested conditions in which ids are looked for.
  private static let depthLimit = 32

  init(_ predicate: Predicate) { self.init(predicate, IDBounds.depthLimit) }

  /// The ranges of ids, in order.
  var ranges: [KeyRange] {
    guard let intervals else { return IDBounds.everything }
    return intervals.map { interval in
      KeyRange(
        lower: interval.low.isEmpty ? .unbounded : .included(interval.low),
        upper: interval.high.map { .excluded($0) } ?? .unbounded)
    }
  }

  private init(_ intervals: [KeyInterval]?, isWhole: Bool) {
    self.intervals = intervals
    self.isWhole = isWhole
  }

  private static let everything = [KeyRange.all]

  private init(_ predicate: Predicate, _ depth: Int) {
    switch predicate {
    case .always(let answer): self.init(answer ? nil : [], isWhole: true)
    case .all(let parts) where depth > 0:
      var common = KeyIntersection()
      var isWhole = true
      for part in parts {
        let bounds = IDBounds(part, depth - 1)
        isWhole = isWhole && bounds.isWhole
        if let intervals = bounds.intervals { common.add(intervals) }
      }
      self.init(common.intervals, isWhole: isWhole)
    case .any(let parts) where depth > 0:
      var united: [KeyInterval]? = []
      var isWhole = true
      for part in parts {
        let bounds = IDBounds(part, depth - 1)
        isWhole = isWhole && bounds.isWhole
        if let intervals = bounds.intervals { united? += intervals } else { united = nil }
        if united == nil, !isWhole { break }
      }
      // Whether an interval is whole is lost where others overlap it.
      self.init(united.map(KeyInterval.united), isWhole: isWhole)
    case .field(MatchedDocument.idField, let test): self.init(test)
    case .all, .any, .not, .field, .fields, .text: self.init(nil, isWhole: false)
    }
  }

  private init(_ test: FieldTest) {
    switch test {
    case .compare(let comparison, let constant): self.init(comparison, constant)
    case .isAmong(let constants), .equalsAny(let constants):
      self.init(KeyInterval.united(constants.listed.compactMap { IDBounds.point($0) }), isWhole: true)
    case .fails(.isAmong(let constants)), .fails(.equalsAny(let constants)):
      var gaps: [KeyInterval] = []
      var low: [UInt8] = []
      for point in KeyInterval.united(constants.listed.compactMap { IDBounds.point($0) }) {
        if low.lexicographicallyPrecedes(point.low) {
          gaps.append(KeyInterval(low: low, high: point.low))
        }
        low = point.high ?? low
      }
      self.init(gaps + [KeyInterval(low: low, high: nil)], isWhole: true)
    case .begins(let constant):
      guard let text = constant.text else {
        self.init([], isWhole: true)
        return
      }
      self.init([KeyInterval(low: text, high: KeyOrder.successor(ofPrefix: text))], isWhole: true)
    case .exists: self.init(nil, isWhole: true)
    case .isMissing: self.init([], isWhole: true)
    default: self.init(nil, isWhole: false)
    }
  }

  private init(_ comparison: Comparison, _ constant: Constant) {
    guard let id = constant.text else {
      // An id is never equal to another type of value, but all of them have one order.
      let isMet = comparison.accepts(constant.isBeforeStrings ? 1 : -1)
      self.init(isMet ? nil : [], isWhole: true)
      return
    }
    let next = id + [0]
    let (below, above) = (KeyInterval(low: [], high: id), KeyInterval(low: next, high: nil))
    switch comparison {
    case .less: self.init([below], isWhole: true)
    case .lessOrEqual: self.init([KeyInterval(low: [], high: next)], isWhole: true)
    case .equal: self.init([KeyInterval(low: id, high: next, isPoint: true)], isWhole: true)
    case .notEqual: self.init([below, above], isWhole: true)
    case .greaterOrEqual: self.init([KeyInterval(low: id, high: nil)], isWhole: true)
    case .greater: self.init([above], isWhole: true)
    }
  }

  /// Returns the interval of one id; nil if the value is not a string.
  private static func point(_ constant: Constant) -> KeyInterval? {
    constant.text.map { KeyInterval(low: $0, high: $0 + [0], isPoint: true) }
  }
}
