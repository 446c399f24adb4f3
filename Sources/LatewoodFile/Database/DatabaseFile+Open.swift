import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

extension DatabaseFile {
  /// The components of an open `DatabaseFile`.
  struct Opened {
    var device: any Device
    var header: FileHeader
    var mapping: MappedFile
    /// The lock of the writing process; nil if the file is read-only.
    var fileLock: (any FileLock)?
    /// The encrypted key of an encrypted file; nil for any other.
    var wrap: KeyWrap?
    /// The state from which the file must descend.
    var expected: StateAnchor?
  }

  /// Opens the database at `path`; `recover` must be called before anything else.
  ///
  /// Opening for writing takes the writer lock. A read-only open works alongside a writer in any
  /// process.
  ///
  /// Throws `notFound`, `isDirectory`, `permissionDenied`, `readOnlyMedia`, `emptyFile`,
  /// `notADatabase`, `tooNew`, `damaged`, `lockedByThisProcess`, `lockedByOtherProcess`,
  /// `cancelled` if the wait for the lock was cancelled, and errors of the device.
  /// An encrypted file throws `keyNeeded` without a key, and `wrongKey`; any other throws
  /// `notEncrypted` with one, or with an anchor.
  ///
  /// - Parameters:
  ///   - key: the key of an encrypted file; nil for any other.
  ///   - expected: an anchor, which `recover` then looks for: see `checkDescent`.
  ///   - wait: how long to wait if another open has the writer lock.
  package static func open(
    on volume: any Volume, path: String, readOnly: Bool, environment: Environment,
    key: EncryptionKey? = nil, expecting expected: StateAnchor? = nil, waiting wait: LockWait = .none
  ) throws(StorageError) -> DatabaseFile {
    while true {
      do throws(StorageError) {
        return try openOnce(on: volume, path: path, readOnly: readOnly, environment, key, expected, wait)
      } catch {
        // The lock file was free, but the file itself is still locked, or was just replaced: its
        // writer is closing it. No call waits for that.
        guard error.kind == .lockedByOtherProcess, wait.pause() else { throw error }
      }
    }
  }

  private static func openOnce(
    on volume: any Volume, path: String, readOnly: Bool, _ environment: Environment,
    _ key: EncryptionKey?, _ expected: StateAnchor?, _ wait: LockWait
  ) throws(StorageError) -> DatabaseFile {
    let path = try volume.resolved(path)
    // Checked before locking, which would leave a lock file for a database that does not exist.
    guard try volume.exists(path) else {
      throw StorageError(.notFound, "the file does not exist", path: path)
    }
    // Likewise, no lock file is left next to a file that is not a database or cannot be written.
    if !readOnly { try refuseForeign(path, on: volume) }
    let lock: (any FileLock)? = readOnly ? nil : try volume.lockForWriting(path, waiting: wait)
    do throws(StorageError) {
      let device = try volume.open(path, readOnly ? .readOnly : .readWrite)
      do throws(StorageError) {
        if readOnly {
          try device.lockForReading()
        } else {
          try claim(device, path, on: volume)
          removeLeftovers(of: path, on: volume)
        }
        let file = try unlocked(device, try readHeader(device, path), key, environment)
        if expected != nil, file.cipher == nil { throw StateAnchor.needsEncryption }
        let mapping = try MappedFile(
          file.device, covering: try device.size(), ahead: readOnly ? 0 : LogMapping.ahead,
          cipher: file.cipher)
        let opened = Opened(
          device: file.device, header: file.header, mapping: mapping, fileLock: lock, wrap: file.wrap,
          expected: expected)
        return DatabaseFile(opened, on: volume, path: path, environment: environment)
      } catch {
        device.close()
        throw error
      }
    } catch {
      // A database that was deleted while this waited has no lock file either.
      if error.kind == .notFound { lock?.remove() } else { lock?.unlock() }
      var failure = error
      failure.path = failure.path ?? path
      throw failure
    }
  }

  /// Ensures that other processes cannot write to this file, even if the lock file was removed.
  private static func claim(_ device: any Device, _ path: String, on volume: any Volume) throws(StorageError)
  {
    guard try device.lockForWriting() else {
      throw StorageError(
        .lockedByOtherProcess,
        "the database is open for writing, though its lock file was removed; open it read-only", path: path)
    }
    // The previous lock owner may just have replaced the file.
    let there = try volume.open(path, .readOnly)
    defer { there.close() }
    guard there.identity == device.identity else {
      throw StorageError(.lockedByOtherProcess, "the file was just replaced by another one", path: path)
    }
    try admitReaders(to: device, asking: there)
  }

  /// Releases the write lock on the file on systems where it would lock out readers, including
  /// readers in this process.
  ///
  /// Readers take a `flock`, and the write lock is a byte-range lock beyond the end of the file, so
  /// both can be held at the same time. But NFS and SMB turn each `flock` into a lock on all
  /// possible bytes of a file, so on these only the lock file excludes other writers.
  ///
  /// - Parameter other: another open device for the same file.
  static func admitReaders(to device: any Device, asking other: any Device) throws(StorageError) {
    if try other.tryLockForReading() { return }
    device.unlockWriting()
    if try other.tryLockForReading() { return }
    // The lock failed because another process briefly holds an exclusive lock, so the write lock is
    // taken again.
    _ = try device.lockForWriting()
  }

  /// Throws if the file is not a database, with the error of an open for writing. Reads only the
  /// header, which never changes.
  private static func refuseForeign(_ path: String, on volume: any Volume) throws(StorageError) {
    do throws(StorageError) {
      let device = try volume.open(path, .readWrite)
      defer { device.close() }
      _ = try readHeader(device, path)
    } catch {
      var failure = error
      failure.path = failure.path ?? path
      throw failure
    }
  }

  static func readHeader(_ device: any Device, _ path: String) throws(StorageError) -> FileHeader {
    let size = try device.size()
    if size == 0 {
      throw StorageError(
        .emptyFile, "the file is empty: a new database is created only if the file does not exist yet",
        path: path)
    }
    let header = try withScratch(2 * FileLayout.headerLength) { block throws(StorageError) in
      let count = try device.read(into: block, at: 0)
      return try FileHeader.decode(from: UnsafeRawBufferPointer(rebasing: block[..<count]))
    }
    guard size >= FileLayout.logStart else {
      throw StorageError.damaged(at: size, "the file ends within its root slots")
    }
    return header
  }
}

// MARK: - Creating

extension DatabaseFile {
  /// Creates an empty database at `path`. A crash at any point leaves either no database or a
  /// complete one.
  ///
  /// The database is written to NAME.creating, synced and renamed, and the directory is synced.
  /// Leftovers of earlier attempts are removed.
  ///
  /// - Parameters:
  ///   - permissions: permission bits of the new file.
  ///   - encryption: how the file is encrypted; nil if it is not.
  ///   - wait: how long to wait if another open has the writer lock.
  ///
  /// Throws `alreadyExists`, `lockedByThisProcess`, `lockedByOtherProcess`, `cancelled` if the wait
  /// for the lock was cancelled, and errors of the volume.
  package static func create(
    on volume: any Volume, path: String, environment: Environment, permissions: UInt16 = 0o600,
    encryption: NewEncryption? = nil, waiting wait: LockWait = .none
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
      _ = try writeEmptyFile(
        to: device, environment, encryption: try encryption?.secret(environment: environment))
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
  /// - Parameters:
  ///   - databaseID: the id of an existing database; nil for a new database, which gets a new id.
  ///   - encryption: the key of the file, and its encrypted form; nil if it is not encrypted.
  /// - Returns: the header, and the cipher that it needs.
  static func writeEmptyFile(
    to device: any Device, _ environment: Environment, of databaseID: DatabaseID? = nil,
    encryption: FileSecret? = nil
  ) throws(StorageError) -> (header: FileHeader, cipher: FileCipher?) {
    try withScratch(Int(FileLayout.logStart)) { block throws(StorageError) in
      let now = environment.now()
      var header = FileHeader(
        fileID: (environment.random(), environment.random()),
        databaseID: databaseID ?? DatabaseID(first: environment.random(), last: environment.random()),
        created: now, suite: encryption?.suite)
      let cipher = encryption?.cipher(of: header, environment)
      if let cipher { header.unlock(with: cipher) }
      encodeEmptyFile(header, into: block, time: now, wrap: encryption?.wrap)
      try device.write(UnsafeRawBufferPointer(block), at: 0)
      return (header, cipher)
    }
  }

  static func refuseExisting(_ path: String, on volume: any Volume) throws(StorageError) {
    if try volume.exists(path) {
      throw StorageError(.alreadyExists, "there is already a file of this name", path: path)
    }
  }

  /// Writes the first 16 KiB of a file without commits.
  ///
  /// - Parameters:
  ///   - time: the time in its root slots, in microseconds since 1970.
  ///   - wrap: the encrypted key of an encrypted file.
  static func encodeEmptyFile(
    _ header: FileHeader, into block: UnsafeMutableRawBufferPointer, time: UInt64, wrap: KeyWrap? = nil
  ) {
    header.encode(into: block.part(0, FileLayout.headerLength))
    header.encode(into: block.part(FileLayout.headerCopyOffset, FileLayout.headerLength))
    for generation in 0..<2 {
      let target = block.part(FileLayout.slotOffset(generation), FileLayout.slotBlockLength)
      RootSlot(generation: UInt64(generation), time: time)
        .encode(into: target, codec: header.codec, wrap: wrap)
    }
  }
}
