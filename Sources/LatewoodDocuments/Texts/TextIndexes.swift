import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import LatewoodText

/// The full-text indexes of a collection, in a batch.
///
/// The transaction that changes a document also changes its words. An index has exactly the current
/// revisions that are not deleted, up to the last document of its build.
struct TextIndexes: DerivedData {
  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func exist(in state: CollectionState) -> Bool { state.texts > 0 }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    try TextIndexes(batch, part).update(change.id, from: change.before, to: change.after)
  }

  /// Updates the words of a document.
  ///
  /// - Parameters:
  ///   - old: the revision that was current; nil if there was no document.
  ///   - new: the revision that will be current; nil if there will be none.
  /// - Throws: ``DatabaseError`` `corruptData` if the new body or an index is damaged.
  @inline(never) private func update(
    _ id: String, from old: IndexedRevision?, to new: IndexedRevision?
  ) throws {
    if let old = old?.head, let new, old.winner == new.head.winner, old.isDeleted == new.head.isDeleted,
      (old.body == 0) == (new.head.body == 0)
    {
      return
    }
    var changed: [TextIndexBatch] = []
    for index in try loaded() {
      if !index.text.isCurrent {
        try startOver(index)
      } else if index.text.includes(id) {
        changed.append(index)
      }
    }
    if changed.isEmpty { return }
    let definitions = changed.map(\.text.definition)
    let after = try texts(of: id, new, definitions)
    var before: [TextIndexWriter.Texts]?
    do throws(DatabaseError) { before = try texts(of: id, old, definitions) } catch {
      // A damaged old body does not prevent its replacement, but its words cannot be found.
      guard error.code == .corruptData else { throw error }
      for index in changed { try startOver(index) }
      return
    }
    if before == after { return }
    if new == nil { batch.noteRemoval() } else { batch.changeCount += 1 }
    for (place, index) in changed.enumerated() {
      try startingOverIfDamaged(index) {
        try index.change(id, from: before?[place], to: after?[place])
      }
    }
  }

  /// Calls a closure that changes an index, and empties the index if it is damaged: that must not
  /// prevent a save, which does not need the index.
  private func startingOverIfDamaged(_ index: TextIndexBatch, _ body: () throws -> Void) throws {
    do { try body() } catch is TextIndexDamage { try startOver(index) }
  }

  /// Returns the texts of a revision for each definition; nil if it has no place in an index,
  /// because there is none or it is deleted.
  func texts(
    of id: String, _ revision: IndexedRevision?, _ definitions: [TextDefinition]
  ) throws(DatabaseError) -> [TextIndexWriter.Texts]? {
    guard let revision else { return nil }
    return try id.withBytes { (id) throws(DatabaseError) in
      try withBody(id, revision) { (body) throws(FleeceError) in
        let document = try MatchedDocument(id, revision.head, body)
        var texts: [TextIndexWriter.Texts] = []
        for definition in definitions { texts.append(try definition.texts(of: document)) }
        return texts
      }
    }
  }

  /// Returns the indexes in the state of this batch, by name.
  func loaded() throws(DatabaseError) -> [TextIndexBatch] {
    if let texts = part.texts { return texts }
    let texts = try CollectionText.load(of: part.name, in: database, transaction).map {
      TextIndexBatch($0, transaction)
    }
    part.texts = texts
    return texts
  }

  /// Makes the collected changes of words at the end of the batch.
  func finish() throws {
    for index in part.texts ?? [] { try startingOverIfDamaged(index) { try index.finish() } }
  }

  /// Makes the collected changes of words for a query in the batch, which fails if an index is
  /// damaged.
  func finishForReading() throws {
    for index in part.texts ?? [] { try index.finish() }
  }

  /// Empties an index, which is then built again by the next call that creates it. Queries do
  /// without it until then.
  func startOver(_ index: TextIndexBatch) throws {
    index.abandon()
    try transaction.dropKeyspace(index.text.words)
    part.state.indexChanges += 1
    let record = TextIndexRecord(
      index.text.definition, number: part.state.indexChanges, .through(""))
    index.text = CollectionText(
      name: index.text.name, record: record,
      words: try transaction.keyspace(record.wordsName(of: part.name)))
    try put(index)
  }

  /// Stores the record of an index.
  func put(_ index: TextIndexBatch) throws {
    try batch.putRecord(index.text.key(in: part.name), index.text.record.encoded())
  }

  func defined() throws -> [any DefinedData] {
    try CollectionText.load(of: part.name, in: database, transaction)
  }
}
