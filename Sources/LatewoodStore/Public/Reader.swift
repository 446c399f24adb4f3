import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodTree

/// A state of the database, pinned by a counted reference. The basis of ``Readable``; not useful on
/// its own.
public struct Reader {
  /// The owner of the memory that `state` points into.
  let owner: AnyObject
  /// The pin on read memory, if the file is read through a cache. Nil if the file is mapped, or if
  /// each read is registered separately.
  private(set) var pin: CachePin?
  /// Checks whether reading is still allowed.
  let gate: any ReadGate
  let state: ReadState
  /// Whether `state` belongs to a transaction, whose next change may reuse the same memory.
  let isOfTransaction: Bool

  init(owner: AnyObject, gate: any ReadGate, state: ReadState) {
    self.owner = owner
    self.gate = gate
    self.state = state
    pin = state.view.pin()
    isOfTransaction = gate.lendsMemoryThatChanges
  }

  /// A copy of this reader without a pin, for a caller that registers for each read.
  var withoutPin: Reader {
    var reader = self
    reader.pin = nil
    return reader
  }

  /// The path of the file. Not stored, because only errors need it and each read copies a reader.
  var path: String? { gate.path }

  /// Runs a closure that uses bytes in place. Until it returns, a transaction refuses changes.
  @discardableResult
  func lending<R>(_ body: () throws -> R) rethrows -> R {
    // The closure may not use this reader, so keep its owner alive until the end.
    defer { withExtendedLifetime(owner) {} }
    guard isOfTransaction else { return try body() }
    gate.lend()
    defer { gate.takeBack() }
    return try body()
  }
}

/// The object that a cursor was created from. The cursor may outlive its validity, so it checks
/// before each step.
protocol ReadGate: AnyObject {
  /// Throws `closed`, `snapshotClosed` or `transactionFinished` after the end of the object.
  func checkOpen() throws(StorageError)
  /// A number that changes with every operation of a transaction, so that its cursors know when to
  /// find their place again.
  var changeCount: Int { get }
  func currentReader() throws(StorageError) -> Reader
  /// The path of the file; nil if it has none.
  var path: String? { get }
  /// Whether bytes that were read in place may change with the next operation.
  var lendsMemoryThatChanges: Bool { get }
  func lend()
  func takeBack()
}

extension ReadGate {
  var lendsMemoryThatChanges: Bool { false }
  func lend() {}
  func takeBack() {}
}

/// A state to read: plain pointers, copied without counting references. The owner of the read keeps
/// their memory.
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
      throw StorageError(.noSuchKeyspace, "the keyspace \(keyspace.name) does not exist here")
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

/// A state for one short read, which must be ended. Not useful on its own.
public struct ShortRead {
  let state: ReadState
  let ticket: ReadTicket
}

/// A value in place, for one short read, which must be ended. Not useful on its own.
public struct FoundValue {
  /// The value; nil if there is no such key.
  @usableFromInline let bytes: UnsafeRawBufferPointer?
  @usableFromInline let ticket: ReadTicket

  init(_ bytes: UnsafeRawBufferPointer?, _ ticket: ReadTicket) {
    self.bytes = bytes
    self.ticket = ticket
  }
}

/// A ticket that ends a short read. Not useful on its own.
public struct ReadTicket {
  let registered: ReaderRegistry.Ticket
}
