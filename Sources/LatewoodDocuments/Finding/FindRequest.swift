import LatewoodQuery

/// A request for documents of a collection: their condition, order and number.
package struct FindRequest: Sendable {
  /// A field to sort by.
  package struct Order: Sendable, Equatable {
    package var path: FieldPath
    package var isDescending: Bool

    package init(_ path: FieldPath, isDescending: Bool = false) {
      self.path = path
      self.isDescending = isDescending
    }
  }

  /// The condition. Many equalities of one field in an `or` are compared together.
  package let predicate: Predicate
  /// Whether the condition depends on the words of documents. It must then be bound to full-text
  /// indexes before it can be tested.
  let hasText: Bool
  /// The full-text index by whose scores the documents are ordered, the best first, instead of
  /// `order`; empty for the index of the first condition on words. One of the conditions that must
  /// all hold has to be on its words.
  package var ranking: String?
  private var fields: [Order] = []
  /// The fields to sort by, the most significant first; ties are ordered by id. Empty: by id alone.
  ///
  /// Fields after the id are left out, because no two documents have the same id, and so is the id
  /// itself if it is ascending.
  package var order: [Order] {
    get { fields }
    // Not an observer, which initializers would not call.
    set {
      fields = newValue
      guard let place = fields.firstIndex(where: { $0.path == MatchedDocument.idField }) else { return }
      let end = fields[place].isDescending ? place + 1 : place
      if end < fields.count { fields.removeSubrange(end...) }
    }
  }
  /// The number of documents to skip at the beginning.
  package var skip = 0
  package var limit = Int.max
  /// The approximate memory that a sort may take, in bytes. If the keys need more, the documents
  /// are read again for each part of the result.
  package var sortMemory = 64 << 20

  package init(_ predicate: Predicate = .always(true)) {
    var predicate = predicate
    predicate.joinEqualities()
    self.predicate = predicate
    hasText = predicate.hasText
  }

  private init(_ other: FindRequest, _ predicate: Predicate) {
    self.predicate = predicate
    hasText = other.hasText
    ranking = other.ranking
    fields = other.fields
    skip = other.skip
    limit = other.limit
    sortMemory = other.sortMemory
  }

  /// Returns the same request with another form of its condition.
  func with(_ predicate: Predicate) -> FindRequest { FindRequest(self, predicate) }

  /// Whether documents are sorted by nothing but the id, from the last to the first.
  var isByIDReversed: Bool {
    order.count == 1 && order[0].isDescending && order[0].path == MatchedDocument.idField
  }

  /// Whether documents are sorted by nothing but the id.
  var isByID: Bool { order.isEmpty || isByIDReversed }

  /// `skip + limit`, the number of matches that contribute to the result; nil for all.
  var needed: Int? {
    let (sum, overflow) = skip.addingReportingOverflow(limit)
    return overflow ? nil : sum
  }
}
