import LatewoodDocuments
import LatewoodFleece

/// A query for rows of a view.
///
/// Keys are ordered by type (null, false, true, numbers, strings, binary data, arrays, objects),
/// then by value: strings by their UTF-8, arrays and objects element by element. Rows with equal
/// keys are ordered by the ids of their documents.
///
/// ```swift
/// let query = ViewQuery(from: [1979], through: [1989, "Z"], limit: 20)
/// ```
public struct ViewQuery: Sendable {
  /// The keys to look up, in the order of the results; nil for a range. If set, `from`, `through`
  /// and `prefix` must be nil.
  public var keys: [DocumentValue]?
  /// The key to begin with, which need not exist; nil to begin with the first row. If `descending`,
  /// this is the highest key.
  public var from: DocumentValue?
  /// The id of the document to begin with among the rows with the key `from`.
  public var fromID: String?
  /// The key to end with, which need not exist; nil to end with the last row.
  public var through: DocumentValue?
  /// The id of the document to end with among the rows with the key `through`.
  public var throughID: String?
  /// Whether rows with the key `through` are included.
  public var includesEnd = true
  /// The string, or the elements of an array, that keys must start with; nil for all keys.
  public var prefix: DocumentValue?
  /// Whether to return rows in descending order of their keys.
  public var descending = false
  /// The number of rows, or of groups, to skip. Skipping rows costs O(log n), regardless of their
  /// number.
  public var skip = 0
  /// The maximum number of rows or groups.
  public var limit = Int.max
  /// Whether rows include the current revisions of their documents.
  public var includesDocuments = false

  /// Creates a query; by default, for all rows.
  public init(
    from: DocumentValue? = nil, through: DocumentValue? = nil, includesEnd: Bool = true,
    prefix: DocumentValue? = nil, descending: Bool = false, skip: Int = 0, limit: Int = .max,
    includesDocuments: Bool = false
  ) {
    self.from = from
    self.through = through
    self.includesEnd = includesEnd
    self.prefix = prefix
    self.descending = descending
    self.skip = skip
    self.limit = limit
    self.includesDocuments = includesDocuments
  }

  /// Creates a query for the rows with a key.
  public init(
    key: DocumentValue, descending: Bool = false, skip: Int = 0, limit: Int = .max,
    includesDocuments: Bool = false
  ) {
    self.init(
      from: key, through: key, descending: descending, skip: skip, limit: limit,
      includesDocuments: includesDocuments)
  }

  /// Creates a query for the rows with any of the given keys, in the order of the keys.
  public init(
    keys: [DocumentValue], skip: Int = 0, limit: Int = .max, includesDocuments: Bool = false
  ) {
    self.init(skip: skip, limit: limit, includesDocuments: includesDocuments)
    self.keys = keys
  }

  /// The ranges of the requested rows, in order.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter`.
  var ranges: [ViewRange] {
    get throws(DatabaseError) {
      guard skip >= 0, limit >= 0 else {
        throw DatabaseError(.invalidParameter, "skip or limit is less than 0")
      }
      guard let keys else { return [try range] }
      guard from == nil, through == nil, prefix == nil else {
        throw DatabaseError(.invalidParameter, "a query of a view has both keys and a range")
      }
      var ranges: [ViewRange] = []
      for key in keys {
        var range = ViewRange()
        let end = ViewRange.End(try Self.key(key))
        (range.start, range.end, range.isDescending) = (end, end, descending)
        ranges.append(range)
      }
      return ranges
    }
  }

  private var range: ViewRange {
    get throws(DatabaseError) {
      guard fromID == nil || from != nil, throughID == nil || through != nil else {
        throw DatabaseError(.invalidParameter, "a query of a view has fromID or throughID without the key")
      }
      var range = ViewRange()
      if let from { range.start = ViewRange.End(try Self.key(from), id: fromID) }
      if let through { range.end = ViewRange.End(try Self.key(through), id: throughID) }
      range.includesEnd = includesEnd
      range.prefix = try prefix.map { (prefix) throws(DatabaseError) in try Self.key(prefix) }
      range.isDescending = descending
      // Before any row is read: a limit of 0 reads none.
      try range.check()
      return range
    }
  }

  private static func key(_ value: DocumentValue) throws(DatabaseError) -> ViewRowKey {
    let bytes: [UInt8]
    do throws(FleeceError) { bytes = try value.fleece() } catch { throw DatabaseError(inValue: error) }
    return try ViewRowKey(fleece: bytes)
  }
}
