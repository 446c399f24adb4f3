import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// A collection of a database of this process as one side of a replication.
///
/// Revisions are inserted in transactions that are not durable before ``ensureDurable()``. A
/// sequence is the number of a change in decimal digits.
package struct CollectionPeer: ReplicationPeer {
  let store: DocumentStore
  let collection: CollectionHandle
  /// The identity of the other side; nil until a session begins.
  private let other = Guarded<String?>(nil)

  package init(_ store: DocumentStore, _ collection: CollectionHandle) {
    self.store = store
    self.collection = collection
  }

  package func information() async throws -> PeerInformation {
    try await reading { reads in
      let lineage = Self.hexadecimal(collection.identity.bytes)
      return PeerInformation(
        identity: Self.hexadecimal(try store.identity()) + "/" + lineage, lineage: lineage,
        lastSequence: PeerSequence(String(try reads.lastSequence())))
    }
  }

  package func changes(_ request: ChangesRequest) async throws -> any ChangeFeed {
    guard let since = UInt64(request.since.text) else {
      throw ReplicationError(.invalidParameter, "\"\(request.since)\" is not a sequence of a collection")
    }
    return try translating {
      CollectionFeed(
        try FeedPages(
          store, collection, since: since, isContinuous: request.isContinuous,
          filter: try CollectionFilter(request)?.filter))
    }
  }

  package func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions] {
    try await reading { reads in
      try reads.difference(asked.map { ($0.id, $0.revisions) }).map {
        MissingRevisions($0.id, missing: $0.missing, possibleAncestors: $0.possibleAncestors)
      }
    }
  }

  package func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision] {
    try await reading { reads in
      var found: [PeerRevision] = []
      found.reserveCapacity(requests.count)
      for request in requests {
        for revision in try reads.revisions(request.revisions, of: request.id, isLatest: true) {
          found.append(try peerRevision(revision, request, reads))
        }
      }
      return found
    }
  }

  package func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    var outcomes = [InsertOutcome](repeating: .stored, count: revisions.count)
    var places: [Int] = []
    var foreign: [ForeignRevision] = []
    foreign.reserveCapacity(revisions.count)
    // Keep the blobs in the database until the documents refer to them.
    var blobs: [BlobHandle] = []
    for (place, revision) in revisions.enumerated() {
      switch try await received(revision, &blobs) {
      case .revision(let prepared):
        places.append(place)
        foreign.append(prepared)
      case .outcome(let outcome): outcomes[place] = outcome
      }
    }
    if foreign.isEmpty { return outcomes }
    let results = try await writing { [foreign, remote = other.withLock { $0 }] writer in
      guard let remote else { return try writer.insert(contentsOf: foreign, in: collection) }
      return try writer.insert(contentsOf: foreign, in: collection, from: remote)
    }
    withExtendedLifetime(blobs) {}
    for (place, result) in zip(places, results) {
      if case .failure(let error) = result { outcomes[place] = .refused(.init(.unacceptable, error.message)) }
    }
    return outcomes
  }

  package func begin(with other: PeerInformation) { self.other.withLock { $0 = other.identity } }

  package func acknowledge(through place: PeerSequence, refused: [DocumentRevisions]) async throws {
    guard let remote = other.withLock({ $0 }), let sequence = UInt64(place.text) else { return }
    try await writing { writer in
      let revisions = refused.flatMap { document in document.revisions.map { (document.id, $0) } }
      try writer.notePush(to: remote, through: sequence, refused: revisions, in: collection)
    }
  }

  package func ensureDurable() async throws -> String? {
    try await performing { try store.sync() }
    return nil
  }

  package func localDocument(_ id: String) async throws -> LocalDocument? {
    try await reading { reads in
      try reads.localDocument(id).map { LocalDocument(revision: $0.revision, body: $0.body) }
    }
  }

  package func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String {
    do {
      return try await writing { writer in
        try writer.putLocal(id, in: collection, body: body, replacing: revision)
      }
    } catch let error as ReplicationError where error.database?.code == .conflict {
      throw ReplicationError(.conflict, error.message)
    }
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

// MARK: - Calls of the database

extension CollectionPeer {
  /// Reads one state of the collection, on a queue of the database.
  func reading<R: Sendable>(_ body: @escaping @Sendable (DocumentReads) throws -> R) async throws -> R {
    try await performing { try body(try store.reads(collection)) }
  }

  func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try Task.checkCancellation()
    do { return try await store.perform(body) } catch { throw Self.translated(error) }
  }

  func writing<R: Sendable>(_ body: @escaping @Sendable (DocumentWriter) throws -> R) async throws -> R {
    try Task.checkCancellation()
    do { return try await store.write(durability: .relaxed, body) } catch { throw Self.translated(error) }
  }

  func translating<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw Self.translated(error) }
  }

  /// Converts an error of the database or of a body to one of the replication; returns any other
  /// error unchanged.
  static func translated(_ error: any Error) -> any Error {
    switch error {
    case let error as DatabaseError: ReplicationError(error)
    case let error as FleeceError: ReplicationError(DatabaseError(inBody: error))
    default: error
    }
  }
}

// MARK: - The feed

private final class CollectionFeed: ChangeFeed {
  private let pages: FeedPages

  init(_ pages: FeedPages) { self.pages = pages }

  func next(limit: Int) async throws -> ChangesPage? {
    let page: FeedPages.Page?
    do { page = try await pages.next(limit: limit) } catch { throw CollectionPeer.translated(error) }
    guard let page else { return nil }
    let changes = page.changes.map { change in
      PeerChange(
        PeerSequence(String(change.entry.sequence)), id: change.entry.id, leaves: change.leaves.map(\.id),
        isDeleted: change.entry.isDeleted)
    }
    // Sequences that a later change has replaced are counted too.
    return ChangesPage(
      changes, last: PeerSequence(String(page.last)), pending: Int(clamping: page.lastSequence - page.last))
  }

  func close() { pages.close() }
}

/// The filter of a feed by ids and by a selector.
private struct CollectionFilter {
  private let ids: Set<TextKey>?
  private let predicate: Predicate?

  init?(_ request: ChangesRequest) throws {
    if request.ids == nil, request.selector == nil { return nil }
    ids = request.ids.map { Set($0.map { TextKey($0) }) }
    do throws(QueryError) {
      predicate = try request.selector.map { (json) throws(QueryError) in
        try MangoParser.predicateWithoutText(json: String(decoding: json, as: UTF8.self))
      }
    } catch {
      throw ReplicationError(.invalidParameter, "the selector of the replication is wrong: \(error.reason)")
    }
  }

  var filter: FeedPages.Filter {
    { [ids, predicate] reads, change in
      if let ids, !ids.contains(TextKey(change.entry.id)) { return nil }
      guard let predicate else { return change }
      var change = change
      change.leaves = try change.leaves.filter { leaf in
        guard let body = try reads.body(at: leaf.body) else { return false }
        return try FleeceBody(body).withRoot { root throws(FleeceError) in
          try predicate.matches(RevisionFields(id: change.entry.id, revision: leaf.id, body: root))
        }
      }
      return change.leaves.isEmpty ? nil : change
    }
  }
}

/// The fields of a revision as a selector sees them.
private struct RevisionFields: FieldSource {
  var id: String
  var revision: RevisionID
  var body: FleeceValue

  func withField<R>(
    _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    if path == MatchedDocument.idField { return try Self.lend(id, to: body) }
    if path == MatchedDocument.revisionField { return try Self.lend("\(revision)", to: body) }
    return try self.body.withField(path, body)
  }

  private static func lend<R>(
    _ text: String, to body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    var writer = FleeceWriter()
    try writer.string(text)
    return try FleeceBody(written: try writer.finish()).withRoot { root throws(FleeceError) in
      try body(.value(root))
    }
  }
}
