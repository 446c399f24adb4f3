import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// An index of a collection, with the keyspace of its entries.
final class CollectionIndex: DefinedData, Sendable {
  let name: String
  let record: IndexRecord
  /// The keyspace of its entries: see ``IndexEntry``.
  let entries: Keyspace
  /// The parts of the definition, kept separately because each access to the definition copies it.
  private let plainParts: [IndexDefinition.Part]
  /// The field of an unconditional ascending index on exactly one; otherwise nil.
  let onlyField: FieldPath?

  init(name: String, record: IndexRecord, entries: Keyspace) {
    self.name = name
    self.record = record
    self.entries = entries
    let definition = record.definition
    plainParts = definition.plainParts
    if definition.condition == nil, definition.parts.count == 1, let part = definition.parts.first,
      !part.isEach, !part.isDescending
    {
      onlyField = part.path
    } else {
      onlyField = nil
    }
  }

  var keyspaces: [Keyspace] { [entries] }
  func key(in collection: String) -> String { IndexRecord.key(name, of: collection) }

  var definition: IndexDefinition { record.definition }
  var isReady: Bool { record.builtThrough == nil }
  /// Whether queries may use it.
  var isUsable: Bool { isReady && definition.objection == nil }

  /// Appends the keys of a revision of a document.
  ///
  /// - Parameter body: the bytes of its body.
  @inline(never) func appendKeys(
    of id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head, _ body: UnsafeRawBufferPointer,
    to keys: inout IndexKeyList
  ) throws(FleeceError) {
    guard plainParts.isEmpty else {
      return try keys.append(plainParts, of: FleeceValue.root(of: body), id)
    }
    try definition.appendKeys(of: MatchedDocument(id, head, body), id, to: &keys)
  }

  /// Returns all indexes of a collection in a state, by name.
  static func load(
    of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) -> [CollectionIndex] {
    var indexes: [CollectionIndex] = []
    for (name, record) in try IndexRecord.all(of: collection, in: database, source) {
      let record = try record.get()
      let keyspace = record.entriesName(of: collection)
      guard let entries = try source.keyspace(named: keyspace) else {
        throw DatabaseError(.corruptData, "the keyspace \(keyspace) of the index \(name) is missing")
      }
      indexes.append(CollectionIndex(name: name, record: record, entries: entries))
    }
    return indexes
  }
}
