import LatewoodStore

/// Looks up the documents of a held state one after the other. One that is stored near the one
/// before is found without a search through the whole tree: documents are stored in the order of
/// their ids, and bodies in the order in which they were saved.
struct NearbyDocuments {
  private var records: NearbyReads
  private var bodies: NearbyReads

  /// Returns nil if each document has to be looked up by itself.
  init?(_ reads: DocumentReads) throws(DocumentError) {
    guard case .state(let state) = reads.source else { return nil }
    let found = try DocumentError.typed {
      (try NearbyReads(state, in: reads.spaces.documents), try NearbyReads(state, in: reads.spaces.bodies))
    }
    guard let records = found.0, let bodies = found.1 else { return nil }
    self.records = records
    self.bodies = bodies
  }

  /// Returns the facts of a document's winner; nil if there is no document. Does not look at the
  /// clock.
  mutating func head(of id: some ByteSource) throws(DocumentError) -> DocumentRecord.Head? {
    let record = try id.withBytes { (id) throws(DocumentError) in
      try DocumentError.typed { try records.find(id) }
    }
    // SAFETY: the bytes live as long as the state, which `records` keeps.
    return try record.map { (record) throws(DocumentError) in try DocumentRecord.Head(record) }
  }

  /// Returns the body at a place; nil if there is none. The bytes live as long as the state.
  mutating func body(at place: UInt64) throws(DocumentError) -> UnsafeRawBufferPointer? {
    if place == 0 { return nil }
    return try SequenceKey(place).withBytes { (key) throws(DocumentError) in
      try DocumentError.typed { try bodies.find(key) }
    }
  }
}
