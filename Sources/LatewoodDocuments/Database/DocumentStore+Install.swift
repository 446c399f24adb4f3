import LatewoodDevice
import LatewoodStore

extension DocumentStore {
  /// Writes a compact copy of this database to a path where no file exists: without superseded
  /// bodies and unused blobs, with a new identity, owned and writable by the current user. The copy
  /// of an encrypted database is encrypted with the same key.
  ///
  /// Before anyone can open the copy, it gets its new identity, is swept and is compacted once
  /// more, at a path that `Store.install` chooses. After a crash at any moment, the copy either
  /// exists completely or does not exist.
  ///
  /// - Parameters:
  ///   - path: the path of the copy.
  ///   - volume: the volume of that path, on which this database was opened too.
  /// - Throws: ``DatabaseError`` `conflict`; `busy` if someone else is creating a database
  ///   there; any error of the store.
  package func install(at path: String, on volume: any Volume = FileVolume()) throws(DatabaseError) {
    let core = try opened()
    try DatabaseError.typed {
      try Store.install(at: path, on: volume) { try core.buildCopy(at: $0, on: volume) }
    }
  }

  /// Replaces another database, which must not be open, with a compact copy of this one that has a
  /// new identity. If no file exists at the path, the copy is put there.
  ///
  /// After a crash at any moment the file is the old database or the copy, each complete.
  ///
  /// - Parameters:
  ///   - path: the path of the database to replace.
  ///   - volume: the volume of that path, on which this database was opened too.
  /// - Throws: ``DatabaseError`` `busy` if someone has the database at `path` open; `wrongFormat`
  ///   if there is a file of another kind; any error of the store.
  package func replace(at path: String, on volume: any Volume = FileVolume()) throws(DatabaseError) {
    let core = try opened()
    try DatabaseError.typed {
      try Store.replace(at: path, on: volume) { try core.buildCopy(at: $0, on: volume) }
    }
  }
}

extension DocumentCore {
  /// Writes a compact copy with a new identity to a path that no one else uses.
  fileprivate func buildCopy(at path: String, on volume: any Volume) throws {
    try store.copy(to: path)
    var options = options
    options.expiresByItself = false
    options.store.compaction = .manual
    options.store.encryptionKey = store.fileKey
    let copy = try DocumentStore.open(at: path, on: volume, mode: .openExisting, options: options)
    try copy.renewIdentity()
    try copy.compact()
    try copy.close()
  }
}
