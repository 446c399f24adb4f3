import LatewoodDocuments
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

  var query: DocumentQuery {
    var query = DocumentQuery()
    query.range = range
    query.limit = max(0, limit)
    query.descending = descending
    query.includesDeleted = includesDeleted
    query.onlyConflicts = onlyConflicts
    return query
  }

  private var range: KeyRange {
    var range = prefix.map { KeyRange.prefix($0) } ?? .all
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

/// Listing documents.
extension DocumentCollection {
  /// Returns the documents that match a query.
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped; `corruptData` or `inputOutput` if the file cannot be read.
  public func documents(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Document] {
    try list(query.query, reads())
  }

  /// Calls a closure with the documents that match a query, all from one state of the database,
  /// until it returns false. Keeps one in memory at a time.
  ///
  /// The closure may save and delete documents. Also in a batch, it gets the documents of the state
  /// in which the call began, except those that it has purged; there, the ids of all documents that
  /// match are kept in memory.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` `notOpen` once the database is closed;
  ///   `notFound` once the collection is dropped; `corruptData` or `inputOutput` if the file cannot
  ///   be read.
  public func forEachDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Document) throws -> Bool
  ) throws {
    let reads = try reads()
    do {
      try reads.forEachKeptDocument(query.query) { id, head, content in
        try body(Self.document(id, head, content))
      }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Returns the matching documents of one state.
  func list(_ query: DocumentQuery, _ reads: DocumentReads) throws -> [Document] {
    var list: [Document] = []
    do {
      try reads.forEachWholeDocument(query) { id, head, content in
        list.append(try Self.document(id, head, content))
        return true
      }
    } catch { throw DatabaseError.translated(error) }
    return list
  }

  private static func document(
    _ id: String, _ head: DocumentRecord.Head, _ content: [UInt8]?
  ) throws(DatabaseError) -> Document {
    // A deleted document may have no content.
    guard let content = content ?? (head.isDeleted ? [] : nil) else {
      throw DatabaseError(.corruptData, "the content of the document \(id) is missing")
    }
    return Document(id, head, content)
  }

  /// Returns the ids of the documents that match a query. Reads no content.
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped; `corruptData` or `inputOutput` if the file cannot be read.
  public func documentIDs(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [String] {
    let reads = try reads()
    var list: [String] = []
    do {
      try reads.forEachDocument(query.query) { id, _ in
        list.append(id)
        return true
      }
    } catch let error as DocumentError {
      throw DatabaseError(error)
    } catch {
      throw DatabaseError(.inputOutput, "\(error)")
    }
    return list
  }

  /// Returns the number of documents that match a query, ignoring its limit. O(log n).
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped; `corruptData` or `inputOutput` if the file cannot be read.
  public func count(_ query: AllDocumentsQuery) throws -> Int {
    let reads = try reads()
    return try translating { () throws(DocumentError) in try reads.count(query.query) }
  }
}
