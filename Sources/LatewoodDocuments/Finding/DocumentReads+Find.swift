import LatewoodFleece
import LatewoodQuery
import LatewoodStore

extension DocumentReads {
  /// Calls a closure with each document that a request wants, until it returns false.
  ///
  /// Without an order, documents come by id as they are read. With one, all that match are found
  /// first, and their keys held in memory: those of `skip + limit` documents where there is a
  /// limit. Documents whose id the predicate rules out are not looked at. O(documents in that
  /// range), and O(m log m) for m that match.
  ///
  /// - Returns: how many documents were looked at.
  /// - Throws: what the closure throws; ``DocumentError`` `corruptData` if the body of one that was
  ///   looked at is damaged.
  @discardableResult
  package func find(_ request: FindRequest, _ body: (FoundDocument) throws -> Bool) throws -> Int {
    guard request.limit > 0 else { return 0 }
    return try request.order.isEmpty ? findInOrder(request, body) : findAndSort(request, body)
  }

  private func findInOrder(_ request: FindRequest, _ body: (FoundDocument) throws -> Bool) throws -> Int {
    var (passed, taken) = (0, 0)
    return try scan(request.predicate) { document in
      if passed < request.skip {
        passed += 1
        return true
      }
      taken += 1
      return try body(document) && taken < request.limit
    }
  }

  private func findAndSort(_ request: FindRequest, _ body: (FoundDocument) throws -> Bool) throws -> Int {
    var best = BestKeys(count: request.needed)
    var key = CollationKey()
    let seen = try scan(request.predicate) { document in
      key.removeAll()
      for order in request.order {
        try document.withField(order.path) { lookup throws(FleeceError) in
          try key.append(lookup.value, descending: order.isDescending)
        }
      }
      best.add(key.bytes, document.id)
      return true
    }
    for id in best.ids().dropFirst(request.skip) {
      guard let head = try head(of: id) else { continue }
      let goesOn = try withDocument(id, head) { document in try body(document) }
      if !goesOn { break }
    }
    return seen
  }

  /// Gives those documents that match, by id; returns how many were looked at.
  private func scan(_ predicate: Predicate, _ body: (FoundDocument) throws -> Bool) throws -> Int {
    var query = DocumentQuery()
    query.range = KeyRange(idsOf: predicate)
    var seen = 0
    try forEachDocument(query) { id, head in
      seen += 1
      return try withDocument(id, head) { document in
        try predicate.matches(document) ? try body(document) : true
      }
    }
    return seen
  }

  private func withDocument<R>(
    _ id: String, _ head: DocumentRecord.Head, _ body: (FoundDocument) throws -> R
  ) throws -> R {
    let result = try withBody(at: head.body) { bytes in
      try bytes.withUnsafeBytes { bytes in
        do {
          return try body(FoundDocument(id, head, bytes))
        } catch let error as FleeceError {
          throw DocumentError(.corruptData, "the body of the document \(id) is damaged: \(error)")
        }
      }
    }
    guard let result else { throw DocumentError(.corruptData, "the body of the document \(id) is missing") }
    return result
  }
}

/// The least keys of all that were added, as many as are wanted.
private struct BestKeys {
  private let wanted: Int?
  private var entries: [(key: [UInt8], id: String)] = []

  /// - Parameter count: nil for all.
  init(count: Int?) { wanted = count }

  mutating func add(_ key: [UInt8], _ id: String) {
    entries.append((key, id))
    // Twice as many are gathered as are wanted before half of them goes: sorting costs each its
    // share.
    if let wanted, entries.count / 2 > max(wanted, 64) { cut(to: wanted) }
  }

  mutating func ids() -> [String] {
    cut(to: wanted ?? entries.count)
    return entries.map(\.id)
  }

  private mutating func cut(to count: Int) {
    // What is equal keeps the order in which it came, which is by id.
    entries.sort {
      $0.key == $1.key ? BestKeys.isLess($0.id, $1.id) : $0.key.lexicographicallyPrecedes($1.key)
    }
    entries.removeLast(max(0, entries.count - count))
  }

  private static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
