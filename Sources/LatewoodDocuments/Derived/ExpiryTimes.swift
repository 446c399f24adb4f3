import LatewoodStore

/// The times at which documents of a collection expire, in a batch.
struct ExpiryTimes: DerivedData {
  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    guard let ended = change.oldHead?.expiry, change.newHead?.expiry == nil else { return }
    try batch.transaction.delete(CollectionSpaces.expiryKey(ended, change.id), in: part.spaces.expiry)
  }

  /// Removes an entry that belongs to no document.
  func forget(_ seconds: UInt64, _ id: String) throws {
    batch.noteRemoval()
    try transaction.delete(CollectionSpaces.expiryKey(seconds, id), in: spaces.expiry)
  }
}

extension ExpiryTimes {
  static func check(_ document: CheckedDocument, in check: inout CollectionCheck) throws {
    guard let expiry = document.head.expiry else { return }
    check.expiring += 1
    check.report.require(
      !document.head.isDeleted, document.fault("it is deleted, and expires at \(expiry)"))
    check.report.require(
      try check.source.contains(
        CollectionSpaces.expiryKey(expiry, document.id), in: check.spaces.expiry),
      document.fault("it expires at \(expiry), and nothing will see to it"))
  }

  static func check(_ check: inout CollectionCheck) throws {
    try check.require(check.spaces.expiry, check.expiring, "times of expiry")
  }
}
