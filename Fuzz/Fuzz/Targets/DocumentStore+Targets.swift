import LatewoodDocuments

extension DocumentOptions {
  /// The options of the targets: nothing happens by itself, and small files have many nodes.
  static var ofTargets: DocumentOptions {
    var options = DocumentOptions()
    options.expiresByItself = false
    options.store.compaction = .manual
    options.store.checkpointsInBackground = false
    options.store.durability = .relaxed
    options.store.nodeSize = 1024
    options.store.inlineValueLimit = 64
    return options
  }
}

extension DocumentStore {
  /// Returns the default collection, whose absence is a find.
  func foundDefaultCollection() throws -> CollectionHandle {
    guard let found = try collection(CollectionHandle.defaultName) else { find("no default collection") }
    return found
  }
}
