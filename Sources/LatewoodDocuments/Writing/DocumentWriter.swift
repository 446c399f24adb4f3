import LatewoodStore

/// The body of a new revision.
struct NewBody {
  var bytes: [UInt8]
  var blobs: [BlobDigest]
}

/// The argument of a batch's closure: edits documents, and provides reads that see the edits.
///
/// An edit reads the record of a document, computes its next revisions, and has the batch make the
/// change. Every method either throws before it changes anything or completes; if the store fails
/// in between, the batch can no longer be committed.
///
/// Valid only inside the closure, on its thread.
package struct DocumentWriter {
  package let batch: DocumentBatch

  package init(_ batch: DocumentBatch) { self.batch = batch }

  /// The time when the batch began, in seconds since 1970.
  package var now: UInt64 { batch.now }

  /// Returns reads of a collection in the state of the batch.
  package func reads(_ collection: CollectionHandle) throws(DatabaseError) -> DocumentReads {
    try batch.reads(collection)
  }

  /// Returns the record of a document in the state of this batch. Purges an expired document, even
  /// before its alarm, and returns nil.
  func record(_ id: String, _ part: CollectionBatch) throws -> DocumentRecord? {
    guard let record = try storedRecord(id, part) else { return nil }
    guard record.isExpired(at: batch.now) else { return record }
    // This change is not the caller's: it stays even if the call is refused, and does not make an
    // outer batch fail.
    try batch.withoutCounting { try purgeDocument(id, part, record, .expired) }
    return nil
  }

  func storedRecord(_ id: String, _ part: CollectionBatch) throws(DatabaseError) -> DocumentRecord? {
    try batch.transaction.mapValue(id, in: part.spaces.documents) { value in
      try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord(bytes) }
    }
  }

  /// Stores a changed document.
  ///
  /// - Parameters:
  ///   - old: the previous record; nil for a new document.
  ///   - tree: the new revisions; not empty.
  ///   - sequence: the sequence of the change.
  ///   - body: the body of the revision that has its body at `sequence`.
  ///   - added: the revision that the change adds; nil if the change only removes revisions.
  ///   - isLocal: whether the change was made here, so that unique indexes may refuse it.
  /// - Returns: the new head of the record.
  @discardableResult
  func store(
    _ id: String, _ part: CollectionBatch, _ old: DocumentRecord?, _ tree: RevisionTree, sequence: UInt64,
    body: NewBody?, added: RevisionID?, kind: CollectionChange.Reason = .saved, isLocal: Bool = false
  ) throws -> DocumentRecord.Head {
    // A tombstone does not expire, and a document saved over one starts without an expiry.
    let expiry = tree.winner?.isDeleted == true ? nil : old?.expiry
    var record = DocumentRecord(sequence: sequence, expiry: expiry, tree: tree)
    if let bytes = body?.bytes, !bytes.isEmpty, bytes.count <= DocumentRecord.bodyLimit,
      tree.winner?.body == sequence
    {
      record.body = bytes
    }
    let change = RevisionChange(id, from: old, to: record, body: body, added: added, kind, isLocal: isLocal)
    guard let head = change.newHead else {
      throw DatabaseError(.corruptRevisionData, "\(id) has no revisions")
    }
    batch.record.removeAll(keepingCapacity: true)
    record.append(to: &batch.record)
    try batch.apply(change, part)
    return head
  }
}

extension DocumentRecord {
  /// The head of this record; nil if the tree is empty.
  var head: Head? {
    guard let winner = tree.winner else { return nil }
    let hasConflicts = !winner.isDeleted && tree.nodes.count { $0.isLeaf && !$0.isDeleted } > 1
    return Head(
      sequence: sequence, expiry: expiry, winner: winner.id, isDeleted: winner.isDeleted, body: winner.body,
      hasConflicts: hasConflicts, bodyLength: body?.count ?? 0)
  }
}
