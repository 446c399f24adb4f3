import LatewoodBytes
import LatewoodDevice

extension LogFile {
  /// What an open file starts from.
  struct Opened {
    var device: any Device
    var header: FileHeader
    var mapping: MappedFile
    /// Nil: read only.
    var fileLock: (any FileLock)?
  }

  /// Makes an empty database at `path`: after a crash at any point there is either none or a whole
  /// one.
  ///
  /// It is written to NAME.creating, synced, renamed, and the directory is synced. What earlier
  /// attempts have left is removed.
  ///
  /// - Parameter permissions: of the new file.
  ///
  /// Throws `alreadyExists`, `lockedByThisProcess`, `lockedByOtherProcess`, and what the volume
  /// throws.
  package static func create(
    on volume: any Volume, path: String, environment: Environment, permissions: UInt16 = 0o600
  ) throws(Fault) {
    let path = try volume.resolved(path)
    try refuseExisting(path, on: volume)
    let lock = try volume.lockForWriting(path)
    defer { lock.unlock() }
    // Once more: another process may have made it before the lock was ours.
    try refuseExisting(path, on: volume)
    // All of them: where one of these names is too long for the file system, no database is made
    // that could not be compacted or backed up.
    for leftover in LogFile.unfinished(of: path) { try volume.removeIfPresent(leftover) }
    removeStaging(of: path, on: volume)
    let unfinished = SideName.path(path, creationSuffix)
    let device = try volume.open(unfinished, .createExclusive(permissions: permissions))
    defer { device.close() }
    do throws(Fault) {
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

  /// The first 16 KiB of a new file.
  ///
  /// - Parameter databaseID: nil: it is a database of its own.
  static func writeEmptyFile(
    to device: any Device, _ environment: Environment, of databaseID: DatabaseID? = nil
  ) throws(Fault) -> FileHeader {
    try withScratch(Int(FileLayout.logStart)) { block throws(Fault) in
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

  static func refuseExisting(_ path: String, on volume: any Volume) throws(Fault) {
    if try volume.exists(path) {
      throw Fault(.alreadyExists, "there is already a file of this name", path: path)
    }
  }

  /// Writes the first 16 KiB of a file without commits.
  ///
  /// - Parameter time: of its root slots.
  static func encodeEmptyFile(
    _ header: FileHeader, into block: UnsafeMutableRawBufferPointer, time: UInt64
  ) {
    header.encode(into: block.part(0, FileLayout.headerLength))
    header.encode(into: block.part(FileLayout.headerCopyOffset, FileLayout.headerLength))
    for generation in 0..<2 {
      let target = block.part(FileLayout.slotOffset(generation), FileLayout.slotBlockLength)
      RootSlot(generation: UInt64(generation), time: time).encode(into: target, seed: header.seed)
    }
  }

  /// Opens the database at `path`; `recover` must be called before anything else.
  ///
  /// Opening for writing takes the lock of the one writing process. Opening read-only works beside
  /// a writer, also of another process.
  ///
  /// Throws `notFound`, `isDirectory`, `permissionDenied`, `readOnlyMedia`, `emptyFile`,
  /// `notADatabase`, `tooNew`, `damaged`, `lockedByThisProcess`, `lockedByOtherProcess`, and what
  /// the device throws.
  package static func open(
    on volume: any Volume, path: String, readOnly: Bool, environment: Environment
  ) throws(Fault) -> LogFile {
    let path = try volume.resolved(path)
    // Asked before the lock, which would make a file of its own beside one that is not there.
    guard try volume.exists(path) else {
      throw Fault(.notFound, "there is no file of this name", path: path)
    }
    // For the same reason: nothing is left beside what is no database, or cannot be written.
    if !readOnly { try refuseForeign(path, on: volume) }
    let lock: (any FileLock)? = readOnly ? nil : try volume.lockForWriting(path)
    do throws(Fault) {
      let device = try volume.open(path, readOnly ? .readOnly : .readWrite)
      do throws(Fault) {
        if readOnly {
          try device.lockForReading()
        } else {
          try claim(device, path, on: volume)
          removeLeftovers(of: path, on: volume)
        }
        let header = try readHeader(device, path)
        let mapping = try MappedFile(
          device, covering: try device.size(), ahead: readOnly ? 0 : LogFile.mappedAhead)
        let opened = Opened(device: device, header: header, mapping: mapping, fileLock: lock)
        return LogFile(opened, on: volume, path: path, environment: environment)
      } catch {
        device.close()
        throw error
      }
    } catch {
      lock?.unlock()
      var fault = error
      fault.path = fault.path ?? path
      throw fault
    }
  }

  /// Makes sure that nobody else writes to this file, whatever has become of the lock file.
  private static func claim(_ device: any Device, _ path: String, on volume: any Volume) throws(Fault) {
    guard try device.lockForWriting() else {
      throw Fault(
        .lockedByOtherProcess,
        "the database is open for writing, though its lock file was removed; open it read-only", path: path)
    }
    // Whoever had it may have put another file in its place just before.
    let there = try volume.open(path, .readOnly)
    defer { there.close() }
    guard there.identity == device.identity else {
      throw Fault(.lockedByOtherProcess, "another file was just put in the place of this one", path: path)
    }
    try letReadersIn(to: device, asking: there)
  }

  /// Gives the lock for writing up again where it keeps readers out, this process's own among them.
  ///
  /// Readers take a `flock`, and the lock for writing is one on a byte beyond the end of the file,
  /// so that both can be had at the same time. But NFS and SMB make each `flock` into a lock on all
  /// bytes that a file can have. There the lock file alone has to do.
  ///
  /// - Parameter other: another open of the same file.
  static func letReadersIn(to device: any Device, asking other: any Device) throws(Fault) {
    if try other.tryLockForReading() { return }
    device.unlockWriting()
    if try other.tryLockForReading() { return }
    // Somebody else keeps readers out for a moment.
    _ = try device.lockForWriting()
  }

  /// Throws what opening for writing throws of a file that is no database. Only its header is
  /// looked at, which nobody changes.
  private static func refuseForeign(_ path: String, on volume: any Volume) throws(Fault) {
    do throws(Fault) {
      let device = try volume.open(path, .readWrite)
      defer { device.close() }
      _ = try readHeader(device, path)
    } catch {
      var fault = error
      fault.path = fault.path ?? path
      throw fault
    }
  }

  static func readHeader(_ device: any Device, _ path: String) throws(Fault) -> FileHeader {
    let size = try device.size()
    if size == 0 {
      throw Fault(.emptyFile, "the file is empty: a new database is only made where no file is", path: path)
    }
    let header = try withScratch(2 * FileLayout.headerLength) { block throws(Fault) in
      let count = try device.read(into: block, at: 0)
      return try FileHeader.decode(from: UnsafeRawBufferPointer(rebasing: block[..<count]))
    }
    guard size >= FileLayout.logStart else {
      throw Fault.damaged(at: size, "the file ends within its root slots")
    }
    return header
  }
}

/// Runs `body` with `count` zeroed bytes that are gone afterwards.
func withScratch<Result>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Fault) -> Result
) throws(Fault) -> Result {
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
  defer { bytes.deallocate() }
  bytes.initializeMemory(as: UInt8.self, repeating: 0)
  return try body(bytes)
}

extension UnsafeMutableRawBufferPointer {
  func part(_ offset: UInt64, _ length: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: self[Int(offset)..<Int(offset) + length])
  }
}
