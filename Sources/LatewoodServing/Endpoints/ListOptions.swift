import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// The options of a list by key: `_all_docs` and its relatives.
struct ListOptions {
  /// A text, or a place before or after all texts: keys of other types than strings are allowed,
  /// and ordered as in CouchDB.
  enum Bound: Equatable {
    case beforeAll, afterAll
    case text(String)

    init(_ key: FleeceElement) throws(FleeceError) {
      if let text = try key.string() {
        self = .text(text)
      } else {
        switch try key.kind {
        case .array, .dictionary: self = .afterAll
        default: self = .beforeAll
        }
      }
    }
  }

  var isDescending = false
  /// The first key in the order of the list; nil for no bound.
  var start: Bound?
  /// The last key in the order of the list; nil for no bound.
  var end: Bound?
  var includesEnd = true
  var limit = Int.max
  var skip = 0
  /// The keys to list instead of a range.
  var keys: [FleeceElement]?
  var includesDocuments = false
  var includesSequence = false

  init(_ query: APIQuery) throws {
    isDescending = try query.boolean("descending") ?? false
    start = try query.json("startkey", "start_key").map { try Bound($0) }
    end = try query.json("endkey", "end_key").map { try Bound($0) }
    includesEnd = try query.boolean("inclusive_end") ?? true
    if let key = try query.json("key") {
      start = try Bound(key)
      end = start
      includesEnd = true
    }
    limit = try query.natural("limit") ?? .max
    skip = try query.natural("skip") ?? 0
    includesDocuments = try query.boolean("include_docs") ?? false
    includesSequence = try query.boolean("update_seq") ?? false
    if try query.boolean("group") == true || query["group_level"] != nil {
      throw APIError.invalid("Invalid use of grouping on a map view.")
    }
    if try query.boolean("reduce") == true { throw APIError.invalid("Reduce is invalid for map-only views.") }
    if let list = try query.json("keys") {
      guard let elements = try list.elements() else {
        throw APIError.badRequest("`keys` body member must be an array.")
      }
      keys = elements
    }
  }

  /// The range of keys in the order of their bytes; nil if it is empty.
  var range: KeyRange? {
    let (low, high) = isDescending ? (end, start) : (start, end)
    if low == .afterAll || high == .beforeAll { return nil }
    var range = KeyRange.all
    if case .text(let key) = low {
      let bytes = Array(key.utf8)
      range.lower = isDescending && !includesEnd ? .excluded(bytes) : .included(bytes)
    }
    if case .text(let key) = high {
      let bytes = Array(key.utf8)
      range.upper = !isDescending && !includesEnd ? .excluded(bytes) : .included(bytes)
    }
    return range
  }

  /// The range of the keys before the first one of the list, in its order; nil if it is empty.
  var rangeBefore: KeyRange? {
    switch start {
    case nil: return nil
    case .beforeAll: return isDescending ? .all : nil
    case .afterAll: return isDescending ? nil : .all
    case .text(let key):
      let bytes = Array(key.utf8)
      return isDescending
        ? KeyRange(lower: .excluded(bytes), upper: .unbounded)
        : KeyRange(lower: .unbounded, upper: .excluded(bytes))
    }
  }
}

extension APIQuery {
  /// Returns the value of an option that is `true` or `false`; nil if there is none.
  fileprivate func boolean(_ name: String) throws(APIError) -> Bool? {
    switch self[name] {
    case nil: nil
    case "true": true
    case "false": false
    case let text?: throw APIError.invalid("Invalid boolean parameter: \"\(text)\"")
    }
  }

  /// Returns the value of an option that is a whole number; nil if there is none.
  fileprivate func natural(_ name: String) throws(APIError) -> Int? {
    guard let text = self[name] else { return nil }
    guard let number = Int(text) else { throw APIError.invalid("Invalid value for integer: \"\(text)\"") }
    guard number >= 0 else {
      throw APIError.invalid("Invalid value for positive integer: \"\(text)\"")
    }
    return number
  }
}
