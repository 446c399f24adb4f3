import LatewoodBytes
import LatewoodDevice

/// Another file that is written beside this one, to take its place: what a compaction works on.
///
/// ```
/// createReplacement     NAME.compacting, under the lock of NAME
/// takePlace             NAME.compacting -> NAME, directory synced
/// discard               NAME.compacting removed
/// ```
///
/// After a crash at any point NAME is the old file or the new one, whole; `removeLeftovers` clears what else there is.
extension LogFile {
  private static let replacementSuffix = ".compacting"

  /// *Writer.* An empty file beside this one, opened for writing under this one's lock. `recover` must be called for it.
  ///
  /// What an earlier attempt has left is removed. Permissions are those of this file.
  ///
  /// Throws what the volume and the device throw.
  package func createReplacement() throws(Fault) -> LogFile {
    try checkWriting()
    let unfinished = path + LogFile.replacementSuffix
    if try volume.exists(unfinished) { try volume.remove(unfinished) }
    let permissions = try device.permissions()
    let device = try volume.open(unfinished, .createExclusive(permissions: permissions))
    do throws(Fault) {
      let header = try LogFile.writeEmptyFile(to: device, environment)
      let opened = Opened(device: device, header: header, space: try device.map(), fileLock: group.fileLock)
      let file = LogFile(opened, on: volume, path: path, environment: environment)
      // The lock stays with the file that is in place.
      file.keepLock()
      return file
    } catch {
      device.close()
      LogFile.removeLeftover(unfinished, on: volume)
      throw error
    }
  }

  /// Puts this file, all of which is durable, in the place of the one that it was made beside.
  ///
  /// After a throw of the rename nothing has changed. If the directory cannot be synced, nobody knows which file a power cut would leave:
  /// nothing may be written to either any more, and both are poisoned.
  package func takePlace(of old: LogFile) throws(Fault) {
    try volume.rename(path + LogFile.replacementSuffix, to: path)
    old.keepLock()
    group.locked { $0.keepsLock = false }
    do throws(Fault) {
      try volume.syncDirectory(containing: path)
    } catch {
      for file in [old, self] { file.group.locked { $0.end(with: error) } }
      throw error
    }
  }

  /// Closes and removes a file that did not come to take the other's place. Best effort: the next open for writing removes what is left.
  package func discard() {
    close()
    LogFile.removeLeftover(path + LogFile.replacementSuffix, on: volume)
  }

  /// Removes what interrupted work has left beside a database. Under its lock.
  static func removeLeftovers(of path: String, on volume: any Volume) {
    for suffix in [creationSuffix, replacementSuffix] { removeLeftover(path + suffix, on: volume) }
  }

  private static func removeLeftover(_ path: String, on volume: any Volume) {
    do {
      if try volume.exists(path) { try volume.remove(path) }
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

/// Reads what a log brings from some place on, in the process that writes it.
package struct LogFollower {
  private let log: LogFile
  private var replay = LogReplay()
  /// All frames before it have been read.
  package private(set) var offset: UInt64

  /// - Parameter start: where a checkpoint says that the log goes on.
  package init(_ log: LogFile, from start: ReplayPosition) {
    self.log = log
    offset = start.offset
  }

  /// Gives `apply` the operations of the transactions that end before `position`, which has been flushed.
  ///
  /// Throws `outOfSpace` if the log had to begin anew beyond where this one stands; and what `apply` throws.
  package mutating func advance(through position: CommitPosition, apply: ReplayAction) throws(Fault) {
    guard log.group.locked({ $0.chainStart }) <= offset else {
      throw Fault(.outOfSpace, "the disk was full meanwhile")
    }
    guard position.offset > offset else { return }
    try replay.apply(view: log.view, from: offset, to: position.offset, apply)
    offset = position.offset
  }
}
