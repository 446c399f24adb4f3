import LatewoodStore

/// One kind of data that is derived from the documents of a collection, in a batch: its indexes,
/// full-text indexes, views, bodies with their references to blobs, feed, expiry or marks.
///
/// A change of a document and the changes that follow from it are one transaction, so derived data
/// always agrees with the documents. ``DocumentBatch/apply(_:_:)`` tells each kind of a change.
/// Everything else that concerns all kinds goes through ``DerivedKinds/all``.
protocol DerivedData {
  var batch: DocumentBatch { get }
  var part: CollectionBatch { get }

  init(_ batch: DocumentBatch, _ part: CollectionBatch)

  /// Whether a collection has any data of this kind. Must be cheap: each change asks for it.
  static func exist(in state: CollectionState) -> Bool

  /// Makes the changes that follow from a change of a document. Static, because making an instance
  /// takes longer than most of these changes.
  static func update(for change: RevisionChange, in batch: DocumentBatch, _ part: CollectionBatch) throws

  /// Writes the entries that are written only once, at the end of a batch.
  func finish() throws

  /// Returns the named definitions in the state of this batch, each with separate keyspaces. Kinds
  /// without definitions use keyspaces that every collection has.
  func defined() throws -> [any DefinedData]

  /// Empties the data of this kind in a salvaged file, where entries may be missing, damaged or out
  /// of date.
  ///
  /// - Returns: the builds that make it complete again.
  func reset() throws -> [any StepwiseBuild]

  /// Checks that this data agrees with the record of one document.
  static func check(_ document: CheckedDocument, in check: inout CollectionCheck) throws

  /// Checks the rest of this data, after the records of all documents.
  static func check(_ check: inout CollectionCheck) throws
}

extension DerivedData {
  init(_ batch: DocumentBatch, of collection: CollectionHandle) throws(DatabaseError) {
    self.init(batch, try batch.part(for: collection))
  }

  @inline(__always) var transaction: Transaction { batch.transaction }
  /// The keyspace of the definitions of indexes and views.
  var database: Keyspace { batch.shared.database }
  @inline(__always) var spaces: CollectionSpaces { part.spaces }

  @inline(__always) static func exist(in state: CollectionState) -> Bool { true }
  @inline(__always) func finish() throws {}
  func defined() throws -> [any DefinedData] { [] }
  func reset() throws -> [any StepwiseBuild] { [] }
  static func check(_ document: CheckedDocument, in check: inout CollectionCheck) throws {}
}

/// Derived data that a program defines by name: an index, a full-text index or a view.
protocol DefinedData {
  var name: String { get }
  /// The keyspaces that it has for itself.
  var keyspaces: [Keyspace] { get }
  /// Returns the key of its definition in the keyspace of the database.
  func key(in collection: String) -> String
}

/// The kinds of derived data.
enum DerivedKinds {
  static var all: [any DerivedData.Type] {
    [Indexes.self, TextIndexes.self, Views.self, Bodies.self, Feed.self, ExpiryTimes.self, Marks.self]
  }
}

extension DocumentBatch {
  /// Makes a change of a document: tells each kind of derived data, and writes the record. This
  /// order of changes is also the order in the log.
  ///
  /// `update` is static, and mostly inlined here: an instance and a copy of the change for each
  /// kind would take longer than most of what follows from it.
  @inline(__always) func apply(_ change: RevisionChange, _ part: CollectionBatch) throws {
    // Before anything has changed, because these may refuse the change and read the old body.
    if Indexes.exist(in: part.state) { try Indexes.update(for: change, in: self, part) }
    if TextIndexes.exist(in: part.state) { try TextIndexes.update(for: change, in: self, part) }
    if Views.exist(in: part.state) { try Views.update(for: change, in: self, part) }
    let isRemoved = change.isRemoved
    if !isRemoved { count(change) }
    try Bodies.update(for: change, in: self, part)
    // Each kind above counts what it removes: a purge that cannot read a body may have changed
    // nothing yet.
    if isRemoved { noteRemoval() }
    try Feed.update(for: change, in: self, part)
    try writeRecord(of: change, part)
    try ExpiryTimes.update(for: change, in: self, part)
    try Marks.update(for: change, in: self, part)
    part.changed(change.announced, old: change.oldHead?.sequence)
  }

  /// Removes derived data with its definition.
  func remove(_ data: some DefinedData, of collection: String) throws {
    for keyspace in data.keyspaces { try transaction.dropKeyspace(keyspace) }
    try transaction.delete(data.key(in: collection), in: shared.database)
  }

  /// Makes the last changes of each kind in a batch.
  func finishDerivedData(_ part: CollectionBatch) throws {
    try Indexes(self, part).finish()
    try TextIndexes(self, part).finish()
    try Views(self, part).finish()
    try Bodies(self, part).finish()
    try Feed(self, part).finish()
    try ExpiryTimes(self, part).finish()
    try Marks(self, part).finish()
  }

  /// Deletes the record of a document, or puts the new one.
  @inline(__always) private func writeRecord(of change: RevisionChange, _ part: CollectionBatch) throws {
    if change.isRemoved {
      return try transaction.delete(change.id, in: part.spaces.documents, existed: true)
    }
    try transaction.put(change.id, record, in: part.spaces.documents, existed: change.oldHead != nil)
  }

  @inline(__always) private func count(_ change: RevisionChange) {
    if change.newHead?.isDeleted == true || change.kind == .purged { noteRemoval() } else { changeCount += 1 }
  }
}
