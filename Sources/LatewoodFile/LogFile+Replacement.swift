import LatewoodBytes
import LatewoodDevice

/// Another file that is written beside this one to take its place, or to be a copy: what a
/// compaction works on.
///
/// ```
/// createReplacement     NAME.compacting, under the lock of NAME          createCopy    under a lock of its own
/// takePlace             NAME.compacting -> NAME, directory synced        settle        the same, where no NAME is
/// discard               NAME.compacting removed
/// ```
///
/// After a crash at any point NAME is the old file or the new one, whole; `removeLeftovers` clears
/// what else there is.
extension LogFile {
  private static let replacementSuffix = ".compacting"
  /// The owner reads and writes.
  static let ownerWrites: UInt16 = 0o600

  /// *Writer.* An empty file beside this one, opened for writing under this one's lock. `recover`
  /// must be called for it.
  ///
  /// What an earlier attempt has left is removed. Owner, permissions and attributes are those of
  /// this file.
  ///
  /// Throws `fileMoved`, `hardLinked`; `permissionDenied` if it cannot be given the owner of this
  /// file; and what the volume and the device throw.
  package func createReplacement() throws(Fault) -> LogFile {
    try checkWriting()
    guard let lock = group.fileLock else { throw Fault(.readOnly, "the file was opened for reading") }
    try checkReplaceable()
    let file = try createBeside(path, lock, of: header.databaseID)
    // The lock stays with the file that is in place.
    file.keepLock()
    return file
  }

  /// *Writer.* Throws what `createReplacement` would throw for the place, the names and the owner
  /// of this file. Leaves nothing behind.
  package func proveReplaceable() throws(Fault) {
    try checkWriting()
    try checkReplaceable()
    let unfinished = SideName.path(path, LogFile.replacementSuffix)
    try volume.removeIfPresent(unfinished)
    let probe = try volume.open(
      unfinished, .createExclusive(permissions: LogFile.ownerWrites))
    defer {
      probe.close()
      LogFile.removeLeftover(unfinished, on: volume)
    }
    try probe.copyAttributes(from: device)
  }

  /// An empty file that is to be a database of its own at `path`, opened for writing under its own
  /// lock. `recover` must be called for it.
  ///
  /// It belongs to this process's user, who can write to it; otherwise permissions are those of
  /// this file. Attributes do not come along.
  ///
  /// Throws `alreadyExists`, `lockedByThisProcess`, `lockedByOtherProcess`, and what the volume and
  /// the device throw.
  package func createCopy(at path: String) throws(Fault) -> LogFile {
    let path = try volume.resolved(path)
    try LogFile.refuseExisting(path, on: volume)
    let lock = try volume.lockForWriting(path)
    do throws(Fault) {
      try LogFile.refuseExisting(path, on: volume)
      return try createBeside(path, lock, of: nil)
    } catch {
      lock.unlock()
      throw error
    }
  }

  private func createBeside(
    _ path: String, _ lock: any FileLock, of databaseID: DatabaseID?
  ) throws(Fault) -> LogFile {
    let unfinished = SideName.path(path, LogFile.replacementSuffix)
    try volume.removeIfPresent(unfinished)
    // Until a replacement has the owner and the access control list of the old file, it is nobody
    // else's.
    let permissions: UInt16 =
      databaseID == nil ? try device.permissions() | LogFile.ownerWrites : LogFile.ownerWrites
    let old = device
    let device = try volume.open(unfinished, .createExclusive(permissions: permissions))
    do throws(Fault) {
      if databaseID != nil { try device.copyAttributes(from: old) }
      guard try device.lockForWriting() else {
        throw Fault(.lockedByOtherProcess, "another process writes to this file", path: unfinished)
      }
      let there = try volume.open(unfinished, .readOnly)
      defer { there.close() }
      try LogFile.letReadersIn(to: device, asking: there)
      let header = try LogFile.writeEmptyFile(to: device, environment, of: databaseID)
      let mapping = try MappedFile(device, covering: FileLayout.logStart, ahead: LogFile.mappedAhead)
      let opened = Opened(device: device, header: header, mapping: mapping, fileLock: lock)
      return LogFile(opened, on: volume, path: path, environment: environment)
    } catch {
      device.close()
      LogFile.removeLeftover(unfinished, on: volume)
      throw error
    }
  }

  /// Whether this file is to take the place of another, which has the lock.
  package var isReplacement: Bool { group.locked { $0.keepsLock } }

  /// Gives a copy, all of which is durable, its name.
  package func settle() throws(Fault) {
    try rename()
    try volume.syncDirectory(containing: path)
  }

  private func rename() throws(Fault) {
    try volume.rename(SideName.path(path, LogFile.replacementSuffix), to: path)
    device.wasRenamed(to: path)
  }

  /// Puts this file, all of which is durable, in the place of the one that it was made beside.
  ///
  /// Owner, permissions and attributes are those that the old one has now. Throws `fileMoved` if
  /// the old file is not at its path any more: somebody removed it, renamed it or put another
  /// there, which must not be lost. `hardLinked` if it has another name, which would keep the old
  /// file. After that, or a throw of the rename, nothing has changed. If the directory cannot be
  /// synced, nobody knows which file a power cut would leave: nothing may be written to either any
  /// more, and both are poisoned.
  package func takePlace(of old: LogFile) throws(Fault) {
    try old.checkReplaceable()
    try device.copyAttributes(from: old.device)
    // Commits that are on their way to the old file are in this one, too.
    old.group.locked { $0.isReplaced = true }
    do throws(Fault) {
      try rename()
    } catch {
      old.group.locked { $0.isReplaced = false }
      throw error
    }
    old.keepLock()
    group.locked { $0.keepsLock = false }
    do throws(Fault) {
      try volume.syncDirectory(containing: path)
    } catch {
      for file in [old, self] { file.group.locked { $0.end(with: error) } }
      throw error
    }
  }

  private func checkReplaceable() throws(Fault) {
    try group.checkPlace()
    guard case .kept(let links) = try device.place(), links > 1 else { return }
    throw Fault(
      .hardLinked,
      "the file has \(links) names (hard links): a compaction would make a database of its own of each",
      path: path)
  }

  /// Closes and removes a file that did not come to take the other's place. Best effort: the next
  /// open for writing removes what is left.
  package func discard() {
    close()
    LogFile.removeLeftover(SideName.path(path, LogFile.replacementSuffix), on: volume)
  }

  /// Where interrupted work leaves files beside the database at `path`.
  package static func unfinished(of path: String) -> [String] {
    [creationSuffix, replacementSuffix, BackupFile.suffix].map { SideName.path(path, $0) }
  }

  /// Where a database is made, beside the place at `path` that it is to be put in once it is whole.
  package static func staging(of path: String) -> String { SideName.path(path, ".installing") }

  /// Removes a database that was made there, or what of it there is. Under the lock of `path`.
  package static func removeStaging(of path: String, on volume: any Volume) {
    let staging = staging(of: path)
    for leftover in [staging, SideName.path(staging, SideName.lock)] + unfinished(of: staging) {
      removeLeftover(leftover, on: volume)
    }
  }

  /// Removes what interrupted work has left beside a database. Under its lock.
  static func removeLeftovers(of path: String, on volume: any Volume) {
    for leftover in unfinished(of: path) { removeLeftover(leftover, on: volume) }
    removeStaging(of: path, on: volume)
  }

  static func removeLeftover(_ path: String, on volume: any Volume) {
    do {
      try volume.removeIfPresent(path)
    } catch {
      // It takes space and does nothing else; opening the database is worth more than removing it.
      return
    }
  }

  /// From here on closing this file leaves the lock of the writing process alone.
  private func keepLock() { group.locked { $0.keepsLock = true } }

  /// *Writer, no transaction open.* The next transaction gets the number after this one.
  package func continueTransactions(after number: UInt64) {
    precondition(!append.pointee.isOpen && number >= append.pointee.transaction)
    append.pointee.transaction = number
  }
}

extension LogFile {
  /// All that a copy of this file is to have: what has been committed, which is flushed first; of a
  /// file that was taken away, all that is in it.
  package func flushForCopy() throws(Fault) -> CommitPosition {
    if isMoved { return writtenPosition }
    let end = committedPosition
    if !isReadOnly { try flush(through: end, durable: false) }
    return end
  }
}

/// Reads what a log brings from some place on, in the process that writes it.
package struct LogFollower {
  private let log: LogFile
  private var replay = LogReplay(provesFrames: true)
  /// All frames before it have been read.
  package private(set) var offset: UInt64

  /// - Parameter start: where a checkpoint says that the log goes on.
  package init(_ log: LogFile, from start: ReplayPosition) {
    self.log = log
    offset = start.offset
  }

  /// Gives `apply` the operations of the transactions that end before `position`, which has been
  /// flushed, after each frame was proved once more.
  ///
  /// Throws `outOfSpace` if the log had to begin anew beyond where this one stands; and what
  /// `apply` throws.
  package mutating func advance(through position: CommitPosition, apply: ReplayAction) throws(Fault) {
    guard log.group.locked({ $0.chainStart }) <= offset else {
      throw Fault(.outOfSpace, "the disk was full meanwhile")
    }
    guard position.offset > offset else { return }
    try replay.apply(view: log.view, from: offset, to: position.offset, apply)
    offset = position.offset
  }
}
