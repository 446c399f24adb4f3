import LatewoodStore

/// A local document's reference to a blob. On disk: FORMAT.md, section 13.
enum LocalReference {
  /// The sequence in such keys: 8 zero bytes.
  static let sequence = SequenceEntry.key(0)

  /// The keys in `references` and in `uses`.
  static func keys(_ name: String, _ digest: BlobDigest) -> (reference: [UInt8], use: [UInt8]) {
    (sequence + name.utf8 + digest.bytes, digest.bytes + sequence + name.utf8)
  }

  static func blobs(
    of name: String, in references: Keyspace, _ source: some Readable
  ) throws -> Set<BlobDigest> {
    let prefix = sequence + name.utf8
    var found: Set<BlobDigest> = []
    try source.forEach(in: references, .prefix(prefix)) { key, _ in
      // Keys of other lengths belong to longer names with this prefix.
      if let digest = key.withUnsafeBytes({ BlobDigest($0.dropFirst(prefix.count)) }) { found.insert(digest) }
      return true
    }
    return found
  }
}
