import LatewoodConcurrency
import LatewoodFleece
import LatewoodQuery

/// The result of a request, kept up to date: first the current result, then a new one after each
/// commit that changes it.
///
/// After a commit, only the documents that it wrote are read and moved into, within or out of the
/// result. A result with a limit keeps more rows than it shows; if more rows leave than that
/// reserve, the result is read again up to the limit, through an index if there is one. Several
/// commits before the next result is requested lead to one update.
///
/// Every result belongs to one state of the collection. Commits are announced after they are made,
/// so a state is used only when all its commits have been announced. An expired document leaves the
/// result with the next change, or when it is purged.
///
/// The entire result is read again if the changes are unknown: if another process made them, or if
/// more than `PendingChanges.limit` documents have changed since the last result. A ranked result
/// is always read again, because the scores of all documents change with each of them. Unchanged
/// documents are not decoded again. If the values of rows have scores, a row with another score is
/// a change.
package struct LiveFind<Value: Sendable> {
  package typealias Row = LiveRow<Value>

  package struct Change: Sendable {
    /// The position in the old result for a removal, in the new result for an insertion.
    package let offset: Int
    package let row: Row
    package let isRemoval: Bool
  }

  package struct Update: Sendable {
    package let rows: LiveRows<Value>
    /// The range of the requested rows.
    package let range: Range<Int>
    /// The removals and insertions since the previous update; nil for the first update.
    package let changes: [Change]?
  }

  /// The score of a document, for a value that has one.
  package struct Score {
    package let value: Double
    /// The search by which the document is ranked.
    package let search: TextSearch
    /// The value of the same document with an earlier score, if it is known.
    package let known: Value?
  }

  private let store: DocumentStore
  private let collection: CollectionHandle
  private let request: FindRequest
  private let make: @Sendable (MatchedDocument, Score?) throws -> Value
  /// Whether values have scores.
  private let isScored: Bool

  /// The number of rows up to the last one shown; nil for all.
  private let needed: Int?
  /// The number of rows to keep after the shown ones.
  private let slack: Int
  private var rows = LiveRows<Value>()
  private var places: [DocumentKey: Row] = [:]
  /// The row up to which the result is complete: `rows` contains every matching document that sorts
  /// before it. Nil if `rows` contains all matching documents.
  private var horizon: Row?
  /// The definition of the full-text index by which the rows are scored.
  private var definition: TextDefinition?
  /// The last sequence in the state of the rows.
  private var lastSequence: UInt64 = 0

  private let pending = Guarded(PendingChanges())
  private var signal: ChangeSignal?

  package init(
    _ store: DocumentStore, _ collection: CollectionHandle, _ request: FindRequest,
    _ make: @escaping @Sendable (MatchedDocument) throws -> Value
  ) {
    self.init(store, collection, request, isScored: false) { document, _ in try make(document) }
  }

  /// Creates a live result whose values have scores. The request must be ranked.
  package init(
    _ store: DocumentStore, _ collection: CollectionHandle, scored request: FindRequest,
    _ make: @escaping @Sendable (MatchedDocument, Score) throws -> Value
  ) {
    self.init(store, collection, request, isScored: true) { document, score in
      guard let score else { throw DatabaseError(.invalidParameter, "the request is not ranked") }
      return try make(document, score)
    }
  }

  private init(
    _ store: DocumentStore, _ collection: CollectionHandle, _ request: FindRequest, isScored: Bool,
    _ make: @escaping @Sendable (MatchedDocument, Score?) throws -> Value
  ) {
    self.store = store
    self.collection = collection
    self.request = request
    self.isScored = isScored
    self.make = make
    needed = request.limit == .max ? nil : request.needed
    // A ranked result never uses a reserve, because it is always read again.
    slack = request.ranking == nil ? max(16, min(request.limit / 2, 1024)) : 0
  }

  /// Waits for the next result and returns it; nil if the task is cancelled.
  ///
  /// - Throws: any error of creating a value; ``DatabaseError`` `notOpen`, `notFound` if the
  ///   collection was dropped, and `corruptData`.
  package mutating func next() async throws -> Update? {
    guard let signal else { return try begin() }
    while !Task.isCancelled {
      signal.reset()
      let changes = pending.withLock { $0.take() }
      if changes.isEmpty {
        if await !signal.wait() { return nil }
      } else if let update = try await take(changes, signal) {
        return update
      }
    }
    return nil
  }

  /// Returns the result after all commits before this call; nil if they have not changed it. Does
  /// not wait for other commits.
  package mutating func update() async throws -> Update? {
    guard let signal else { return try begin() }
    return try await take(pending.withLock { $0.take() }, signal)
  }

  private mutating func begin() throws -> Update {
    let pending = pending
    // The signal is set up before the collection is read, so that no commit is missed. A commit in
    // between is examined again.
    let signal = try ChangeSignal(store, collection.name) { event in pending.withLock { $0.add(event) } }
    try fill(store.reads(collection))
    self.signal = signal
    return Update(rows: rows, range: range, changes: nil)
  }

  // MARK: States

  /// Waits until all commits in the newest state have been announced, then applies them.
  private mutating func take(_ first: PendingChanges, _ signal: ChangeSignal) async throws -> Update? {
    var changes = first
    let reads = try store.reads(collection)
    let last = try reads.lastSequence()
    var later: [PendingChanges.Commit] = []
    while !changes.isIncomplete, max(lastSequence, changes.lastSequence, later.last?.lastSequence ?? 0) < last
    {
      signal.reset()
      let more = pending.withLock { $0.take() }
      if more.isEmpty, await !signal.wait() { return nil }
      later += changes.add(more, upTo: last)
    }
    if !later.isEmpty { pending.withLock { $0.putBack(later) } }
    // With a single owner, a change does not copy the rows.
    let isWhole = needed == nil && request.skip == 0
    var isRefilled = changes.isIncomplete || request.ranking != nil
    let (before, shown) = isWhole && !isRefilled ? (LiveRows(), 0..<0) : (rows, range)
    var edits: [Change] = []
    if isRefilled {
      // If changes are unknown: a new state, later than those.
      try fill(changes.isIncomplete ? store.reads(collection) : reads)
    } else {
      edits = try apply(changes, reads)
      lastSequence = last
      if horizon != nil, let needed, rows.count < needed {
        try fill(reads)
        isRefilled = true
      }
    }
    if isRefilled || !isWhole {
      edits = Self.changes(from: before, shown, to: rows, range)
    }
    return edits.isEmpty ? nil : Update(rows: rows, range: range, changes: edits)
  }

  /// The range of the requested rows.
  private var range: Range<Int> {
    let start = min(request.skip, rows.count)
    return start..<(start + min(request.limit, rows.count - start))
  }

  /// Reads the entire result again, but keeps the rows of unchanged documents.
  private mutating func fill(_ reads: DocumentReads) throws {
    var request = request
    let (limit, overflow) = (needed ?? .max).addingReportingOverflow(slack)
    (request.skip, request.limit) = (0, overflow ? .max : limit)
    let list = isScored ? try scoredRows(reads, request) : try rows(reads, request)
    rows = LiveRows(sorted: list)
    places = Dictionary(list.map { (DocumentKey($0.id), $0) }, uniquingKeysWith: { $1 })
    horizon = list.count < request.limit ? nil : list.last
    lastSequence = try reads.lastSequence()
  }

  private func rows(_ reads: DocumentReads, _ request: FindRequest) throws -> [Row] {
    var list: [Row] = []
    try reads.find(request) { document in
      // The place in a ranked result is also the sort key.
      let place = request.ranking == nil ? nil : SequenceEntry.key(UInt64(list.count))
      if let known = known(document) {
        list.append(known.moved(to: place, document.head))
      } else if let place {
        list.append(Row(document.id, document.head, key: place, value: try make(document, nil)))
      } else if let new = try row(document) {
        list.append(new)
      }
      return true
    }
    return list
  }

  private mutating func scoredRows(_ reads: DocumentReads, _ request: FindRequest) throws -> [Row] {
    var list: [Row] = []
    let old = definition
    try reads.findRanked(PreparedFind(request)) { document, score, search in
      definition = search.definition
      let known = known(document)
      let key = SequenceEntry.key(UInt64(list.count))
      // A value also has the search.
      if let known, known.hasScore(score), search.definition == old {
        list.append(known.moved(to: key, document.head))
      } else {
        let value = try make(document, Score(value: score, search: search, known: known?.value))
        list.append(Row(document.id, document.head, key: key, score: score, value: value))
      }
      return true
    }
    return list
  }

  /// Returns the row of a document unless the document has changed since.
  private func known(_ document: MatchedDocument) -> Row? {
    places[DocumentKey(document.id)].flatMap { $0.isCurrent(document.head) ? $0 : nil }
  }

  /// Returns the row of a document; nil if it sorts after the horizon.
  private func row(_ document: MatchedDocument, upTo horizon: Row? = nil) throws -> Row? {
    let key = try document.key(for: request.order)
    if let horizon, horizon.precedes(key, document.id) { return nil }
    return Row(document.id, document.head, key: key, value: try make(document, nil))
  }

  // MARK: Changes

  private mutating func apply(_ changes: PendingChanges, _ reads: DocumentReads) throws -> [Change] {
    var ids = Set(changes.commits.flatMap { $0.ids.map { DocumentKey($0) } })
    for id in try reads.expired() { ids.insert(DocumentKey(String(decoding: id, as: UTF8.self))) }
    let predicate = try reads.bound(request).predicate
    var (removed, inserted): ([Row], [Row]) = ([], [])
    for id in ids {
      let old = places[id]
      let new = try current(id.text, old, predicate, reads)
      if old === new { continue }
      if let old { removed.append(old) }
      if let new { inserted.append(new) }
    }
    var edits: [Change] = []
    // Most commits change one document: avoid searching for a single row twice.
    if removed.count > 1 {
      edits += removed.map { Change(offset: rows.index(of: $0), row: $0, isRemoval: true) }
    }
    for row in removed {
      let offset = rows.remove(row)
      if removed.count == 1 { edits.append(Change(offset: offset, row: row, isRemoval: true)) }
      places[DocumentKey(row.id)] = nil
    }
    for row in inserted {
      let offset = rows.insert(row)
      if inserted.count == 1 { edits.append(Change(offset: offset, row: row, isRemoval: false)) }
      places[DocumentKey(row.id)] = row
    }
    if inserted.count > 1 {
      edits += inserted.map { Change(offset: rows.index(of: $0), row: $0, isRemoval: false) }
    }
    trim()
    return edits
  }

  /// Returns the row of the current document; nil if it does not match, or sorts after the horizon.
  ///
  /// - Parameter predicate: the condition of the request, bound to the full-text indexes.
  private func current(
    _ id: String, _ old: Row?, _ predicate: Predicate, _ reads: DocumentReads
  ) throws -> Row? {
    let found = try reads.withRecord(of: id) { head, record -> Row? in
      if head.isDeleted { return nil }
      if let old, old.isCurrent(head) { return old }
      return try reads.withDocument(id, head, in: record) { document in
        try predicate.matches(document) ? try row(document, upTo: horizon) : nil
      }
    }
    return found ?? nil
  }

  /// Releases rows far after the shown ones.
  private mutating func trim() {
    guard let needed else { return }
    let (most, overflow) = needed.addingReportingOverflow(2 * slack)
    guard !overflow, rows.count > most else { return }
    while rows.count > needed + slack, let last = rows.removeLast() { places[DocumentKey(last.id)] = nil }
    if rows.count > 0 { horizon = rows[rows.count - 1] }
  }

  /// Returns the differences between two results, both in order. O(rows).
  private static func changes(
    from old: LiveRows<Value>, _ before: Range<Int>, to new: LiveRows<Value>, _ after: Range<Int>
  ) -> [Change] {
    var changes: [Change] = []
    var (i, j) = (before.lowerBound, after.lowerBound)
    while i < before.upperBound || j < after.upperBound {
      let left = i < before.upperBound ? old[i] : nil
      let right = j < after.upperBound ? new[j] : nil
      if let left, left === right {
        (i, j) = (i + 1, j + 1)
      } else if let left, right.map({ !$0.precedes(left) }) ?? true {
        changes.append(Change(offset: i - before.lowerBound, row: left, isRemoval: true))
        i += 1
      } else if let right {
        changes.append(Change(offset: j - after.lowerBound, row: right, isRemoval: false))
        j += 1
      }
    }
    return changes
  }
}

private typealias DocumentKey = TextKey

extension MatchedDocument {
  /// Returns the document's sort key in an order.
  func key(for order: [FindRequest.Order]) throws(FleeceError) -> [UInt8] {
    var key = CollationKey()
    for field in order {
      try withField(field.path) { lookup throws(FleeceError) in
        try key.append(lookup.value, descending: field.isDescending)
      }
    }
    return key.bytes
  }
}
