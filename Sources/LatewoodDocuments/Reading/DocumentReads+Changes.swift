import LatewoodStore

/// The feed of changes.
extension DocumentReads {
  /// Returns the last assigned sequence, which purges do not decrease. O(log n).
  package func lastSequence() throws(DatabaseError) -> UInt64 {
    try state().lastSequence
  }

  /// Returns the number of entries of the feed after a sequence. O(log n), plus the number of
  /// unmerged changes and of expired documents that are not purged yet.
  package func changeCount(since: UInt64 = 0) throws(DatabaseError) -> Int {
    guard since < .max else { return 0 }
    let stored = try source.entryCount(in: spaces.sequences, .from(SequenceEntry.Key(since + 1)))
    if stored == 0 { return 0 }
    var expired = 0
    for id in try self.expired() {
      let sequence = try read(id, in: spaces.documents) { (bytes) throws(DatabaseError) in
        try DocumentRecord.Head(bytes).sequence
      }
      if let sequence, sequence > since { expired += 1 }
    }
    return stored - expired
  }

  /// Calls a closure with each document's latest change after a sequence, until it returns false.
  /// O(log n + entries); reads no documents.
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin.
  ///   - before: the sequence before which to stop; nil for the end of the feed.
  ///   - descending: whether to go from the latest change to the earliest.
  ///   - body: receives the entry and returns whether to continue.
  package func forEachChange(
    since: UInt64 = 0, before: UInt64? = nil, descending: Bool = false,
    _ body: (SequenceEntry) throws -> Bool
  ) throws {
    guard since < .max, before.map({ since + 1 < $0 }) ?? true else { return }
    let first = SequenceEntry.Key(since + 1)
    let range = before.map { KeyRange.between(first, SequenceEntry.Key($0)) } ?? .from(first)
    let expired = Set(try expired())
    try source.forEach(in: spaces.sequences, range, reversed: descending) {
      key, value in
      let entry = try key.reading { (key) throws(DatabaseError) in
        try value.reading { (value) throws(DatabaseError) in try SequenceEntry(key: key, value: value) }
      }
      if !expired.isEmpty, expired.contains(Array(entry.id.utf8)) { return true }
      return try body(entry)
    }
  }

  /// Like `forEachChange`, for a closure that may change documents: in a batch, too, it gets the
  /// changes of the state in which the call began. In a batch, keeps them in memory.
  package func forEachKeptChange(
    since: UInt64 = 0, descending: Bool = false, _ body: (SequenceEntry) throws -> Bool
  ) throws {
    guard case .batch = source else {
      return try forEachChange(since: since, descending: descending, body)
    }
    for entry in try changes(since: since, descending: descending) {
      guard try body(entry) else { return }
    }
  }

  /// Returns a page of the feed.
  package func changes(
    since: UInt64 = 0, limit: Int = .max, descending: Bool = false
  ) throws(DatabaseError) -> [SequenceEntry] {
    var list: [SequenceEntry] = []
    try DatabaseError.typed {
      try forEachChange(since: since, descending: descending) { entry in
        guard list.count < limit else { return false }
        list.append(entry)
        return list.count < limit
      }
    }
    return list
  }
}
