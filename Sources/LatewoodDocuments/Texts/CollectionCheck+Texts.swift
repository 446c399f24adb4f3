import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import LatewoodText

extension TextIndexes {
  static func check(_ check: inout CollectionCheck) throws { try check.checkTexts() }
}

/// Checks that full-text indexes have exactly the words of the documents.
extension CollectionCheck {
  /// Reads the definitions even if the check is not deep, because they are counted.
  fileprivate mutating func checkTexts() throws {
    let name = name
    func fault(_ index: String, _ what: String) -> DatabaseFault {
      DatabaseFault("the full-text index \(index) \(what)", collection: name)
    }
    for (index, found) in try TextIndexRecord.all(of: name, in: shared.database, source) {
      wanted.texts += 1
      let record: TextIndexRecord
      do throws(DatabaseError) { record = try found.get() } catch {
        report.add(DatabaseFault("the full-text index \(index): \(error.message)", collection: name))
        continue
      }
      guard let words = try source.existingKeyspace(record.wordsName(of: name)) else {
        report.add(fault(index, "has no keyspace for its words"))
        continue
      }
      report.require(
        record.number <= wanted.indexChanges,
        fault(index, "has the number \(record.number), which was not given out"))
      let text = CollectionText(name: index, record: record, words: words)
      // Words made by other rules cannot be compared.
      if deepest == nil || !text.isCurrent { continue }
      do {
        for what in try faults(of: text) { report.add(fault(index, "is wrong: \(what)")) }
      } catch let error as TextIndexDamage { report.add(fault(index, "is damaged: \(error.reason)")) }
    }
  }

  private func faults(of index: CollectionText) throws -> [String] {
    var check = try TextIndexCheck(
      WordSpace(source: .snapshot(source), words: index.words), fieldCount: index.definition.fields.count,
      options: index.definition.options)
    try source.forEach(in: spaces.documents) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      guard index.includes(id) else { return false }
      if let texts = try texts(of: id, value, index) { try check.check(Array(id.utf8), texts) }
      return true
    }
    return try check.finish()
  }

  /// Returns the texts of a document; nil if it is deleted or damaged, which has already been
  /// reported.
  private func texts(
    of id: String, _ record: RawSpan, _ index: CollectionText
  ) throws -> TextIndexWriter.Texts? {
    try record.withUnsafeBytes { record in
      let head: DocumentRecord.Head
      do throws(DatabaseError) { head = try DocumentRecord.Head(record) } catch { return nil }
      guard !head.isDeleted, head.body != 0 else { return nil }
      func texts(_ bytes: UnsafeRawBufferPointer) -> TextIndexWriter.Texts? {
        do throws(FleeceError) {
          return try id.withBytes { (id) throws(FleeceError) in
            try index.definition.texts(of: try MatchedDocument(id, head, bytes))
          }
        } catch { return nil }
      }
      if let stored = head.body(in: record) { return texts(stored) }
      let found = try source.withValue(SequenceEntry.Key(head.body), in: spaces.bodies) { value in
        value.withUnsafeBytes(texts)
      }
      return found ?? nil
    }
  }
}
