import LatewoodStore

/// The feed of a collection, in a batch: one entry for each document, at its latest change.
struct Feed: DerivedData {
  let batch: DocumentWriter
  let work: CollectionWork

  init(_ batch: DocumentWriter, _ work: CollectionWork) {
    self.batch = batch
    self.work = work
  }

  func update(for change: RevisionChange) throws {
    if let old = change.old {
      try transaction.delete(SequenceEntry.Key(old.sequence), in: spaces.sequences, existed: true)
    }
    guard let entry = change.entry else { return }
    batch.encoded.removeAll(keepingCapacity: true)
    entry.append(to: &batch.encoded)
    try transaction.put(
      SequenceEntry.Key(entry.sequence), batch.encoded, in: spaces.sequences, existed: false)
  }
}
