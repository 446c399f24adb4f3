import LatewoodStore

/// Access to bodies by their sequences, for callers without the record of the document.
extension Readable {
  /// Calls a closure with the body of a sequence; returns nil if there is none. O(log n).
  ///
  /// The body is in the keyspace of bodies, or in the record of the document that the feed lists
  /// under this sequence.
  func withBody<R>(
    at place: UInt64, of spaces: CollectionSpaces, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    if place == 0 { return nil }
    let apart = try withValue(SequenceEntry.Key(place), in: spaces.bodies) { value in
      try value.withUnsafeBytes(body)
    }
    if let apart { return apart }
    let entry = try SequenceEntry.Key(place).withBytes { key in
      try withValue(key, in: spaces.sequences) { value in
        try value.reading { (value) throws(DatabaseError) in try SequenceEntry(key: key, value: value) }
      }
    }
    guard let entry else { return nil }
    let found = try withValue(entry.id, in: spaces.documents) { record in
      try record.withUnsafeBytes { record in
        let head = try DocumentRecord.Head(record)
        // A damaged feed may lead to another document.
        guard head.body == place else { return nil as R? }
        return try head.body(in: record).map(body)
      }
    }
    return found ?? nil
  }

  /// Returns a copy of the body of a sequence; nil if there is none. O(log n + bytes).
  func body(at place: UInt64, of spaces: CollectionSpaces) throws(DatabaseError) -> [UInt8]? {
    try DatabaseError.typed { try withBody(at: place, of: spaces) { Array($0) } }
  }

  /// Returns whether a sequence has a body.
  func hasBody(at place: UInt64, of spaces: CollectionSpaces) throws -> Bool {
    try withBody(at: place, of: spaces) { _ in true } ?? false
  }
}
