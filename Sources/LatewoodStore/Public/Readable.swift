import LatewoodBytes
import LatewoodTree

/// The reading interface of ``Store`` (the newest commit), ``Snapshot`` (one state) and
/// ``Transaction`` (including its own changes).
///
/// Every method throws ``StoreError``: `closed`, `snapshotClosed` or `transactionFinished` after
/// the end of the object; `keyEmpty`, `keyTooLong`, `noSuchKeyspace` for invalid arguments;
/// `damaged` with the offset, or `inputOutput`, if the file cannot be read. n is the number of
/// entries in the database. Counts are O(log n). The first count of a range also looks up each of
/// its entries written since the last checkpoint, O(log n) for each.
public protocol Readable {
  // All other methods are built on these two requirements. Only this module can end their reads.

  /// Looks up a key for ``get(_:in:)``, ``withValue(_:in:_:)`` and ``contains(_:in:)``, which also
  /// end the read: programs call those. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: the keyspace to read.
  /// - Returns: the value, valid until the end of the read.
  /// - Throws: ``StoreError`` like all reads.
  func find(_ key: UnsafeRawBufferPointer, in keyspace: Keyspace) throws(StoreError) -> ValueInPlace
  /// The state to read, for the methods that read a range or the catalog of keyspaces.
  var readOrigin: ReadOrigin { get }
}

extension Readable {
  /// Returns a reader of the state, pinned for the lifetime of the reader.
  func reader() throws(StoreError) -> Reader {
    let source = readOrigin.source
    do { return try source.currentReader() } catch { throw StoreError(error, path: source.path) }
  }

  /// Runs a short read. `body` must not call closures of the caller.
  func read<R>(_ body: (ReadState) throws(StorageError) -> R) throws(StoreError) -> R {
    let source = readOrigin.source
    do throws(StorageError) {
      let read = try source.beginRead()
      defer { read.ticket.end() }
      return try body(read.state)
    } catch { throw StoreError(error, path: source.path) }
  }
}

extension Readable {
  /// Returns a copy of the value of a key, or nil. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: the keyspace to read.
  /// - Throws: ``StoreError`` like all reads.
  @inlinable public func get(_ key: some ByteSource, in keyspace: Keyspace) throws -> [UInt8]? {
    try key.withBytes { (key) throws(StoreError) in
      let found = try find(key, in: keyspace)
      // The end of the read needs this object, or the memory that it points to.
      defer { withExtendedLifetime(self) { found.end() } }
      return found.bytes.map { Array($0) }
    }
  }

  /// Calls `body` with the value of a key in place, without a copy; returns nil if the key does not
  /// exist. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: the keyspace to read.
  ///   - body: receives the bytes of the value, which are valid during the call. A large value is
  ///     checked against its checksum at its first use. `body` must not change the transaction that
  ///     it reads.
  /// - Returns: the result of `body`.
  /// - Throws: errors of `body`; ``StoreError`` like all reads.
  @inlinable public func withValue<R>(
    _ key: some ByteSource, in keyspace: Keyspace, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    try key.withBytes { (key) throws -> R? in
      let found = try find(key, in: keyspace)
      defer { withExtendedLifetime(self) { found.end() } }
      guard let value = found.bytes else { return nil }
      return try body(value.bytes)
    }
  }

  /// Returns whether a key exists. O(log n).
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: the keyspace to read.
  /// - Throws: ``StoreError`` like all reads.
  @inlinable public func contains(_ key: some ByteSource, in keyspace: Keyspace) throws -> Bool {
    try key.withBytes { (key) throws(StoreError) in
      let found = try find(key, in: keyspace)
      withExtendedLifetime(self) { found.end() }
      return found.bytes != nil
    }
  }

  /// Calls `body` with each entry of a range in place, without copies, until it returns false.
  ///
  /// The spans are valid during the call. O(log n + entries).
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace to read.
  ///   - range: the keys to read; default: all keys.
  ///   - reversed: whether to go from the last key to the first.
  ///   - body: receives the key and the value, and returns whether to continue. It must not change
  ///     the transaction that it reads; use a ``Cursor`` for that.
  /// - Throws: errors of `body`; ``StoreError`` like all reads.
  public func forEach(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    let reader = try reader()
    do {
      try reader.state.check(keyspace)
      let (view, pin) = (reader.state.view, reader.pin)
      try reader.borrowing {
        try range.withFullKeys(in: keyspace.id) { low, high in
          _ = try view.scan(
            low: low, high: high, dropping: FullKey.prefixLength, isReversed: reversed, pin: pin, body)
        }
      }
    } catch let error as StorageError {
      throw StoreError(error, path: reader.path)
    }
  }

  /// Returns a sequence of the entries of a range in order, which reads and copies them on demand.
  ///
  /// Iteration cannot throw in Swift: it ends at damage, and ``Entries/failure`` contains the
  /// error. Check it after the loop, or use ``forEach(in:_:reversed:_:)`` or ``cursor(in:_:)``,
  /// which throw.
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace to read.
  ///   - range: the keys to read; default: all keys.
  ///   - reversed: whether to go from the last key to the first.
  /// - Throws: ``StoreError`` like all reads, but damage is reported when an entry is read.
  public func entries(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false
  ) throws -> Entries {
    Entries(try cursor(in: keyspace, range), isReversed: reversed)
  }

  /// Returns a cursor over the entries of a keyspace, or of a range of it.
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace to read.
  ///   - range: the range of the cursor; default: all keys.
  /// - Throws: ``StoreError`` like all reads, but damage is reported when an entry is read.
  public func cursor(in keyspace: Keyspace, _ range: KeyRange = .all) throws -> Cursor {
    let reader = try reader()
    do { try reader.state.check(keyspace) } catch { throw StoreError(error, path: reader.path) }
    return Cursor(reader, range.fullKeys(in: keyspace.id), keyspace.id)
  }

  /// Returns the first entry of a range, or nil. O(log n).
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace to read.
  ///   - range: the keys to read; default: all keys.
  /// - Throws: ``StoreError`` like all reads.
  public func first(in keyspace: Keyspace, _ range: KeyRange = .all) throws -> Entry? {
    try read { (state) throws(StorageError) in try state.edge(of: keyspace, range, isLast: false) }
  }

  /// Returns the last entry of a range, or nil. O(log n).
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace to read.
  ///   - range: the keys to read; default: all keys.
  /// - Throws: ``StoreError`` like all reads.
  public func last(in keyspace: Keyspace, _ range: KeyRange = .all) throws -> Entry? {
    try read { (state) throws(StorageError) in try state.edge(of: keyspace, range, isLast: true) }
  }

  /// Returns the number of keys in a range. O(log n), and the first time another O(log n) for each
  /// entry of the range written since the last checkpoint.
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace to read.
  ///   - range: the keys to read; default: all keys.
  /// - Throws: ``StoreError`` like all reads.
  public func count(in keyspace: Keyspace, _ range: KeyRange = .all) throws -> Int {
    try read { (state) throws(StorageError) in
      try state.check(keyspace)
      let (low, high) = range.fullKeys(in: keyspace.id)
      return Int(truncatingIfNeeded: try state.view.count(low: low, high: high))
    }
  }

  /// Returns the key at `index` of a range in ascending order; nil if the range has fewer keys.
  ///
  /// O(log n) if everything is in a checkpoint; otherwise O(log n) counts.
  ///
  /// - Parameters:
  ///   - index: the index of the key, counted from 0.
  ///   - keyspace: the keyspace to read.
  ///   - range: the keys to read; default: all keys.
  /// - Throws: ``StoreError`` like all reads.
  public func key(
    at index: Int, in keyspace: Keyspace, _ range: KeyRange = .all
  ) throws -> [UInt8]? {
    try read { (state) throws(StorageError) in
      try state.check(keyspace)
      guard index >= 0 else { return nil }
      let (low, high) = range.fullKeys(in: keyspace.id)
      let full = try state.view.key(at: UInt64(index), low: low, high: high)
      return try full.map { (full) throws(StorageError) in try FullKey.rest(of: full) }
    }
  }

  /// Returns the number of keys in the keyspace that are less than `key`, which need not exist. It
  /// has the same complexity as ``count(in:_:)``.
  ///
  /// - Parameters:
  ///   - key: a key of any length.
  ///   - keyspace: the keyspace to read.
  /// - Throws: ``StoreError`` like all reads.
  public func rank(of key: some ByteSource, in keyspace: Keyspace) throws -> Int {
    try count(in: keyspace, .upTo(key))
  }
}

extension Readable {
  /// Returns the keyspace with this name, or nil if this state does not contain it. O(log n).
  ///
  /// - Parameter name: 1 to 1,024 bytes of UTF-8; names are compared by bytes.
  /// - Throws: ``StoreError`` `invalidName`, and like all reads.
  public func existingKeyspace(_ name: String) throws -> Keyspace? {
    try read { (state) throws(StorageError) in
      try Catalog.checkName(name)
      return try Catalog.number(of: name, in: state.view).map { state.handle(name, $0) }
    }
  }

  /// Returns all keyspaces of this state, by name. O(number of keyspaces).
  ///
  /// - Throws: ``StoreError`` like all reads.
  public func keyspaces() throws -> [Keyspace] {
    try read { (state) throws(StorageError) in
      try Catalog.all(in: state.view).map { state.handle($0.name, $0.number) }
    }
  }
}

extension ReadState {
  /// Creates the handle of a keyspace that was found in this state.
  func handle(_ name: String, _ number: UInt32) -> Keyspace {
    let handle = Keyspace(name, number, of: store)
    known._withUnsafeGuaranteedRef { $0.insert(handle.fingerprint) }
    return handle
  }
}
