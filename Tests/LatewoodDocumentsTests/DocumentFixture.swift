import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

extension TemporaryDirectory {
  /// The path of a database in it.
  var database: String { self("db.latewood") }
}

/// A clock that tests set, in seconds.
final class TestClock: Sendable {
  private let seconds: Guarded<UInt64>
  init(_ seconds: UInt64 = 1_700_000_000) { self.seconds = Guarded(seconds) }
  var now: UInt64 { seconds.withLock { $0 } }
  func advance(_ by: UInt64) { seconds.withLock { $0 += by } }

  func options() -> DocumentOptions {
    var options = DocumentOptions.ofPlainBodies
    options.expiresByItself = false
    options.store.compaction = .manual
    let seconds = seconds
    options.environment = Environment(
      now: { seconds.withLock { $0 } * 1_000_000 }, random: Environment.system.random)
    return options
  }
}

/// Expects an error of documents with this code and a message; see `LatewoodTestSupport`.
@discardableResult
func refusal(
  _ code: DatabaseError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> DatabaseError? {
  refusal(code, at: \DatabaseError.code, texts: [\.message], sourceLocation: sourceLocation, body)
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

extension DocumentOptions {
  /// Options of a new database in format 1, in which a body can be any bytes, such as a plain text.
  static var ofPlainBodies: DocumentOptions {
    var options = DocumentOptions()
    options.format = .version1
    return options
  }
}

/// Opens databases with ``DocumentOptions/ofPlainBodies``, if a test does not choose options.
extension DocumentStore {
  static func open(at path: String) throws(DatabaseError) -> DocumentStore {
    try open(at: path, options: .ofPlainBodies)
  }

  static func open(at path: String, mode: Store.OpenMode) throws(DatabaseError) -> DocumentStore {
    try open(at: path, mode: mode, options: .ofPlainBodies)
  }

  static func inMemory() throws(DatabaseError) -> DocumentStore {
    try inMemory(options: .ofPlainBodies)
  }
}

extension DocumentStore {
  /// The default collection.
  func defaultCollection() throws -> CollectionHandle {
    try #require(try collection(CollectionHandle.defaultName))
  }

  @discardableResult
  func save(
    _ id: String, _ body: String, over parent: RevisionID? = nil, in collection: CollectionHandle? = nil,
    blobs: [BlobDigest] = [], policy: ConcurrencyControl = .failOnConflict
  ) throws -> SavedRevision {
    let collection = try collection ?? defaultCollection()
    return try write(durability: .relaxed) {
      try $0.save(id, in: collection, body: bytes(body), parent: parent, blobs: blobs, policy: policy)
    }
  }

  @discardableResult
  func delete(_ id: String, over parent: RevisionID?, in collection: CollectionHandle? = nil) throws
    -> SavedRevision
  {
    let collection = try collection ?? defaultCollection()
    return try write(durability: .relaxed) {
      try $0.save(id, in: collection, body: [0], parent: parent, isDeleted: true)
    }
  }

  func body(_ id: String) throws -> String? {
    try reads(defaultCollection()).document(id).map { String(decoding: $0.body, as: UTF8.self) }
  }

  func expectSound(_ comment: String = "", sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try verify()
    #expect(report.faults == [], "\(comment)", sourceLocation: sourceLocation)
    #expect(report.store?.faults == [], "\(comment)", sourceLocation: sourceLocation)
  }
}
