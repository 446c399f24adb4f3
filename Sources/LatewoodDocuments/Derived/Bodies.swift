import LatewoodStore

/// The bodies of a collection, in a batch, with the list of the superseded ones and the references
/// to blobs.
///
/// The three are one kind, because references and the place in the list live exactly as long as
/// their body.
struct Bodies: DerivedData {
  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    guard let new = change.newHead else { return try Bodies(batch, part).removeAll(of: change) }
    if let old = change.oldHead, let moved = change.oldBody {
      // The record only contains the body of the latest change.
      try batch.transaction.put(
        SequenceEntry.Key(old.sequence), moved, in: part.spaces.bodies, existed: false)
    }
    if let body = change.body {
      if new.bodyLength == 0 {
        try batch.transaction.put(SequenceEntry.Key(new.sequence), body.bytes, in: part.spaces.bodies)
      }
      part.state.bodies += 1
      part.state.bodyBytes += UInt64(body.bytes.count)
      if !body.blobs.isEmpty { try Bodies(batch, part).addReferences(of: body, new.sequence) }
    }
    if change.superseded != 0 { try Bodies(batch, part).supersede(change.superseded) }
    for body in change.otherSuperseded { try Bodies(batch, part).supersede(body) }
  }

  /// Removes the bodies of a document that is removed.
  @inline(never) private func removeAll(of change: RevisionChange) throws {
    guard let old = change.oldHead, let tree = change.removed else { return }
    for node in tree.nodes where node.body != 0 {
      try remove(node.body, length: node.body == old.sequence ? change.oldBody?.count : nil)
    }
  }

  @inline(never) private func addReferences(of body: NewBody, _ sequence: UInt64) throws {
    for digest in Set(body.blobs) {
      let key = SequenceEntry.key(sequence)
      try addReference(key + digest.bytes, digest.bytes + key, to: digest)
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
    part.state.references += 1
    if try !transaction.contains(digest.bytes, in: batch.shared.blobs) {
      try transaction.put(digest.bytes, BlobRecord.missing, in: batch.shared.blobs)
    }
  }

  @inline(__always) private func supersede(_ body: UInt64) throws {
    try transaction.put(SequenceEntry.Key(body), [UInt8](), in: spaces.superseded)
    part.state.superseded += 1
  }

  /// Deletes a body, if it exists, and its references to blobs.
  ///
  /// - Parameter length: the length of a body in the record of its document, which the caller
  ///   deletes; nil for other bodies.
  func remove(_ body: UInt64, length: Int? = nil) throws {
    let key = SequenceEntry.key(body)
    let size = try length ?? transaction.withValue(key, in: spaces.bodies) { $0.byteCount }
    guard let size else {
      try removeFromSuperseded(key)
      return
    }
    var digests: [[UInt8]] = []
    if part.state.references > 0 {
      try transaction.visit(in: spaces.references, .prefix(key)) { reference, _ in
        digests.append(reference.withUnsafeBytes { Array($0.dropFirst(8)) })
        return true
      }
    }
    batch.noteRemoval()
    if length == nil { try transaction.delete(key, in: spaces.bodies) }
    part.state.bodies &-= 1
    part.state.bodyBytes &-= UInt64(size)
    for digest in digests {
      try transaction.delete(key + digest, in: spaces.references)
      try transaction.delete(digest + key, in: spaces.uses)
      part.state.references &-= 1
    }
    try removeFromSuperseded(key)
  }

  private func removeFromSuperseded(_ key: [UInt8]) throws {
    guard try transaction.contains(key, in: spaces.superseded) else { return }
    batch.noteRemoval()
    try transaction.delete(key, in: spaces.superseded)
    part.state.superseded &-= 1
  }

  /// Returns the blobs that a body does not refer to.
  func blobs(_ blobs: [BlobDigest], without body: UInt64) throws -> [BlobDigest] {
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
