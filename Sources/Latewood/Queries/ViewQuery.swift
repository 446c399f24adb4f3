import LatewoodDocuments
import LatewoodFleece

/// The rows of a view that are wanted, and their order.
///
/// Keys are ordered by type (null, false, true, numbers, strings, binary data, arrays, objects),
/// then by value: strings by their UTF-8, arrays and objects element by element. Rows with equal
/// keys are ordered by the ids of their documents.
///
/// ```swift
/// let query = ViewQuery(from: [1979], through: [1989, "Z"], limit: 20)
/// ```
public struct ViewQuery: Sendable {
  /// The keys to look up, in the order of the results. With them `from`, `through` and `prefix`
  /// must be nil. Nil for a range.
  public var keys: [DocumentValue]?
  /// The key to begin with, which need not exist; nil to begin with the first row. If `descending`,
  /// it is the greatest key.
  public var from: DocumentValue?
  /// The id of the document to begin with among the rows with the key `from`.
  public var fromID: String?
  /// The key to end with, which need not exist; nil to go to the end.
  public var through: DocumentValue?
  /// The id of the document to end with among the rows with the key `through`.
  public var throughID: String?
  /// Whether rows with the key `through` are included.
  public var includesEnd = true
  /// A string that keys must start with, or an array with whose elements they must start; nil for
  /// all keys.
  public var prefix: DocumentValue?
  /// Whether to go from the greatest key to the least.
  public var descending = false
  /// The number of rows, or of groups, to pass over. Passing over rows costs O(log n), whatever
  /// their number.
  public var skip = 0
  /// The maximum number of rows or groups.
  public var limit = Int.max
  /// Whether rows come with the current revisions of their documents.
  public var includesDocuments = false

  /// Creates a query; by default, of all rows.
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

  /// Creates a query of the rows with a key.
  public init(
    key: DocumentValue, descending: Bool = false, skip: Int = 0, limit: Int = .max,
    includesDocuments: Bool = false
  ) {
    self.init(
      from: key, through: key, descending: descending, skip: skip, limit: limit,
      includesDocuments: includesDocuments)
  }

  /// Creates a query of the rows with any of some keys, in the order of the keys.
  public init(
    keys: [DocumentValue], skip: Int = 0, limit: Int = .max, includesDocuments: Bool = false
  ) {
    self.init(skip: skip, limit: limit, includesDocuments: includesDocuments)
    self.keys = keys
  }

  /// The ranges of rows that are wanted, in order.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter`.
  var ranges: [ViewRange] {
    get throws(DatabaseError) {
      guard skip >= 0, limit >= 0 else {
        throw DatabaseError(.invalidParameter, "a number of rows is less than 0")
      }
      guard let keys else { return [try range] }
      guard from == nil, through == nil, prefix == nil else {
        throw DatabaseError(.invalidParameter, "a query of a view has keys, and a range as well")
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
        throw DatabaseError(.invalidParameter, "a query of a view has the id of an end that has no key")
      }
      var range = ViewRange()
      if let from { range.start = ViewRange.End(try Self.key(from), id: fromID) }
      if let through { range.end = ViewRange.End(try Self.key(through), id: throughID) }
      range.includesEnd = includesEnd
      range.prefix = try prefix.map { (prefix) throws(DatabaseError) in try Self.key(prefix) }
      range.isDescending = descending
      return range
    }
  }

  private static func key(_ value: DocumentValue) throws(DatabaseError) -> ViewRowKey {
    let bytes: [UInt8]
    do throws(FleeceError) { bytes = try value.fleece() } catch { throw DatabaseError(inValue: error) }
    return try translating { () throws(DocumentError) in try ViewRowKey(fleece: bytes) }
  }
}

/// One row of a view.
public struct ViewRow: Sendable {
  /// The id of the document that emitted the row.
  public let documentID: String
  /// The emitted key. Whole numbers are integers, however they were emitted.
  public let key: DocumentValue
  /// The emitted value.
  public let value: DocumentValue
  /// The current revision of the document, if the query asks for it.
  public internal(set) var document: Document?

  init(_ row: LatewoodDocuments.ViewRow) throws(DocumentError) {
    documentID = row.id
    key = try DocumentValue(fleece: row.emittedKey())
    let value = row.copiedValue
    self.value = value.isEmpty ? .null : try DocumentValue(fleece: value)
  }
}

/// Rows with the same key, or with the same first elements of their keys, combined into one value.
public struct ViewGroup: Sendable {
  /// The key, or the elements that the keys have in common, as an array.
  public let key: DocumentValue
  /// The result of the reduction.
  public let value: DocumentValue
}

extension DocumentValue {
  /// A value whose bytes come from the file, or were written just now.
  fileprivate init(fleece: [UInt8]) throws(DocumentError) {
    do throws(FleeceError) { self.init(stored: try FleeceBody(fleece).root) } catch {
      throw DocumentError(.corruptData, "a row of a view is damaged: \(error)")
    }
  }
}

extension ViewGroup {
  init(_ group: ViewReads.Group, _ value: DocumentValue) throws(DocumentError) {
    self.init(key: try DocumentValue(fleece: group.key), value: value)
  }
}
