import LatewoodBytes
import LatewoodDevice
import LatewoodStore

extension DocumentStore {
  /// Writes a compact copy of this database to a path where no file exists: without superseded
  /// bodies and unused blobs, with an identity of its own, owned and writable by the current user.
  ///
  /// ```
  /// copy          the newest state into NAME.installing, complete and verified
  /// renew, sweep  in that file, before anybody can open it; compacted once more
  /// settle        NAME.installing -> NAME, directory synced
  /// ```
  ///
  /// After a crash at any moment NAME does not exist, or is complete. A NAME.installing that is
  /// left behind is removed by the next attempt.
  ///
  /// - Parameters:
  ///   - path: the path of the copy.
  ///   - volume: the volume of that path, on which this database was opened too.
  /// - Throws: ``DocumentError`` `alreadyExists`; `busy` if somebody else is creating a database
  ///   there; any error of the store.
  package func install(at path: String, on volume: any Volume) throws(DocumentError) {
    let core = try opened()
    do {
      let path = try volume.resolved(path)
      try Self.refuseExisting(path, on: volume)
      let lock = try volume.lockForWriting(path)
      defer { lock.unlock() }
      // Check again: another process may have created one before this one got the lock.
      try Self.refuseExisting(path, on: volume)
      Store.removeStaging(of: path, on: volume)
      defer { Store.removeStaging(of: path, on: volume) }
      let staging = Store.staging(of: path)
      try core.store.copy(to: staging)
      var options = core.options
      options.expiresByItself = false
      options.store.compaction = .manual
      let copy = try DocumentStore.open(at: staging, on: volume, mode: .openExisting, options: options)
      try copy.renewIdentity()
      try copy.compact()
      try copy.close()
      try volume.rename(staging, to: path)
      try volume.syncDirectory(containing: path)
    } catch let fault as Fault {
      throw DocumentError(StoreError(fault, path: path))
    } catch {
      throw DocumentError.from(error)
    }
  }

  private static func refuseExisting(_ path: String, on volume: any Volume) throws {
    guard try volume.exists(path) else { return }
    throw Fault(.alreadyExists, "there is a file already", path: path)
  }
}
