import LatewoodBytes
import LatewoodConcurrency
import LatewoodStore

/// Reads one state of one collection.
///
/// An expired document is treated as absent, whether or not it has been purged. The clock is read
/// at most once, for the first document with an expiry.
///
/// Obtained from a ``DocumentStore``, a ``DocumentSnapshot`` or a ``DocumentWriter``; from a
/// batch, it sees the uncommitted changes of the batch. Not thread-safe: obtain one for each
/// thread, which costs almost nothing.
package struct DocumentReads {
  let source: ReadSource
  let spaces: CollectionSpaces
  let collection: CollectionHandle

  private enum Time {
    case seconds(UInt64)
    /// A clock that returns microseconds since 1970.
    case clock(@Sendable () -> UInt64)
  }

  private let time: Time

  init(_ source: ReadSource, _ collection: CollectionHandle, now: UInt64) throws(DatabaseError) {
    time = .seconds(now)
    self.source = source
    self.collection = collection
    spaces = try collection.spaces
  }

  /// Creates reads that consult the clock only if necessary.
  init(_ state: PinnedState, _ collection: CollectionHandle, _ clock: Environment) throws(DatabaseError) {
    time = .clock(clock.now)
    source = .state(state)
    self.collection = collection
    spaces = try collection.spaces
  }

  /// The time, in seconds since 1970. Documents that expired before are treated as absent.
  var now: UInt64 {
    switch time {
    case .seconds(let now): return now
    case .clock(let clock):
      guard case .state(let state) = source else { return clock() / 1_000_000 }
      return state.firstResult { clock() / 1_000_000 }
    }
  }

  /// Returns the stored state of the collection. Throws `notFound` if this state of the database
  /// lacks the collection, or has another one with its name.
  func state() throws(DatabaseError) -> CollectionState {
    let state = try read(collection.stateKey, in: spaces.database) { (bytes) throws(DatabaseError) in
      try CollectionState(bytes)
    }
    guard let state, state.identity == collection.identity else { throw collection.gone }
    return state
  }

  // MARK: Single documents

  /// Returns the head of a document, even if its winner is a tombstone; nil if the document does
  /// not exist. O(log n); reads no revisions and no body.
  package func head(of id: some ByteSource) throws(DatabaseError) -> DocumentRecord.Head? {
    let head = try read(id, in: spaces.documents) { (bytes) throws(DatabaseError) in
      try DocumentRecord.Head(bytes)
    }
    return current(head)
  }

  /// Whether a document has expired. Reads the clock only if the document has an expiry.
  @inline(__always) func hasExpired(_ head: DocumentRecord.Head) -> Bool {
    head.expiry != nil && head.isExpired(at: now)
  }

  /// Returns a head unchanged; nil if the document has expired.
  func current(_ head: DocumentRecord.Head?) -> DocumentRecord.Head? {
    head.map(hasExpired) == true ? nil : head
  }

  /// Returns a document with all its revisions; nil if it does not exist. O(log n + revisions).
  package func record(of id: String) throws(DatabaseError) -> DocumentRecord? {
    let record = try read(id, in: spaces.documents) { (bytes) throws(DatabaseError) in
      try DocumentRecord(bytes)
    }
    return record?.isExpired(at: now) == true ? nil : record
  }

  /// Returns the head and the winner's body of an undeleted document. O(log n + bytes).
  package func document(_ id: String) throws(DatabaseError) -> (head: DocumentRecord.Head, body: [UInt8])? {
    guard let (head, body) = try winner(of: id), !head.isDeleted else { return nil }
    guard let body else { throw DatabaseError(.corruptData, "the body of the document \(id) is missing") }
    return (head, body)
  }

  /// Returns the head and the winner's body, even if the winner is a tombstone; nil if the document
  /// does not exist. The body is nil if it is not stored. O(log n + bytes).
  package func winner(
    of id: some ByteSource
  ) throws(DatabaseError) -> (head: DocumentRecord.Head, body: [UInt8]?)? {
    let found = try read(id, in: spaces.documents) { (record) throws(DatabaseError) in
      let head = try DocumentRecord.Head(record)
      return (head, head.body(in: record).map { Array($0) })
    }
    guard let found, let head = current(found.0) else { return nil }
    if let body = found.1 { return (head, body) }
    return (head, try bodyApart(at: head.body))
  }

  /// Returns the body of a sequence, which is the `body` of a head or of a revision; nil if it is
  /// not stored (any more).
  package func body(at place: UInt64) throws(DatabaseError) -> [UInt8]? {
    try source.body(at: place, of: spaces)
  }

  /// Calls a closure with a body, without copying it.
  package func withBody<R>(at place: UInt64, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
    try source.withBody(at: place, of: spaces, body)
  }

  /// Returns a body stored outside a record; nil if it does not exist.
  func bodyApart(at place: UInt64) throws(DatabaseError) -> [UInt8]? {
    if place == 0 { return nil }
    return try read(SequenceEntry.Key(place), in: spaces.bodies) { (bytes) throws(DatabaseError) in
      Array(bytes)
    }
  }

  /// Calls a closure with the body of a winner, without copying it; returns nil if it is not
  /// stored.
  ///
  /// - Parameter record: the record that `head` was read from.
  func withBody<R>(
    of head: DocumentRecord.Head, in record: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    if let stored = head.body(in: record) { return try body(stored) }
    if head.body == 0 { return nil }
    guard case .state(let state) = source else {
      return try source.withValue(SequenceEntry.Key(head.body), in: spaces.bodies) { value in
        try value.withUnsafeBytes(body)
      }
    }
    // SAFETY: the bytes live until the closure returns.
    return try state.reading {
      let value = try SequenceEntry.Key(head.body).withBytes { key in
        try state.value(of: key, in: spaces.bodies)
      }
      return try value.map(body)
    }
  }

  /// Calls a closure with the head and the record of a document, without copying it; returns nil if
  /// the document does not exist. The record is valid only during the call.
  func withRecord<R>(
    of id: some ByteSource, _ body: (DocumentRecord.Head, UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    func pass(_ record: UnsafeRawBufferPointer) throws -> R? {
      try current(DocumentRecord.Head(record)).map { head in try body(head, record) }
    }
    guard case .state(let state) = source else {
      return try source.withValue(id, in: spaces.documents) { try $0.withUnsafeBytes(pass) } ?? nil
    }
    // SAFETY: the bytes live until the closure returns.
    return try state.reading {
      let record = try id.withBytes { id in try state.value(of: id, in: spaces.documents) }
      return try record.flatMap(pass)
    }
  }

  /// Returns the body of any revision; nil if the revision or its body is not stored (any more).
  package func body(of revision: RevisionID, in record: DocumentRecord) throws(DatabaseError) -> [UInt8]? {
    try body(at: record.tree[revision]?.body ?? 0)
  }

  /// Returns the body of a local document; nil if it does not exist.
  package func local(_ name: String) throws(DatabaseError) -> [UInt8]? {
    try read(name, in: spaces.local) { (bytes) throws(DatabaseError) in Array(bytes) }
  }

  /// Returns the names of the local documents, ordered by their bytes.
  package func localNames() throws(DatabaseError) -> [String] {
    var names: [String] = []
    try source.visit(in: spaces.local) { key, _ in
      names.append(key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      return true
    }
    return names
  }

  /// Returns the expiry of a document, in seconds since 1970-01-01 00:00 UTC; nil for never, or if
  /// the document does not exist.
  package func expiry(of id: String) throws(DatabaseError) -> UInt64? { try head(of: id)?.expiry }

  /// Returns the ids, as bytes, of expired documents that are not purged yet, usually none.
  func expired() throws(DatabaseError) -> [[UInt8]] {
    if case .state(let held) = source {
      let first: UInt64
      if let known = collection.firstExpiry(inVersion: held.number) {
        first = known
      } else {
        first = try firstExpiry() ?? .max
        collection.keep(firstExpiry: first, ofVersion: held.number)
      }
      if first == .max || first > now { return [] }
    }
    return try expiring(before: now &+ 1, limit: .max).map { Array($0.id.utf8) }
  }

  /// Returns the documents that expire before a time, the earliest first, including those that have
  /// expired but are not purged yet.
  package func expiring(before seconds: UInt64, limit: Int) throws(DatabaseError) -> [(
    seconds: UInt64, id: String
  )] {
    var list: [(seconds: UInt64, id: String)] = []
    try source.visit(in: spaces.expiry, .upTo(SequenceEntry.key(seconds))) { key, _ in
      guard list.count < limit else { return false }
      try key.reading { (bytes) throws(DatabaseError) in
        guard bytes.count > 8 else {
          throw DatabaseError(.corruptData, "an entry of the expiry index is too short")
        }
        let seconds = try SequenceEntry.sequence(ofKey: UnsafeRawBufferPointer(rebasing: bytes[..<8]))
        list.append((seconds, String(decoding: bytes.dropFirst(8), as: UTF8.self)))
      }
      return true
    }
    return list
  }

  /// Returns the documents that expire before a time and have not expired yet, the earliest first.
  package func pending(before seconds: UInt64, limit: Int) throws(DatabaseError) -> [(
    seconds: UInt64, id: String
  )] {
    let due = try expiring(before: now &+ 1, limit: .max).count
    guard limit > 0 else { return [] }
    return Array(
      try expiring(before: seconds, limit: limit > Int.max - due ? .max : limit + due).dropFirst(due))
  }

  /// Returns the time at which the next document expires.
  package func firstExpiry() throws(DatabaseError) -> UInt64? {
    try expiring(before: .max, limit: 1).first?.seconds
  }

  /// Calls a closure with the value of a key; returns nil if there is none, or if the store can
  /// have no such key.
  func read<R>(
    _ key: some ByteSource, in keyspace: Keyspace,
    _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R? {
    do throws(DatabaseError) { return try find(key, in: keyspace, body) } catch {
      switch error.code {
      case .badDocumentID: return nil
      case .notFound: throw collection.gone
      default: throw error
      }
    }
  }

  private func find<R>(
    _ key: some ByteSource, in keyspace: Keyspace,
    _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R? {
    guard case .state(let state) = source else {
      return try source.mapValue(key, in: keyspace) { try $0.reading(body) }
    }
    return try key.withBytes { (key) throws(DatabaseError) in
      try state.reading { () throws(DatabaseError) -> R? in
        let value = try DatabaseError.typed { try state.value(of: key, in: keyspace) }
        // SAFETY: the bytes live until the closure returns.
        guard let value else { return nil }
        return try body(value)
      }
    }
  }
}
