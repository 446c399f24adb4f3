import LatewoodDevice
import LatewoodStore

extension DocumentStore {
  /// Writes a compact copy of this database to a path where no file exists: without superseded
  /// bodies and unused blobs, with an identity of its own, owned and writable by the current user.
  ///
  /// The copy is renewed, swept and compacted once more at the path that `Store.install` chooses,
  /// before anyone can open it. After a crash at any moment it is there completely or not at all.
  ///
  /// - Parameters:
  ///   - path: the path of the copy.
  ///   - volume: the volume of that path, on which this database was opened too.
  /// - Throws: ``DocumentError`` `alreadyExists`; `busy` if someone else is creating a database
  ///   there; any error of the store.
  package func install(at path: String, on volume: any Volume = FileVolume()) throws(DocumentError) {
    let core = try opened()
    try DocumentError.typed {
      try Store.install(at: path, on: volume) { try core.buildCopy(at: $0, on: volume) }
    }
  }

  /// Replaces another database, which nobody has open, with a compact copy of this one that has an
  /// identity of its own, or puts the copy where no file exists.
  ///
  /// After a crash at any moment the file is the old database or the copy, each complete.
  ///
  /// - Parameters:
  ///   - path: the path of the database to replace.
  ///   - volume: the volume of that path, on which this database was opened too.
  /// - Throws: ``DocumentError`` `busy` if somebody has the database at `path` open; `wrongFormat`
  ///   if there is a file of another kind; any error of the store.
  package func replace(at path: String, on volume: any Volume = FileVolume()) throws(DocumentError) {
    let core = try opened()
    try DocumentError.typed {
      try Store.replace(at: path, on: volume) { try core.buildCopy(at: $0, on: volume) }
    }
  }
}

extension DocumentCore {
  /// Writes a compact copy with an identity of its own to a path that no one else uses.
  fileprivate func buildCopy(at path: String, on volume: any Volume) throws {
    try store.copy(to: path)
    var options = options
    options.expiresByItself = false
    options.store.compaction = .manual
    let copy = try DocumentStore.open(at: path, on: volume, mode: .openExisting, options: options)
    try copy.renewIdentity()
    try copy.compact()
    try copy.close()
  }
}
