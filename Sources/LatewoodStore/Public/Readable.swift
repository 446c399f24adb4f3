import LatewoodBytes
import LatewoodTree

/// Reading: what ``Store`` (the newest commit), ``Snapshot`` (one state) and ``Transaction`` (its own changes too) have in common.
///
/// Every method throws ``StoreError``: `closed`, `snapshotClosed` or `transactionFinished` when it is too late; `keyEmpty`,
/// `keyTooLong`, `noSuchKeyspace` for bad arguments; `damaged` with the offset when bytes of the file are not what was written.
/// n is the number of entries in the database. Counts are O(log n) plus the entries of the range that no checkpoint has merged yet.
public protocol Readable {
  /// The state to read. Not for use outside of this module.
  func _reader() throws(StoreError) -> Reader
}

/// One state of the database, held for a read. What ``Readable`` is built on; it has no use by itself.
public struct Reader {
  /// Keeps the memory that `view` points into.
  let owner: AnyObject
  /// Tells whether reading is still allowed.
  let gate: any ReadGate
  let view: ReadView
  let store: UInt64
  let dropCount: UInt64
  /// Whether `view` is of a transaction, whose next change may use the same memory for something else.
  @usableFromInline let isOfTransaction: Bool

  init(owner: AnyObject, gate: any ReadGate, view: ReadView, store: UInt64, dropCount: UInt64) {
    self.owner = owner
    self.gate = gate
    self.view = view
    self.store = store
    self.dropCount = dropCount
    isOfTransaction = gate.lendsMemoryThatChanges
  }

  /// Asked for by errors alone; not stored, since each read copies a reader.
  var path: String? { gate.path }

  /// Lets a closure have bytes where they lie. A transaction refuses to be changed until they are taken back.
  @inlinable @inline(__always) func lending<R>(_ body: () throws -> R) rethrows -> R {
    guard isOfTransaction else { return try withExtendedLifetime(self) { try body() } }
    lend()
    defer { takeBack() }
    return try body()
  }

  @usableFromInline func lend() { gate.lend() }
  @usableFromInline func takeBack() { gate.takeBack() }

  @inline(__always) func check(_ keyspace: Keyspace) throws(Fault) {
    if keyspace.store == store, keyspace.epoch == dropCount { return }
    try slowCheck(keyspace)
  }

  @inline(never) private func slowCheck(_ keyspace: Keyspace) throws(Fault) {
    guard keyspace.store == store else {
      throw Fault(.noSuchKeyspace, "the keyspace \(keyspace.name) belongs to another store")
    }
    guard try Catalog.exists(keyspace.id, named: keyspace.name, in: view) else {
      throw Fault(.noSuchKeyspace, "the keyspace \(keyspace.name) does not exist here")
    }
  }

  /// The value of a key. The bytes are valid as long as this reader.
  @usableFromInline func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    do {
      try check(keyspace)
      return try FullKey.with(keyspace.id, key) { (full, count) throws(Fault) in try view.find(full, count) }
    } catch { throw StoreError(error, path: path) }
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

extension Readable {
  /// The value of a key, copied, or nil. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: where to look.
  @inlinable public func get(_ key: some ByteSource, in keyspace: Keyspace) throws(StoreError) -> [UInt8]? {
    let reader = try _reader()
    let value = try key.withBytes { (bytes) throws(StoreError) in try reader.find(bytes, in: keyspace) }
    guard let value else { return nil }
    return withExtendedLifetime(reader) { Array(value) }
  }

  /// Calls `body` with the value of a key where it lies, without a copy; returns nil if there is no such key. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: where to look.
  ///   - body: takes the bytes of the value, which are valid during the call. A large one is checked against its checksum the first time.
  ///     It must not change the transaction that it reads.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; ``StoreError`` as all reads do.
  @inlinable public func withValue<R>(
    _ key: some ByteSource, in keyspace: Keyspace, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    let reader = try _reader()
    let value = try key.withBytes { (bytes) throws(StoreError) in try reader.find(bytes, in: keyspace) }
    guard let value else { return nil }
    return try reader.lending { try body(value.bytes) }
  }

  /// Whether there is a key. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: where to look.
  @inlinable public func contains(_ key: some ByteSource, in keyspace: Keyspace) throws(StoreError) -> Bool {
    let reader = try _reader()
    return try key.withBytes { (bytes) throws(StoreError) in try reader.find(bytes, in: keyspace) != nil }
  }

  /// Calls `body` with each entry of a range where it lies, without copies, until it returns false.
  ///
  /// The spans are valid during the call. O(log n + entries).
  ///
  /// - Parameters:
  ///   - keyspace: where to look.
  ///   - range: default: all keys.
  ///   - reversed: from the last key to the first.
  ///   - body: takes key and value, and says whether to go on. It must not change the transaction that it reads; a ``Cursor`` goes on
  ///     over changes.
  /// - Throws: what `body` throws; ``StoreError`` as all reads do.
  public func forEach(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    let reader = try _reader()
    do {
      try reader.check(keyspace)
      let (low, high) = range.fullKeys(in: keyspace.id)
      try reader.lending {
        try low.withUnsafeBytes { low in
          try high.withUnsafeBytes { high in
            try reader.view.scan(low: low, high: high, isReversed: reversed) { key, value in
              try body(UnsafeRawBufferPointer(rebasing: key[FullKey.prefixLength...]).bytes, value.bytes)
            }
          }
        }
      }
    } catch let fault as Fault {
      throw StoreError(fault, path: reader.path)
    }
  }

  /// The entries of a range in order, copied, read one by one as they are asked for.
  ///
  /// Iteration cannot throw in Swift: if it meets damage it ends, and ``Entries/failure`` says why. Check it after the
  /// loop, or use ``forEach(in:_:reversed:_:)`` or ``cursor(in:_:)``, which throw.
  ///
  /// - Parameters:
  ///   - keyspace: where to look.
  ///   - range: default: all keys.
  ///   - reversed: from the last key to the first.
  public func entries(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false
  ) throws(StoreError) -> Entries {
    Entries(try cursor(in: keyspace, range), isReversed: reversed)
  }

  /// A position that can be moved among the entries of a keyspace, or of a range of it.
  ///
  /// - Parameters:
  ///   - keyspace: where to look.
  ///   - range: what the cursor does not leave; default: all keys.
  public func cursor(in keyspace: Keyspace, _ range: KeyRange = .all) throws(StoreError) -> Cursor {
    let reader = try _reader()
    do { try reader.check(keyspace) } catch { throw StoreError(error, path: reader.path) }
    return Cursor(reader, range.fullKeys(in: keyspace.id), keyspace.id)
  }

  /// The first entry of a range, or nil. O(log n).
  ///
  /// - Parameters:
  ///   - keyspace: where to look.
  ///   - range: default: all keys.
  public func first(in keyspace: Keyspace, _ range: KeyRange = .all) throws(StoreError) -> Entry? {
    let cursor = try cursor(in: keyspace, range)
    return try cursor.seekFirst() ? cursor.entry() : nil
  }

  /// The last entry of a range, or nil. O(log n).
  ///
  /// - Parameters:
  ///   - keyspace: where to look.
  ///   - range: default: all keys.
  public func last(in keyspace: Keyspace, _ range: KeyRange = .all) throws(StoreError) -> Entry? {
    let cursor = try cursor(in: keyspace, range)
    return try cursor.seekLast() ? cursor.entry() : nil
  }

  /// How many keys a range has. O(log n + entries of the range that no checkpoint has merged yet).
  ///
  /// - Parameters:
  ///   - keyspace: where to look.
  ///   - range: default: all keys.
  public func count(in keyspace: Keyspace, _ range: KeyRange = .all) throws(StoreError) -> Int {
    let reader = try _reader()
    do {
      try reader.check(keyspace)
      let (low, high) = range.fullKeys(in: keyspace.id)
      return Int(truncatingIfNeeded: try reader.view.count(low: low, high: high))
    } catch { throw StoreError(error, path: reader.path) }
  }

  /// Key number `index` of a range in ascending order, counted from 0; nil if the range has fewer. Complexity as ``count(in:_:)``.
  ///
  /// - Parameters:
  ///   - index: from 0.
  ///   - keyspace: where to look.
  ///   - range: default: all keys.
  public func key(
    at index: Int, in keyspace: Keyspace, _ range: KeyRange = .all
  ) throws(StoreError) -> [UInt8]? {
    let reader = try _reader()
    do {
      try reader.check(keyspace)
      guard index >= 0 else { return nil }
      let (low, high) = range.fullKeys(in: keyspace.id)
      let full = try reader.view.key(at: UInt64(index), low: low, high: high)
      return full.map { Array($0[FullKey.prefixLength...]) }
    } catch { throw StoreError(error, path: reader.path) }
  }

  /// How many keys of the keyspace are less than a key, whether that is there or not. Complexity as ``count(in:_:)``.
  ///
  /// - Parameters:
  ///   - key: of any length.
  ///   - keyspace: where to look.
  public func rank(of key: some ByteSource, in keyspace: Keyspace) throws(StoreError) -> Int {
    try count(in: keyspace, .upTo(key))
  }
}
