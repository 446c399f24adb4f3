import LatewoodStore

/// Calls of the store with errors of documents.
extension Store {
  /// Returns the newest commit, which stays readable while the value is kept.
  @inline(__always) func pinned() throws(DatabaseError) -> PinnedState {
    try DatabaseError.typed { try held() }
  }
}

extension Readable {
  /// Returns the result of a closure for the value of a key; nil if the key does not exist. O(log
  /// n).
  @inline(__always) func mapValue<R>(
    _ key: some ByteSource, in keyspace: Keyspace, _ body: (RawSpan) throws -> R
  ) throws(DatabaseError) -> R? {
    try DatabaseError.typed { try withValue(key, in: keyspace, body) }
  }

  /// Calls a closure with the entries of a range in order, until it returns false.
  @inline(__always) func visit(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws(DatabaseError) {
    try DatabaseError.typed { try forEach(in: keyspace, range, reversed: reversed, body) }
  }

  /// Returns whether a key exists. O(log n).
  func holds(_ key: [UInt8], in keyspace: Keyspace) throws(DatabaseError) -> Bool {
    try DatabaseError.typed { try contains(key, in: keyspace) }
  }

  /// Returns the number of entries in a range. O(log n) plus unmerged changes.
  func entryCount(in keyspace: Keyspace, _ range: KeyRange = .all) throws(DatabaseError) -> Int {
    try DatabaseError.typed { try count(in: keyspace, range) }
  }

  /// Returns the keyspace with a name; nil if there is none.
  func keyspace(named name: String) throws(DatabaseError) -> Keyspace? {
    try DatabaseError.typed { try existingKeyspace(name) }
  }
}

extension ReadSource {
  /// The method of `Readable`, over the faster `forEach` of this type.
  @inline(__always) func visit(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws(DatabaseError) {
    try DatabaseError.typed { try forEach(in: keyspace, range, reversed: reversed, body) }
  }
}
