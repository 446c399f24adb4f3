import LatewoodDocuments

/// Listing documents.
extension DocumentCollection {
  /// Returns the documents that match a query.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func documents(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Document] {
    try list(query, reads())
  }

  /// Calls a closure with the documents that match a query, all from one state of the database,
  /// until it returns false. Keeps one in memory at a time.
  ///
  /// The closure may save and delete documents. Also in a batch, it gets the documents of the state
  /// in which the call began, except those that it has purged; there, the ids of all documents that
  /// match are kept in memory.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` like every read.
  public func forEachDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Document) throws -> Bool
  ) throws {
    let reads = try reads()
    do {
      try reads.forEachKeptDocument(query) { id, head, content in
        try body(Self.document(id, head, content))
      }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Returns the matching documents of one state.
  func list(_ query: AllDocumentsQuery, _ reads: DocumentReads) throws -> [Document] {
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
  /// - Throws: ``DatabaseError`` like every read.
  public func documentIDs(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [String] {
    let reads = try reads()
    var list: [String] = []
    do {
      try reads.forEachDocument(query) { id, _ in
        list.append(id)
        return true
      }
    } catch { throw DatabaseError.translated(error) }
    return list
  }

  /// Returns the number of documents that match a query, ignoring its limit. O(log n).
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func count(_ query: AllDocumentsQuery) throws -> Int {
    let reads = try reads()
    return try reads.count(query)
  }
}
