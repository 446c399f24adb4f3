import LatewoodStore

/// Listing and counting documents.
extension DocumentReads {
  /// Calls a closure with the id and head of each document that matches a query, until it returns
  /// false.
  ///
  /// O(log n + documents in the range); with `onlyConflicts`, O(log n + documents in conflict).
  package func forEachDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (String, DocumentRecord.Head) throws -> Bool
  ) throws {
    try forEachStoredDocument(query) { id, head, _ in try body(String(decoding: id, as: UTF8.self), head) }
  }

  /// Like `forEachDocument`, but also passes the body of each winner; nil if it is not stored.
  package func forEachWholeDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(),
    _ body: (String, DocumentRecord.Head, [UInt8]?) throws -> Bool
  ) throws {
    try forEachStoredDocument(query) { id, head, record in
      let stored = try head.body(in: record).map { Array($0) } ?? bodyApart(at: head.body)
      return try body(String(decoding: id, as: UTF8.self), head, stored)
    }
  }

  /// Like `forEachWholeDocument`, for a closure that may change documents: in a batch, too, it gets
  /// the documents of the state in which the call began, except those that it has purged.
  ///
  /// In a batch, keeps the ids and heads of all matching documents in memory.
  package func forEachKeptDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(),
    _ body: (String, DocumentRecord.Head, [UInt8]?) throws -> Bool
  ) throws {
    guard case .batch = source else { return try forEachWholeDocument(query, body) }
    var documents: [(id: String, head: DocumentRecord.Head)] = []
    try forEachDocument(query) { id, head in
      documents.append((id, head))
      return true
    }
    for (id, head) in documents {
      let found = try winner(of: id)
      if let found, found.head.sequence == head.sequence {
        guard try body(id, head, found.body) else { return }
      } else if let old = try self.body(at: head.body) {
        guard try body(id, head, old) else { return }
      } else if head.isDeleted, found != nil {
        guard try body(id, head, nil) else { return }
      }
    }
  }

  /// Like `forEachDocument`, but passes the bytes of the id and of the record, which must not leave
  /// the call.
  func forEachStoredDocument(
    _ query: AllDocumentsQuery,
    _ body: (UnsafeRawBufferPointer, DocumentRecord.Head, UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    guard query.limit > 0 else { return }
    // Not shared with a local function, which would cost an exclusivity check per document.
    var rest = query.limit
    if query.onlyConflicts {
      let marks = query.range.marked(CollectionSpaces.Mark.conflict)
      try source.forEach(in: spaces.marks, marks, reversed: query.descending) { key, _ in
        try key.withUnsafeBytes { key in
          let id = UnsafeRawBufferPointer(rebasing: key.dropFirst())
          let goesOn = try source.withValue(id, in: spaces.documents) { record in
            try record.withUnsafeBytes { record in
              let head = try DocumentRecord.Head(record)
              if !isListed(head, query) { return true }
              rest -= 1
              return try body(id, head, record) && rest > 0
            }
          }
          if let goesOn { return goesOn }
          let name = String(decoding: id, as: UTF8.self)
          throw DatabaseError(.corruptData, "the document \(name) is marked but missing")
        }
      }
      return
    }
    try source.forEach(in: spaces.documents, query.range, reversed: query.descending) { key, value in
      try value.withUnsafeBytes { record in
        let head = try DocumentRecord.Head(record)
        if !isListed(head, query) { return true }
        rest -= 1
        return try key.withUnsafeBytes { try body($0, head, record) } && rest > 0
      }
    }
  }

  private func isListed(_ head: DocumentRecord.Head, _ query: AllDocumentsQuery) -> Bool {
    (query.includesDeleted || !head.isDeleted) && !head.isExpired(at: now)
  }

  /// Returns the number of documents that match a query, ignoring its limit. O(log n), plus the
  /// number of unmerged changes in the range and of expired documents that are not purged yet.
  package func count(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws(DatabaseError) -> Int {
    let stored = try storedCount(query)
    let expired = try expired().filter { query.range.contains($0) }
    guard query.onlyConflicts else { return stored - expired.count }
    var count = stored
    for id in expired where try source.holds([CollectionSpaces.Mark.conflict] + id, in: spaces.marks) {
      count -= 1
    }
    return count
  }

  /// Returns the number of undeleted documents in a range of ids, including expired ones.
  func storedCount(in range: KeyRange) throws(DatabaseError) -> Int {
    var query = AllDocumentsQuery()
    query.range = range
    return try storedCount(query)
  }

  private func storedCount(_ query: AllDocumentsQuery) throws(DatabaseError) -> Int {
    if query.onlyConflicts {
      // A document in conflict is never deleted.
      return try source.entryCount(in: spaces.marks, query.range.marked(CollectionSpaces.Mark.conflict))
    }
    let all = try source.entryCount(in: spaces.documents, query.range)
    if query.includesDeleted { return all }
    let deleted = query.range.marked(CollectionSpaces.Mark.tombstone)
    return all - (try source.entryCount(in: spaces.marks, deleted))
  }

  /// Returns the number of undeleted documents and the number of tombstones. O(log n), plus the
  /// number of unmerged changes and of expired documents that are not purged yet.
  package func totals() throws(DatabaseError) -> (documents: Int, tombstones: Int) {
    // A batch writes its counters only at its end.
    if case .batch = source {
      var all = AllDocumentsQuery()
      all.includesDeleted = true
      let documents = try count()
      return (documents, try count(all) - documents)
    }
    let state = try state()
    return (Int(clamping: state.documents) - (try expired().count), Int(clamping: state.tombstones))
  }
}

extension KeyRange {
  fileprivate func contains(_ key: [UInt8]) -> Bool {
    let isAbove =
      switch lower {
      case .unbounded: true
      case .included(let bound): !key.lexicographicallyPrecedes(bound)
      case .excluded(let bound): bound.lexicographicallyPrecedes(key)
      }
    let isBelow =
      switch upper {
      case .unbounded: true
      case .included(let bound): !bound.lexicographicallyPrecedes(key)
      case .excluded(let bound): key.lexicographicallyPrecedes(bound)
      }
    return isAbove && isBelow
  }

  /// Returns this range of ids among the documents with a mark.
  fileprivate func marked(_ mark: UInt8) -> KeyRange {
    func bound(_ bound: Bound, _ open: Bound) -> Bound {
      switch bound {
      case .unbounded: open
      case .included(let id): .included([mark] + id)
      case .excluded(let id): .excluded([mark] + id)
      }
    }
    return KeyRange(lower: bound(lower, .included([mark])), upper: bound(upper, .excluded([mark + 1])))
  }
}
