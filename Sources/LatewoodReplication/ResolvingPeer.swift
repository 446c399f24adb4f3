import Latewood
import LatewoodDocuments
import LatewoodReplicator

/// A collection that resolves conflicts when revisions are inserted.
struct ResolvingPeer: ForwardingPeer {
  let base: CollectionPeer
  private let collection: DocumentCollection
  private let resolver: @Sendable (Replicator.Conflict) throws -> MutableDocument?
  private let onFailure: @Sendable (Replicator.DocumentFailure) -> Void
  /// The number of edits during a resolution after which the conflict is left to a later one.
  private static let attempts = 10

  init(
    _ base: CollectionPeer, _ collection: DocumentCollection,
    _ resolver: @escaping @Sendable (Replicator.Conflict) throws -> MutableDocument?,
    onFailure: @escaping @Sendable (Replicator.DocumentFailure) -> Void
  ) {
    self.base = base
    self.collection = collection
    self.resolver = resolver
    self.onFailure = onFailure
  }

  func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    let outcomes = try await base.insert(revisions)
    var resolved: Set<[UInt8]> = []
    for (revision, outcome) in zip(revisions, outcomes) where outcome == .stored {
      guard resolved.insert(Array(revision.id.utf8)).inserted else { continue }
      do {
        try await resolve(revision.id)
      } catch let error where !(error is CancellationError) {
        onFailure(
          Replicator.DocumentFailure(
            collection: collection.name, id: revision.id, revisionID: "\(revision.history[0])",
            direction: .pull, kind: .unresolved,
            message: (error as? DatabaseError)?.message ?? "the resolver failed: \(error)"))
      }
    }
    return outcomes
  }

  /// Resolves the conflict of a document, if it has one.
  private func resolve(_ id: String) async throws {
    for attempt in 1...Self.attempts {
      guard let conflict = try await conflict(of: id), let merged = try resolver(conflict) else { return }
      do {
        let kept = ([conflict.current] + conflict.others).first { $0.revisionID == merged.revisionID }
        if let kept, merged.hasSameContent(as: kept), !merged.isDeleted {
          try await collection.resolveConflicts(choosing: kept)
        } else {
          try await collection.resolveConflicts(with: merged)
        }
        return
      } catch let error as DatabaseError where error.code == .conflict && attempt < Self.attempts {
        // The document has been edited since: merge that, too.
      }
    }
  }

  private func conflict(of id: String) async throws -> Replicator.Conflict? {
    let others = try await collection.conflicts(of: id)
    guard !others.isEmpty, let current = try await collection.document(id) else { return nil }
    var ancestor: Document? = current
    for other in others {
      guard let newest = ancestor else { break }
      ancestor = try await collection.commonAncestor(newest, other)
    }
    return Replicator.Conflict(id: id, current: current, others: others, ancestor: ancestor)
  }
}
