import LatewoodStore

/// The body of a revision that is new here.
struct NewBody {
  var bytes: [UInt8]
  var blobs: [BlobDigest]
}

/// The one place where a document's record changes, and with it all that must agree with it.
extension DocumentWriter {
  /// - Parameters:
  ///   - old: what was there.
  ///   - tree: what is there from now on; not empty.
  ///   - sequence: the change's.
  ///   - body: of the revision whose body is at `sequence`.
  ///   - isLocal: whether unique indexes may refuse it.
  /// - Returns: what the first bytes of its record say now.
  @discardableResult
  func store(
    _ id: String, _ work: CollectionWork, _ old: DocumentRecord?, _ tree: RevisionTree, sequence: UInt64,
    body: NewBody?, kind: DocumentChange.Kind = .saved, isLocal: Bool = false
  ) throws(DocumentError) -> DocumentRecord.Head {
    // A tombstone does not expire, and what comes after it starts anew.
    let expiry = tree.winner?.isDeleted == true ? nil : old?.expiry
    let record = DocumentRecord(sequence: sequence, expiry: expiry, tree: tree)
    guard let head = record.head else { throw DocumentError(.corruptRevisions, "\(id) has no revisions") }
    if work.state.indexes > 0 {
      let new = IndexedRevision(head, body: head.body == sequence ? body?.bytes : nil)
      try index(id, work, from: old?.head, to: new, isLocal: isLocal && new.body != nil)
    }
    changeCount += 1
    let entry = SequenceEntry(sequence: sequence, id: id, head: head)
    do throws(StoreError) {
      let spaces = work.spaces
      if let body {
        try transaction.put(SequenceEntry.key(sequence), body.bytes, in: spaces.bodies)
        work.state.bodies += 1
        work.state.bodyBytes += UInt64(body.bytes.count)
        for digest in Set(body.blobs) {
          let key = SequenceEntry.key(sequence)
          try addReference(key + digest.bytes, digest.bytes + key, to: digest, work)
        }
        if let node = tree.nodes.first(where: { $0.body == sequence }), !node.isLeaf {
          try supersede(sequence, work)
        }
      }
      // A leaf that others follow now may be pruned in the same moment; but what was purged has
      // lost its body already.
      for node in old?.tree.nodes ?? [] where node.isLeaf && node.body != 0 && kind != .purged {
        if tree[node.id]?.isLeaf != true { try supersede(node.body, work) }
      }
      if let old {
        try transaction.delete(SequenceEntry.key(old.sequence), in: spaces.sequences, wasThere: true)
      }
      try transaction.put(
        SequenceEntry.key(sequence), entry.encoded(), in: spaces.sequences, wasThere: false)
      try transaction.put(id, record.encoded(), in: spaces.documents, wasThere: old != nil)
      if let ended = old?.expiry, expiry == nil {
        try transaction.delete(CollectionSpaces.expiryKey(ended, id), in: spaces.expiry)
      }
      try mark(id, work, old?.head, head)
    } catch { throw DocumentError(error) }
    work.changed(DocumentChange(entry, kind), old: old?.sequence)
    return head
  }

  /// Lists that a body refers to a blob, whose content may be here or not.
  ///
  /// - Parameters:
  ///   - reference: the key in `references`.
  ///   - use: the key in `uses`.
  func addReference(
    _ reference: [UInt8], _ use: [UInt8], to digest: BlobDigest, _ work: CollectionWork
  ) throws(StoreError) {
    try transaction.put(reference, [UInt8](), in: work.spaces.references)
    try transaction.put(use, [UInt8](), in: work.spaces.uses)
    work.state.references += 1
    if try !transaction.contains(digest.bytes, in: shared.blobs) {
      try transaction.put(digest.bytes, BlobRecord.missing, in: shared.blobs)
    }
  }

  private func supersede(_ body: UInt64, _ work: CollectionWork) throws(StoreError) {
    try transaction.put(SequenceEntry.key(body), [UInt8](), in: work.spaces.superseded)
    work.state.superseded += 1
  }

  /// Marks and counters after a document has changed; nil: it was or is not there.
  func mark(
    _ id: String, _ work: CollectionWork, _ old: DocumentRecord.Head?, _ new: DocumentRecord.Head?
  ) throws(StoreError) {
    let marks = work.spaces.marks
    let (wasDeleted, isDeleted) = (old?.isDeleted ?? false, new?.isDeleted ?? false)
    if wasDeleted != isDeleted {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
      if isDeleted {
        try transaction.put(key, [UInt8](), in: marks, wasThere: false)
      } else {
        try transaction.delete(key, in: marks, wasThere: true)
      }
    }
    let (hadConflicts, hasConflicts) = (old?.hasConflicts ?? false, new?.hasConflicts ?? false)
    if hadConflicts != hasConflicts {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
      if hasConflicts {
        try transaction.put(key, [UInt8](), in: marks, wasThere: false)
      } else {
        try transaction.delete(key, in: marks, wasThere: true)
      }
    }
    if let old {
      if old.isDeleted { work.state.tombstones &-= 1 } else { work.state.documents &-= 1 }
    }
    if let new {
      if new.isDeleted { work.state.tombstones += 1 } else { work.state.documents += 1 }
    }
  }

  /// Deletes a body that may be there, and what says that it refers to blobs.
  func removeBody(_ body: UInt64, _ work: CollectionWork) throws(DocumentError) {
    let key = SequenceEntry.key(body)
    let spaces = work.spaces
    let size = try DocumentError.typed {
      try transaction.withValue(key, in: spaces.bodies) { $0.byteCount }
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
    changeCount += 1
    do throws(StoreError) {
      try transaction.delete(key, in: spaces.bodies)
      work.state.bodies &-= 1
      work.state.bodyBytes &-= UInt64(size)
      for digest in digests {
        try transaction.delete(key + digest, in: spaces.references)
        try transaction.delete(digest + key, in: spaces.uses)
        work.state.references &-= 1
      }
    } catch { throw DocumentError(error) }
    try unlistSuperseded(key, work)
  }

  private func unlistSuperseded(_ key: [UInt8], _ work: CollectionWork) throws(DocumentError) {
    do throws(StoreError) {
      guard try transaction.contains(key, in: work.spaces.superseded) else { return }
      changeCount += 1
      try transaction.delete(key, in: work.spaces.superseded)
      work.state.superseded &-= 1
    } catch { throw DocumentError(error) }
  }

  /// Those blobs of some that a body does not refer to.
  func blobs(
    _ blobs: [BlobDigest], without body: UInt64, _ work: CollectionWork
  ) throws(DocumentError) -> [BlobDigest] {
    do throws(StoreError) {
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
    } catch { throw DocumentError(error) }
  }
}

extension DocumentRecord {
  /// What its first bytes will say; nil if the tree is empty.
  var head: Head? {
    guard let winner = tree.winner else { return nil }
    let hasConflicts = !winner.isDeleted && tree.nodes.count { $0.isLeaf && !$0.isDeleted } > 1
    return Head(
      sequence: sequence, expiry: expiry, winner: winner.id, isDeleted: winner.isDeleted, body: winner.body,
      hasConflicts: hasConflicts)
  }
}
