import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

/// The argument of the closure of a store's `write`: makes changes that are committed together, and
/// provides reads that see them.
///
/// A transaction is valid only inside the closure; after that every call throws
/// `transactionFinished`. It belongs to the thread that runs the closure.
public final class Transaction: Readable, ReadGate {
  let engine: Engine
  /// The file of the commit.
  let file: DatabaseFile
  let writer: LogWriter
  private let version: Version
  let buffer: BufferWriter
  private(set) var committed: Head {
    didSet { known = Unmanaged.passUnretained(committed.known) }
  }
  /// The known handles of `committed`. They are unmanaged because all readers share them, and
  /// counting references at each change would take the cache line away from the readers.
  private var known: Unmanaged<ValidatedKeyspaces>
  private(set) var position = CommitPosition(offset: 0)
  /// The first failure of an operation. It forbids the commit, even if the closure caught it.
  private(set) var failure: StorageError?
  private var isActive = true
  private var ownsKnown = false, isLogOpen = false
  private var number: UInt64 = 0
  private(set) var changeCount = 0
  /// The number of changes that remove something.
  private var removalCount = 0
  /// The number of closures that use bytes in place, in memory that the next change may reuse.
  private var activeBorrows = 0

  /// Begins a transaction. Called under the writer lock.
  init(engine: Engine, _ file: DatabaseFile) throws(StorageError) {
    self.engine = engine
    self.file = file
    writer = file.writer
    version = try engine.versions.current()
    committed = engine.head.newest
    known = Unmanaged.passUnretained(committed.known)
    committed.number += 1
    buffer = BufferWriter(state: committed.active, version: committed.number, appendingTo: file)
    buffer.reclaim(published: version.number) { engine.versions.live(lookingAtMost: $0) }
  }

  /// Whether the commit must survive a power cut although the caller requested less, because
  /// another batch has joined it.
  package var isSynchronous = false

  /// Whether the commit may use the reserve for freeing a full disk. Nil means: only if all its
  /// changes are removals.
  package var freesSpace: Bool?

  /// The records of the transaction, if its commit was refused for lack of space.
  private(set) var refused: [UInt8]?

  var hasOperations: Bool { buffer.operations > 0 }

  // MARK: Writing

  /// Puts an entry, replacing one with the same key. O(log of the changes not yet in a checkpoint).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - value: 0 bytes to 2 GiB.
  ///   - keyspace: the keyspace of the entry.
  /// - Throws: ``StoreError`` `keyEmpty`, `keyTooLong`, `valueTooLarge`, `noSuchKeyspace`;
  ///   `outOfSpace` or `inputOutput` if a large transaction is already being written out.
  @inlinable public func put(
    _ key: some ByteSource, _ value: some ByteSource, in keyspace: Keyspace
  ) throws {
    try key.withBytes { (key) throws(StoreError) in
      try value.withBytes { (value) throws(StoreError) in try put(bytes: key, value, in: keyspace) }
    }
  }

  /// Deletes a key. Deleting a key that does not exist is not an error. O(log of the changes not
  /// yet in a checkpoint).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: the keyspace of the key.
  /// - Throws: as ``put(_:_:in:)``.
  @inlinable public func delete(_ key: some ByteSource, in keyspace: Keyspace) throws {
    try key.withBytes { (key) throws(StoreError) in try delete(bytes: key, in: keyspace) }
  }

  @usableFromInline func put(
    bytes key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in keyspace: Keyspace,
    existed: Bool? = nil
  ) throws(StoreError) {
    do throws(StorageError) {
      try begin(keyspace)
      try FullKey.check(key)
      guard UInt64(value.count) <= FileLayout.valueLimit else {
        throw StorageError(.valueTooLarge, "a value of \(value.count) bytes is longer than 2 GiB")
      }
    } catch { throw StoreError(error, path: engine.path) }
    try append(LogKey(keyspace.id, key), value, existed: existed)
  }

  @usableFromInline func delete(
    bytes key: UnsafeRawBufferPointer, in keyspace: Keyspace, existed: Bool? = nil
  ) throws(StoreError) {
    do {
      try begin(keyspace)
      try FullKey.check(key)
    } catch { throw StoreError(error, path: engine.path) }
    try append(LogKey(keyspace.id, key), nil, existed: existed)
  }

  /// Appends an operation to the log and enters it into the write buffer.
  ///
  /// - Parameter value: the value to put; nil to delete the key.
  @inline(__always) private func append(
    _ key: LogKey, _ value: UnsafeRawBufferPointer?, existed: Bool? = nil
  ) throws(StoreError) {
    do {
      let offset: UInt64
      if let value {
        offset = try writer.put(key, value, asExtent: value.count > engine.options.inlineValueLimit)
      } else {
        offset = try writer.delete(key)
        removalCount &+= 1
      }
      try buffer.set(writer.record(at: offset), at: offset, existed: existed)
      changeCount &+= 1
    } catch { throw failed(error) }
  }

  /// Deletes all keys of a range in one operation, regardless of their number.
  ///
  /// O(log of the ranges deleted since the last checkpoint); the next checkpoint drops entire
  /// subtrees without reading them.
  ///
  /// - Parameters:
  ///   - range: the keys to delete; default: all keys.
  ///   - keyspace: the keyspace of the range.
  /// - Throws: as ``put(_:_:in:)``; `keyTooLong` if a bound is too long.
  public func deleteRange(_ range: KeyRange = .all, in keyspace: Keyspace) throws {
    let (low, high) = range.fullKeys(in: keyspace.id)
    do {
      try begin(keyspace)
      for bound in [low, high] { try FullKey.check(bound: bound) }
    } catch { throw StoreError(error, path: engine.path) }
    guard low.lexicographicallyPrecedes(high) else { return }
    try deleteRange(low, high)
  }

  private func deleteRange(_ low: [UInt8], _ high: [UInt8]) throws(StoreError) {
    do {
      let offset = try low.withUnsafeBytes { low in
        high.withUnsafeBytes { high in
          Result { () throws(StorageError) in try writer.deleteRange(low: low, high: high) }
        }
      }.get()
      try buffer.deleteRange(try writer.record(at: offset), at: offset)
      removalCount &+= 1
      changeCount &+= 1
    } catch { throw failed(error) }
  }

  // MARK: Keyspaces

  /// Returns the keyspace with this name, and creates it if it does not exist. Others see a new
  /// keyspace once the transaction is committed.
  ///
  /// - Parameter name: 1 to 1,024 bytes of UTF-8.
  /// - Throws: ``StoreError`` `invalidName`, `transactionFinished`; `unsupported` if 4,294,967,294
  ///   have been created.
  public func keyspace(_ name: String) throws -> Keyspace {
    do {
      try Catalog.checkName(name)
      let found = try withCurrentState { (state) throws(StorageError) in
        try Catalog.number(of: name, in: state.view).map { state.handle(name, $0) }
      }
      if let found { return found }
      let number = try withCurrentState { (state) throws(StorageError) in
        try Catalog.nextNumber(in: state.view)
      }
      guard number <= Catalog.maximumNumber else {
        throw StorageError(.unsupported, "the numbers for keyspaces are used up")
      }
      try open()
      try setCatalog(Catalog.counterKey, Catalog.encode(number + 1))
      try setCatalog(Catalog.nameKey(name), Catalog.encode(number))
      try setCatalog(Catalog.numberKey(number), Array(name.utf8))
      let created = Keyspace(name, number, of: engine.identity)
      ownKnown().insert(created.fingerprint)
      return created
    } catch { throw StoreError.from(error, path: engine.path) }
  }

  /// Deletes a keyspace and all its entries.
  ///
  /// - Parameter keyspace: the keyspace to delete. All its handles then throw `noSuchKeyspace`,
  ///   even if a keyspace with the same name is created later.
  /// - Throws: ``StoreError`` `noSuchKeyspace`, `transactionFinished`.
  public func dropKeyspace(_ keyspace: Keyspace) throws {
    do {
      try begin(keyspace)
      let number = try withCurrentState { (state) throws(StorageError) in
        try Catalog.number(of: keyspace.name, in: state.view)
      }
      guard number == keyspace.id else {
        throw StorageError(.noSuchKeyspace, "the keyspace \(keyspace.name) does not exist in this state")
      }
    } catch { throw StoreError.from(error, path: engine.path) }
    try setCatalog(Catalog.nameKey(keyspace.name), nil)
    try setCatalog(Catalog.numberKey(keyspace.id), nil)
    try deleteRange(Catalog.firstKey(of: keyspace.id), Catalog.firstKey(of: keyspace.id + 1))
    ownKnown().remove(keyspace.fingerprint)
  }

  /// The known handles of this transaction, empty before its first change of the catalog, because
  /// other states share the old ones.
  private func ownKnown() -> ValidatedKeyspaces {
    if !ownsKnown { committed.known = ValidatedKeyspaces() }
    ownsKnown = true
    return committed.known
  }

  /// Puts an entry of the catalog; deletes it if `value` is nil.
  private func setCatalog(_ key: [UInt8], _ value: [UInt8]?) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      let key = LogKey(Catalog.keyspace, key)
      guard let value else { return try append(key, nil) }
      try value.withBytes { (value) throws(StoreError) in try append(key, value) }
    }
  }

  // MARK: Reading

  /// The basis of the methods that read a range or the catalog of keyspaces.
  public var readOrigin: ReadOrigin { ReadOrigin(self) }

  func currentReader() throws(StorageError) -> Reader {
    Reader(owner: self, gate: self, state: try currentState())
  }

  private func currentState() throws(StorageError) -> ReadState {
    try checkOpen()
    let view = buffer.reads(base: version.base, frozen: version.frozen)
    return ReadState(view: view, store: engine.identity, known: known)
  }

  /// Calls a closure that reads for the transaction's own purposes.
  private func withCurrentState<R>(_ body: (ReadState) throws(StorageError) -> R) throws(StorageError) -> R {
    let ticket = version.file.enter()
    defer { ticket.leave() }
    return try body(try currentState())
  }

  /// Begins a short read, during which changes of the transaction are refused, as they are during a
  /// closure that uses values in place.
  func beginRead() throws(StorageError) -> ShortRead {
    let state = try currentState()
    beginBorrow()
    return ShortRead(state: state, ticket: ReadTicket(version.file.enter(), lender: self))
  }

  /// Looks up a key for ``get(_:in:)``, ``withValue(_:in:_:)`` and ``contains(_:in:)``, which also
  /// end the read: programs call those. O(log n).
  ///
  /// - Throws: ``StoreError`` like all reads.
  public func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> ValueInPlace {
    let ticket = version.file.enter()
    do throws(StorageError) {
      try checkOpen()
      if !isKnown(keyspace) { try currentState().check(keyspace) }
      let view = buffer.reads(base: version.base, frozen: version.frozen)
      let value = try FullKey.with(keyspace.id, key) { (full, count) throws(StorageError) in
        try view.find(full, count)
      }
      beginBorrow()
      return ValueInPlace(value, ReadTicket(ticket, lender: self))
    } catch {
      ticket.leave()
      throw StoreError(error, path: engine.path)
    }
  }

  var path: String? { engine.path }
  var lendsMemoryThatChanges: Bool { true }
  func beginBorrow() { activeBorrows += 1 }
  func endBorrow() { activeBorrows -= 1 }

  func checkOpen() throws(StorageError) {
    guard isActive else {
      throw StorageError(.transactionFinished, "the transaction has ended")
    }
  }

  // MARK: Ending. The engine's part, under the writer lock.

  @inline(__always) private func begin(_ keyspace: Keyspace) throws(StorageError) {
    if isLogOpen, activeBorrows == 0, isKnown(keyspace) { return }
    try open()
    if isKnown(keyspace) { return }
    try withCurrentState { (state) throws(StorageError) in try state.check(keyspace) }
  }

  // SAFETY: `committed` retains them.
  @inline(__always) private func isKnown(_ keyspace: Keyspace) -> Bool {
    known._withUnsafeGuaranteedRef { $0.contains(keyspace.fingerprint) }
  }

  /// The reason why a transaction is not changed while its bytes are read in place.
  package static let readInPlace =
    "a transaction cannot be changed while a closure reads its bytes in place: make the changes afterwards"

  func open() throws(StorageError) {
    try checkOpen()
    if let failure { throw failure }
    guard activeBorrows == 0 else {
      throw StorageError(.invalidRange, Transaction.readInPlace)
    }
    if !isLogOpen {
      number = try writer.beginTransaction()
      isLogOpen = true
    }
  }

  private func failed(_ error: StorageError) -> StoreError {
    // This call only appends operations, so the damage is in the log before them.
    if error.kind == .damaged { file.endWriting(error) }
    failure = failure ?? error
    return StoreError(error, path: engine.path)
  }

  /// Whether the commit may use the reserve for freeing a full disk.
  var isRemoval: Bool { freesSpace ?? (removalCount == changeCount) }

  /// Appends the commit to the log, and returns the state that includes its changes.
  func commit(freesSpace: Bool) throws(StorageError) -> Head {
    isActive = false
    isLogOpen = false
    do throws(StorageError) {
      position = try writer.commitTransaction(freesSpace: freesSpace) { refused = Array($0) }
    } catch {
      buffer.abort()
      throw error
    }
    committed.transaction = number
    committed.active = buffer.finish()
    return committed
  }

  /// Repeats the changes of a refused transaction, in the same state.
  func reapply(_ changes: RefusedTransaction) throws(StorageError) {
    freesSpace = changes.freesSpace
    // It may have dropped keyspaces: then known handles to them are no longer right.
    committed.known = ValidatedKeyspaces()
    try open()
    try changes.records.withStart { (start, count) throws(StorageError) in
      var next = start
      while next < start + count {
        // SAFETY: these are records that this process encoded in its own memory.
        let record = LogRecord(trusted: next)
        let offset = try writer.append(record)
        try buffer.apply(writer.record(at: offset), at: offset)
        next = record.value + record.valueCount
        if record.code == OperationCode.putExtent { next += writer.trailerLength }
      }
    }
  }

  /// Drops the changes. Returns the number of bytes of log that they have already used.
  func abort() -> UInt64 {
    var taken: UInt64 = 0
    if isLogOpen {
      writer.abortTransaction()
      taken = writer.transactionLength
    }
    isActive = false
    isLogOpen = false
    buffer.abort()
    return taken
  }

  /// Sets `committed` and `position`, after an abort, to the state that the transaction found. That
  /// state may still have to be published.
  func resetToHead(_ head: Head) {
    committed = head
    position = writer.position
  }
}

/// Changes by layers that read before they write, so that the store need not look up their effect
/// on counts.
extension Transaction {
  /// Puts an entry, like the public form.
  ///
  /// - Parameter existed: whether the key exists now. A wrong value causes wrong counts until the
  ///   next checkpoint, but no other damage.
  @inlinable package func put(
    _ key: some ByteSource, _ value: some ByteSource, in keyspace: Keyspace, existed: Bool
  ) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try value.withBytes { (value) throws(StoreError) in
        try put(bytes: key, value, in: keyspace, existed: existed)
      }
    }
  }

  /// Deletes a key, like the public form.
  ///
  /// - Parameter existed: as for `put`.
  @inlinable package func delete(
    _ key: some ByteSource, in keyspace: Keyspace, existed: Bool
  ) throws(StoreError) {
    try key.withBytes { (key) throws(StoreError) in
      try delete(bytes: key, in: keyspace, existed: existed)
    }
  }
}
