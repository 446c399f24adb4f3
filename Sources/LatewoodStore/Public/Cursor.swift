import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree

/// A position among the entries of a keyspace or of a range of it.
///
/// ```swift
/// let cursor = try snapshot.cursor(in: fruit)
/// var more = try cursor.seek(to: "m")
/// while more {
///   print(try cursor.key(), try cursor.value())
///   more = try cursor.next()
/// }
/// ```
///
/// A cursor sees the state that it was created from. For a store, that is the newest commit at that
/// time; for a transaction, it includes changes made while the cursor is open. A cursor may outlive
/// the object that it was created from, but then every call throws.
///
/// Every move throws ``StoreError`` `closed`, `snapshotClosed` or `transactionFinished` after the
/// end of the object that the cursor was created from; `damaged` with the offset, or `inputOutput`,
/// if the file cannot be read. The cursor then has no current entry.
///
/// Thread safety: one thread at a time. Create one for each thread: cursors are cheap.
public final class Cursor {
  private var reader: Reader
  private var merged: MergedCursor
  private let low: [UInt8]
  private let high: [UInt8]
  private let keyspace: UInt32
  private var changeCount: Int
  /// The key of the current entry. Set only for transactions, which may change the entry.
  private var placeKey: [UInt8] = []
  /// Whether the current entry has been deleted, so that `merged` is already past its position.
  private var isBesidePlace = false
  /// The ticket of the last read, if the file is read through a cache; nil before that.
  private var seen: ReaderRegistry.Ticket?

  init(_ reader: Reader, _ bounds: (low: [UInt8], high: [UInt8]), _ keyspace: UInt32) {
    self.reader = reader.withoutPin
    merged = MergedCursor(reader.state.view)
    low = bounds.low
    high = bounds.high
    self.keyspace = keyspace
    changeCount = reader.gate.changeCount
  }

  /// Creates a cursor over the same entries, before any seek.
  fileprivate init(like other: Cursor) {
    reader = other.reader
    merged = MergedCursor(other.reader.state.view)
    low = other.low
    high = other.high
    keyspace = other.keyspace
    changeCount = other.changeCount
  }

  /// Whether the cursor is on an entry, or at the position of an entry that the transaction has
  /// deleted since.
  public private(set) var isValid = false

  // MARK: Moving

  /// Moves to the first entry whose key is not less than `key`. O(log n), or less if that entry is
  /// near.
  ///
  /// - Returns: whether the range contains such an entry.
  /// - Throws: ``StoreError`` like every move of a cursor.
  @discardableResult
  public func seek(to key: some ByteSource) throws -> Bool {
    try move { cursor throws(StorageError) in
      let full = Catalog.firstKey(of: cursor.keyspace) + key.copied
      try cursor.seekForward(RangeLimit.later(full, cursor.low))
    }
  }

  /// Moves to the last entry whose key is less than `key`. O(log n).
  ///
  /// - Throws: ``StoreError`` like every move of a cursor.
  @discardableResult
  public func seek(before key: some ByteSource) throws -> Bool {
    try move { cursor throws(StorageError) in
      let full = Catalog.firstKey(of: cursor.keyspace) + key.copied
      try cursor.seekBackward(RangeLimit.earlier(full, cursor.high))
    }
  }

  /// Moves to the first entry of the range. O(log n).
  ///
  /// - Throws: ``StoreError`` like every move of a cursor.
  @discardableResult
  public func seekFirst() throws -> Bool {
    try move { cursor throws(StorageError) in try cursor.seekForward(cursor.low) }
  }

  /// Moves to the last entry of the range. O(log n).
  ///
  /// - Throws: ``StoreError`` like every move of a cursor.
  @discardableResult
  public func seekLast() throws -> Bool {
    try move { cursor throws(StorageError) in try cursor.seekBackward(cursor.high) }
  }

  /// Moves to the next entry; before any seek, to the first.
  ///
  /// - Throws: ``StoreError`` like every move of a cursor.
  @discardableResult
  public func next() throws -> Bool {
    if isPastEnd { return try stay() }
    let isFirst = !isPositioned
    return try move { cursor throws(StorageError) in
      if isFirst { return try cursor.seekForward(cursor.low) }
      if try cursor.refreshPlace() || cursor.isBesidePlace {
        try cursor.seekForward(cursor.placeKey + [0])
      } else {
        try cursor.merged.next()
      }
    }
  }

  /// Moves to the previous entry; before any seek, to the last.
  ///
  /// - Throws: ``StoreError`` like every move of a cursor.
  @discardableResult
  public func previous() throws -> Bool {
    if isPastEnd { return try stay() }
    let isFirst = !isPositioned
    return try move { cursor throws(StorageError) in
      if isFirst { return try cursor.seekBackward(cursor.high) }
      if try cursor.refreshPlace() || cursor.isBesidePlace {
        try cursor.seekBackward(cursor.placeKey)
      } else {
        try cursor.merged.previous()
      }
    }
  }

  // MARK: Reading

  /// Returns a copy of the key of the current entry.
  ///
  /// - Throws: ``StoreError`` `invalidRange` if there is no current entry, or it has been deleted.
  ///   The cursor keeps its position in either case.
  public func key() throws -> [UInt8] {
    do {
      let ticket = try begin()
      defer { ticket.leave() }
      try checkPlaced()
      return try FullKey.rest(of: merged.fullKey())
    } catch { throw StoreError(error, path: reader.path) }
  }

  /// Returns a copy of the value of the current entry.
  ///
  /// - Throws: ``StoreError`` as ``key()`` does.
  public func value() throws -> [UInt8] {
    do {
      let ticket = try begin()
      defer { ticket.leave() }
      try checkPlaced()
      return Array(try merged.value())
    } catch { throw StoreError(error, path: reader.path) }
  }

  /// Returns a copy of the key and the value of the current entry.
  ///
  /// - Throws: ``StoreError`` as ``key()`` does.
  public func entry() throws -> Entry { Entry(key: try key(), value: try value()) }

  /// Calls `body` with the value in place, without a copy. `body` must not change the transaction
  /// that it reads.
  ///
  /// - Throws: errors of `body`; ``StoreError`` as ``key()`` does.
  public func withValue<R>(_ body: (RawSpan) throws -> R) throws -> R {
    let value: UnsafeRawBufferPointer
    var ticket = ReaderRegistry.Ticket.none
    defer { ticket.leave() }
    do {
      ticket = try begin()
      try checkPlaced()
      value = try merged.value()
    } catch { throw StoreError(error, path: reader.path) }
    return try reader.borrowing { try body(value.bytes) }
  }

  // MARK: -

  /// Registers a read. If the cache may have released memory since the last one, reads the nodes at
  /// the cursor's position again: an idle cursor does not keep anything in memory.
  private func begin() throws(StorageError) -> ReaderRegistry.Ticket {
    let view = reader.state.view
    guard view.isBuffered else { return .none }
    let ticket = view.enter()
    do throws(StorageError) {
      if let seen, !view.isUndisturbed(since: seen) { try merged.reload() }
    } catch {
      isValid = false
      ticket.leave()
      throw error
    }
    seen = ticket
    return ticket
  }

  private var isPositioned = false
  /// Whether the cursor has left the range or has failed, and must seek again.
  private var isPastEnd: Bool { isPositioned && !isValid }

  private func stay() throws(StoreError) -> Bool {
    do { try reader.gate.checkOpen() } catch { throw StoreError(error, path: reader.path) }
    return false
  }

  private func checkPlaced() throws(StorageError) {
    try reader.gate.checkOpen()
    if isValid, try refreshPlace() {
      try seekForward(placeKey)
      let isAtPlace = merged.isValid ? try merged.fullKey() == placeKey : false
      isBesidePlace = !isAtPlace
    }
    guard isValid, !isBesidePlace else {
      throw StorageError(
        .invalidRange, isValid ? "the entry has been deleted" : "the cursor is not on an entry")
    }
  }

  /// Renews the reader if the transaction has changed since. Returns true in that case: the caller
  /// must then find the position again by `placeKey`.
  private func refreshPlace() throws(StorageError) -> Bool {
    guard reader.gate.changeCount != changeCount else { return false }
    reader = try reader.gate.currentReader().withoutPin
    changeCount = reader.gate.changeCount
    merged = MergedCursor(reader.state.view)
    return true
  }

  private func seekForward(_ target: [UInt8]) throws(StorageError) {
    _ = try refreshPlace()
    try merged.seek(target)
  }

  private func seekBackward(_ target: [UInt8]) throws(StorageError) {
    _ = try refreshPlace()
    try merged.seekBefore(target)
  }

  private func move(_ step: (Cursor) throws(StorageError) -> Void) throws(StoreError) -> Bool {
    do {
      try reader.gate.checkOpen()
      isPositioned = true
      let ticket = try begin()
      defer { ticket.leave() }
      try step(self)
      isBesidePlace = false
      isValid = merged.isValid && isInside()
      if isValid, reader.gate is Transaction { placeKey = try merged.fullKey() }
      return isValid
    } catch {
      isValid = false
      throw StoreError(error, path: reader.path)
    }
  }

  private func isInside() -> Bool {
    low.withUnsafeBytes { low in
      high.withUnsafeBytes { high in
        guard let first = low.baseAddress, let end = high.baseAddress else { return false }
        return merged.compareKey(end, high.count) < 0 && merged.compareKey(first, low.count) >= 0
      }
    }
  }
}

/// The greater or the lesser of two full keys, for intersecting ranges.
enum RangeLimit {
  static func later(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { a.lexicographicallyPrecedes(b) ? b : a }
  static func earlier(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { a.lexicographicallyPrecedes(b) ? a : b }
}

/// The entries of a range, as a sequence. Each iteration starts again from the first entry.
public final class Entries: Sequence {
  /// A cursor that is never moved; each iteration starts with a copy of it.
  private let start: Cursor
  private let isReversed: Bool

  /// The error that ended the last iteration before the end of the range; nil if it reached the
  /// end.
  public private(set) var failure: StoreError?

  init(_ start: Cursor, isReversed: Bool) {
    self.start = start
    self.isReversed = isReversed
  }

  /// Starts at the first entry, and forgets the error of the last iteration.
  public func makeIterator() -> Iterator {
    failure = nil
    return Iterator(self, Cursor(like: start))
  }

  /// A position among the entries.
  public struct Iterator: IteratorProtocol {
    private let entries: Entries
    private let cursor: Cursor

    init(_ entries: Entries, _ cursor: Cursor) {
      self.entries = entries
      self.cursor = cursor
    }

    /// Returns the next entry; nil after the last, and after an error, which is in
    /// ``Entries/failure``.
    public mutating func next() -> Entry? { entries.advance(cursor) }
  }

  private func advance(_ cursor: Cursor) -> Entry? {
    do {
      let isThere = isReversed ? try cursor.previous() : try cursor.next()
      return isThere ? try cursor.entry() : nil
    } catch {
      // A cursor throws only this type.
      failure = error as? StoreError
      return nil
    }
  }
}
