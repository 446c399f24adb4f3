import LatewoodStore

/// The stored record of derived data that a program defines by name: of an index, a full-text
/// index or a view.
///
/// Its key in the keyspace of the database is the prefix of its kind, the name of the collection,
/// `/` and the name.
protocol DefinitionRecord: Sendable {
  static var keyPrefix: String { get }
  /// The first parts of the names of its keyspaces, before the name of the collection.
  static var keyspaces: [String] { get }

  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError)
}

extension DefinitionRecord {
  static func prefix(of collection: String) -> String { "\(keyPrefix)\(collection)/" }
  static func key(_ name: String, of collection: String) -> String { prefix(of: collection) + name }

  /// Returns the record with a name in a state; nil if there is none.
  static func stored(
    _ name: String, of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) -> Self? {
    try source.mapValue(key(name, of: collection), in: database) { value in
      try value.reading { (bytes) throws(DatabaseError) in try Self(bytes) }
    }
  }

  /// Returns all records of a collection in a state, by name, each with its damage, if any.
  static func all(
    of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) -> [(name: String, record: Result<Self, DatabaseError>)] {
    let prefix = prefix(of: collection)
    var records: [(name: String, record: Result<Self, DatabaseError>)] = []
    try source.visit(in: database, .prefix(prefix)) { key, value in
      let name = key.withUnsafeBytes {
        String(decoding: $0.dropFirst(prefix.utf8.count), as: UTF8.self)
      }
      let record = Result { () throws(DatabaseError) in
        try value.reading { (bytes) throws(DatabaseError) in try Self(bytes) }
      }
      records.append((name, record))
      return true
    }
    return records
  }
}

extension DerivedData {
  /// Removes everything that is defined, including damaged parts.
  ///
  /// - Returns: the definitions that can be read, by name.
  func removeAll<Record: DefinitionRecord>(
    _: Record.Type
  ) throws -> [(name: String, record: Record)] {
    var readable: [(name: String, record: Record)] = []
    for (name, record) in try Record.all(of: part.name, in: database, transaction) {
      // The definition of any other is lost.
      if case .success(let record) = record { readable.append((name, record)) }
    }
    batch.changeCount += 1
    try transaction.deleteRange(.prefix(Record.prefix(of: part.name)), in: database)
    let prefixes = Record.keyspaces.map { "\($0)/\(part.name)/" }
    for keyspace in try transaction.keyspaces() where prefixes.contains(where: keyspace.name.hasPrefix) {
      try transaction.dropKeyspace(keyspace)
    }
    return readable
  }
}
