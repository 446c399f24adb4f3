import LatewoodFleece
import LatewoodQuery
import LatewoodStore

extension Indexes {
  static func check(_ check: inout CollectionCheck) throws { try check.checkIndexes() }
}

/// Checks that value indexes have exactly the entries that follow from the documents.
extension CollectionCheck {
  /// Reads the definitions even if the check is not deep, because they are counted.
  fileprivate mutating func checkIndexes() throws {
    let name = name
    func fault(_ what: String) -> DatabaseFault { DatabaseFault(what, collection: name) }
    for (index, found) in try IndexRecord.all(of: name, in: shared.database, source) {
      wanted.indexes += 1
      let record: IndexRecord
      do throws(DatabaseError) { record = try found.get() } catch {
        report.add(fault("the index \(index): \(error.message)"))
        continue
      }
      guard let entries = try source.existingKeyspace(record.entriesName(of: name)) else {
        report.add(fault("the index \(index) has no keyspace for its entries"))
        continue
      }
      report.require(
        record.number <= wanted.indexChanges,
        fault("the index \(index) has the number \(record.number), which was not given out"))
      let checked = CollectionIndex(name: index, record: record, entries: entries)
      if let problem = checked.problem {
        report.add(fault("the index \(index) is not used: \(problem)"))
      } else if deepest != nil {
        try check(checked)
      }
    }
  }

  /// Looks up each entry that a document must have, and compares the number of these entries with
  /// the number in the index. If both agree, the index has no other entries. Uses memory for one
  /// document at a time.
  private mutating func check(_ index: CollectionIndex) throws {
    var count = 0
    try source.forEach(in: spaces.documents) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      for key in try keys(of: id, value, index) {
        let found = try source.get(IndexEntry.key(key, id), in: index.entries)
        if found != nil { count += 1 }
        if found == IndexEntry.value(key) || (found == nil && !record(index, has: id)) { continue }
        report.add(
          DatabaseFault(
            "the index \(index.name) lacks an entry of the document, or has another", collection: name,
            document: id))
      }
      return true
    }
    let found = try source.count(in: index.entries)
    if found == count { return }
    report.add(
      DatabaseFault(
        "the index \(index.name) has \(found) entries, and \(count) of them are documents'",
        collection: name))
  }

  private func record(_ index: CollectionIndex, has id: String) -> Bool {
    guard let last = index.record.builtThrough else { return true }
    return !last.utf8.lexicographicallyPrecedes(id.utf8)
  }

  /// Returns the keys of a document; an empty list if it is damaged, which has already been
  /// reported.
  private func keys(of id: String, _ record: RawSpan, _ index: CollectionIndex) throws -> [IndexKey] {
    try record.withUnsafeBytes { record in
      let head: DocumentRecord.Head
      do throws(DatabaseError) { head = try DocumentRecord.Head(record) } catch { return [] }
      guard !head.isDeleted, head.body != 0 else { return [] }
      func keys(_ bytes: UnsafeRawBufferPointer) -> [IndexKey] {
        do throws(FleeceError) {
          return try id.withBytes { (id) throws(FleeceError) in
            try index.definition.keys(of: try MatchedDocument(id, head, bytes))
          }
        } catch { return [] }
      }
      if let stored = head.body(in: record) { return keys(stored) }
      return try source.withValue(SequenceEntry.Key(head.body), in: spaces.bodies) { value in
        value.withUnsafeBytes(keys)
      } ?? []
    }
  }
}
