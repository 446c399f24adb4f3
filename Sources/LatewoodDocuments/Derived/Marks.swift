import LatewoodStore

/// The marks of tombstones and conflicts in a collection, and the counts of its documents, in a
/// batch.
struct Marks: DerivedData {
  let batch: DocumentWriter
  let work: CollectionWork

  init(_ batch: DocumentWriter, _ work: CollectionWork) {
    self.batch = batch
    self.work = work
  }

  func update(for change: RevisionChange) throws {
    let (id, old, new) = (change.id, change.oldHead, change.newHead)
    let marks = spaces.marks
    let (wasDeleted, isDeleted) = (old?.isDeleted ?? false, new?.isDeleted ?? false)
    if wasDeleted != isDeleted {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
      if isDeleted {
        try transaction.put(key, [UInt8](), in: marks, existed: false)
      } else {
        try transaction.delete(key, in: marks, existed: true)
      }
    }
    let (hadConflicts, hasConflicts) = (old?.hasConflicts ?? false, new?.hasConflicts ?? false)
    if hadConflicts != hasConflicts {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
      if hasConflicts {
        try transaction.put(key, [UInt8](), in: marks, existed: false)
      } else {
        try transaction.delete(key, in: marks, existed: true)
      }
    }
    if let old {
      if old.isDeleted { work.state.tombstones &-= 1 } else { work.state.documents &-= 1 }
    }
    if let new {
      if new.isDeleted { work.state.tombstones += 1 } else { work.state.documents += 1 }
    }
  }
}
