import LatewoodStore

/// Looks up documents of a pinned state one after the other. A document stored near the previous
/// one is found without a search from the root: records are stored by id, and bodies in the order
/// of saving.
struct NearbyDocuments {
  private var records: NearbyReads
  private var bodies: NearbyReads

  /// Returns nil if each document must be looked up individually.
  init?(_ reads: DocumentReads) throws(DocumentError) {
    guard case .state(let state) = reads.source else { return nil }
    let found = try DocumentError.typed {
      (try NearbyReads(state, in: reads.spaces.documents), try NearbyReads(state, in: reads.spaces.bodies))
    }
    guard let records = found.0, let bodies = found.1 else { return nil }
    self.records = records
    self.bodies = bodies
  }

  /// Returns the record of a document; nil if it does not exist. The bytes live as long as the
  /// state.
  mutating func record(of id: some ByteSource) throws(DocumentError) -> UnsafeRawBufferPointer? {
    try id.withBytes { (id) throws(DocumentError) in
      try DocumentError.typed { try records.find(id) }
    }
  }

  /// Returns the body of a winner; nil if it is not stored. The bytes live as long as the state, or
  /// as long as the record that `head` was read from.
  mutating func body(
    of head: DocumentRecord.Head, in record: UnsafeRawBufferPointer
  ) throws(DocumentError) -> UnsafeRawBufferPointer? {
    if let stored = head.body(in: record) { return stored }
    if head.body == 0 { return nil }
    return try SequenceKey(head.body).withBytes { (key) throws(DocumentError) in
      try DocumentError.typed { try bodies.find(key) }
    }
  }
}
