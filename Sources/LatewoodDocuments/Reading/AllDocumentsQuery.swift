import LatewoodStore

/// The documents of a collection to list, by id. Ids are ordered by their bytes.
public struct AllDocumentsQuery: Sendable {
  /// The first id, which need not exist; nil to start with the first document.
  public var from: String?
  /// The last id, which need not exist; nil to go to the end.
  public var through: String?
  /// A prefix that ids must have; nil for all ids.
  public var prefix: String?
  /// The maximum number of documents to list; default: all.
  public var limit = Int.max
  /// Whether to list from the last id to the first.
  public var descending = false
  /// Whether deleted documents are included.
  public var includesDeleted = false
  /// Whether only documents in conflict are listed.
  public var onlyConflicts = false

  /// Creates a query; by default, for all documents that are not deleted.
  public init(
    from: String? = nil, through: String? = nil, prefix: String? = nil, limit: Int = .max,
    descending: Bool = false, includesDeleted: Bool = false, onlyConflicts: Bool = false
  ) {
    self.from = from
    self.through = through
    self.prefix = prefix
    self.limit = limit
    self.descending = descending
    self.includesDeleted = includesDeleted
    self.onlyConflicts = onlyConflicts
  }

  /// The range of ids in which documents must be in addition.
  private var bounds = KeyRange.all

  /// The range of ids, in the order of their bytes. Setting it leaves the other properties as they
  /// are.
  package var range: KeyRange {
    get { ids }
    set { bounds = newValue }
  }

  private var ids: KeyRange {
    var range = bounds
    if let prefix {
      let matching = KeyRange.prefix(prefix)
      range.lower = Self.later(range.lower, matching.lower)
      range.upper = Self.earlier(range.upper, matching.upper)
    }
    if let from { range.lower = Self.later(range.lower, .included(Array(from.utf8))) }
    if let through { range.upper = Self.earlier(range.upper, .included(Array(through.utf8))) }
    return range
  }

  private static func later(_ a: KeyRange.Bound, _ b: KeyRange.Bound) -> KeyRange.Bound {
    guard let left = key(a), let right = key(b) else { return key(a) == nil ? b : a }
    return left.lexicographicallyPrecedes(right) ? b : a
  }

  private static func earlier(_ a: KeyRange.Bound, _ b: KeyRange.Bound) -> KeyRange.Bound {
    guard let left = key(a), let right = key(b) else { return key(a) == nil ? b : a }
    return right.lexicographicallyPrecedes(left) ? b : a
  }

  private static func key(_ bound: KeyRange.Bound) -> [UInt8]? {
    switch bound {
    case .unbounded: nil
    case .included(let key), .excluded(let key): key
    }
  }
}
