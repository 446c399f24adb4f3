import LatewoodDevice
import LatewoodStore

extension DocumentStore {
  /// Writes a compact copy of this database to a path where no file exists: without superseded
  /// bodies and unused blobs, with an identity of its own, owned and writable by the current user.
  ///
  /// The copy is renewed, swept and compacted once more at the path that `Store.install` chooses,
  /// before anybody can open it. After a crash at any moment it is there completely or not at all.
  ///
  /// - Parameters:
  ///   - path: the path of the copy.
  ///   - volume: the volume of that path, on which this database was opened too.
  /// - Throws: ``DocumentError`` `alreadyExists`; `busy` if somebody else is creating a database
  ///   there; any error of the store.
  package func install(at path: String, on volume: any Volume = FileVolume()) throws(DocumentError) {
    let core = try opened()
    try DocumentError.typed {
      try Store.install(at: path, on: volume) { staging in
        try core.store.copy(to: staging)
        var options = core.options
        options.expiresByItself = false
        options.store.compaction = .manual
        let copy = try DocumentStore.open(at: staging, on: volume, mode: .openExisting, options: options)
        try copy.renewIdentity()
        try copy.compact()
        try copy.close()
      }
    }
  }
}
