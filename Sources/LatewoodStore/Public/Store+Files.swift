import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Operations on database files that are not open.
extension Store {
  /// Returns whether there is a file at a path, which need not be a database.
  ///
  /// - Parameter path: a path as for ``open(at:mode:options:)``.
  /// - Throws: ``StoreError`` `permissionDenied`, `invalidName` or `inputOutput` if this cannot be
  ///   determined.
  public static func exists(at path: String) throws -> Bool { try exists(at: path, on: FileVolume()) }

  /// Deletes a database that is not open for writing, and its lock file. Readers that have it open
  /// can continue. Once this has returned, the deletion survives a power cut.
  ///
  /// The key of an encrypted database is not needed.
  ///
  /// Complexity: the same as opening the database read-only, which replays the log since the last
  /// checkpoint.
  ///
  /// - Parameter path: a path as for ``open(at:mode:options:)``. If it is a symbolic link, its
  ///   target is deleted.
  /// - Returns: false if the file did not exist.
  /// - Throws: ``StoreError`` `lockedByThisProcess` or `lockedByOtherProcess` if it is open for
  ///   writing; `notADatabase`, and every other error of opening it read-only, so that no other
  ///   file is deleted by mistake; `permissionDenied`, `readOnlyMedia`, `inputOutput`.
  @discardableResult
  public static func delete(at path: String) throws -> Bool { try delete(at: path, on: FileVolume()) }

  package static func exists(at path: String, on volume: any Volume) throws(StoreError) -> Bool {
    do { return try volume.exists(path) } catch { throw StoreError(error, path: path) }
  }

  package static func delete(at path: String, on volume: any Volume) throws -> Bool {
    guard try exists(at: path, on: volume) else { return false }
    try refuseForeign(path, on: volume)
    do throws(StorageError) {
      let path = try volume.resolved(path)
      let lock: any FileLock
      do throws(StorageError) { lock = try volume.lockForWriting(path) } catch {
        var failure = error
        failure.advice = "Close the database first, here and in other processes."
        throw failure
      }
      defer { lock.unlock() }
      try volume.remove(path)
      lock.remove()
      try volume.syncDirectory(containing: path)
      return true
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Installs a new database at a path without a file. A closure builds it at another path in the
  /// same directory.
  ///
  /// ```
  /// build     NAME.installing, under the lock of NAME
  /// rename    NAME.installing -> NAME, directory synced
  /// ```
  ///
  /// After a crash at any moment NAME does not exist, or is complete. A remaining NAME.installing
  /// is removed by the next attempt, and by opening NAME for writing.
  ///
  /// - Parameters:
  ///   - path: the path of the new database.
  ///   - volume: the volume of that path.
  ///   - build: creates a complete, durable and closed database at the given path.
  /// - Throws: ``StoreError`` `alreadyExists`; `lockedByThisProcess` or `lockedByOtherProcess` if
  ///   another thread or process is creating a database there; `inputOutput`, `outOfSpace`. Errors
  ///   of `build` unchanged.
  package static func install(
    at path: String, on volume: any Volume = FileVolume(), _ build: (_ staging: String) throws -> Void
  ) throws {
    do {
      let path = try volume.resolved(path)
      try refuseExisting(path, on: volume)
      let lock = try volume.lockForWriting(path)
      defer { lock.unlock() }
      // Another process may have created a file before this one got the lock.
      try refuseExisting(path, on: volume)
      DatabaseFile.removeStaging(of: path, on: volume)
      defer { DatabaseFile.removeStaging(of: path, on: volume) }
      let staging = DatabaseFile.staging(of: path)
      try build(staging)
      try volume.rename(staging, to: path)
      try volume.syncDirectory(containing: path)
    } catch let failure as StorageError {
      throw StoreError(failure, path: path)
    }
  }

  /// Replaces a database that is not open with a new one, or installs the new one if there is no
  /// file. A closure builds the new one at another path in the same directory.
  ///
  /// ```
  /// build     NAME.installing, under the lock of NAME
  /// lock      NAME, against readers
  /// rename    NAME.installing -> NAME, directory synced
  /// ```
  ///
  /// After a crash at any moment NAME is the old database or the new one, each complete. A damaged
  /// database can be replaced, but no other file.
  ///
  /// - Parameters:
  ///   - path: the path of the database. If it is a symbolic link, its target is replaced.
  ///   - volume: the volume of that path.
  ///   - build: creates a complete, durable and closed database at the given path.
  /// - Throws: ``StoreError`` `lockedByThisProcess` or `lockedByOtherProcess` if the database is
  ///   open, or being created; `notADatabase`, and every other error of opening it read-only except
  ///   `damaged`; `inputOutput`, `outOfSpace`. Errors of `build` unchanged.
  package static func replace(
    at path: String, on volume: any Volume = FileVolume(), _ build: (_ staging: String) throws -> Void
  ) throws {
    do {
      let path = try volume.resolved(path)
      try refuseOthers(path, on: volume)
      let lock = try volume.lockForWriting(path)
      defer { lock.unlock() }
      // Also checked before the work, because most readers will keep the database open.
      try alone(path, on: volume) { () throws(StorageError) in }
      DatabaseFile.removeStaging(of: path, on: volume)
      defer { DatabaseFile.removeStaging(of: path, on: volume) }
      let staging = DatabaseFile.staging(of: path)
      try build(staging)
      try alone(path, on: volume) { () throws(StorageError) in try volume.rename(staging, to: path) }
      try volume.syncDirectory(containing: path)
    } catch let failure as StorageError {
      throw StoreError(failure, path: path)
    }
  }

  /// Throws if there is a file that is not a database of this version.
  private static func refuseOthers(_ path: String, on volume: any Volume) throws {
    guard try volume.exists(path) else { return }
    do throws(StoreError) {
      try refuseForeign(path, on: volume)
    } catch {
      // A damaged database may be replaced.
      guard error.code == .damaged else { throw error }
    }
  }

  /// Throws the errors of opening a file read-only. Of an encrypted file, only the header is read.
  private static func refuseForeign(_ path: String, on volume: any Volume) throws(StoreError) {
    var options = Options()
    options.encryptionKey = nil
    do throws(StoreError) {
      let store = try open(at: path, on: volume, mode: .readOnly, options: options, environment: .system)
      do throws(StorageError) { try store.engine.close() } catch { throw StoreError(error, path: path) }
    } catch {
      guard error.code == .keyNeeded else { throw error }
    }
  }

  /// Runs a closure while no process reads the file at a path. Attempts to open the file wait for
  /// its end.
  private static func alone(
    _ path: String, on volume: any Volume, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    guard try volume.exists(path) else { return try body() }
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    guard try device.tryLockExclusively() else {
      var failure = StorageError(.lockedByOtherProcess, "the database is open for reading", path: path)
      failure.advice = "Close the database first, here and in other processes."
      throw failure
    }
    defer { device.unlockExclusively() }
    try body()
  }

  private static func refuseExisting(_ path: String, on volume: any Volume) throws(StorageError) {
    guard try volume.exists(path) else { return }
    throw StorageError(.alreadyExists, "there is already a file", path: path)
  }
}

extension Store {
  /// Returns the paths of the files that an unfinished compaction, copy or backup into the file at
  /// `path` leaves behind.
  package static func unfinishedFiles(beside path: String) -> [String] { DatabaseFile.unfinished(of: path) }
}
