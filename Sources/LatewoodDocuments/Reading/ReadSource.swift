import LatewoodBytes
import LatewoodStore

/// The source of reads: a pinned state, a snapshot, or a running batch.
enum ReadSource: Readable {
  case state(PinnedState)
  case snapshot(Snapshot)
  case batch(DocumentBatch)

  func find(_ key: UnsafeRawBufferPointer, in keyspace: Keyspace) throws(StoreError) -> ValueInPlace {
    switch self {
    case .state(let state): try state.find(key, in: keyspace)
    case .snapshot(let snapshot): try snapshot.find(key, in: keyspace)
    case .batch(let batch): try batch.transaction.find(key, in: keyspace)
    }
  }

  var readOrigin: ReadOrigin {
    switch self {
    case .state(let state): state.readOrigin
    case .snapshot(let snapshot): snapshot.readOrigin
    case .batch(let batch): batch.transaction.readOrigin
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
    case .batch(let batch):
      try batch.transaction.forEach(in: keyspace, range, reversed: reversed, body)
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
