import Foundation
import Latewood
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodReplication
import LatewoodReplicator

/// Two databases in memory, with a collection of the same name in each.
struct TwoSides {
  let here, there: DocumentCollection

  init() throws {
    here = try Database.inMemory()["people"]
    there = try Database.inMemory()["people"]
  }

  func replicator(
    _ direction: Replicator.Direction, _ mode: Replicator.Mode = .oneShot,
    _ change: (inout Replicator.Options) -> Void = { _ in }
  ) throws -> Replicator {
    var options = Replicator.Options()
    change(&options)
    return try Replicator(
      here, with: .collection(there), direction: direction, mode: mode, options: options)
  }

  /// Replicates with a hook before each insertion into the other side.
  func replicator(
    _ mode: Replicator.Mode = .oneShot, _ change: (inout Replicator.Options) -> Void = { _ in },
    beforeInsert hook: @escaping @Sendable () throws -> Void
  ) throws -> Replicator {
    var options = Replicator.Options()
    options.parallelism = 1
    options.sleep = { _ in try await Task.sleep(for: .milliseconds(1)) }
    change(&options)
    let peer = HookedPeer(there, beforeInsert: hook)
    return try Replicator(here, with: .peer { peer }, direction: .push, mode: mode, options: options)
  }
}

extension DocumentCollection {
  func put(_ id: String, _ members: [String: DocumentValue] = [:]) async throws {
    try await save(MutableDocument(id: id, members), .lastWriteWins)
  }

  /// All documents as JSON with the ids of their revisions.
  var contents: [String] {
    get async throws { try await documents().map { "\($0.id) \($0.revisionID) \(try $0.toJSON())" } }
  }
}

/// Waits until a condition holds. If it never does, the time limit ends the test.
func until(_ condition: () async throws -> Bool) async throws {
  while try await !condition() { try await Task.sleep(for: .milliseconds(2)) }
}

/// A directory that is removed after `body`.
func withDirectory(_ body: (URL) async throws -> Void) async throws {
  let directory = FileManager.default.temporaryDirectory.appending(path: "latewood-\(UUID())")
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  try await body(directory)
}

/// A collection with a hook before each insertion, which may throw, and with ids that it refuses.
struct HookedPeer: ForwardingPeer {
  let base: CollectionPeer
  private let refuses: @Sendable (String) -> Bool
  private let beforeInsert: @Sendable () throws -> Void

  init(
    _ collection: DocumentCollection, refuses: @escaping @Sendable (String) -> Bool = { _ in false },
    beforeInsert: @escaping @Sendable () throws -> Void = {}
  ) {
    base = CollectionPeer(collection.database.documents, collection.handle)
    self.refuses = refuses
    self.beforeInsert = beforeInsert
  }

  func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    try beforeInsert()
    var rest = try await base.insert(revisions.filter { !refuses($0.id) })[...]
    return revisions.map { refuses($0.id) ? .refused(.init(.forbidden, "no")) : rest.removeFirst() }
  }
}
