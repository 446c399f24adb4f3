import LatewoodBytes
import LatewoodStore

/// The source of reads: a pinned state, a snapshot, or a running batch.
enum ReadSource: Readable {
  case state(PinnedState)
  case snapshot(Snapshot)
  case transaction(Transaction)

  func _reader() throws(StoreError) -> Reader {
    switch self {
    case .state(let state): try state._reader()
    case .snapshot(let snapshot): try snapshot._reader()
    case .transaction(let transaction): try transaction._reader()
    }
  }

  func _begin() throws(StoreError) -> ShortRead {
    switch self {
    case .state(let state): try state._begin()
    case .snapshot(let snapshot): try snapshot._begin()
    case .transaction(let transaction): try transaction._begin()
    }
  }

  func _find(_ key: UnsafeRawBufferPointer, in keyspace: Keyspace) throws(StoreError) -> ValueInPlace {
    switch self {
    case .state(let state): try state._find(key, in: keyspace)
    case .snapshot(let snapshot): try snapshot._find(key, in: keyspace)
    case .transaction(let transaction): try transaction._find(key, in: keyspace)
    }
  }

  func _end(_ ticket: ReadTicket) {
    switch self {
    case .state(let state): state._end(ticket)
    case .snapshot(let snapshot): snapshot._end(ticket)
    case .transaction(let transaction): transaction._end(ticket)
    }
  }

  var _path: String? {
    switch self {
    case .state(let state): state._path
    case .snapshot(let snapshot): snapshot._path
    case .transaction(let transaction): transaction._path
    }
  }
}

extension ReadSource {
  /// A faster version of the method of `Readable` for a pinned state.
  func forEach(
    in keyspace: Keyspace, _ range: KeyRange = .all, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    switch self {
    case .state(let state): try state.scan(keyspace, range, reversed: reversed, body)
    case .snapshot(let snapshot): try snapshot.forEach(in: keyspace, range, reversed: reversed, body)
    case .transaction(let transaction):
      try transaction.forEach(in: keyspace, range, reversed: reversed, body)
    }
  }

  /// Calls a closure with the entries of a range in order: several at a time if they are many and
  /// this is a pinned state.
  func forEachBatch(
    in keyspace: Keyspace, _ range: KeyRange, reversed: Bool,
    _ body: (UnsafeBufferPointer<EntryBytes>) throws -> Bool
  ) throws {
    if case .state(let state) = self, !reversed { return try state.scanBatches(keyspace, range, body) }
    try forEach(in: keyspace, range, reversed: reversed) { key, value in
      try EntryBytes.withBatch(of: key, value, body)
    }
  }
}
