import LatewoodStore

/// The bodies of a collection, in a batch, with the list of the superseded ones and the references
/// to blobs.
///
/// The three are one kind, because references and the place in the list live exactly as long as
/// their body.
struct Bodies: DerivedData {
  let batch: DocumentBatch
  let work: CollectionWork

  init(_ batch: DocumentBatch, _ work: CollectionWork) {
    self.batch = batch
    self.work = work
  }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ work: CollectionWork
  ) throws {
    guard let new = change.new else {
      if let old = change.old { try Bodies(batch, work).removeAll(of: old) }
      return
    }
    let tree = new.tree
    if let old = change.old, let moved = old.body {
      // The record only contains the body of the latest change.
      try batch.transaction.put(
        SequenceEntry.Key(old.sequence), moved, in: work.spaces.bodies, existed: false)
    }
    if let body = change.body {
      if new.body == nil {
        try batch.transaction.put(SequenceEntry.Key(new.sequence), body.bytes, in: work.spaces.bodies)
      }
      work.state.bodies += 1
      work.state.bodyBytes += UInt64(body.bytes.count)
      for digest in body.blobs.isEmpty ? [] : Set(body.blobs) {
        let key = SequenceEntry.key(new.sequence)
        try Bodies(batch, work).addReference(key + digest.bytes, digest.bytes + key, to: digest)
      }
      if let node = tree.nodes.first(where: { $0.body == new.sequence }), !node.isLeaf {
        try Bodies(batch, work).supersede(new.sequence)
      }
    }
    // A leaf that now has children may be pruned at the same time. Bodies of purged leaves are
    // deleted by the caller.
    for node in change.old?.tree.nodes ?? [] where node.isLeaf && node.body != 0 && change.kind != .purged {
      if tree[node.id]?.isLeaf != true { try Bodies(batch, work).supersede(node.body) }
    }
  }

  /// Removes the bodies of a document that is removed.
  ///
  /// - Parameter old: its record.
  @inline(never) private func removeAll(of old: DocumentRecord) throws(DocumentError) {
    for node in old.tree.nodes where node.body != 0 {
      try remove(node.body, length: node.body == old.sequence ? old.body?.count : nil)
    }
  }

  /// Records that a body refers to a blob, whether or not the content of the blob is stored.
  ///
  /// - Parameters:
  ///   - reference: the key in `references`.
  ///   - use: the key in `uses`.
  func addReference(_ reference: [UInt8], _ use: [UInt8], to digest: BlobDigest) throws {
    try transaction.put(reference, [UInt8](), in: spaces.references)
    try transaction.put(use, [UInt8](), in: spaces.uses)
    work.state.references += 1
    if try !transaction.contains(digest.bytes, in: batch.shared.blobs) {
      try transaction.put(digest.bytes, BlobRecord.missing, in: batch.shared.blobs)
    }
  }

  @inline(__always) private func supersede(_ body: UInt64) throws {
    try transaction.put(SequenceEntry.Key(body), [UInt8](), in: spaces.superseded)
    work.state.superseded += 1
  }

  /// Deletes a body, if it exists, and its references to blobs.
  ///
  /// - Parameter length: the length of a body in the record of its document, which the caller
  ///   deletes; nil for other bodies.
  func remove(_ body: UInt64, length: Int? = nil) throws(DocumentError) {
    let key = SequenceEntry.key(body)
    let size = try DocumentError.typed {
      try length ?? transaction.withValue(key, in: spaces.bodies) { $0.byteCount }
    }
    guard let size else {
      try unlistSuperseded(key)
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
    batch.noteRemoval()
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
    try unlistSuperseded(key)
  }

  private func unlistSuperseded(_ key: [UInt8]) throws(DocumentError) {
    try DocumentError.typed {
      guard try transaction.contains(key, in: spaces.superseded) else { return }
      batch.noteRemoval()
      try transaction.delete(key, in: spaces.superseded)
      work.state.superseded &-= 1
    }
  }

  /// Returns the blobs that a body does not refer to.
  func blobs(_ blobs: [BlobDigest], without body: UInt64) throws(DocumentError) -> [BlobDigest] {
    try DocumentError.typed {
      var rest: [BlobDigest] = []
      for digest in blobs {
        let key = SequenceEntry.key(body) + digest.bytes
        if body == 0 {
          rest.append(digest)
        } else if try !transaction.contains(key, in: spaces.references) {
          rest.append(digest)
        }
      }
      return rest
    }
  }
}
