import LatewoodDocuments

/// The result of `Database.prune`: the numbers of removed revisions and bodies.
public struct PruneReport: Sendable, Equatable {
  /// The number of documents from which revisions were removed.
  public var documents: Int
  /// The number of removed revisions.
  public var revisions: Int
  /// The number of removed bodies of old revisions.
  public var bodies: Int
  /// The total size of the removed bodies, in bytes.
  public var bodyBytes: UInt64

  init(_ count: PruneCount) {
    documents = count.documents
    revisions = count.revisions
    bodies = Int(clamping: count.bodies)
    bodyBytes = count.bodyBytes
  }
}

extension Database {
  /// Removes old revisions of all documents now, with their contents, while reads and writes
  /// continue.
  ///
  /// A revision is kept if it is current or in conflict, or fewer than `generations` generations
  /// before such a revision. The number applies to this call only; to change it for the future, see
  /// ``setRevisionDepth(_:)-2og89``. The work is done in many small transactions; if it is
  /// interrupted, another call continues. The file gets smaller with the next compaction, which
  /// removes the contents of all revisions that are not current.
  ///
  /// - Parameter generations: the number of generations to keep of each document, at least 1; nil
  ///   for ``revisionDepth``.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the number is less than 1; `busy` inside a
  ///   batch; otherwise like every change.
  /// - Complexity: O(n log n) in the number of documents and of their old revisions.
  @discardableResult
  public func prune(keeping generations: Int? = nil) throws -> PruneReport {
    try prune(keeping: generations, check: {})
  }

  /// Removes old revisions of all documents now, without blocking the caller's thread. Otherwise
  /// like the blocking form. If the task is cancelled, the revisions that have not been removed by
  /// then are kept.
  ///
  /// - Parameter generations: the number of generations to keep of each document, at least 1; nil
  ///   for ``revisionDepth``.
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the last transaction.
  @discardableResult
  public func prune(keeping generations: Int? = nil) async throws -> PruneReport {
    try await cancellable { database, check in
      try await database.documents.perform {
        try check()
        return try database.prune(keeping: generations, check: check)
      }
    }
  }

  private func prune(keeping generations: Int?, check: () throws -> Void) throws -> PruneReport {
    if let generations, generations < 1 {
      throw DatabaseError(
        .invalidParameter, "\(generations) generations of a document cannot be kept",
        advice: "Keep 1 or more: the current revision always stays.")
    }
    do {
      return PruneReport(try documents.prune(keeping: generations) { _ in try check() })
    } catch { throw DatabaseError.translated(error) }
  }
}
