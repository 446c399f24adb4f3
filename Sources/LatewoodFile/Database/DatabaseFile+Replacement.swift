import LatewoodBytes
import LatewoodDevice

/// Methods that write a second file, for example in a compaction, which replaces this one or
/// becomes a copy of it.
///
/// ```
/// createReplacement     NAME.compacting, under the lock of NAME
/// replace               NAME.compacting -> NAME, directory synced
/// createCopy            NAME.compacting, under a lock of its own
/// renameToPath          NAME.compacting -> NAME, where nothing was
/// discard               NAME.compacting removed
/// ```
///
/// After a crash at any point, NAME is the complete old file or the complete new one;
/// `removeLeftovers` removes everything else.
extension DatabaseFile {
  /// How a file that replaces another one is encrypted.
  package enum ReplacementEncryption: Sendable {
    /// Like the other one, with the same key.
    case same
    /// With a new key; not at all if nil.
    case changed(NewEncryption?)
  }

  private static let replacementSuffix = ".compacting"
  /// Permission bits that let the owner read and write.
  static let ownerWrites: UInt16 = 0o600

  /// *Writer.* Creates an empty file next to this one and opens it for writing under the lock of
  /// this file. Call `recover` on it first.
  ///
  /// Leftovers of an earlier attempt are removed. The new file gets the owner, permissions and
  /// attributes of this one.
  ///
  /// Throws `fileMoved`, `hardLinked`; `permissionDenied` if it cannot be given the owner of this
  /// file; and errors of the volume and the device.
  ///
  /// - Parameter encryption: how the new file is encrypted; default: like this one, with its key.
  package func createReplacement(
    encryption: ReplacementEncryption = .same
  ) throws(StorageError) -> DatabaseFile {
    try checkWriting()
    guard let lock = frames.fileLock else { throw StorageError(.readOnly, "the file was opened for reading") }
    try checkPathAndLinks()
    let secret =
      switch encryption {
      case .same: secret
      case .changed(let new): try new?.secret(environment: environment)
      }
    let file = try createBeside(path, lock, of: header.databaseID, secret)
    // The lock stays with the file at the path.
    file.lifetime.isLockElsewhere = true
    return file
  }

  /// *Writer.* Checks that this file can be replaced: throws the errors that `createReplacement`
  /// would throw because of its path, its hard links or its owner. Does not leave a file behind.
  package func checkReplaceable() throws(StorageError) {
    try checkWriting()
    try checkPathAndLinks()
    let unfinished = SideName.path(path, DatabaseFile.replacementSuffix)
    try volume.removeIfPresent(unfinished)
    let probe = try volume.open(
      unfinished, .createExclusive(permissions: DatabaseFile.ownerWrites))
    defer {
      probe.close()
      DatabaseFile.removeLeftover(unfinished, on: volume)
    }
    try probe.copyAttributes(from: device)
  }

  /// Creates an empty file that will be a separate database at `path`, and opens it for writing
  /// under its own lock. Call `recover` on it first.
  ///
  /// The copy belongs to this process's user and is writable by its owner; apart from that it has
  /// the same permissions as this file. Attributes are not copied. A copy of an encrypted file has
  /// the same key, in the same wrap: another one would need the caller's key, which is not kept.
  ///
  /// Throws `alreadyExists`, `lockedByThisProcess`, `lockedByOtherProcess`, and errors of the
  /// volume and the device.
  package func createCopy(at path: String) throws(StorageError) -> DatabaseFile {
    let path = try volume.resolved(path)
    try DatabaseFile.refuseExisting(path, on: volume)
    let lock = try volume.lockForWriting(path)
    do throws(StorageError) {
      try DatabaseFile.refuseExisting(path, on: volume)
      return try createBeside(path, lock, of: nil, secret)
    } catch {
      lock.unlock()
      throw error
    }
  }

  private func createBeside(
    _ path: String, _ lock: any FileLock, of databaseID: DatabaseID?, _ secret: FileSecret?
  ) throws(StorageError) -> DatabaseFile {
    let unfinished = SideName.path(path, DatabaseFile.replacementSuffix)
    try volume.removeIfPresent(unfinished)
    // No other user may open a replacement before it has the owner and the access control list of
    // the old file.
    let permissions: UInt16 =
      databaseID == nil ? try device.permissions() | DatabaseFile.ownerWrites : DatabaseFile.ownerWrites
    let old = device
    let device = try volume.open(unfinished, .createExclusive(permissions: permissions))
    do throws(StorageError) {
      if databaseID != nil { try device.copyAttributes(from: old) }
      guard try device.lockForWriting() else {
        throw StorageError(.lockedByOtherProcess, "another process writes to this file", path: unfinished)
      }
      let there = try volume.open(unfinished, .readOnly)
      defer { there.close() }
      try DatabaseFile.admitReaders(to: device, asking: there)
      let (header, cipher) = try DatabaseFile.writeEmptyFile(
        to: device, environment, of: databaseID, encryption: secret)
      let used = cipher == nil ? device : DatabaseFile.encrypted(device)
      let mapping = try MappedFile(
        used, covering: FileLayout.logStart, ahead: LogMapping.ahead, cipher: cipher)
      let opened = Opened(
        device: used, header: header, mapping: mapping, fileLock: lock, wrap: secret?.wrap)
      return DatabaseFile(opened, on: volume, path: path, environment: environment)
    } catch {
      device.close()
      DatabaseFile.removeLeftover(unfinished, on: volume)
      throw error
    }
  }

  /// Whether this file is being written to replace another one, which holds the lock.
  package var isReplacement: Bool { lifetime.isLockElsewhere }

  /// Renames a copy to its path. The whole copy must be durable.
  package func renameToPath() throws(StorageError) {
    try rename()
    try volume.syncDirectory(containing: path)
  }

  private func rename() throws(StorageError) {
    try volume.rename(SideName.path(path, DatabaseFile.replacementSuffix), to: path)
    device.wasRenamed(to: path)
  }

  /// Replaces `old` with this file, which must be entirely durable.
  ///
  /// Copies owner, permissions and attributes from the old file once more. Throws `fileMoved` if
  /// the old file is no longer at its path, because another file there must not be overwritten; and
  /// `hardLinked` if it has a second name, which would still refer to the old file. After these
  /// errors, or a failed rename, nothing has changed. If the directory cannot be synced, it is
  /// unknown which file a power cut would leave, so both files are poisoned.
  package func replace(_ old: DatabaseFile) throws(StorageError) {
    try old.checkPathAndLinks()
    try device.copyAttributes(from: old.device)
    // Commits that are still being written to the old file are already in this one.
    old.group.setReplaced(true)
    do throws(StorageError) {
      try rename()
    } catch {
      old.group.setReplaced(false)
      throw error
    }
    // The lock passes to this file.
    old.lifetime.isLockElsewhere = true
    lifetime.isLockElsewhere = false
    do throws(StorageError) {
      try volume.syncDirectory(containing: path)
    } catch {
      for file in [old, self] { file.progress.end(with: error) }
      throw error
    }
  }

  private func checkPathAndLinks() throws(StorageError) {
    try group.checkPath()
    guard case .inPlace(let links) = try device.pathStatus(), links > 1 else { return }
    throw StorageError(
      .hardLinked,
      "the file has \(links) hard links: compaction would turn each of them into a separate database",
      path: path)
  }

  /// Closes and removes a file that did not become a replacement or a copy. Best effort: the next
  /// open for writing removes leftovers.
  package func discard() {
    close()
    DatabaseFile.removeLeftover(SideName.path(path, DatabaseFile.replacementSuffix), on: volume)
  }

  /// The paths of the files that an interrupted operation may leave next to the database at `path`.
  package static func unfinished(of path: String) -> [String] {
    [creationSuffix, replacementSuffix, BackupFile.suffix].map { SideName.path(path, $0) }
  }

  /// The path at which a complete database is built before it is renamed to `path`.
  package static func staging(of path: String) -> String { SideName.path(path, ".installing") }

  /// The paths of the files that interrupted operations left next to this one, which was opened
  /// read-only; none while any process has it open for writing, because they may be in use.
  package func leftovers() throws(StorageError) -> [String] {
    guard isReadOnly, try !volume.isLockedForWriting(path) else { return [] }
    var found: [String] = []
    for leftover in DatabaseFile.unfinished(of: path) + [DatabaseFile.staging(of: path)]
    where try volume.exists(leftover) {
      found.append(leftover)
    }
    return found
  }

  /// Removes a complete or partial database from the staging path. The caller holds the lock of
  /// `path`.
  package static func removeStaging(of path: String, on volume: any Volume) {
    let staging = staging(of: path)
    for leftover in [staging, SideName.path(staging, SideName.lock)] + unfinished(of: staging) {
      removeLeftover(leftover, on: volume)
    }
  }

  /// Removes the files that interrupted operations left next to a database. The caller holds its
  /// lock.
  static func removeLeftovers(of path: String, on volume: any Volume) {
    for leftover in unfinished(of: path) { removeLeftover(leftover, on: volume) }
    removeStaging(of: path, on: volume)
  }

  static func removeLeftover(_ path: String, on volume: any Volume) {
    do {
      try volume.removeIfPresent(path)
    } catch {
      // A leftover only takes space; opening the database is more important than removing it.
      return
    }
  }
}

extension DatabaseFile {
  /// Flushes all commits and returns the end of the log for a copy. For a file that was moved,
  /// returns the end of its written log.
  package func flushForCopy() throws(StorageError) -> CommitPosition {
    if isMoved { return writtenThrough }
    let end = completedThrough
    if !isReadOnly { try flush(through: end, durable: false) }
    return end
  }
}
