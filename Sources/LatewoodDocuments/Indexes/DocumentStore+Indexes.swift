import LatewoodQuery
import LatewoodStore

/// An index of a collection.
public struct DocumentIndex: Sendable, Equatable {
  /// The name.
  public let name: String
  package let definition: IndexDefinition
  /// Whether the index is built, and has no ``problem``. Queries do not use it otherwise.
  public let isReady: Bool
  /// The number of entries.
  public let count: Int
  /// What is wrong with the index, and what to do; usually nil. An earlier release may have
  /// accepted a regular expression in its condition that this one does not.
  public let problem: String?

  /// The fields in their text form: `address.city`, `age:desc`, `cast[]`.
  public var fields: [String] { definition.parts.map(\.text) }
  /// Whether the index refuses two documents with the same values.
  public var isUnique: Bool { definition.isUnique }
  /// Whether the index contains only documents that meet a condition.
  public var isPartial: Bool { definition.condition != nil }
}

extension DocumentStore {
  /// Creates an index of a collection, or continues one whose build was interrupted. Does nothing
  /// if the index exists with the same definition.
  ///
  /// Outside a batch, the index is built in many small transactions, so that others can write in
  /// between; a finished step survives a crash of the process, and the next call continues from
  /// there. Inside a batch, the build is part of the batch. O(documents).
  ///
  /// - Parameters:
  ///   - progress: called after each step. If it throws, the index is dropped and the error is
  ///     rethrown; but an index that another caller has completed is kept.
  ///   - check: called under the writer lock, before and after each step outside a batch. If it
  ///     throws, the step is undone, the index is dropped and the error is rethrown.
  /// - Throws: any error of `progress` and `check`; ``DatabaseError``: any error of the store,
  ///   after which the finished steps stay and another call continues; `alreadyExists` if an index
  ///   of that name has another definition; `notUnique` if two documents have the same values, in
  ///   which case the index is dropped.
  package func createIndex(
    _ name: String, _ definition: IndexDefinition, in collection: CollectionHandle,
    progress: (IndexBuildProgress) throws -> Void = { _ in }, check: () throws -> Void = {}
  ) throws {
    try build(IndexBuild(name, definition, of: collection), progress: progress, check: check)
  }

  /// Drops an index of any kind. O(log n). Returns false if the index did not exist.
  @discardableResult
  package func dropIndex(_ name: String, in collection: CollectionHandle) throws(DatabaseError) -> Bool {
    let core = try openedForWriting()
    try core.refuseInBatch("an index is dropped")
    let isDropped = try core.batch(.usual) { batch in try batch.dropIndex(name, of: collection) }
    return isDropped
  }

  /// Drops an index of one kind.
  ///
  /// - Parameter evenIfReady: whether to drop a completed index, too.
  func drop<Kind: DroppableIndexes>(
    _ name: String, of kind: Kind.Type, in collection: CollectionHandle, evenIfReady: Bool
  ) throws(DatabaseError) {
    let core = try openedForWriting()
    try core.refuseInBatch("an index is dropped")
    try core.batch(.usual) { batch in
      _ = try kind.init(batch, of: collection).drop(name, evenIfReady: evenIfReady)
    }
  }

  /// Drops an index of any kind without blocking the caller's thread. Returns false if the index
  /// did not exist.
  ///
  /// - Parameter check: called under the writer lock, before and after the change. If it throws,
  ///   nothing is changed.
  package func dropIndex(
    _ name: String, in collection: CollectionHandle, check: @escaping @Sendable () throws -> Void
  ) async throws -> Bool {
    let core = try openedForWriting()
    let isDropped = try await core.write(.usual) { batch in
      try check()
      let isDropped = try batch.dropIndex(name, of: collection)
      try check()
      return isDropped
    }
    return isDropped
  }
}

extension DocumentBatch {
  /// Drops an index of any kind. Returns false if the index did not exist.
  fileprivate func dropIndex(_ name: String, of collection: CollectionHandle) throws -> Bool {
    if try Indexes(self, of: collection).drop(name, evenIfReady: true) { return true }
    return try TextIndexes(self, of: collection).drop(name, evenIfReady: true)
  }
}

extension CollectionIndex {
  /// The reason why it is not used, and what to do; nil if it can be used.
  var problem: String? {
    guard let objection = definition.objection else { return nil }
    return "its condition cannot be tested: \(objection). Drop it, and create it with another condition"
  }
}

extension DocumentReads {
  /// The indexes of the collection.
  func indexes() throws(DatabaseError) -> CollectionIndexes {
    // A batch writes the number of index changes only at its end.
    if case .batch = source {
      return try CollectionIndexes(of: collection.name, at: 0, in: spaces.database, source)
    }
    if case .state(let held) = source, let known = collection.indexes(inVersion: held.number) {
      return known
    }
    let state = try state()
    let indexes = try collection.indexes(at: state.indexChanges) { () throws(DatabaseError) in
      if state.indexes == 0, state.texts == 0 { return CollectionIndexes(change: state.indexChanges) }
      return try CollectionIndexes(of: collection.name, at: state.indexChanges, in: spaces.database, source)
    }
    if case .state(let held) = source { collection.keep(indexes, ofVersion: held.number) }
    return indexes
  }

  /// All indexes, by name.
  package func indexList() throws(DatabaseError) -> [DocumentIndex] {
    var list: [DocumentIndex] = []
    for index in try indexes().all {
      list.append(
        DocumentIndex(
          name: index.name, definition: index.definition, isReady: index.isUsable,
          count: try source.entryCount(in: index.entries), problem: index.problem))
    }
    return list
  }
}
