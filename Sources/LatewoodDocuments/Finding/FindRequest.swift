import LatewoodQuery
import LatewoodStore

/// A request for documents of a collection: their condition, order and number.
package struct FindRequest: Sendable {
  /// A field to sort by.
  package struct Order: Sendable, Equatable {
    package var path: FieldPath
    package var isDescending: Bool

    package init(_ path: FieldPath, isDescending: Bool = false) {
      self.path = path
      self.isDescending = isDescending
    }
  }

  package var predicate: Predicate
  /// The fields to sort by, the most significant first; ties are ordered by id. Empty: by id alone.
  package var order: [Order] = []
  /// The number of documents to skip at the beginning.
  package var skip = 0
  package var limit = Int.max
  /// The approximate memory that a sort may take, in bytes. If the keys need more, the documents
  /// are read again for each part of the result.
  package var sortMemory = 64 << 20

  package init(_ predicate: Predicate = .always(true)) { self.predicate = predicate }

  /// `skip + limit`, the number of matches that contribute to the result; nil for all.
  var needed: Int? {
    let (sum, overflow) = skip.addingReportingOverflow(limit)
    return overflow ? nil : sum
  }
}

extension KeyRange {
  /// Creates a range of ids that contains every document for which a predicate is true.
  init(idsOf predicate: Predicate) {
    self = .all
    switch predicate {
    case .all(let parts):
      for part in parts { narrow(to: KeyRange(idsOf: part)) }
    case .field(FoundDocument.idField, let test): narrow(to: KeyRange(test))
    case .always, .any, .not, .field: break
    }
  }

  private init(_ test: FieldTest) {
    self = .all
    switch test {
    case .compare(let comparison, let constant):
      guard let id = constant.text else { return }
      switch comparison {
      case .less: self = .upTo(id)
      case .lessOrEqual: self = .through(id)
      case .equal: self = .between(id, through: id)
      case .greaterOrEqual: self = .from(id)
      case .greater: self = KeyRange(lower: .excluded(id))
      case .notEqual: return
      }
    case .begins(let constant): self = constant.text.map { .prefix($0) } ?? .all
    default: return
    }
  }

  private mutating func narrow(to other: KeyRange) {
    if KeyRange.starts(lower, before: other.lower) { lower = other.lower }
    if KeyRange.ends(other.upper, before: upper) { upper = other.upper }
  }

  private static func starts(_ left: Bound, before right: Bound) -> Bool {
    switch (left, right) {
    case (_, .unbounded): false
    case (.unbounded, _): true
    case (.included(let a), .included(let b)), (.excluded(let a), .excluded(let b)),
      (.excluded(let a), .included(let b)):
      a.lexicographicallyPrecedes(b)
    case (.included(let a), .excluded(let b)): !b.lexicographicallyPrecedes(a)
    }
  }

  private static func ends(_ left: Bound, before right: Bound) -> Bool {
    switch (left, right) {
    case (.unbounded, _): false
    case (_, .unbounded): true
    case (.included(let a), .included(let b)), (.excluded(let a), .excluded(let b)),
      (.included(let a), .excluded(let b)):
      a.lexicographicallyPrecedes(b)
    case (.excluded(let a), .included(let b)): !b.lexicographicallyPrecedes(a)
    }
  }
}
