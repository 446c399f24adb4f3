/// Local documents, which have no history and are neither in the feed nor replicated.
///
/// Their references to blobs are listed like references of a body, but with the sequence 0, which
/// no body has, and with the name of the document.
extension DocumentWriter {
  /// Stores a local document, replacing an existing one.
  ///
  /// - Parameter blobs: digests of all blobs that the body refers to, whether or not their content
  ///   is stored.
  /// - Returns: the blobs that the document did not refer to before.
  @discardableResult
  package func putLocal(
    _ name: String, in collection: CollectionHandle, body: [UInt8], blobs: [BlobDigest] = []
  ) throws -> [BlobDigest] {
    let part = try batch.part(for: collection)
    let old = try localBlobs(name, part)
    batch.changeCount += 1
    try batch.transaction.put(name, body, in: part.spaces.local)
    for digest in old.subtracting(blobs) { try removeReference(of: name, to: digest, part) }
    let added = Set(blobs).subtracting(old)
    for digest in added {
      let (reference, use) = LocalReference.keys(name, digest)
      try Bodies(batch, part).addReference(reference, use, to: digest)
    }
    return Array(added)
  }

  /// Deletes a local document. Returns false if it did not exist.
  @discardableResult
  package func deleteLocal(
    _ name: String, in collection: CollectionHandle
  ) throws -> Bool {
    let part = try batch.part(for: collection)
    let old = try localBlobs(name, part)
    guard try batch.transaction.contains(name, in: part.spaces.local) else { return false }
    batch.noteRemoval()
    try batch.transaction.delete(name, in: part.spaces.local)
    for digest in old { try removeReference(of: name, to: digest, part) }
    return true
  }

  private func removeReference(
    of name: String, to digest: BlobDigest, _ part: CollectionBatch
  ) throws {
    let (reference, use) = LocalReference.keys(name, digest)
    try batch.transaction.delete(reference, in: part.spaces.references)
    try batch.transaction.delete(use, in: part.spaces.uses)
    part.state.references &-= 1
  }

  private func localBlobs(_ name: String, _ part: CollectionBatch) throws -> Set<BlobDigest> {
    guard part.state.references > 0 else { return [] }
    return try LocalReference.blobs(of: name, in: part.spaces.references, batch.transaction)
  }
}
