import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// A directory of the real file system for one test, which is removed after it.
final class TestDirectory: Sendable {
  let path: String
  var database: String { "\(path)/db.latewood" }

  init() throws { path = try Directories.makeTemporary("latewood-documents") }

  deinit {
    do { try Directories.removeTree(path) } catch { Issue.record(error) }
  }
}

/// A clock that tests set, in seconds.
final class TestClock: Sendable {
  private let seconds: Guarded<UInt64>
  init(_ seconds: UInt64 = 1_700_000_000) { self.seconds = Guarded(seconds) }
  var now: UInt64 { seconds.withLock { $0 } }
  func advance(_ by: UInt64) { seconds.withLock { $0 += by } }

  func options() -> DocumentOptions {
    var options = DocumentOptions()
    options.expiresByItself = false
    options.store.compaction = .manual
    let seconds = seconds
    options.environment = Environment(
      now: { seconds.withLock { $0 } * 1_000_000 }, random: Environment.system.random)
    return options
  }
}

/// Returns the error that `body` throws, which must be a `DocumentError` with a message.
@discardableResult
func refusal(
  _ code: DocumentError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> DocumentError? {
  do {
    try body()
  } catch let error as DocumentError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    #expect(error.message.count > 8, sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record("not a DocumentError: \(error)", sourceLocation: sourceLocation)
    return nil
  }
  Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  return nil
}

/// Thrown by tests to end a batch.
struct OnPurpose: Error {}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

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

/// Runs the body a number of times in parallel, each on a separate queue (and so a separate
/// thread), and waits for all of them. Their errors are recorded as issues.
func inParallel(
  _ count: Int, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: @escaping @Sendable (Int) throws -> Void
) {
  let group = DispatchGroup()
  let failures = Guarded<[String]>([])
  for index in 0..<count {
    DispatchQueue(label: "test.\(index)").async(group: group) {
      do { try body(index) } catch { failures.withLock { $0.append("thread \(index): \(error)") } }
    }
  }
  group.wait()
  for failure in failures.withLock({ $0 }) { Issue.record("\(failure)", sourceLocation: sourceLocation) }
}
