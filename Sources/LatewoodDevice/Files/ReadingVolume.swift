import LatewoodBytes

/// The way in which files are brought into memory.
package enum FileReading: Sendable, Equatable {
  /// Maps the file. If it is remote, or the system cannot map it, reads it through a cache instead.
  case automatic
  case mapped
  /// Reads each file into a cache of this size, in memory of the process.
  case buffered(cacheBytes: Int)
}

/// A file system that maps its files or reads them through a cache.
package final class ReadingVolume: Volume {
  private let volume: any Volume
  private let reading: FileReading

  package init(_ volume: any Volume, _ reading: FileReading) {
    self.volume = volume
    self.reading = reading
  }

  package func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device {
    let device = try volume.open(path, mode)
    switch reading {
    case .mapped: return device
    case .buffered(let length): return BufferedDevice(device, cacheBytes: length)
    case .automatic:
      if !device.isRemote, try ReadingVolume.canBeMapped(device) { return device }
      return BufferedDevice(device, cacheBytes: PageCache.usualBudget)
    }
  }

  /// Returns whether the system can map a whole file. Makes a few system calls, which do not touch
  /// pages of the file.
  private static func canBeMapped(_ device: any Device) throws(StorageError) -> Bool {
    guard let capacity = Reservation.capacities(covering: try device.size()).last else { return true }
    do throws(StorageError) {
      _ = try device.map(capacity: capacity)
      return true
    } catch {
      // The reason does not matter: if it prevents reading as well, reading reports it.
      return false
    }
  }

  package func exists(_ path: String) throws(StorageError) -> Bool { try volume.exists(path) }
  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    try volume.identity(of: path)
  }
  package func resolved(_ path: String) throws(StorageError) -> String { try volume.resolved(path) }
  package func rename(_ from: String, to: String) throws(StorageError) { try volume.rename(from, to: to) }
  package func remove(_ path: String) throws(StorageError) { try volume.remove(path) }
  package func syncDirectory(containing path: String) throws(StorageError) {
    try volume.syncDirectory(containing: path)
  }
  package func lockForWriting(_ path: String) throws(StorageError) -> any FileLock {
    try volume.lockForWriting(path)
  }
  package func lockForWriting(_ path: String, waiting wait: LockWait) throws(StorageError) -> any FileLock {
    try volume.lockForWriting(path, waiting: wait)
  }
  package func isLockedForWriting(_ path: String) throws(StorageError) -> Bool {
    try volume.isLockedForWriting(path)
  }
}
