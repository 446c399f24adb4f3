import LatewoodBytes
import LatewoodQuery
import LatewoodStore

/// The progress of an index build.
public struct IndexBuildProgress: BuildProgress, Equatable {
  /// The number of documents processed so far, including deleted ones.
  public let completed: Int
  /// The number of documents, including deleted ones.
  public let total: Int
  package let isReady: Bool
  /// Whether the index was complete before this step, which then did nothing.
  package var wasReady = false

  var isComplete: Bool { isReady }
}

/// The build of one index.
struct IndexBuild: StepwiseBuild {
  let name: String
  let definition: IndexDefinition
  let collection: CollectionHandle
  /// The number of documents in a step.
  var limit = IndexBuild.usualLimit
  /// The memory for the entries of a step, in bytes; the step ends with the document whose entries
  /// exceed it.
  var memory = 4 << 20
  /// Whether a unique index accepts documents with equal values, as it does during replication, and
  /// whether all indexes leave out documents whose body is lost.
  var isSalvaged = false

  /// The number of documents in one step, which delays other writers by a few milliseconds.
  static let usualLimit = 8000

  init(_ name: String, _ definition: IndexDefinition, of collection: CollectionHandle) {
    self.name = name
    self.definition = definition
    self.collection = collection
  }

  var durability: Durability? { .relaxed }

  func step(in batch: DocumentBatch) throws -> IndexBuildProgress {
    try batch.refuseInMap("an index is created")
    return try Indexes(batch, of: collection).step(self)
  }

  /// Drops the index, unless another caller created or completed it or the next attempt may
  /// succeed.
  func giveUp(
    after error: any Error, last: IndexBuildProgress?, in store: DocumentStore
  ) throws(DatabaseError) {
    if error is StoreError { return }
    if let error = error as? DatabaseError, error.code != .notUnique { return }
    let isCompleted = last.map { $0.isReady && !$0.wasReady } ?? false
    try store.drop(name, of: Indexes.self, in: collection, evenIfReady: isCompleted)
  }
}

/// A kind of indexes, which can be dropped by name. No two indexes of a collection, of any kind,
/// have the same name.
protocol DroppableIndexes: DerivedData {
  /// Drops an index in O(log n). Returns false if the index did not exist.
  ///
  /// - Parameter evenIfReady: whether to drop a completed index, too.
  func drop(_ name: String, evenIfReady: Bool) throws -> Bool
}

/// Creating and dropping indexes.
extension Indexes: DroppableIndexes {
  /// Performs one step of an index build, and begins it if necessary.
  ///
  /// After the first step, every change updates the index, so its entries are always correct; each
  /// step adds the entries of more documents, by id. A committed step survives a crash. Queries use
  /// the index once it is ready.
  ///
  /// - Returns: the progress of the build.
  /// - Throws: ``DatabaseError`` `conflict` if another index has the name; `invalidParameter` for
  ///   an invalid name; `notUnique`.
  fileprivate func step(_ build: IndexBuild) throws -> IndexBuildProgress {
    let (name, definition) = (build.name, build.definition)
    if let reason = NameRules.objection(toIndex: name) {
      throw DatabaseError(.invalidParameter, "the name of the index \(reason)")
    }
    // Read the record from the store: the cached copy may have an outdated `builtThrough`.
    let known = part.state.indexes > 0 ? try storedIndex(name) : nil
    if let known, known.definition != definition {
      throw DatabaseError(
        .conflict,
        "there is another index \(name): \(known.definition.text)"
          + (known.definition.objection.map { " (\($0))" } ?? ""),
        advice: "Drop it first, or choose another name.")
    }
    let record: IndexRecord
    if let known { record = known } else { record = try begin(name, definition) }
    guard let start = record.builtThrough else {
      var progress = try progress(through: nil)
      progress.wasReady = true
      return progress
    }
    let index = CollectionIndex(
      name: name, record: record,
      entries: try transaction.keyspace(record.entriesName(of: part.name)))
    let last = try addEntries(to: index, after: start, build)
    var next = record
    next.builtThrough = last
    if last == nil { part.state.indexChanges += 1 }
    try put(next, name)
    return try progress(through: last)
  }

  private func begin(_ name: String, _ definition: IndexDefinition) throws(DatabaseError) -> IndexRecord {
    if part.state.texts > 0, try TextIndexes(batch, part).loaded().contains(where: { $0.text.name == name }) {
      throw DatabaseError(
        .conflict, "there is a full-text index \(name)", advice: "Drop it first, or choose another name.")
    }
    part.state.indexes += 1
    part.state.indexChanges += 1
    return IndexRecord(definition, number: part.state.indexChanges, builtThrough: "")
  }

  func storedIndex(_ name: String) throws(DatabaseError) -> IndexRecord? {
    try IndexRecord.stored(name, of: part.name, in: database, transaction)
  }

  private func put(_ record: IndexRecord, _ name: String) throws {
    part.indexes.loaded = nil
    try batch.putRecord(IndexRecord.key(name, of: part.name), record.encoded())
  }

  /// Adds the entries of the next documents.
  ///
  /// - Parameters:
  ///   - start: the last document that is in the index.
  /// - Returns: the last document that is now in the index; nil if all are.
  private func addEntries(
    to index: CollectionIndex, after start: String, _ build: IndexBuild
  ) throws -> String? {
    var seen = 0
    // Set by the document that ends the step.
    var last: String?
    let isChecked = index.definition.isUnique && !build.isSalvaged
    var found = IndexBuildBuffer(count: min(build.limit, 256), keepsHeads: isChecked)
    let range = start.isEmpty ? KeyRange.all : KeyRange(lower: .excluded(Array(start.utf8)))
    try transaction.visit(in: spaces.documents, range) { id, value in
      try value.withUnsafeBytes { record in
        let head = try DocumentRecord.Head(record)
        try id.withUnsafeBytes { id in
          do throws(DatabaseError) {
            try appendKeys(of: id, head, in: record, index, to: &found.keys)
            found.noteKeys(of: head)
          } catch {
            guard build.isSalvaged, error.code == .corruptData else { throw error }
          }
          seen += 1
          if seen == build.limit || found.byteCount > build.memory {
            last = String(decoding: id, as: UTF8.self)
          }
        }
      }
      return last == nil
    }
    batch.changeCount += 1
    // Sorted keys are faster to put.
    try found.forEachSorted { entry in
      if isChecked, let head = entry.head {
        try refuseDuplicates(of: [entry.indexKey], entry.id, IndexedRevision(head), index)
      }
      try transaction.put(
        entry.bytes, IndexEntry.Value(entry.keyCount, isCut: entry.isCut), in: index.entries)
    }
    return last
  }

  private func progress(through last: String?) throws -> IndexBuildProgress {
    let total = try transaction.count(in: spaces.documents)
    guard let last else { return IndexBuildProgress(completed: total, total: total, isReady: true) }
    let done = try transaction.count(in: spaces.documents, .through(last))
    return IndexBuildProgress(completed: done, total: total, isReady: false)
  }

  func drop(_ name: String, evenIfReady: Bool) throws -> Bool {
    guard part.state.indexes > 0, let index = try loaded().first(where: { $0.name == name }) else {
      return false
    }
    if !evenIfReady, try storedIndex(name)?.builtThrough == nil { return false }
    batch.noteRemoval()
    try batch.remove(index, of: part.name)
    part.state.indexes -= 1
    part.state.indexChanges += 1
    part.indexes.loaded = nil
    return true
  }

  func defined() throws -> [any DefinedData] {
    try CollectionIndex.load(of: part.name, in: database, transaction)
  }

  /// Removes all indexes, including damaged ones. The builds are of those whose definitions can be
  /// read.
  func reset() throws -> [any StepwiseBuild] {
    let definitions = try removeAll(IndexRecord.self)
    part.state.indexes = 0
    part.state.indexChanges += 1
    part.indexes.loaded = nil
    return definitions.map { name, record in
      var build = IndexBuild(name, record.definition, of: part.collection)
      build.isSalvaged = true
      return build
    }
  }
}
