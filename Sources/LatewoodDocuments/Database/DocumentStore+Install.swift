import LatewoodBytes
import LatewoodDevice
import LatewoodStore

extension DocumentStore {
  /// Writes a copy of this database where no file is: compact, without superseded bodies and unused
  /// blobs, with an identity of its own, and this user's, who can write to it.
  ///
  /// ```
  /// copy          the newest state into NAME.installing, whole and verified
  /// renew, sweep  in that file, which nobody knows yet; compacted once more
  /// settle        NAME.installing -> NAME, directory synced
  /// ```
  ///
  /// After a crash at any moment there is no NAME, or one that is all of this. What is left then of
  /// NAME.installing goes with the next attempt.
  ///
  /// - Parameters:
  ///   - path: of the copy.
  ///   - volume: where that is; the volume that this database was opened on.
  /// - Throws: ``DocumentError`` `alreadyExists`; `busy` if somebody else is making a database
  ///   there; and what the store throws.
  package func install(at path: String, on volume: any Volume) throws(DocumentError) {
    let core = try opened()
    do {
      let path = try volume.resolved(path)
      try Self.refuseExisting(path, on: volume)
      let lock = try volume.lockForWriting(path)
      defer { lock.unlock() }
      // Once more: another process may have made one before the lock was ours.
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
