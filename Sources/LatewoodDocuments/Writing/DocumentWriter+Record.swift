import LatewoodStore

/// The body of a new revision.
struct NewBody {
  var bytes: [UInt8]
  var blobs: [BlobDigest]
}

/// The record of a document, and changes to it together with all entries that must agree with it.
extension DocumentWriter {
  /// Returns the record of a document in the state of this batch. Purges an expired document, even
  /// before its alarm, and returns nil.
  func record(_ id: String, _ work: CollectionWork) throws(DocumentError) -> DocumentRecord? {
    guard let record = try storedRecord(id, work) else { return nil }
    guard record.isExpired(at: now) else { return record }
    // This change is not the caller's: it stays even if the call is refused, and does not make an
    // outer batch fail.
    try withoutCounting { () throws(DocumentError) in try purgeDocument(id, work, record, .expired) }
    return nil
  }

  func storedRecord(_ id: String, _ work: CollectionWork) throws(DocumentError) -> DocumentRecord? {
    try DocumentError.typed {
      try transaction.withValue(id, in: work.spaces.documents) { value in
        try value.reading { (bytes) throws(DocumentError) in try DocumentRecord(bytes) }
      }
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
    _ id: String, _ work: CollectionWork, _ old: DocumentRecord?, _ tree: RevisionTree, sequence: UInt64,
    body: NewBody?, added: RevisionID?, kind: DocumentChange.Kind = .saved, isLocal: Bool = false
  ) throws(DocumentError) -> DocumentRecord.Head {
    // A tombstone does not expire, and a document saved over one starts without an expiry.
    let expiry = tree.winner?.isDeleted == true ? nil : old?.expiry
    var record = DocumentRecord(sequence: sequence, expiry: expiry, tree: tree)
    if let bytes = body?.bytes, !bytes.isEmpty, bytes.count <= DocumentRecord.bodyLimit,
      tree.winner?.body == sequence
    {
      record.body = bytes
    }
    guard let head = record.head else { throw DocumentError(.corruptRevisions, "\(id) has no revisions") }
    let oldHead = old?.head
    if work.state.indexes > 0 {
      let new = IndexedRevision(head, body: head.body == sequence ? body?.bytes : nil)
      let before = oldHead.map { IndexedRevision($0, body: old?.body) }
      try index(id, work, from: before, to: new, isLocal: isLocal && new.body != nil)
    }
    if work.state.views > 0 {
      let new = IndexedRevision(head, body: head.body == sequence ? body?.bytes : nil)
      try updateViews(id, work, from: oldHead, to: new)
    }
    if head.isDeleted || kind == .purged { noteRemoval() } else { changeCount += 1 }
    let entry = SequenceEntry(sequence: sequence, id: id, head: head)
    try DocumentError.typed {
      let spaces = work.spaces
      if let old, let moved = old.body {
        // The record only contains the body of the latest change.
        try transaction.put(
          SequenceEntry.Key(old.sequence), moved, in: spaces.bodies, existed: false)
      }
      if let body {
        if record.body == nil {
          try transaction.put(SequenceEntry.Key(sequence), body.bytes, in: spaces.bodies)
        }
        work.state.bodies += 1
        work.state.bodyBytes += UInt64(body.bytes.count)
        for digest in body.blobs.isEmpty ? [] : Set(body.blobs) {
          let key = SequenceEntry.key(sequence)
          try addReference(key + digest.bytes, digest.bytes + key, to: digest, work)
        }
        if let node = tree.nodes.first(where: { $0.body == sequence }), !node.isLeaf {
          try supersede(sequence, work)
        }
      }
      // A leaf that now has children may be pruned at the same time. Bodies of purged leaves are
      // deleted by the caller.
      for node in old?.tree.nodes ?? [] where node.isLeaf && node.body != 0 && kind != .purged {
        if tree[node.id]?.isLeaf != true { try supersede(node.body, work) }
      }
      if let old {
        try transaction.delete(SequenceEntry.Key(old.sequence), in: spaces.sequences, existed: true)
      }
      encoded.removeAll(keepingCapacity: true)
      entry.append(to: &encoded)
      try transaction.put(SequenceEntry.Key(sequence), encoded, in: spaces.sequences, existed: false)
      encoded.removeAll(keepingCapacity: true)
      record.append(to: &encoded)
      try transaction.put(id, encoded, in: spaces.documents, existed: old != nil)
      if let ended = old?.expiry, expiry == nil {
        try transaction.delete(CollectionSpaces.expiryKey(ended, id), in: spaces.expiry)
      }
      try mark(id, work, oldHead, head)
    }
    work.changed(
      DocumentChange(entry, kind, added: added, isFromReplica: added != nil && !isLocal), old: old?.sequence)
    return head
  }

  /// Records that a body refers to a blob, whether or not the content of the blob is stored.
  ///
  /// - Parameters:
  ///   - reference: the key in `references`.
  ///   - use: the key in `uses`.
  func addReference(
    _ reference: [UInt8], _ use: [UInt8], to digest: BlobDigest, _ work: CollectionWork
  ) throws {
    try transaction.put(reference, [UInt8](), in: work.spaces.references)
    try transaction.put(use, [UInt8](), in: work.spaces.uses)
    work.state.references += 1
    if try !transaction.contains(digest.bytes, in: shared.blobs) {
      try transaction.put(digest.bytes, BlobRecord.missing, in: shared.blobs)
    }
  }

  private func supersede(_ body: UInt64, _ work: CollectionWork) throws {
    try transaction.put(SequenceEntry.Key(body), [UInt8](), in: work.spaces.superseded)
    work.state.superseded += 1
  }

  /// Updates marks and counters after a change of a document; `old` or `new` is nil if the document
  /// did not exist before or does not exist afterwards.
  func mark(
    _ id: String, _ work: CollectionWork, _ old: DocumentRecord.Head?, _ new: DocumentRecord.Head?
  ) throws {
    let marks = work.spaces.marks
    let (wasDeleted, isDeleted) = (old?.isDeleted ?? false, new?.isDeleted ?? false)
    if wasDeleted != isDeleted {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
      if isDeleted {
        try transaction.put(key, [UInt8](), in: marks, existed: false)
      } else {
        try transaction.delete(key, in: marks, existed: true)
      }
    }
    let (hadConflicts, hasConflicts) = (old?.hasConflicts ?? false, new?.hasConflicts ?? false)
    if hadConflicts != hasConflicts {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
      if hasConflicts {
        try transaction.put(key, [UInt8](), in: marks, existed: false)
      } else {
        try transaction.delete(key, in: marks, existed: true)
      }
    }
    if let old {
      if old.isDeleted { work.state.tombstones &-= 1 } else { work.state.documents &-= 1 }
    }
    if let new {
      if new.isDeleted { work.state.tombstones += 1 } else { work.state.documents += 1 }
    }
  }

  /// Deletes a body, if it exists, and its references to blobs.
  ///
  /// - Parameter length: the length of a body in the record of its document, which the caller
  ///   deletes; nil for other bodies.
  func removeBody(
    _ body: UInt64, length: Int? = nil, _ work: CollectionWork
  ) throws(DocumentError) {
    let key = SequenceEntry.key(body)
    let spaces = work.spaces
    let size = try DocumentError.typed {
      try length ?? transaction.withValue(key, in: spaces.bodies) { $0.byteCount }
    }
    guard let size else {
      try unlistSuperseded(key, work)
      return
    }
    var digests: [[UInt8]] = []
    if work.state.references > 0 {
      try DocumentError.typed {
        try transaction.forEach(in: spaces.references, .prefix(key)) { reference, _ in
          digests.append(reference.withUnsafeBytes { Array($0.dropFirst(8)) })
          return true
        }
      }
    }
    noteRemoval()
    try DocumentError.typed {
      if length == nil { try transaction.delete(key, in: spaces.bodies) }
      work.state.bodies &-= 1
      work.state.bodyBytes &-= UInt64(size)
      for digest in digests {
        try transaction.delete(key + digest, in: spaces.references)
        try transaction.delete(digest + key, in: spaces.uses)
        work.state.references &-= 1
      }
    }
    try unlistSuperseded(key, work)
  }

  private func unlistSuperseded(_ key: [UInt8], _ work: CollectionWork) throws(DocumentError) {
    try DocumentError.typed {
      guard try transaction.contains(key, in: work.spaces.superseded) else { return }
      noteRemoval()
      try transaction.delete(key, in: work.spaces.superseded)
      work.state.superseded &-= 1
    }
  }

  /// Returns the blobs that a body does not refer to.
  func blobs(
    _ blobs: [BlobDigest], without body: UInt64, _ work: CollectionWork
  ) throws(DocumentError) -> [BlobDigest] {
    try DocumentError.typed {
      var rest: [BlobDigest] = []
      for digest in blobs {
        let key = SequenceEntry.key(body) + digest.bytes
        if body == 0 {
          rest.append(digest)
        } else if try !transaction.contains(key, in: work.spaces.references) {
          rest.append(digest)
        }
      }
      return rest
    }
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
