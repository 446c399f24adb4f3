import LatewoodQuery
import LatewoodStore
import LatewoodText

/// A full-text index of a collection, with the keyspace of its words.
struct CollectionText: DefinedData, Sendable {
  let name: String
  var record: TextIndexRecord
  /// The keyspace of its words: see ``TextIndexKey`` in `LatewoodText`.
  let words: Keyspace

  var keyspaces: [Keyspace] { [words] }
  func key(in collection: String) -> String { TextIndexRecord.key(name, of: collection) }

  var definition: TextDefinition { record.definition }
  /// Whether its words are made by the rules of this program.
  var isCurrent: Bool { record.rules == .current }
  /// Whether queries may use it.
  var isReady: Bool { isComplete && isCurrent }
  /// Whether it is built.
  var isComplete: Bool { record.progress == .complete }

  /// The reason why it is not used, and what to do; nil if it can be used or is being built.
  var problem: String? {
    if isCurrent { return nil }
    return
      "its words are made by the rules of Unicode \(record.rules.unicode), not \(UnicodeTables.version). Create it again, which builds it anew"
  }

  /// Whether the build has processed a document.
  func includes(_ id: String) -> Bool {
    guard case .through(let last) = record.progress else { return true }
    return !last.utf8.lexicographicallyPrecedes(id.utf8)
  }

  /// Returns all full-text indexes of a collection in a state, by name.
  static func load(
    of collection: String, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) -> [CollectionText] {
    var texts: [CollectionText] = []
    for (name, record) in try TextIndexRecord.all(of: collection, in: database, source) {
      let record = try record.get()
      let keyspace = record.wordsName(of: collection)
      guard let words = try source.keyspace(named: keyspace) else {
        throw DatabaseError(
          .corruptData, "the keyspace \(keyspace) of the full-text index \(name) is missing")
      }
      texts.append(CollectionText(name: name, record: record, words: words))
    }
    return texts
  }
}
