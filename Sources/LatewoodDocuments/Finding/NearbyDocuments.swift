import LatewoodStore

/// Looks up documents of a pinned state one after the other. A document stored near the previous
/// one is found without a search from the root: records are stored by id, and bodies in the order
/// of saving.
struct NearbyDocuments {
  private let state: PinnedState
  private let spaces: CollectionSpaces
  private var records: NearbyReads
  /// Nil until the first body that is not in its record.
  private var bodies: NearbyReads?

  /// Creates the lookup. Returns nil if each document needs an individual lookup.
  init?(_ reads: DocumentReads) throws {
    guard case .state(let state) = reads.source,
      let records = try NearbyReads(state, in: reads.spaces.documents)
    else { return nil }
    self.state = state
    spaces = reads.spaces
    self.records = records
  }

  /// Returns the record of a document; nil if it does not exist. The bytes live as long as the
  /// state.
  @inline(__always) mutating func record(
    of id: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer? {
    try records.find(id)
  }

  /// Returns the body of a winner; nil if it is not stored. The bytes live as long as the state, or
  /// as long as the record that `head` was read from.
  @inline(__always) mutating func body(
    of head: DocumentRecord.Head, in record: UnsafeRawBufferPointer
  ) throws -> UnsafeRawBufferPointer? {
    if let stored = head.body(in: record) { return stored }
    return head.body == 0 ? nil : try bodyApart(at: head.body)
  }

  @inline(never) private mutating func bodyApart(
    at place: UInt64
  ) throws -> UnsafeRawBufferPointer? {
    try SequenceEntry.Key(place).withBytes { key in
      if bodies == nil { bodies = try NearbyReads(state, in: spaces.bodies) }
      return try bodies?.find(key)
    }
  }
}
