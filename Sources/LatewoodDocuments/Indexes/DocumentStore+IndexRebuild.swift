import LatewoodQuery
import LatewoodStore

extension DocumentStore {
  /// Rebuilds all indexes whose definitions survive in a salvaged file, where entries may be
  /// missing or out of date.
  package func rebuildIndexes() throws(DocumentError) {
    for name in try collectionNames() {
      guard let collection = try collection(name) else { continue }
      try DocumentError.typed {
        let definitions = try write { writer in try writer.takeOutIndexes(of: collection) }
        for (index, definition) in definitions {
          while true {
            let step = try write { writer in
              try writer.buildIndex(index, definition, in: collection, isSalvaged: true)
            }
            if step.isReady { break }
          }
        }
      }
    }
  }
}

extension DocumentWriter {
  /// Removes all indexes of a collection, including damaged ones.
  ///
  /// - Returns: the indexes whose definitions can be read.
  fileprivate func takeOutIndexes(
    of collection: CollectionHandle
  ) throws(DocumentError) -> [(name: String, definition: IndexDefinition)] {
    let work = try work(collection)
    let prefix = IndexRecord.prefix(of: work.name)
    var definitions: [(name: String, definition: IndexDefinition)] = []
    for key in try keys(in: shared.database, .prefix(prefix), .max) {
      let name = String(decoding: key.dropFirst(prefix.utf8.count), as: UTF8.self)
      do throws(DocumentError) {
        if let record = try storedIndex(name, work) { definitions.append((name, record.definition)) }
      } catch {
        // The definition is lost.
      }
    }
    changeCount += 1
    try DocumentError.typed {
      try transaction.deleteRange(.prefix(prefix), in: shared.database)
      for keyspace in try transaction.keyspaces() where keyspace.name.hasPrefix("entries/\(work.name)/") {
        try transaction.dropKeyspace(keyspace)
      }
    }
    work.state.indexes = 0
    work.state.indexChanges += 1
    work.indexes = nil
    return definitions
  }
}
