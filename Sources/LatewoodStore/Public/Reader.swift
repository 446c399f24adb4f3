import LatewoodBytes
import LatewoodDevice
import LatewoodTree

/// One state of the database, held by counting references. What ``Readable`` is built on; it has no
/// use by itself.
public struct Reader {
  /// Keeps the memory that `state` points into.
  let owner: AnyObject
  /// Tells whether reading is still allowed.
  let gate: any ReadGate
  let state: ReadState
  /// Whether `state` is of a transaction, whose next change may use the same memory for something
  /// else.
  let isOfTransaction: Bool

  init(owner: AnyObject, gate: any ReadGate, state: ReadState) {
    self.owner = owner
    self.gate = gate
    self.state = state
    isOfTransaction = gate.lendsMemoryThatChanges
  }

  /// Asked for by errors alone; not stored, since each read copies a reader.
  var path: String? { gate.path }

  /// Lets a closure have bytes where they lie. A transaction refuses to be changed until they are
  /// taken back.
  func lending<R>(_ body: () throws -> R) rethrows -> R {
    guard isOfTransaction else { return try withExtendedLifetime(self) { try body() } }
    gate.lend()
    defer { gate.takeBack() }
    return try body()
  }
}

/// What a cursor asks before each step: it may outlive what it was made from.
protocol ReadGate: AnyObject {
  /// Throws `closed`, `snapshotClosed` or `transactionFinished` once it is too late to read.
  func checkOpen() throws(Fault)
  /// Changes with every operation of a transaction; cursors over it then find their place again.
  var changeCount: Int { get }
  func currentReader() throws(Fault) -> Reader
  /// Of the file; nil if it has none.
  var path: String? { get }
  /// Whether bytes that were read may change with the next operation.
  var lendsMemoryThatChanges: Bool { get }
  func lend()
  func takeBack()
}

extension ReadGate {
  var lendsMemoryThatChanges: Bool { false }
  func lend() {}
  func takeBack() {}
}

/// One state, to be read: plain pointers, copied without counting. Somebody else keeps what they
/// point at.
struct ReadState {
  let view: ReadView
  let store: UInt64
  let known: Unmanaged<KnownKeyspaces>

  @inline(__always) func check(_ keyspace: Keyspace) throws(Fault) {
    if known._withUnsafeGuaranteedRef({ $0.contains(keyspace.fingerprint) }) { return }
    try slowCheck(keyspace)
  }

  @inline(never) private func slowCheck(_ keyspace: Keyspace) throws(Fault) {
    guard keyspace.store == store else {
      throw Fault(.noSuchKeyspace, "the keyspace \(keyspace.name) belongs to another store")
    }
    guard try Catalog.exists(keyspace.id, named: keyspace.name, in: view) else {
      throw Fault(.noSuchKeyspace, "the keyspace \(keyspace.name) does not exist here")
    }
    known._withUnsafeGuaranteedRef { $0.insert(keyspace.fingerprint) }
  }

  /// The value of a key. The bytes are valid as long as the state.
  @inline(__always) func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(Fault) -> UnsafeRawBufferPointer? {
    try check(keyspace)
    return try FullKey.with(keyspace.id, key) { (full, count) throws(Fault) in try view.find(full, count) }
  }

  /// The first entry of a range, or its last one.
  func edge(
    of keyspace: Keyspace, _ range: KeyRange, isLast: Bool
  ) throws(Fault) -> Entry? {
    try check(keyspace)
    let (low, high) = range.fullKeys(in: keyspace.id)
    var cursor = MergedCursor(view)
    if isLast { try cursor.seekBefore(high) } else { try cursor.seek(low) }
    guard cursor.isValid else { return nil }
    let key = cursor.fullKey
    guard isLast ? !key.lexicographicallyPrecedes(low) : key.lexicographicallyPrecedes(high) else {
      return nil
    }
    return Entry(key: Array(key[FullKey.prefixLength...]), value: Array(try cursor.value()))
  }
}

/// A state that is kept for one short read, which must be ended. It has no use by itself.
public struct ShortRead {
  let state: ReadState
  let ticket: ReadTicket
}

/// A value where it lies, kept for one short read, which must be ended. It has no use by itself.
public struct FoundValue {
  /// Nil if there is no such key.
  @usableFromInline let bytes: UnsafeRawBufferPointer?
  @usableFromInline let ticket: ReadTicket

  init(_ bytes: UnsafeRawBufferPointer?, _ ticket: ReadTicket) {
    self.bytes = bytes
    self.ticket = ticket
  }
}

/// What ends a short read. It has no use by itself.
public struct ReadTicket {
  let registered: ReaderRegistry.Ticket
}
