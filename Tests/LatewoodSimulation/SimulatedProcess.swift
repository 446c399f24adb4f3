import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// The volume as one of several simulated processes sees it, with the same files and separate
/// locks.
package final class SimulatedProcess: Volume {
  private let volume: SimulatedVolume
  private let number: Int

  init(_ volume: SimulatedVolume, _ number: Int) {
    self.volume = volume
    self.number = number
  }

  package func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device {
    try volume.open(path, mode, process: number)
  }
  package func exists(_ path: String) throws(StorageError) -> Bool {
    try volume.exists(path, process: number)
  }
  package func resolved(_ path: String) throws(StorageError) -> String { path }
  package func rename(_ from: String, to: String) throws(StorageError) {
    try volume.rename(from, to: to, process: number)
  }
  package func remove(_ path: String) throws(StorageError) { try volume.remove(path, process: number) }
  package func syncDirectory(containing path: String) throws(StorageError) {
    try volume.syncDirectory(path, process: number)
  }
  package func lockForWriting(_ path: String) throws(StorageError) -> any FileLock {
    try volume.lockForWriting(path, process: number)
  }
}

extension SimulatedVolume {
  /// The volume for another process; the volume itself is process 1.
  package func process(_ number: Int) -> SimulatedProcess { SimulatedProcess(self, number) }

  /// Ends a process suddenly: its locks are released, its later calls fail, its writes stay in the
  /// cache.
  package func kill(process: Int) {
    locked {
      killed.insert(process)
      for file in files.values where file.exclusiveHolder == process { file.exclusiveHolder = nil }
      writers = writers.filter { $0.value.process != process }
    }
  }

  /// Makes every lock that is held now look inherited by fork, so that the process does not own it.
  package func fork() { locked { for lock in writers.values { lock.disown() } } }

  func lockForWriting(_ path: String, process: Int) throws(StorageError) -> any FileLock {
    monitor.lock()
    defer { monitor.unlock() }
    try checkPower(process)
    if let holder = writers[path] {
      throw StorageError(
        holder.process == process ? .lockedByThisProcess : .lockedByOtherProcess,
        "the simulated process \(holder.process) has opened it for writing", path: path)
    }
    let lock = SimulatedLock(self, path, process)
    writers[path] = lock
    return lock
  }

  fileprivate func unlock(_ lock: SimulatedLock) {
    locked { if writers[lock.path] === lock { writers[lock.path] = nil } }
  }
}

/// The writer's lock of a simulated process. It is held until `unlock`, even if it is not
/// referenced.
final class SimulatedLock: FileLock {
  let path: String
  let process: Int
  private let volume: Guarded<SimulatedVolume?>
  private let isDisowned = Atomic<Bool>(false)

  init(_ volume: SimulatedVolume, _ path: String, _ process: Int) {
    self.volume = Guarded(volume)
    self.path = path
    self.process = process
  }

  func disown() { isDisowned.store(true, ordering: .relaxed) }

  var isOwnedByThisProcess: Bool { !isDisowned.load(ordering: .relaxed) }

  func unlock() {
    let volume = volume.withLock { volume in
      defer { volume = nil }
      return volume
    }
    volume?.unlock(self)
  }
}
