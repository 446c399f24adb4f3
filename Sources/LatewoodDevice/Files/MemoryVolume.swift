import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// A volume of files in memory, for in-memory stores. The files are freed together with the volume.
///
/// A mapping of a file is the memory that holds its bytes, so nothing is copied, except when the
/// file outgrows that memory (`MemoryFile`).
///
/// Thread safety: all calls from any thread, as for real files.
package final class MemoryVolume: Volume {
  private struct State {
    var files: [String: MemoryFile] = [:]
    var locks: Set<String> = []
    var lastInode: UInt64 = 0
  }
  private let state = Guarded(State())

  package init() {}

  package func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device {
    try state.withLock { state throws(StorageError) in
      if case .createExclusive = mode {
        guard state.files[path] == nil else {
          throw StorageError(.alreadyExists, "there is already a file in memory by this name", path: path)
        }
        state.lastInode += 1
        state.files[path] = try MemoryFile(inode: state.lastInode)
      }
      guard let file = state.files[path] else {
        throw StorageError(.notFound, "no file in memory has this name", path: path)
      }
      return MemoryDevice(file, path: path, isWritable: mode != .readOnly)
    }
  }

  package func exists(_ path: String) throws(StorageError) -> Bool {
    state.withLock { $0.files[path] != nil }
  }

  package func resolved(_ path: String) throws(StorageError) -> String { path }

  package func rename(_ from: String, to: String) throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      guard let file = state.files.removeValue(forKey: from) else {
        throw StorageError(.notFound, "no file in memory has this name", path: from)
      }
      state.files[to] = file
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    let removed = state.withLock { $0.files.removeValue(forKey: path) }
    if removed == nil { throw StorageError(.notFound, "no file in memory has this name", path: path) }
  }

  package func syncDirectory(containing path: String) throws(StorageError) {}

  package func lockForWriting(_ path: String) throws(StorageError) -> any FileLock {
    guard state.withLock({ $0.locks.insert(path).inserted }) else {
      throw StorageError(
        .lockedByThisProcess, "this process has already opened the database for writing", path: path)
    }
    return MemoryLock { [weak self] in self?.state.withLock { _ = $0.locks.remove(path) } }
  }
}

private final class MemoryLock: FileLock {
  private let release: Guarded<(@Sendable () -> Void)?>
  private let forkGeneration = SystemCalls.forkGeneration

  init(release: @escaping @Sendable () -> Void) { self.release = Guarded(release) }
  deinit { unlock() }

  var isOwnedByThisProcess: Bool { forkGeneration == SystemCalls.forkGeneration }

  func unlock() {
    let release = release.withLock { release in
      defer { release = nil }
      return release
    }
    release?()
  }
}

/// An open file of a `MemoryVolume`.
private final class MemoryDevice: Device {
  let identity: FileIdentity
  private let file: MemoryFile
  private let path: String
  private let isWritable: Bool
  private let isClosed = Atomic<Bool>(false)
  private let isReading = Atomic<Bool>(false)

  init(_ file: MemoryFile, path: String, isWritable: Bool) {
    self.file = file
    self.path = path
    self.isWritable = isWritable
    identity = FileIdentity(device: file.number, inode: file.inode)
  }

  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    try checkOpen()
    return file.read(into: target, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    try checkOpen()
    guard isWritable else {
      throw StorageError(.readOnly, "the file was opened for reading only", path: path)
    }
    try file.write(bytes, at: offset)
  }

  func sync() throws(StorageError) { try checkOpen() }
  func size() throws(StorageError) -> UInt64 {
    try checkOpen()
    return file.size
  }
  func allocatedSize() throws(StorageError) -> UInt64 {
    try checkOpen()
    return file.allocatedSize
  }
  func permissions() throws(StorageError) -> UInt16 { 0o600 }
  func map(capacity: UInt64) throws(StorageError) -> AddressSpace {
    try checkOpen()
    return try file.map(capacity: capacity)
  }
  /// Returns nil, because the memory does not represent a disk.
  func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    -> Int?
  {
    nil
  }
  func dropCache(_ range: Range<UInt64>) {}
  func startWriteback(offset: UInt64, length: UInt64) {}
  func reserve(offset: UInt64, length: UInt64) {}
  var prefersZeroedSpace: Bool { false }
  var blockLength: UInt64 { SystemCalls.pageLength }

  func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool {
    try checkOpen()
    precondition(offset % blockLength == 0 && length % blockLength == 0)
    return file.punch(offset: offset, length: length)
  }

  func lockForReading() throws(StorageError) {
    try checkOpen()
    if isReading.exchange(true, ordering: .acquiringAndReleasing) { return }
    while true {
      let readers = file.readers.load(ordering: .relaxed)
      if readers >= 0,
        file.readers.compareExchange(
          expected: readers, desired: readers + 1, ordering: .acquiringAndReleasing
        ).exchanged
      {
        return
      }
      if readers < 0 { Monitor.sleep(milliseconds: 1) }
    }
  }

  func tryLockExclusively() throws(StorageError) -> Bool {
    try checkOpen()
    return file.readers.compareExchange(expected: 0, desired: -1, ordering: .acquiringAndReleasing).exchanged
  }

  func unlockExclusively() { file.readers.store(0, ordering: .releasing) }

  func close() {
    isClosed.store(true, ordering: .releasing)
    if isReading.exchange(false, ordering: .acquiringAndReleasing) {
      file.readers.subtract(1, ordering: .acquiringAndReleasing)
    }
  }

  private func checkOpen() throws(StorageError) {
    if isClosed.load(ordering: .acquiring) {
      throw StorageError(.closed, "the file has been closed", path: path)
    }
  }
}
