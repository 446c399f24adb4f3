import LatewoodStore

/// The feed of a collection, in a batch: one entry for each document, at its latest change.
struct Feed: DerivedData {
  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    if let old = change.oldHead?.sequence {
      try batch.transaction.delete(SequenceEntry.Key(old), in: part.spaces.sequences, existed: true)
    }
    guard let entry = change.entry else { return }
    batch.encoded.removeAll(keepingCapacity: true)
    entry.append(to: &batch.encoded)
    try batch.transaction.put(
      SequenceEntry.Key(entry.sequence), batch.encoded, in: part.spaces.sequences, existed: false)
  }
}

// MARK: - Verification

extension Feed {
  static func check(_ document: CheckedDocument, in check: inout CollectionCheck) throws {
    let (record, last) = (document.record, check.wanted.lastSequence)
    check.report.require(
      record.sequence > 0 && record.sequence <= last,
      document.fault("it is at the sequence \(record.sequence), and the last one is \(last)"))
    let entry = SequenceEntry(sequence: record.sequence, id: document.id, head: document.head)
    let stored = try check.source.get(SequenceEntry.key(record.sequence), in: check.spaces.sequences)
    check.report.require(
      stored == entry.encoded(),
      document.fault("its entry in the feed at \(record.sequence) is missing or differs"))
  }

  static func check(_ check: inout CollectionCheck) throws {
    if check.deepest != nil { try check.checkFeed() }
    let documents = Int(clamping: check.wanted.documents + check.wanted.tombstones)
    try check.require(check.spaces.sequences, documents, "entries in the feed")
  }
}

extension CollectionCheck {
  /// Checks that every entry of the feed agrees with the record of its document.
  fileprivate mutating func checkFeed() throws {
    try source.forEach(in: spaces.sequences) { key, value in
      let sequence = Self.number(key.withUnsafeBytes { Array($0) })
      func fault(_ what: String, _ id: String? = nil) -> DatabaseFault {
        DatabaseFault(what, collection: name, document: id, sequence: sequence)
      }
      do throws(DatabaseError) {
        let entry = try key.reading { (key) throws(DatabaseError) in
          try value.reading { (value) throws(DatabaseError) in try SequenceEntry(key: key, value: value) }
        }
        let head = try source.mapValue(entry.id, in: spaces.documents) { value in
          try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord.Head(bytes) }
        }
        if let head {
          report.require(
            head.sequence == entry.sequence,
            fault("the feed has the document here, and it is at \(head.sequence)", entry.id))
        } else {
          report.add(fault("the feed has a document that is not there", entry.id))
        }
      } catch { report.add(fault(error.message)) }
      return true
    }
  }
}
