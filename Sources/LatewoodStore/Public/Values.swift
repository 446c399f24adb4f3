/// A key and its value, copied.
public struct Entry: Sendable, Equatable {
  public var key: [UInt8]
  public var value: [UInt8]

  public init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}

/// When a commit counts as done.
public enum Durability: Sendable, Equatable {
  /// When it returns, the transaction survives a power cut, and so does everything committed before
  /// it, also if it changed nothing itself. One sync, shared with the transactions that commit at
  /// the same time.
  case synchronous
  /// When it returns, the transaction survives a crash of the process. A power cut may lose the
  /// newest transactions, always a suffix of them: never one from the middle.
  case relaxed
}

/// A named space of keys in a store, as ``Store/keyspace(_:)`` gives it. A small value: keep it and
/// use it often.
public struct Keyspace: Sendable, Hashable {
  public let name: String
  /// Its number in the file.
  public let id: UInt32
  /// The store it is from.
  let store: UInt64
  /// A hash of all three, by which states know it; see `KnownKeyspaces`. A number alone would not
  /// do: that which a transaction gave which was thrown away is given again.
  let fingerprint: UInt64

  init(_ name: String, _ id: UInt32, of store: UInt64) {
    self.name = name
    self.id = id
    self.store = store
    var hasher = Hasher()
    hasher.combine(store)
    hasher.combine(id)
    // By its bytes: strings that look the same can have several.
    for byte in name.utf8 { hasher.combine(byte) }
    // The table of those that are known keeps the least numbers for itself.
    fingerprint = max(2, UInt64(UInt(bitPattern: hasher.finalize())))
  }

  public static func == (a: Keyspace, b: Keyspace) -> Bool { a.id == b.id && a.store == b.store }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(store)
  }
}

/// A checkpoint in the file: a complete state that can be opened as a snapshot.
public struct Checkpoint: Sendable, Equatable {
  /// Of its frame in the file.
  public var offset: UInt64
  /// The newest transaction it holds.
  public var transaction: UInt64
  /// Microseconds since 1970-01-01 00:00 UTC.
  public var time: UInt64
  /// Keys in all keyspaces, the catalog's own among them.
  public var entries: UInt64
  /// Bytes of nodes and of large values that it refers to.
  public var liveBytes: UInt64
  /// Whether a compaction or a copy wrote it, as the first of its file.
  public var isCompaction: Bool
  /// Of the file it is in.
  var fileID: UInt64
  /// Whether it names a checkpoint before it that cannot be read: ``Store/history()`` ends here,
  /// though older ones were written.
  public var isOlderLost = false
}

/// What opening found in the file.
public struct RecoveryReport: Sendable, Equatable {
  /// The newest transaction.
  public var transaction: UInt64 = 0
  /// The newest transaction of the checkpoint that recovery started from; 0 if there was none.
  public var checkpointTransaction: UInt64 = 0
  /// Transactions that were applied on top of it from the log.
  public var replayedTransactions = 0
  /// Bytes of log that were read for that.
  public var replayedBytes: UInt64 = 0
  /// What was left behind by writes that were never acknowledged, and has been skipped. Nil after a
  /// clean close.
  public var tornTail: Range<UInt64>?
}
