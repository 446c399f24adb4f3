import LatewoodFleece
import LatewoodStore

/// The views of a collection, in a batch.
///
/// The transaction that changes a document also changes its rows in all views that are registered
/// and up to date. Other views fall behind, and are later updated from the feed. A purge leaves
/// nothing in the feed, so it removes rows from all views.
struct Views: DerivedData {
  let batch: DocumentBatch
  let part: CollectionBatch

  init(_ batch: DocumentBatch, _ part: CollectionBatch) {
    self.batch = batch
    self.part = part
  }

  @inline(__always) static func exist(in state: CollectionState) -> Bool { state.views > 0 }

  @inline(__always) static func update(
    for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch
  ) throws {
    try Views(batch, part).update(change.id, from: change.oldHead, to: change.after)
  }

  /// Updates the rows of a document.
  ///
  /// - Parameters:
  ///   - old: the revision that was current; nil if there was no document.
  ///   - new: the revision that will be current; nil if there will be none.
  @inline(never) private func update(
    _ id: String, from old: DocumentRecord.Head?, to new: IndexedRevision?
  ) throws {
    // Load the views even if no row changes, because `ViewRecord.through` changes.
    let views = try loaded()
    guard let new else {
      // From all views, even those that are behind.
      for view in views { try replaceRows(of: id, with: (nil, []), in: view) }
      return
    }
    if let old, old.winner == new.head.winner, old.isDeleted == new.head.isDeleted,
      (old.body == 0) == (new.head.body == 0)
    {
      return
    }
    for view in views where view.isKept {
      guard let definition = view.definition else { continue }
      try replaceRows(of: id, with: try rows(of: id, new, definition), in: view)
    }
  }

  /// Returns the views in the state of this batch.
  func loaded() throws(DatabaseError) -> [ViewBatch] {
    if let views = part.views { return views }
    var views: [ViewBatch] = []
    for view in try CollectionView.load(of: part.name, in: database, transaction) {
      let known = batch.core.views.view(view.name, of: part.collection.identity)
      let definition = known?.makesRows(of: view.record) == true ? known : nil
      // Compare with the start of the batch: the batch's own changes are mapped immediately.
      let isKept = definition != nil && view.record.through == part.startState.lastSequence
      views.append(ViewBatch(view, definition, isStored: true, isKept: isKept))
    }
    part.views = views
    return views
  }

  /// Stores the records of views that have changed.
  func finish() throws {
    if part.views == nil { return }
    for view in part.views ?? [] {
      try addUp(view)
      guard let record = view.changedRecord(through: part.state.lastSequence) else { continue }
      try transaction.put(
        ViewRecord.key(view.view.name, of: part.name), record.encoded(), in: database)
      view.noteStored()
    }
  }

  /// Returns the rows that a map function emits for a document. An unreadable document is a
  /// failure, like a map that throws.
  func rows(
    of id: String, _ revision: IndexedRevision, _ definition: ViewDefinition
  ) throws(DatabaseError) -> (emitted: EmittedRows?, values: [[UInt8]]) {
    let head = revision.head
    guard !head.isDeleted, head.body != 0 else { return (nil, []) }
    let body: [UInt8]
    if let given = revision.body {
      body = given
    } else {
      do throws(DatabaseError) {
        // Use a copy, because the map may read the database.
        guard let stored = try transaction.body(at: head.body, of: spaces) else {
          return (.failure("its body is missing"), [])
        }
        body = stored
      } catch {
        guard error.code == .corruptData else { throw error }
        return (.failure("its body cannot be read: \(error.message)"), [])
      }
    }
    let wasMapping = batch.isMapping
    batch.isMapping = true
    defer { batch.isMapping = wasMapping }
    return id.withBytes { id in
      body.withUnsafeBytes { body in
        do throws(FleeceError) {
          return definition.rows(of: try MatchedDocument(id, head, body))
        } catch { return (.failure("its body is damaged: \(error)"), []) }
      }
    }
  }

  /// Replaces the rows of a document in a view.
  func replaceRows(
    of id: String, with new: (emitted: EmittedRows?, values: [[UInt8]]), in view: ViewBatch
  ) throws {
    let (rows, emitted, addsUp) = (view.view.rows, view.view.emitted, view.view.sums != nil)
    let (old, oldKeys) = try knownRows(of: id, view.view)
    if old == nil, new.emitted == nil, oldKeys.isEmpty { return }
    let keys = new.emitted?.storedKeys(id) ?? []
    let kept = Set(keys)
    if new.emitted == nil { batch.noteRemoval() } else { batch.changeCount += 1 }
    for key in oldKeys where !kept.contains(key) {
      try transaction.delete(key, in: rows)
      if addsUp { view.unsummed.insert(key) }
    }
    let known = Set(oldKeys)
    for (place, key) in keys.enumerated() {
      // After the collation key come the id, a zero byte and four bytes of the number.
      let value = StoredRow.value(keyCount: key.count - id.utf8.count - 5, new.values[place])
      if known.contains(key), try transaction.get(key, in: rows) == value { continue }
      try transaction.put(key, value, in: rows)
      if addsUp { view.unsummed.insert(key) }
    }
    if let list = new.emitted {
      if list != old { try transaction.put(id, list.encoded(), in: emitted) }
    } else {
      try transaction.delete(id, in: emitted)
    }
    if old?.isFailure == true { view.view.record.failures &-= min(view.view.record.failures, 1) }
    if new.emitted?.isFailure == true { view.view.record.failures += 1 }
    if view.unsummed.count >= Views.unsummedLimit {
      try addUp(view)
    }
  }

  /// The number of changed rows at which sums are updated before the end of a batch.
  private static let unsummedLimit = 10_000

  /// Updates the sums of a view from its rows.
  func addUp(_ view: ViewBatch) throws {
    guard let sums = view.view.sums, !view.unsummed.isEmpty else { return }
    let changed = view.unsummed
    view.unsummed = []
    try ViewSums(rows: view.view.rows, sums: sums).update(changed, in: transaction)
  }

  /// Returns the stored rows of a document and their keys. If the list of its rows cannot be read,
  /// searches the view for them.
  private func knownRows(
    of id: String, _ view: CollectionView
  ) throws(DatabaseError) -> (list: EmittedRows?, keys: [[UInt8]]) {
    do throws(DatabaseError) {
      let list = try transaction.mapValue(id, in: view.emitted) { value in
        try value.reading { (bytes) throws(DatabaseError) in try EmittedRows(bytes) }
      }
      return (list, list?.storedKeys(id) ?? [])
    } catch {
      guard error.code == .corruptData else { throw error }
    }
    var keys: [[UInt8]] = []
    try transaction.visit(in: view.rows) { key, value in
      try StoredRow.reading(key, value) { row in
        if row.id == id { keys.append(Array(row.stored)) }
      }
      return true
    }
    return (nil, keys)
  }
}
