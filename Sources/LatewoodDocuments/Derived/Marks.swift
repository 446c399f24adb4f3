import LatewoodStore

/// The marks of tombstones and conflicts in a collection, and the counts of its documents, in a
/// batch.
struct Marks: DerivedData {
  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    let (id, old, new) = (change.id, change.oldHead, change.newHead)
    let (wasDeleted, isDeleted) = (old?.isDeleted ?? false, new?.isDeleted ?? false)
    if wasDeleted != isDeleted {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
      if isDeleted {
        try batch.transaction.put(key, [UInt8](), in: part.spaces.marks, existed: false)
      } else {
        try batch.transaction.delete(key, in: part.spaces.marks, existed: true)
      }
    }
    let (hadConflicts, hasConflicts) = (old?.hasConflicts ?? false, new?.hasConflicts ?? false)
    if hadConflicts != hasConflicts {
      let key = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
      if hasConflicts {
        try batch.transaction.put(key, [UInt8](), in: part.spaces.marks, existed: false)
      } else {
        try batch.transaction.delete(key, in: part.spaces.marks, existed: true)
      }
    }
    if let old {
      if old.isDeleted { part.state.tombstones &-= 1 } else { part.state.documents &-= 1 }
    }
    if let new {
      if new.isDeleted { part.state.tombstones += 1 } else { part.state.documents += 1 }
    }
  }
}

extension Marks {
  static func check(_ document: CheckedDocument, in check: inout CollectionCheck) throws {
    let (id, head, marks) = (document.id, document.head, check.spaces.marks)
    let tombstone = CollectionSpaces.key(CollectionSpaces.Mark.tombstone, id)
    let conflict = CollectionSpaces.key(CollectionSpaces.Mark.conflict, id)
    check.report.require(
      try check.source.contains(tombstone, in: marks) == head.isDeleted,
      document.fault("it is \(head.isDeleted ? "" : "not ")deleted, and its mark says otherwise"))
    check.report.require(
      try check.source.contains(conflict, in: marks) == head.hasConflicts,
      document.fault("it is \(head.hasConflicts ? "" : "not ")in conflict, and its mark says otherwise"))
    if head.hasConflicts { check.conflicts += 1 }
  }

  static func check(_ check: inout CollectionCheck) throws {
    try check.require(
      check.spaces.marks, Int(clamping: check.wanted.tombstones) + check.conflicts, "marks")
  }
}
