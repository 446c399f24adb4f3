import LatewoodStore

/// A stored view: its record and its keyspaces.
struct CollectionView: Sendable {
  let name: String
  var record: ViewRecord
  /// The keyspace of its rows: ``ViewRow``.
  let rows: Keyspace
  /// The keyspace of the rows that each document emitted: id -> ``EmittedRows``.
  let emitted: Keyspace
  /// The keyspace of sums of values, ``ViewSums``; nil if the view has none.
  let sums: Keyspace?

  /// Returns all views of a collection in a state, by name.
  static func load(
    of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DocumentError) -> [CollectionView] {
    let prefix = ViewRecord.prefix(of: collection)
    var records: [(name: String, record: ViewRecord)] = []
    try DocumentError.typed {
      try source.forEach(in: database, .prefix(prefix)) { key, value in
        let name = key.withUnsafeBytes {
          String(decoding: $0.dropFirst(prefix.utf8.count), as: UTF8.self)
        }
        records.append(
          (name, try value.reading { (bytes) throws(DocumentError) in try ViewRecord(bytes) }))
        return true
      }
    }
    var views: [CollectionView] = []
    for (name, record) in records { views.append(try CollectionView(name, record, collection, source)) }
    return views
  }

  /// Returns the view with a name in a state; nil if there is none.
  static func load(
    _ name: String, of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DocumentError) -> CollectionView? {
    let record = try DocumentError.typed {
      try source.withValue(ViewRecord.key(name, of: collection), in: database) { value in
        try value.reading { (bytes) throws(DocumentError) in try ViewRecord(bytes) }
      }
    }
    return try record.map { (record) throws(DocumentError) in
      try CollectionView(name, record, collection, source)
    }
  }

  private init(
    _ name: String, _ record: ViewRecord, _ collection: String, _ source: some Readable
  ) throws(DocumentError) {
    func space(_ keyspace: String) throws(DocumentError) -> Keyspace {
      guard let found = try DocumentError.typed({ try source.existingKeyspace(keyspace) }) else {
        throw DocumentError(.corruptData, "the keyspace \(keyspace) of the view \(name) is missing")
      }
      return found
    }
    self.name = name
    self.record = record
    rows = try space(record.rowsName(of: collection))
    emitted = try space(record.emittedName(of: collection))
    sums = try record.sumsName(of: collection).map { (name) throws(DocumentError) in try space(name) }
  }

  /// Creates a view with new keyspaces.
  init(_ name: String, _ record: ViewRecord, of collection: String, in transaction: Transaction) throws {
    self.name = name
    self.record = record
    rows = try transaction.keyspace(record.rowsName(of: collection))
    emitted = try transaction.keyspace(record.emittedName(of: collection))
    sums = try record.sumsName(of: collection).map { try transaction.keyspace($0) }
  }
}

/// A view in a batch.
final class ViewWork {
  var view: CollectionView
  /// The keys of changed rows that the sums do not reflect yet.
  var unsummed: Set<[UInt8]> = []
  /// The stored record.
  private(set) var stored: ViewRecord?
  /// The map to run; nil if the program has not registered the version of these rows.
  let definition: ViewDefinition?
  /// Whether the view reflects every change of this batch and of earlier ones.
  var isKept: Bool

  init(_ view: CollectionView, _ definition: ViewDefinition?, isStored: Bool, isKept: Bool) {
    self.view = view
    self.definition = definition
    self.isKept = isKept
    stored = isStored ? view.record : nil
  }

  /// The record to store at the end of the batch; nil if it has not changed.
  ///
  /// - Parameter lastSequence: the last sequence of the collection.
  func changedRecord(through lastSequence: UInt64) -> ViewRecord? {
    if isKept { view.record.through = lastSequence }
    return view.record == stored ? nil : view.record
  }

  /// Records that the record has been stored.
  func noteStored() { stored = view.record }
}
