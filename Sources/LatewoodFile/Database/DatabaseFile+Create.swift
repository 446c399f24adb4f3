import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

extension DatabaseFile {
  /// Creates an empty database at `path`. A crash at any point leaves either no database or a
  /// complete one.
  ///
  /// The database is written to NAME.creating, synced and renamed, and the directory is synced.
  /// Leftovers of earlier attempts are removed.
  ///
  /// - Parameters:
  ///   - permissions: permission bits of the new file.
  ///   - wait: the patience if another open has the writer lock.
  ///
  /// Throws `alreadyExists`, `lockedByThisProcess`, `lockedByOtherProcess`, `cancelled` if the wait
  /// for the lock was cancelled, and errors of the volume.
  package static func create(
    on volume: any Volume, path: String, environment: Environment, permissions: UInt16 = 0o600,
    waiting wait: LockWait = .none
  ) throws(StorageError) {
    let path = try volume.resolved(path)
    try refuseExisting(path, on: volume)
    let lock = try volume.lockForWriting(path, waiting: wait)
    defer { lock.unlock() }
    // Checked again: another process may have created it before this one got the lock.
    try refuseExisting(path, on: volume)
    // All of them: this throws if one of the names is too long for the file system, so that no
    // database is created that could not be compacted or backed up.
    for leftover in DatabaseFile.unfinished(of: path) { try volume.removeIfPresent(leftover) }
    removeStaging(of: path, on: volume)
    let unfinished = SideName.path(path, creationSuffix)
    let device = try volume.open(unfinished, .createExclusive(permissions: permissions))
    defer { device.close() }
    do throws(StorageError) {
      _ = try writeEmptyFile(to: device, environment)
      try device.sync()
      try volume.rename(unfinished, to: path)
    } catch {
      removeLeftover(unfinished, on: volume)
      throw error
    }
    try volume.syncDirectory(containing: path)
  }

  static let creationSuffix = ".creating"

  /// Writes the first 16 KiB of a new file.
  ///
  /// - Parameter databaseID: the id of an existing database; nil for a new database, which gets a
  ///   new id.
  static func writeEmptyFile(
    to device: any Device, _ environment: Environment, of databaseID: DatabaseID? = nil
  ) throws(StorageError) -> FileHeader {
    try withScratch(Int(FileLayout.logStart)) { block throws(StorageError) in
      let now = environment.now()
      let header = FileHeader(
        fileID: (environment.random(), environment.random()),
        databaseID: databaseID ?? DatabaseID(first: environment.random(), last: environment.random()),
        created: now)
      encodeEmptyFile(header, into: block, time: now)
      try device.write(UnsafeRawBufferPointer(block), at: 0)
      return header
    }
  }

  static func refuseExisting(_ path: String, on volume: any Volume) throws(StorageError) {
    if try volume.exists(path) {
      throw StorageError(.alreadyExists, "there is already a file of this name", path: path)
    }
  }

  /// Writes the first 16 KiB of a file without commits.
  ///
  /// - Parameter time: the time in its root slots, in microseconds since 1970.
  static func encodeEmptyFile(
    _ header: FileHeader, into block: UnsafeMutableRawBufferPointer, time: UInt64
  ) {
    header.encode(into: block.part(0, FileLayout.headerLength))
    header.encode(into: block.part(FileLayout.headerCopyOffset, FileLayout.headerLength))
    for generation in 0..<2 {
      let target = block.part(FileLayout.slotOffset(generation), FileLayout.slotBlockLength)
      RootSlot(generation: UInt64(generation), time: time).encode(into: target, codec: header.codec)
    }
  }
}
