import LatewoodBytes
import LatewoodQuery
import LatewoodStore

/// The progress of an index build.
package struct IndexProgress: Sendable, Equatable {
  /// The number of examined documents and of all documents; both include tombstones.
  package var documents: Int
  package var total: Int
  package var isReady: Bool
  /// Whether the index was complete before this step, which then did nothing.
  package var wasReady = false
}

/// Creating and dropping indexes.
extension DocumentWriter {
  /// The number of documents in one step, which delays other writers by a few milliseconds.
  static let buildSize = 8000

  /// The memory for the entries of one step, in bytes. A step ends with the document whose entries
  /// exceed it.
  static let buildMemory = 4 << 20

  /// Performs one step of an index build, and begins it if necessary.
  ///
  /// After the first step, every change updates the index, so its entries are always correct; each
  /// step adds the entries of more documents, by id. A committed step survives a crash. Queries use
  /// the index once it is ready.
  ///
  /// - Parameters:
  ///   - limit: the number of documents in the step.
  ///   - memory: the memory for its entries, in bytes; the step ends earlier if they exceed it.
  ///   - isSalvaged: whether a unique index accepts documents with equal values, as it does during
  ///     replication, and whether all indexes leave out documents whose body is lost.
  /// - Returns: the progress of the build.
  /// - Throws: ``DocumentError`` `alreadyExists` if another index has the name; `badArgument` for
  ///   an invalid name; `notUnique`.
  func buildIndex(
    _ name: String, _ definition: IndexDefinition, in collection: CollectionHandle,
    limit: Int = DocumentWriter.buildSize, memory: Int = DocumentWriter.buildMemory,
    isSalvaged: Bool = false
  ) throws(DocumentError) -> IndexProgress {
    let work = try work(collection)
    if let reason = NameRules.objection(toIndex: name) {
      throw DocumentError(.badArgument, "the name of the index \(reason)")
    }
    // Read the record from the store: the cached copy may have an outdated `builtThrough`.
    let known = work.state.indexes > 0 ? try storedIndex(name, work) : nil
    if let known, known.definition != definition {
      throw DocumentError(
        .alreadyExists,
        "there is another index \(name): \(known.definition.text); drop it first"
          + (known.definition.objection.map { " (\($0))" } ?? ""))
    }
    let record: IndexRecord
    if let known { record = known } else { record = begin(definition, work) }
    guard let start = record.builtThrough else {
      var progress = try progress(work, through: nil)
      progress.wasReady = true
      return progress
    }
    let index = CollectionIndex(
      name: name, record: record,
      entries: try DocumentError.typed { try transaction.keyspace(record.entriesName(of: work.name)) })
    let last = try addEntries(
      to: index, after: start, work, limit: limit, memory: memory, isSalvaged: isSalvaged)
    var next = record
    next.builtThrough = last
    if last == nil { work.state.indexChanges += 1 }
    try put(next, name, work)
    return try progress(work, through: last)
  }

  private func begin(_ definition: IndexDefinition, _ work: CollectionWork) -> IndexRecord {
    work.state.indexes += 1
    work.state.indexChanges += 1
    return IndexRecord(definition, number: work.state.indexChanges, builtThrough: "")
  }

  func storedIndex(
    _ name: String, _ work: CollectionWork
  ) throws(DocumentError) -> IndexRecord? {
    try DocumentError.typed {
      try transaction.withValue(IndexRecord.key(name, of: work.name), in: shared.database) { value in
        try value.reading { (bytes) throws(DocumentError) in try IndexRecord(bytes) }
      }
    }
  }

  private func put(_ record: IndexRecord, _ name: String, _ work: CollectionWork) throws(DocumentError) {
    work.indexes = nil
    try putRecord(IndexRecord.key(name, of: work.name), record.encoded())
  }

  /// Adds the entries of the next documents.
  ///
  /// - Parameters:
  ///   - start: the last document that is in the index.
  ///   - limit: the number of documents to examine.
  ///   - bound: the memory for their entries, in bytes.
  ///   - isSalvaged: see `buildIndex`.
  /// - Returns: the last document that is now in the index; nil if all are.
  private func addEntries(
    to index: CollectionIndex, after start: String, _ work: CollectionWork, limit: Int, memory bound: Int,
    isSalvaged: Bool
  ) throws(DocumentError) -> String? {
    var seen = 0
    // Set by the document that ends the step.
    var last: String?
    let isChecked = index.definition.isUnique && !isSalvaged
    var found = BuiltEntries(count: min(limit, 256), keepsHeads: isChecked)
    let range = start.isEmpty ? KeyRange.all : KeyRange(lower: .excluded(Array(start.utf8)))
    try DocumentError.typed {
      try transaction.forEach(in: work.spaces.documents, range) { id, value in
        try value.withUnsafeBytes { record in
          let head = try DocumentRecord.Head(record)
          try id.withUnsafeBytes { id in
            do throws(DocumentError) {
              try appendKeys(of: id, head, in: record, index, work, to: &found.keys)
              found.noteKeys(of: head)
            } catch {
              guard isSalvaged, error.code == .corruptData else { throw error }
            }
            seen += 1
            if seen == limit || found.byteCount > bound { last = String(decoding: id, as: UTF8.self) }
          }
        }
        return last == nil
      }
    }
    changeCount += 1
    try DocumentError.typed {
      // Sorted keys are faster to put.
      try found.forEachSorted { entry in
        if isChecked, let head = entry.head {
          try refuseDuplicates(of: [entry.indexKey], entry.id, IndexedRevision(head), index, work)
        }
        try transaction.put(
          entry.bytes, IndexEntry.Value(entry.keyCount, isCut: entry.isCut), in: index.entries)
      }
    }
    return last
  }

  private func progress(
    _ work: CollectionWork, through last: String?
  ) throws(DocumentError) -> IndexProgress {
    try DocumentError.typed {
      let total = try transaction.count(in: work.spaces.documents)
      guard let last else { return IndexProgress(documents: total, total: total, isReady: true) }
      let done = try transaction.count(in: work.spaces.documents, .through(last))
      return IndexProgress(documents: done, total: total, isReady: false)
    }
  }

  /// Drops an index in O(log n). Returns false if the index did not exist.
  ///
  /// - Parameter evenIfReady: whether to drop a completed index, too.
  func dropIndex(
    _ name: String, in collection: CollectionHandle, evenIfReady: Bool = true
  ) throws(DocumentError) -> Bool {
    let work = try work(collection)
    guard work.state.indexes > 0, let index = try indexes(work).first(where: { $0.name == name }) else {
      return false
    }
    if !evenIfReady, try storedIndex(name, work)?.builtThrough == nil { return false }
    noteRemoval()
    try DocumentError.typed { try remove(index, of: work.name) }
    work.state.indexes -= 1
    work.state.indexChanges += 1
    work.indexes = nil
    return true
  }

  /// Removes the entries and the record of an index.
  func remove(_ index: CollectionIndex, of collection: String) throws {
    try transaction.dropKeyspace(index.entries)
    try transaction.delete(IndexRecord.key(index.name, of: collection), in: shared.database)
  }
}
