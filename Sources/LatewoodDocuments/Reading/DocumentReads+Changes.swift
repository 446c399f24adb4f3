import LatewoodStore

/// The feed of changes.
extension DocumentReads {
  /// Returns the last assigned sequence, which purges do not decrease. O(log n).
  package func lastSequence() throws(DatabaseError) -> UInt64 {
    try state().lastSequence
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
    let first = SequenceKey(since + 1)
    let range = before.map { KeyRange.between(first, SequenceKey($0)) } ?? .from(first)
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
    guard case .transaction = source else {
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

  /// Returns a cursor over the feed, which reads one entry at a time.
  package func changeCursor(
    since: UInt64 = 0, descending: Bool = false
  ) throws(DatabaseError) -> ChangeCursor {
    let expired = Set(try expired())
    return try DatabaseError.typed {
      let from = since == .max ? since : since + 1
      let cursor = try source.cursor(in: spaces.sequences, .from(SequenceKey(from)))
      return ChangeCursor(cursor, descending, without: expired)
    }
  }
}

/// A position in a feed. Not thread-safe.
package final class ChangeCursor {
  private let cursor: Cursor
  private let isDescending: Bool
  private let expired: Set<[UInt8]>

  init(_ cursor: Cursor, _ isDescending: Bool, without expired: Set<[UInt8]>) {
    self.cursor = cursor
    self.isDescending = isDescending
    self.expired = expired
  }

  /// Returns the next entry; nil at the end.
  package func next() throws(DatabaseError) -> SequenceEntry? {
    while let entry = try nextStored() {
      if expired.isEmpty || !expired.contains(Array(entry.id.utf8)) { return entry }
    }
    return nil
  }

  private func nextStored() throws(DatabaseError) -> SequenceEntry? {
    try DatabaseError.typed {
      guard try isDescending ? cursor.previous() : cursor.next() else { return nil }
      let key = try cursor.key()
      return try cursor.withValue { value in
        try value.reading { (value) throws(DatabaseError) in
          try key.withBytes { (key) throws(DatabaseError) in try SequenceEntry(key: key, value: value) }
        }
      }
    }
  }
}
