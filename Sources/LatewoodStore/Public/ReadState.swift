import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree

/// A state to read: plain pointers, copied without counting references. The owner of the read keeps
/// the memory alive.
struct ReadState {
  let view: ReadView
  let store: UInt64
  let known: Unmanaged<ValidatedKeyspaces>

  @inline(__always) func check(_ keyspace: Keyspace) throws(StorageError) {
    if known._withUnsafeGuaranteedRef({ $0.contains(keyspace.fingerprint) }) { return }
    try slowCheck(keyspace)
  }

  @inline(never) private func slowCheck(_ keyspace: Keyspace) throws(StorageError) {
    guard keyspace.store == store else {
      throw StorageError(.noSuchKeyspace, "the keyspace \(keyspace.name) belongs to another store")
    }
    guard try Catalog.exists(keyspace.id, named: keyspace.name, in: view) else {
      throw StorageError(.noSuchKeyspace, "the keyspace \(keyspace.name) does not exist in this state")
    }
    known._withUnsafeGuaranteedRef { $0.insert(keyspace.fingerprint) }
  }

  /// Returns the value of a key, or nil. The bytes are valid as long as the state.
  @inline(__always) func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StorageError) -> UnsafeRawBufferPointer? {
    try check(keyspace)
    return try FullKey.with(keyspace.id, key) { (full, count) throws(StorageError) in
      try view.find(full, count)
    }
  }

  /// Returns the first or last entry of a range, or nil if it is empty.
  func edge(
    of keyspace: Keyspace, _ range: KeyRange, isLast: Bool
  ) throws(StorageError) -> Entry? {
    try check(keyspace)
    let (low, high) = range.fullKeys(in: keyspace.id)
    var cursor = MergedCursor(view)
    if isLast { try cursor.seekBefore(high) } else { try cursor.seek(low) }
    guard cursor.isValid else { return nil }
    let key = try cursor.fullKey()
    guard isLast ? !key.lexicographicallyPrecedes(low) : key.lexicographicallyPrecedes(high) else {
      return nil
    }
    return Entry(key: try FullKey.rest(of: key), value: Array(try cursor.value()))
  }
}

/// A state for one short read, which the caller must end.
struct ShortRead {
  let state: ReadState
  let ticket: ReadTicket
}

/// A value in place, for one short read: the result of ``Readable/find(_:in:)``. Only the library
/// uses it.
public struct ValueInPlace {
  /// The value; nil if the key does not exist.
  @usableFromInline let bytes: UnsafeRawBufferPointer?
  @usableFromInline let ticket: ReadTicket

  init(_ bytes: UnsafeRawBufferPointer?, _ ticket: ReadTicket) {
    self.bytes = bytes
    self.ticket = ticket
  }

  /// Ends the read. Must be called exactly once.
  @inlinable func end() { ticket.end() }
}

/// A ticket that ends a short read. Must be used exactly once.
@usableFromInline struct ReadTicket {
  private let registered: ReaderRegistry.Ticket
  /// The transaction that lends its memory for this read; nil if no transaction is read. The caller
  /// of the read keeps it alive.
  private let lender: Unmanaged<Transaction>?

  init(_ registered: ReaderRegistry.Ticket, lender: Transaction? = nil) {
    self.registered = registered
    self.lender = lender.map(Unmanaged.passUnretained)
  }

  @usableFromInline func end() {
    registered.leave()
    if let lender { lender._withUnsafeGuaranteedRef { $0.endBorrow() } }
  }
}
