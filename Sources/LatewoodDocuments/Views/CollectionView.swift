import LatewoodStore

/// A stored view: its record and its keyspaces.
struct CollectionView: DefinedData, Sendable {
  let name: String
  var record: ViewRecord
  /// The keyspace of its rows: ``StoredRow``.
  let rows: Keyspace
  /// The keyspace of the rows that each document emitted: id -> ``EmittedRows``.
  let emitted: Keyspace
  /// The keyspace of sums of values, ``ViewSums``; nil if the view does not store sums.
  let sums: Keyspace?

  var keyspaces: [Keyspace] { [rows, emitted] + (sums.map { [$0] } ?? []) }
  func key(in collection: String) -> String { ViewRecord.key(name, of: collection) }

  /// Returns all views of a collection in a state, by name.
  static func load(
    of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) -> [CollectionView] {
    var views: [CollectionView] = []
    for (name, record) in try ViewRecord.all(of: collection, in: database, source) {
      views.append(try CollectionView(name, try record.get(), collection, source))
    }
    return views
  }

  /// Returns the view with a name in a state; nil if it does not exist.
  static func load(
    _ name: String, of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) -> CollectionView? {
    let record = try ViewRecord.stored(name, of: collection, in: database, source)
    return try record.map { (record) throws(DatabaseError) in
      try CollectionView(name, record, collection, source)
    }
  }

  private init(
    _ name: String, _ record: ViewRecord, _ collection: String, _ source: some Readable
  ) throws(DatabaseError) {
    func space(_ keyspace: String) throws(DatabaseError) -> Keyspace {
      guard let found = try source.keyspace(named: keyspace) else {
        throw DatabaseError(.corruptData, "the keyspace \(keyspace) of the view \(name) is missing")
      }
      return found
    }
    self.name = name
    self.record = record
    rows = try space(record.rowsName(of: collection))
    emitted = try space(record.emittedName(of: collection))
    sums = try record.sumsName(of: collection).map { (name) throws(DatabaseError) in try space(name) }
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
