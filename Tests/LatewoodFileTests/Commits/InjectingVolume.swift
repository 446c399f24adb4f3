import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// Files in memory whose writes and syncs are counted and can be made to fail.
final class InjectingVolume: Volume {
  struct Plan {
    /// Writes that would end beyond this offset fail for lack of space after writing the part that
    /// fits.
    var space: UInt64?
    /// Whether writes past the root slots take effect but still fail for lack of space.
    var refusesWhatItWrites = false
    /// Whether the next sync fails.
    var failsSync = false
    /// The error of the next write past the root slots.
    var writeFailure: StorageError.Kind?
    /// The duration of a sync.
    var syncMilliseconds: UInt64 = 0
    /// Called before each write past the root slots.
    var beforeWrite: (@Sendable () -> Void)?
    /// Called in each sync, before it ends.
    var duringSync: (@Sendable () -> Void)?
    /// The size of every file; nil for the real one.
    var size: UInt64?
    /// Called before each read of the size.
    var beforeSize: (@Sendable () -> Void)?
    /// Called once, before a root slot is written.
    var beforeSlot: (@Sendable () -> Void)?
    /// Called after a file was renamed and before the rename returns.
    var afterRename: (@Sendable () -> Void)?
    /// Whether the next rename fails.
    var failsRename = false
    /// Called once, before the lock of a writer is taken.
    var beforeLock: (@Sendable () -> Void)?
    /// The greatest number of bytes that a mapping may cover; nil for no limit.
    var capacity: UInt64?
    /// Whether this process is a forked child with the lock of its parent.
    var isForked = false
    /// Whether readers' locks and write locks exclude each other, as on NFS.
    var hasOneLock = false
    /// The open files that hold write locks, by file identity.
    var writing: [FileIdentity: ObjectIdentifier] = [:]
    /// The pages of the file that are in memory; nil if this is unknown.
    var cached: Set<UInt64>?
    /// The pages of the file that the disk cannot read. They may nevertheless be in memory.
    var unreadable: Set<UInt64> = []
    /// The memory that can hold the file; nil if this is unknown.
    var memory: UInt64?
    /// The space that the file occupies on the disk; nil for the real size.
    var allocated: UInt64?
    /// The lengths of mappings that are declared to be read at random, and the ranges that are read
    /// ahead.
    var random: [UInt64] = []
    var ahead: [Range<UInt64>] = []
    /// The number of calls that made something readable.
    var requests = 0
    /// The number of calls that queried which pages are in memory.
    var questions = 0
    /// The address of the last mapping.
    var base: UInt = 0
    var syncs = 0
    var writes: [Range<UInt64>] = []
  }

  let memory = MemoryVolume()
  let plan = Guarded(Plan())

  func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device {
    InjectingDevice(try memory.open(path, mode), at: path, self)
  }
  func exists(_ path: String) throws(StorageError) -> Bool { try memory.exists(path) }
  func resolved(_ path: String) throws(StorageError) -> String { path }
  func rename(_ from: String, to: String) throws(StorageError) {
    let fails = plan.withLock { plan in
      defer { plan.failsRename = false }
      return plan.failsRename
    }
    if fails { throw StorageError(.inputOutput, "injected") }
    try memory.rename(from, to: to)
    plan.withLock { $0.afterRename }?()
  }
  func remove(_ path: String) throws(StorageError) { try memory.remove(path) }
  func syncDirectory(containing path: String) throws(StorageError) {}
  func lockForWriting(_ path: String) throws(StorageError) -> any FileLock {
    let hook = plan.withLock { plan in
      defer { plan.beforeLock = nil }
      return plan.beforeLock
    }
    hook?()
    return InjectingLock(try memory.lockForWriting(path), self)
  }
}

private final class InjectingLock: FileLock {
  let inner: any FileLock
  let volume: InjectingVolume

  init(_ inner: any FileLock, _ volume: InjectingVolume) {
    self.inner = inner
    self.volume = volume
  }

  func unlock() { inner.unlock() }
  var isOwnedByThisProcess: Bool { volume.plan.withLock { !$0.isForked } }
}

private final class InjectingDevice: Device {
  let inner: any Device
  let volume: InjectingVolume
  let path: Guarded<String>

  init(_ inner: any Device, at path: String, _ volume: InjectingVolume) {
    self.inner = inner
    self.volume = volume
    self.path = Guarded(path)
  }

  func wasRenamed(to path: String) { self.path.withLock { $0 = path } }

  func pathStatus() throws(StorageError) -> PathStatus {
    try volume.memory.identity(of: path.withLock { $0 }) == identity ? .inPlace(links: 1) : .lost
  }

  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    try inner.read(into: target, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    let end = offset + UInt64(bytes.count)
    if offset < 16384 {
      let hook = volume.plan.withLock { plan in
        defer { plan.beforeSlot = nil }
        return plan.beforeSlot
      }
      hook?()
    } else {
      volume.plan.withLock { $0.beforeWrite }?()
    }
    let (space, failure) = volume.plan.withLock { plan in
      plan.writes.append(offset..<end)
      defer { if offset >= 16384 { plan.writeFailure = nil } }
      return (plan.space, offset >= 16384 ? plan.writeFailure : nil)
    }
    if let failure { throw StorageError(failure, "injected") }
    if let space, end > space {
      if space > offset {
        try inner.write(UnsafeRawBufferPointer(rebasing: bytes[..<Int(space - offset)]), at: offset)
      }
      throw StorageError(.outOfSpace, "injected")
    }
    try inner.write(bytes, at: offset)
    if offset >= 16384, volume.plan.withLock({ $0.refusesWhatItWrites }) {
      throw StorageError(.outOfSpace, "injected")
    }
  }

  func sync() throws(StorageError) {
    let (fails, pause) = volume.plan.withLock { plan in
      plan.syncs += 1
      defer { plan.failsSync = false }
      return (plan.failsSync, plan.syncMilliseconds)
    }
    volume.plan.withLock { $0.duringSync }?()
    if pause > 0 { Monitor.sleep(milliseconds: pause) }
    if fails { throw StorageError(.inputOutput, "injected") }
    try inner.sync()
  }

  func size() throws(StorageError) -> UInt64 {
    volume.plan.withLock { $0.beforeSize }?()
    if let size = volume.plan.withLock({ $0.size }) { return size }
    return try inner.size()
  }
  func allocatedSize() throws(StorageError) -> UInt64 {
    if let size = volume.plan.withLock({ $0.allocated }) { return size }
    return try inner.allocatedSize()
  }
  var memoryLimit: UInt64? { volume.plan.withLock { $0.memory } }
  func expectRandomReads(of space: AddressSpace, length: UInt64) {
    volume.plan.withLock { $0.random.append(length) }
  }
  func readAhead(_ range: Range<UInt64>) { volume.plan.withLock { $0.ahead.append(range) } }
  func permissions() throws(StorageError) -> UInt16 { try inner.permissions() }
  func map(capacity: UInt64) throws(StorageError) -> AddressSpace {
    if let limit = volume.plan.withLock({ $0.capacity }), capacity > limit {
      throw StorageError(.outOfMemory, "injected")
    }
    let space = try inner.map(capacity: capacity)
    volume.plan.withLock { $0.base = UInt(bitPattern: space.base) }
    return space
  }
  static let pageLength: UInt64 = 4096
  func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    let pages = offset / Self.pageLength...(offset + UInt64(bytes.count) - 1) / Self.pageLength
    let failed = volume.plan.withLock { plan in
      plan.requests += 1
      guard let cached = plan.cached else { return false }
      let failed = pages.contains { plan.unreadable.contains($0) && !cached.contains($0) }
      if !failed { plan.cached = cached.union(pages) }
      return failed
    }
    if failed { throw StorageError(.inputOutput, "injected", offset: offset) }
  }
  func isInMemory(_ bytes: UnsafeRawBufferPointer) -> Bool {
    volume.plan.withLock { plan in
      plan.questions += 1
      guard let cached = plan.cached, let start = bytes.baseAddress else { return false }
      let offset = UInt64(UInt(bitPattern: start) - plan.base)
      return (offset / Self.pageLength...(offset + UInt64(bytes.count) - 1) / Self.pageLength)
        .allSatisfy { cached.contains($0) }
    }
  }
  func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    -> Int?
  {
    try inner.readFromDisk(into: target, at: offset)
  }
  func dropCache(_ range: Range<UInt64>) {}
  func startWriteback(offset: UInt64, length: UInt64) {}
  func reserve(offset: UInt64, length: UInt64) {}
  var prefersZeroedSpace: Bool { true }
  var identity: FileIdentity { inner.identity }
  var blockLength: UInt64 { inner.blockLength }
  func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool {
    try inner.punch(offset: offset, length: length)
  }
  private var isKeptOut: Bool {
    volume.plan.withLock { plan in
      plan.hasOneLock && plan.writing[identity].map { $0 != ObjectIdentifier(self) } ?? false
    }
  }
  func lockForReading() throws(StorageError) {
    guard try tryLockForReading() else { throw StorageError(.lockedByOtherProcess, "injected") }
  }
  func tryLockForReading() throws(StorageError) -> Bool {
    if isKeptOut { return false }
    try inner.lockForReading()
    return true
  }
  func tryLockExclusively() throws(StorageError) -> Bool {
    isKeptOut ? false : try inner.tryLockExclusively()
  }
  func lockForWriting() throws(StorageError) -> Bool {
    volume.plan.withLock { plan in
      let holder = plan.writing[identity] ?? ObjectIdentifier(self)
      plan.writing[identity] = holder
      return holder == ObjectIdentifier(self)
    }
  }
  func unlockWriting() {
    volume.plan.withLock { plan in
      if plan.writing[identity] == ObjectIdentifier(self) { plan.writing[identity] = nil }
    }
  }
  func unlockExclusively() { inner.unlockExclusively() }
  func close() {
    unlockWriting()
    inner.close()
  }
}
