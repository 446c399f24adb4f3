import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// The body of a request to `_find`.
struct FindOptions {
  let request: FindRequest
  /// The number of documents to return.
  var limit = 25
  /// The number of documents to leave out at the beginning.
  var skip = 0
  /// The fields to return; nil for whole documents.
  var projection: Projection?
  var conflicts = false
  /// Whether the documents are in the order of their ids.
  let isByID: Bool

  /// A place in the results: after a document if they are by id, otherwise a number of documents.
  /// In JSON and base64, it is the bookmark of an answer.
  private enum Bookmark {
    case id(String)
    case count(Int)
  }

  init(_ body: FleeceElement) throws {
    guard let selector = try body.element(for: "selector") else {
      throw APIError(400, "missing_required_key", "Missing required key: selector")
    }
    guard try selector.kind == .dictionary else {
      throw APIError(
        400, "invalid_selector_json",
        "Selector must be a JSON object, not: \(try JSON.text(of: selector))")
    }
    let order = try FindOptions.order(body.element(for: "sort"))
    isByID = order.isEmpty
    limit = try FindOptions.count(body, "limit") ?? limit
    skip = try FindOptions.count(body, "skip") ?? 0
    conflicts = try body.element(for: "conflicts")?.boolean() ?? false
    if let fields = try body.element(for: "fields") {
      guard let list = try fields.elements() else {
        throw APIError(
          400, "invalid_fields", "Fields must be an array of strings, not: \(try JSON.text(of: fields))")
      }
      let paths = try list.map { field in
        guard let text = try field.string() else {
          throw APIError(400, "invalid_fields", "Fields must be an array of strings")
        }
        return try FieldPath(parsing: text)
      }
      if !paths.isEmpty { projection = Projection(paths) }
    }
    var after: String?
    switch try FindOptions.bookmark(body, isByID: isByID) {
    case .id(let id): after = id
    case .count(let count): skip = min(skip, Int.max - count) + count
    case nil: break
    }
    let predicate = try FindOptions.predicate(selector, having: order.map(\.path), after: after)
    guard !predicate.hasText else {
      throw APIError.notImplemented("$text needs a full-text index, which this server cannot name yet")
    }
    var request = FindRequest(predicate)
    request.order = order
    self.request = request
  }

  // MARK: - Parts

  private static func count(_ body: FleeceElement, _ name: String) throws -> Int? {
    guard let value = try body.element(for: name) else { return nil }
    guard let number = try value.natural() else {
      throw APIError(
        400, "invalid_non_neg_integer",
        "\(try JSON.text(of: value)) is not an integer greater than or equal to zero")
    }
    return Int(clamping: number)
  }

  /// Parses `["age"]` or `[{"age": "desc"}]`.
  static func order(_ list: FleeceElement?) throws -> [FindRequest.Order] {
    guard let list, let elements = try list.elements() else { return [] }
    let order = try elements.map { element in
      if let name = try element.string() { return FindRequest.Order(try FieldPath(parsing: name)) }
      guard let members = try element.members(), members.count == 1,
        let direction = try members[0].value.string(), direction == "asc" || direction == "desc"
      else {
        throw APIError(400, "invalid_sort_json", "A field of a sort is a name, or {name: \"asc\"|\"desc\"}")
      }
      return FindRequest.Order(
        try FieldPath(parsing: members[0].key), isDescending: direction == "desc")
    }
    if Set(order.map(\.isDescending)).count > 1 {
      throw APIError(
        400, "unsupported_mixed_sort", "Sorts currently only support a single direction for all fields.")
    }
    return order
  }

  /// Returns the predicate of a selector, and of two conditions that CouchDB has by its indexes:
  /// documents without a field are not found by a query that sorts by it, and a bookmark continues
  /// after an id.
  private static func predicate(
    _ selector: FleeceElement, having fields: [FieldPath], after id: String?
  ) throws -> Predicate {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("$and")
    try writer.beginArray()
    try selector.write(to: &writer)
    for field in fields {
      try writer.beginDictionary()
      try writer.key(field.text)
      try writer.beginDictionary()
      try writer.key("$exists")
      try writer.boolean(true)
      try writer.endDictionary()
      try writer.endDictionary()
    }
    if let id {
      try writer.beginDictionary()
      try writer.key("_id")
      try writer.beginDictionary()
      try writer.key("$gt")
      try writer.string(id)
      try writer.endDictionary()
      try writer.endDictionary()
    }
    try writer.endArray()
    try writer.endDictionary()
    let hasMore = !fields.isEmpty || id != nil
    let whole = hasMore ? try FleeceBody(written: try writer.finish()).root : selector
    do throws(QueryError) { return try MangoParser.predicate(of: whole) } catch {
      throw APIError(selector: error)
    }
  }

  // MARK: - Bookmarks

  private static func bookmark(_ body: FleeceElement, isByID: Bool) throws -> Bookmark? {
    guard let text = try body.element(for: "bookmark")?.string(), text != "nil", !text.isEmpty else {
      return nil
    }
    let invalid = APIError(400, "invalid_bookmark", "Invalid bookmark value: \"\(text)\"")
    guard let bytes = Base64.decode(text.utf8) else { throw invalid }
    let value: FleeceElement
    do throws(APIError) { value = try APIQuery.json(bytes) } catch { throw invalid }
    if isByID, let id = try value.string() { return .id(id) }
    if !isByID, let count = try value.natural() { return .count(Int(clamping: count)) }
    throw invalid
  }

  /// Returns the bookmark after a page.
  ///
  /// - Parameters:
  ///   - id: the last document; nil if the page is empty.
  ///   - count: the number of documents of the page.
  func bookmark(after id: String?, count: Int) -> String {
    guard let id else { return "nil" }
    var output = JSONOutput()
    if isByID { output.text(id) } else { output.integer(Int64(clamping: skip + count)) }
    return Base64.encode(output.take())
  }
}

extension APIError {
  /// Converts an error in a selector.
  init(selector error: QueryError) {
    self.init(400, "invalid_selector", "\(error)")
  }
}

extension JSON {
  /// Returns the text of a value.
  static func text(of element: FleeceElement) throws -> String {
    var output = JSONOutput()
    try element.withValue { value throws(FleeceError) in try output.value(value) }
    return String(decoding: output.take(), as: UTF8.self)
  }
}
