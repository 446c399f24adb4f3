import LatewoodBytes
import LatewoodQuery
import LatewoodStore

/// The most frequent query, for documents in which a field equals a value, answered without
/// planning.
extension DocumentReads {
  /// Returns the few documents in which a field has a value, by an index on that field alone.
  ///
  /// Returns nil if the request must be planned: if it has another form, if such an index does not
  /// exist, if there are too many documents, or within a batch.
  func idsForEqualityLookup(_ request: FindRequest) throws(DatabaseError) -> CandidateIDs? {
    guard case .state = source, request.order.isEmpty, request.ranking == nil,
      case .field(let path, .compare(.equal, let constant)) = request.predicate,
      constant.key.count <= IndexKey.lengthLimit, let index = try index(onlyOn: path)
    else { return nil }
    return try candidateIDs(
      in: index.entries,
      KeyRange(
        lower: .included(constant.key),
        upper: KeyOrder.successor(ofPrefix: constant.key).map { .excluded($0) } ?? .unbounded))
  }

  /// Returns an unconditional ascending index on exactly one field.
  private func index(onlyOn path: FieldPath) throws(DatabaseError) -> CollectionIndex? {
    for index in try indexes().ready where index.onlyField == path { return index }
    return nil
  }

  /// Returns the documents of entries with equal keys; nil if there are too many.
  func candidateIDs(in entries: Keyspace, _ range: KeyRange) throws(DatabaseError) -> CandidateIDs? {
    var ids = CandidateIDs()
    var isWhole = true
    try source.visit(in: entries, range) { key, value in
      isWhole = ids.count < CandidateIDs.limit
      if isWhole { try StoredEntry.reading(key, value) { ids.append($0.idBytes) } }
      return isWhole
    }
    // Entries with equal keys are ordered by id.
    return isWhole ? ids : nil
  }

  /// Calls a closure with each of a few documents that matches a request, until it returns false.
  ///
  /// - Parameters:
  ///   - few: the documents to examine, by id.
  ///   - isExact: whether all these documents match.
  /// - Returns: the number of examined documents.
  func find(
    _ request: FindRequest, among few: CandidateIDs, isExact: Bool, _ body: (MatchedDocument) throws -> Bool
  ) throws -> Int {
    // The closures do not capture the request, because copying it takes long.
    let (skip, limit) = (request.skip, request.limit)
    let predicate = isExact ? nil : request.predicate
    var (seen, passed, taken) = (0, 0, 0)
    try few.visit { id in
      try withDocument(id) { document in
        seen += 1
        if let predicate, try !predicate.matches(document) { return true }
        if passed < skip {
          passed += 1
          return true
        }
        taken += 1
        return try body(document) && taken < limit
      } ?? true
    }
    return seen
  }
}
