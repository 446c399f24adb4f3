import LatewoodBytes
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
/// It sees the state it was made from: of a store the newest commit at that time, of a transaction
/// also what the transaction changes while the cursor is open. It may outlive what it was made
/// from, but then every call throws.
///
/// Thread safety: one thread at a time. Make one for each thread; they are cheap.
public final class Cursor {
  private var reader: Reader
  private var merged: MergedCursor
  private let low: [UInt8]
  private let high: [UInt8]
  private let keyspace: UInt32
  private var changeCount: Int
  /// Kept while a transaction may change what it stands on.
  private var placeKey: [UInt8] = []
  /// The entry that it stood on has been deleted, and `merged` is on the way past its place.
  private var isBesidePlace = false

  init(_ reader: Reader, _ bounds: (low: [UInt8], high: [UInt8]), _ keyspace: UInt32) {
    self.reader = reader
    merged = MergedCursor(reader.state.view)
    low = bounds.low
    high = bounds.high
    self.keyspace = keyspace
    changeCount = reader.gate.changeCount
  }

  /// Over the same entries, and before any seek.
  fileprivate init(like other: Cursor) {
    reader = other.reader
    merged = MergedCursor(other.reader.state.view)
    low = other.low
    high = other.high
    keyspace = other.keyspace
    changeCount = other.changeCount
  }

  /// Whether it stands on an entry, or where one was that the transaction has deleted since.
  public private(set) var isValid = false

  // MARK: Moving

  /// To the first entry whose key is not less than `key`. O(log n), or less if it is near.
  ///
  /// - Returns: whether there is one in the range.
  @discardableResult
  public func seek(to key: some ByteSource) throws(StoreError) -> Bool {
    try move { cursor throws(Fault) in
      let full = Catalog.firstKey(of: cursor.keyspace) + key.copied
      try cursor.seekForward(RangeLimit.later(full, cursor.low))
    }
  }

  /// To the last entry whose key is less than `key`. O(log n).
  @discardableResult
  public func seek(before key: some ByteSource) throws(StoreError) -> Bool {
    try move { cursor throws(Fault) in
      let full = Catalog.firstKey(of: cursor.keyspace) + key.copied
      try cursor.seekBackward(RangeLimit.earlier(full, cursor.high))
    }
  }

  /// To the first entry of the range. O(log n).
  @discardableResult
  public func seekFirst() throws(StoreError) -> Bool {
    try move { cursor throws(Fault) in try cursor.seekForward(cursor.low) }
  }

  /// To the last entry of the range. O(log n).
  @discardableResult
  public func seekLast() throws(StoreError) -> Bool {
    try move { cursor throws(Fault) in try cursor.seekBackward(cursor.high) }
  }

  /// To the entry after this one; from before any seek, to the first.
  @discardableResult
  public func next() throws(StoreError) -> Bool {
    if isPastEnd { return try stay() }
    let isFirst = !isPlaced
    return try move { cursor throws(Fault) in
      if isFirst { return try cursor.seekForward(cursor.low) }
      if try cursor.refreshPlace() || cursor.isBesidePlace {
        try cursor.seekForward(cursor.placeKey + [0])
      } else {
        try cursor.merged.next()
      }
    }
  }

  /// To the entry before this one; from before any seek, to the last.
  @discardableResult
  public func previous() throws(StoreError) -> Bool {
    if isPastEnd { return try stay() }
    let isFirst = !isPlaced
    return try move { cursor throws(Fault) in
      if isFirst { return try cursor.seekBackward(cursor.high) }
      if try cursor.refreshPlace() || cursor.isBesidePlace {
        try cursor.seekBackward(cursor.placeKey)
      } else {
        try cursor.merged.previous()
      }
    }
  }

  // MARK: Reading

  /// The key it stands on, copied.
  ///
  /// - Throws: ``StoreError`` `invalidRange` if it stands on none, or on one that has been deleted.
  ///   It keeps its place all the same.
  public func key() throws(StoreError) -> [UInt8] {
    do {
      try checkPlaced()
      return Array(merged.fullKey[FullKey.prefixLength...])
    } catch { throw StoreError(error, path: reader.path) }
  }

  /// The value it stands on, copied.
  public func value() throws(StoreError) -> [UInt8] {
    do {
      try checkPlaced()
      return Array(try merged.value())
    } catch { throw StoreError(error, path: reader.path) }
  }

  /// Key and value, copied.
  public func entry() throws(StoreError) -> Entry { Entry(key: try key(), value: try value()) }

  /// Calls `body` with the value where it lies, without a copy. It must not change the transaction
  /// that it reads.
  public func withValue<R>(_ body: (RawSpan) throws -> R) throws -> R {
    let value: UnsafeRawBufferPointer
    do {
      try checkPlaced()
      value = try merged.value()
    } catch { throw StoreError(error, path: reader.path) }
    return try reader.lending { try body(value.bytes) }
  }

  // MARK: -

  private var isPlaced = false
  /// It has left the range or has failed: only a seek brings it back.
  private var isPastEnd: Bool { isPlaced && !isValid }

  private func stay() throws(StoreError) -> Bool {
    do { try reader.gate.checkOpen() } catch { throw StoreError(error, path: reader.path) }
    return false
  }

  private func checkPlaced() throws(Fault) {
    try reader.gate.checkOpen()
    if isValid, try refreshPlace() {
      try seekForward(placeKey)
      isBesidePlace = !merged.isValid || merged.fullKey != placeKey
    }
    guard isValid, !isBesidePlace else {
      throw Fault(
        .invalidRange, isValid ? "the entry has been deleted" : "the cursor does not stand on an entry")
    }
  }

  /// True if a transaction has changed something, so that the position must be found again by
  /// `placeKey`.
  private func refreshPlace() throws(Fault) -> Bool {
    guard reader.gate.changeCount != changeCount else { return false }
    reader = try reader.gate.currentReader()
    changeCount = reader.gate.changeCount
    merged = MergedCursor(reader.state.view)
    return true
  }

  private func seekForward(_ target: [UInt8]) throws(Fault) {
    _ = try refreshPlace()
    try merged.seek(target)
  }

  private func seekBackward(_ target: [UInt8]) throws(Fault) {
    _ = try refreshPlace()
    try merged.seekBefore(target)
  }

  private func move(_ step: (Cursor) throws(Fault) -> Void) throws(StoreError) -> Bool {
    do {
      try reader.gate.checkOpen()
      isPlaced = true
      try step(self)
      isBesidePlace = false
      isValid = merged.isValid && isInside()
      if isValid, reader.gate is Transaction { placeKey = merged.fullKey }
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

/// Which of two full keys comes first.
enum RangeLimit {
  static func later(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { a.lexicographicallyPrecedes(b) ? b : a }
  static func earlier(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { a.lexicographicallyPrecedes(b) ? a : b }
}

/// The entries of a range, as a sequence. Each iteration starts from the first again.
public final class Entries: Sequence {
  /// Never moved: what iterations start from.
  private let start: Cursor
  private let isReversed: Bool

  /// Why the last iteration ended before the range did; nil if it did not.
  public private(set) var failure: StoreError?

  init(_ start: Cursor, isReversed: Bool) {
    self.start = start
    self.isReversed = isReversed
  }

  public func makeIterator() -> Iterator {
    failure = nil
    return Iterator(self, Cursor(like: start))
  }

  public struct Iterator: IteratorProtocol {
    private let entries: Entries
    private let cursor: Cursor

    init(_ entries: Entries, _ cursor: Cursor) {
      self.entries = entries
      self.cursor = cursor
    }

    public mutating func next() -> Entry? { entries.advance(cursor) }
  }

  private func advance(_ cursor: Cursor) -> Entry? {
    do throws(StoreError) {
      let isThere = isReversed ? try cursor.previous() : try cursor.next()
      return isThere ? try cursor.entry() : nil
    } catch {
      failure = error
      return nil
    }
  }
}
