import LatewoodBytes

/// Changes by layers that read before they write, so that the store need not look up their effect
/// on counts.
extension Transaction {
  /// Puts an entry, like the public form.
  ///
  /// - Parameter existed: whether the key exists now. A wrong value causes wrong counts until the
  ///   next checkpoint, but no other damage.
  @inlinable package func put(
    _ key: some ByteSource, _ value: some ByteSource, in keyspace: Keyspace, existed: Bool
  ) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try value.withBytes { (value) throws(StoreError) in
        try put(bytes: key, value, in: keyspace, existed: existed)
      }
    }
  }

  /// Deletes a key, like the public form.
  ///
  /// - Parameter existed: as for `put`.
  @inlinable package func delete(
    _ key: some ByteSource, in keyspace: Keyspace, existed: Bool
  ) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try delete(bytes: key, in: keyspace, existed: existed)
    }
  }
}
