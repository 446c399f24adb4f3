import LatewoodQuery
import LatewoodStore

/// An index as others see it.
package struct IndexFacts: Sendable {
  package var name: String
  package var definition: IndexDefinition
  /// Whether it has been built; queries do not use it before.
  package var isReady: Bool
  /// Entries so far.
  package var entries: Int
}

extension DocumentStore {
  /// Makes an index of a collection, or goes on with one whose making was interrupted. One that
  /// there is already stays as it is.
  ///
  /// Outside of a batch it is built in many small transactions, between which others write; after a
  /// crash what has been built is there, and this goes on. In a batch it is part of that.
  /// O(documents).
  ///
  /// - Parameters:
  ///   - progress: called after each step; if it throws, the index is dropped, and this throws
  ///     that.
  /// - Throws: what `progress` throws; ``DocumentError``: what the store throws, and then what has
  ///   been built stays, and another call goes on; `alreadyExists` if there is an index of that
  ///   name with another definition; `notUnique` if two documents have the same values: then there
  ///   is no index.
  package func createIndex(
    _ name: String, _ definition: IndexDefinition, in collection: DocumentCollection,
    progress: (IndexProgress) throws -> Void = { _ in }
  ) throws {
    let core = try openedForWriting()
    if let writer = core.currentWriter {
      while try !writer.buildIndex(name, definition, in: collection).isReady {}
      return
    }
    do {
      while true {
        let step = try write { writer in try writer.buildIndex(name, definition, in: collection) }
        try progress(step)
        if step.isReady { return }
      }
    } catch {
      let error = (error as? StoreError).map { DocumentError($0) } ?? error
      if (error as? DocumentError)?.leavesIndex != true { try dropIndex(name, in: collection) }
      throw error
    }
  }

  /// Drops an index. O(log n). False if there is none.
  @discardableResult
  package func dropIndex(_ name: String, in collection: DocumentCollection) throws(DocumentError) -> Bool {
    let core = try openedForWriting()
    try core.refuseInBatch("an index is dropped")
    let isDropped = try core.batch(.usual) { (writer) throws(DocumentError) in
      try writer.dropIndex(name, in: collection)
    }
    if isDropped { core.renew(core.collections.all) }
    return isDropped
  }
}

extension DocumentError {
  /// Whether an index that was being built stays: it is another one, or the next attempt may
  /// succeed.
  fileprivate var leavesIndex: Bool { code != .notUnique }
}

extension DocumentReads {
  /// The indexes of the collection, those among them that are not ready.
  func indexes() throws(DocumentError) -> [CollectionIndex] {
    let load = { [spaces, source, collection] () throws(DocumentError) in
      try CollectionIndex.load(of: collection.name, in: spaces.database, source)
    }
    // What a batch counts is written when it ends.
    if case .transaction = source { return try load() }
    let state = try state()
    return state.indexes == 0 ? [] : try collection.indexes(at: state.indexChanges, load)
  }

  /// All indexes, by name.
  package func indexList() throws(DocumentError) -> [IndexFacts] {
    var list: [IndexFacts] = []
    for index in try indexes() {
      do throws(StoreError) {
        list.append(
          IndexFacts(
            name: index.name, definition: index.definition, isReady: index.isReady,
            entries: try source.count(in: index.entries)))
      } catch { throw DocumentError(error) }
    }
    return list
  }
}
