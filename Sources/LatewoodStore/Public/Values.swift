/// A key and its value, copied.
public struct Entry: Sendable, Equatable {
  /// The key, 1 to 16,384 bytes.
  public var key: [UInt8]
  /// The value, 0 bytes to 2 GiB.
  public var value: [UInt8]

  /// Creates an entry, independent of any store.
  public init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}

/// The guarantee of a commit when its call returns.
public enum Durability: Sendable, Equatable {
  /// The transaction survives a power cut when the call returns, and so does everything committed
  /// before it, even if it changed nothing itself. Costs one sync, shared with transactions that
  /// commit at the same time.
  case synchronous
  /// The transaction survives a crash of the process when the call returns. A power cut may lose
  /// the newest transactions: always a suffix of them, never one from the middle.
  case relaxed
}

/// A named space of keys in a store, returned by ``Store/keyspace(_:)``. A small value: keep it and
/// use it often.
public struct Keyspace: Sendable, Hashable {
  /// The name, 1 to 1,024 bytes of UTF-8.
  public let name: String
  /// The number of the keyspace in the file.
  public let id: UInt32
  /// The identity of the store it belongs to.
  let store: UInt64
  /// A hash of name, number and store, by which states recognize the keyspace; see
  /// `ValidatedKeyspaces`. The number alone is not enough, because that of an aborted transaction's
  /// keyspace is assigned again.
  let fingerprint: UInt64

  init(_ name: String, _ id: UInt32, of store: UInt64) {
    self.name = name
    self.id = id
    self.store = store
    var hasher = Hasher()
    hasher.combine(store)
    hasher.combine(id)
    // By bytes: strings that compare equal can have different bytes.
    for byte in name.utf8 { hasher.combine(byte) }
    // The table of known keyspaces reserves the lowest numbers.
    fingerprint = max(2, UInt64(UInt(bitPattern: hasher.finalize())))
  }

  /// Whether both are the same keyspace of the same open store.
  public static func == (a: Keyspace, b: Keyspace) -> Bool { a.id == b.id && a.store == b.store }
  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(store)
  }
}

/// A checkpoint in the file: a complete state that can be opened as a snapshot.
public struct Checkpoint: Sendable, Equatable {
  /// The offset of its frame in the file.
  public var offset: UInt64
  /// The newest transaction in the checkpoint.
  public var transaction: UInt64
  /// The time of writing, in microseconds since 1970-01-01 00:00 UTC.
  public var time: UInt64
  /// The number of keys in all keyspaces, including those of the catalog.
  public var entries: UInt64
  /// The number of bytes of the nodes and large values that it refers to.
  public var liveBytes: UInt64
  /// Whether a compaction or a copy wrote it, as the first of its file.
  public var isCompaction: Bool
  /// The first half of the id of its file.
  var fileID: UInt64
  /// Whether its previous checkpoint cannot be read, so that ``Store/history()`` ends here although
  /// older ones were written.
  public var isOlderLost = false
}

/// The result of recovery when a file was opened.
public struct RecoveryReport: Sendable, Equatable {
  /// The number of the newest transaction.
  public var transaction: UInt64 = 0
  /// The newest transaction of the checkpoint that recovery started from; 0 if there was none.
  public var checkpointTransaction: UInt64 = 0
  /// The number of transactions applied from the log after that checkpoint.
  public var replayedTransactions = 0
  /// The number of bytes of log read for that.
  public var replayedBytes: UInt64 = 0
  /// The skipped range of the file with the remains of writes that were never acknowledged; nil
  /// after a clean close.
  public var tornTail: Range<UInt64>?
}
