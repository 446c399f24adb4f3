import LatewoodBytes
import LatewoodTree
import Synchronization

/// A pinned state of the database, for a layer that reads several values of it without copying a
/// reader each time.
///
/// Obtained from `Store.held`. Thread safety: any thread.
package final class PinnedState: Readable, ReadGate {
  private let version: Version
  private let engine: Engine
  /// The result of `once`; 0 if it has not been called yet.
  private let note = Atomic<UInt64>(0)

  init(_ version: Version, of engine: Engine) {
    self.version = version
    self.engine = engine
  }

  /// The number of the version, unique among the states of the open store.
  package var number: UInt64 { version.number }

  package var readOrigin: ReadOrigin { ReadOrigin(self) }
  package func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> ValueInPlace {
    let ticket = ReadTicket(version.file.enter())
    do throws(StorageError) {
      return ValueInPlace(try engine.state(of: version).find(key, in: keyspace), ticket)
    } catch {
      ticket.end()
      throw StoreError(error, path: path)
    }
  }

  func checkOpen() throws(StorageError) { try engine.checkOpen() }
  var changeCount: Int { 0 }
  func currentReader() -> Reader {
    Reader(owner: version, gate: engine, state: engine.state(of: version))
  }
  func beginRead() -> ShortRead {
    ShortRead(state: engine.state(of: version), ticket: ReadTicket(version.file.enter()))
  }
  var path: String? { engine.path }

  /// Returns the result of `find`, which is never 0, and remembers it for later calls.
  package func firstResult(of find: () -> UInt64) -> UInt64 {
    let noted = note.load(ordering: .relaxed)
    if noted != 0 { return noted }
    let found = find()
    let (isFirst, kept) = note.compareExchange(expected: 0, desired: found, ordering: .relaxed)
    return isFirst ? found : kept
  }

  /// Returns the view for reading a keyspace for the lifetime of this state; nil if its memory may
  /// be released earlier.
  func view(of keyspace: Keyspace) throws(StoreError) -> ReadView? {
    let state = engine.state(of: version)
    do throws(StorageError) { try state.check(keyspace) } catch { throw StoreError(error, path: path) }
    return state.view.isBuffered ? nil : state.view
  }

  /// Calls a closure with each entry of a range, like `forEach` but without creating a reader.
  package func scan(
    _ keyspace: Keyspace, _ range: KeyRange, reversed: Bool,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    do {
      let pointers = version.pointers
      if !pointers.pointee.known._withUnsafeGuaranteedRef({ $0.contains(keyspace.fingerprint) }) {
        try engine.state(of: version).check(keyspace)
      }
      try range.withFullKeys(in: keyspace.id) { low, high in
        let view = pointers.pointee.reads
        _ = try view.scan(
          low: low, high: high, dropping: FullKey.prefixLength, isReversed: reversed, pin: view.pin(), body)
      }
    } catch let error as StorageError {
      throw StoreError(error, path: path)
    }
  }

  /// Calls a closure with the entries of a range, in order and several at a time: much faster for
  /// many entries. Up to 64 are read ahead.
  ///
  /// The bytes are valid during the call. If the file is read through a cache, entries are passed
  /// one by one.
  package func scanBatches(
    _ keyspace: Keyspace, _ range: KeyRange, _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws {
    guard !version.pointers.pointee.reads.isBuffered else {
      return try scan(keyspace, range, reversed: false) { key, value in
        try EntryBytes.withBatch(of: key, value, body)
      }
    }
    do {
      let pointers = version.pointers
      if !pointers.pointee.known._withUnsafeGuaranteedRef({ $0.contains(keyspace.fingerprint) }) {
        try engine.state(of: version).check(keyspace)
      }
      try range.withFullKeys(in: keyspace.id) { low, high in
        try pointers.pointee.reads.scanBatches(low: low, high: high, dropping: FullKey.prefixLength, body)
      }
    } catch let error as StorageError {
      throw StoreError(error, path: path)
    }
  }

  /// Calls a closure that may call `find`.
  @inline(__always) package func reading<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    let ticket = version.file.enter()
    defer {
      ticket.leave()
      withExtendedLifetime(self) {}
    }
    return try body()
  }

  /// Returns the value of a key, or nil. The bytes are valid until the closure of `reading`
  /// returns. O(log n).
  package func value(
    of key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    do throws(StorageError) {
      // Read in place, because `VersionPointers` is too large to copy for one value.
      let pointers = version.pointers
      if !pointers.pointee.known._withUnsafeGuaranteedRef({ $0.contains(keyspace.fingerprint) }) {
        try engine.state(of: version).check(keyspace)
      }
      return try FullKey.with(keyspace.id, key) { (full, count) throws(StorageError) in
        try pointers.pointee.reads.find(full, count)
      }
    } catch { throw StoreError(error, path: path) }
  }
}

extension Store {
  /// Returns the newest state, pinned for the lifetime of the result. Throws like all reads.
  package func held() throws(StoreError) -> PinnedState {
    do { return PinnedState(try engine.versions.current(), of: engine) } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
