import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator
import LatewoodSimulation
import LatewoodStore
import Testing

/// A database with one collection that replicates.
struct Side {
  let store: DocumentStore
  let collection: CollectionHandle
  var peer: CollectionPeer { CollectionPeer(store, collection) }

  init(_ store: DocumentStore) throws {
    self.store = store
    collection = try #require(try store.collection(CollectionHandle.defaultName))
  }

  /// A database in memory.
  init() throws {
    var options = DocumentOptions()
    options.expiresByItself = false
    options.store.compaction = .manual
    try self.init(try DocumentStore.inMemory(options: options))
  }

  @discardableResult
  func save(
    _ id: String, _ json: String, over parent: RevisionID? = nil, blobs: [BlobDigest] = [],
    policy: ConcurrencyControl = .lastWriteWins
  ) throws -> RevisionID {
    let body = try JSON.fleece(from: json)
    return try store.write(durability: .relaxed) {
      try $0.save(
        id, in: collection, body: body, parent: parent, blobs: blobs + BlobReferences.find(in: body),
        policy: policy)
    }.revision
  }

  func delete(_ id: String) throws {
    let body = try JSON.fleece(from: "{}")
    _ = try store.write(durability: .relaxed) {
      try $0.save(
        id, in: collection, body: body, parent: nil, isDeleted: true, policy: .lastWriteWins)
    }
  }

  /// Adds a branch to a document, as another replica would.
  func branch(_ id: String, _ json: String, from parent: RevisionID) throws {
    let body = try JSON.fleece(from: json)
    _ = try store.write(durability: .relaxed) {
      try $0.saveBranch(id, in: collection, body: body, parent: parent)
    }
  }

  /// Saves a document with a blob of some bytes in its member `photo`.
  func saveBlob(_ id: String, _ content: [UInt8], at member: String = "photo") throws {
    let handle = try store.putBlob(content)
    try save(
      id,
      #"{"\#(member)":{"@type":"blob","digest":"\#(handle.digest.text)","length":\#(content.count)}}"#)
    withExtendedLifetime(handle) {}
  }

  var reads: DocumentReads { get throws { try store.reads(collection) } }

  /// The winner's body in JSON; nil if there is no such document.
  func json(_ id: String) throws -> String? {
    try reads.document(id).map { String(decoding: try JSON.text(of: $0.body), as: UTF8.self) }
  }

  /// All documents with their leaves and the bodies of the leaves, in the order of ids.
  func contents() throws -> [String] {
    let reads = try reads
    var list: [String] = []
    for entry in try reads.changes() {
      guard let record = try reads.record(of: entry.id) else { continue }
      var line = entry.id
      for leaf in record.tree.leaves {
        let body = try reads.body(at: leaf.body).map {
          String(decoding: try JSON.text(of: $0), as: UTF8.self)
        }
        line += " \(leaf.id)\(leaf.isDeleted ? "†" : "") \(body ?? "without a body")"
        for digest in try reads.body(at: leaf.body).map({ BlobReferences.find(in: $0) }) ?? [] {
          line += " blob of \(try store.blob(digest)?.read().count ?? -1)"
        }
      }
      list.append(line)
    }
    return list.sorted()
  }

  func expectSound(_ comment: String = "", sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try store.verify()
    #expect(report.faults == [], "\(comment)", sourceLocation: sourceLocation)
  }
}

/// Replicates once in one direction.
@discardableResult
func replicate(
  _ source: any ReplicationPeer, _ target: any ReplicationPeer, _ setup: ReplicationSetup = .test
) async throws -> ReplicationStatus {
  try await Replication(from: source, to: target, setup).run()
}

extension ReplicationSetup {
  /// A setup without delays, and with one batch at a time.
  static var test: ReplicationSetup {
    var setup = ReplicationSetup()
    setup.parallelism = 1
    setup.batchSize = 7
    // No checkpoint is written before the end, even on a slow machine.
    setup.checkpointInterval = .seconds(86_400)
    setup.sleep = { _ in try Task.checkCancellation() }
    return setup
  }
}

/// A peer that records the calls that it passes on, and makes some of them fail.
final class ObservedPeer: ReplicationPeer {
  enum Call: String, Sendable {
    case information, changes, next, missing, revisions, insert, ensureDurable, localDocument
    case putLocalDocument
  }

  enum Moment: Sendable { case before, after }

  private let peer: any ReplicationPeer
  private let noted = Guarded<[Call]>([])
  private let inserted = Guarded<[RevisionID]>([])
  /// Called before and after each call. The call throws its errors.
  private let hook: @Sendable (Call, Moment) throws -> Void
  private let epoch: String?

  /// - Parameter epoch: the epoch of the database; nil for the peer's own.
  init(
    _ peer: any ReplicationPeer, epoch: String? = nil,
    hook: @escaping @Sendable (Call, Moment) throws -> Void = { _, _ in }
  ) {
    self.peer = peer
    self.epoch = epoch
    self.hook = hook
  }

  var calls: [Call] { noted.withLock { $0 } }
  /// The revisions that were passed to the peer, and for which it has returned an outcome.
  var insertedRevisions: [RevisionID] { inserted.withLock { $0 } }
  func count(_ call: Call) -> Int { calls.count { $0 == call } }
  func forget() {
    noted.withLock { $0 = [] }
    inserted.withLock { $0 = [] }
  }

  func pass<R>(_ call: Call, _ body: () async throws -> R) async throws -> R {
    noted.withLock { $0.append(call) }
    try hook(call, .before)
    let result = try await body()
    try hook(call, .after)
    return result
  }

  func information() async throws -> PeerInformation {
    try await pass(.information) {
      var information = try await peer.information()
      information.epoch = epoch ?? information.epoch
      return information
    }
  }
  func changes(_ request: ChangesRequest) async throws -> any ChangeFeed {
    ObservedFeed(self, try await pass(.changes) { try await peer.changes(request) })
  }
  func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions] {
    try await pass(.missing) { try await peer.missing(asked) }
  }
  func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision] {
    try await pass(.revisions) { try await peer.revisions(requests) }
  }
  func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    try await pass(.insert) {
      let outcomes = try await peer.insert(revisions)
      inserted.withLock { $0 += revisions.map { $0.history[0] } }
      return outcomes
    }
  }
  func ensureDurable() async throws -> String? {
    try await pass(.ensureDurable) { try await peer.ensureDurable() }
  }
  func localDocument(_ id: String) async throws -> LocalDocument? {
    try await pass(.localDocument) { try await peer.localDocument(id) }
  }
  func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String {
    try await pass(.putLocalDocument) { try await peer.putLocalDocument(id, body: body, revision: revision) }
  }
}

private final class ObservedFeed: ChangeFeed {
  private let peer: ObservedPeer
  private let feed: any ChangeFeed

  init(_ peer: ObservedPeer, _ feed: any ChangeFeed) {
    self.peer = peer
    self.feed = feed
  }

  func next(limit: Int) async throws -> ChangesPage? {
    try await peer.pass(.next) { try await feed.next(limit: limit) }
  }

  func close() { feed.close() }
}
