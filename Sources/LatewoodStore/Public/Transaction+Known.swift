import LatewoodBytes

/// Changes by layers that have read before they write. The store need not look up then what they
/// change in a count.
extension Transaction {
  /// Puts an entry, as the public form does.
  ///
  /// - Parameter wasThere: whether the key is there now. A wrong one makes wrong counts until the
  ///   next checkpoint, and nothing worse.
  package func put(
    _ key: some ByteSource, _ value: some ByteSource, in keyspace: Keyspace, wasThere: Bool
  ) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try value.withBytes { (value) throws(StoreError) in
        try put(bytes: key, value, in: keyspace, wasThere: wasThere)
      }
    }
  }

  /// Deletes a key, as the public form does.
  ///
  /// - Parameter wasThere: as of `put`.
  package func delete(_ key: some ByteSource, in keyspace: Keyspace, wasThere: Bool) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try delete(bytes: key, in: keyspace, wasThere: wasThere)
    }
  }
}
