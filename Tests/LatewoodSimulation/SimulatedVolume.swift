import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// A disk in memory that loses unsynced data in a power cut like a real one, and fails on request.
///
/// ```
/// program -> live files and names -> (sync) -> durable files and names
///                       \-> power cut -> one of many images: each pending sector, rewrite and name change kept or not
/// ```
///
/// The faults that it injects, and why an engine can survive them:
///
/// | fault | why it is survivable |
/// | --- | --- |
/// | power cut at any call; any subset of the unsynced sectors is kept, a rewritten sector as any of its contents | nothing unsynced was promised |
/// | a torn sector: part new, part old | only where no durable byte changes (power-safe overwrite; FORMAT.md, section 1) |
/// | a file that grew without its data: zeros up to its unsynced size | as above |
/// | unsynced name changes are lost, the last ones first, as in a journal | a name is promised after `syncDirectory` |
/// | after a power cut before the next sync, any of the punched blocks has its old content | the blocks are not needed |
/// | a write or punch that fails completely or part way, because of the device or for lack of space | the call reports it |
/// | a failed sync whose data later syncs do not write, although reads show it | the call reports it once; it is never repeated |
/// | after that, later writes to a cached sector that the disk never had are lost too, as was seen on ext4 | nothing is written there |
/// | a write that never reaches the disk, although the cache shows it and the call succeeds | only if it is read back, as in a compaction |
/// | a read that fails | the call reports it |
/// | a killed process: its locks are released, its unsynced writes stay in the cache | the cache belongs to the system |
///
/// It does not simulate decay of durable sectors (see `corrupt`, for tests of detection),
/// directories (all names are in one), truncation, or interrupted calls (see `FileCalls`).
///
/// Calls that change the disk are counted from 0, and `inject` refers to a call by its number. With
/// one thread, the same program makes the same calls, so a test runs it once to count them, and
/// then once for each fault at each call.
///
/// Thread safety: all calls from any thread.
// SAFETY: all mutable state is used under `monitor`.
package final class SimulatedVolume: Volume, @unchecked Sendable {
  enum NameChange {
    case bind(String, inode: UInt64)
    case rename(String, String)
    case remove(String)
  }

  private static let volumes = Atomic<UInt64>(1 << 32)
  private static let emptyRegions = RegionPool(content: [], capacity: SimulatedVolume.capacity)
  /// The capacity of each file, in bytes.
  package static let capacity: UInt64 = 1 << 30

  let monitor = Monitor()
  let number = SimulatedVolume.volumes.add(1, ordering: .relaxed).newValue
  var files: [UInt64: SimulatedFile] = [:]
  var names: [String: UInt64] = [:]
  var durableNames: [String: UInt64] = [:]
  var nameChanges: [NameChange] = []
  var lastInode: UInt64 = 0
  var random: SeededRandom

  var calls = 0
  var reads = 0
  var populatings = 0
  var recorded: [SimulatedCall] = []
  var faults: [Int: InjectedFault] = [:]
  var readFaults: Set<Int> = []
  var isRemote = false
  var mappingRefusal: StorageError.Kind?
  var unreadable: [(path: String, range: Range<UInt64>)] = []
  var hasLostPower = false
  var space: Int?
  /// Whether the limit applies to the space that files take on the disk, without their holes. Must
  /// not be changed once a file is open.
  package var countsBlocks = false
  /// Whether blocks can be allocated behind the end of a file. Must not be changed once a file is
  /// open.
  package var keepsBlocks = false
  /// The size that every file reports; nil for the real one.
  var reportedSize: UInt64?
  var writebacks: [(path: String, range: Range<UInt64>)] = []
  var canPunch = true
  var readsFromDisk = true
  /// Must not be changed once a file is open.
  package var prefersZeroedSpace = true
  var isCachePinned = false
  var allowsOwners = true
  var hook: (@Sendable (SimulatedAccess) -> Void)?
  var killed: Set<Int> = []
  var writers: [String: SimulatedLock] = [:]

  /// Creates an empty disk. The seed decides which sectors `syncLosingSome` loses.
  package init(seed: UInt64 = 0) { random = SeededRandom(seed: seed) }

  // MARK: Volume, as the process 1

  package func open(_ path: String, _ mode: OpenMode) throws(StorageError) -> any Device {
    try open(path, mode, process: 1)
  }
  package func exists(_ path: String) throws(StorageError) -> Bool { try exists(path, process: 1) }
  package func resolved(_ path: String) throws(StorageError) -> String { path }
  package func rename(_ from: String, to: String) throws(StorageError) {
    try rename(from, to: to, process: 1)
  }
  package func remove(_ path: String) throws(StorageError) { try remove(path, process: 1) }
  package func syncDirectory(containing path: String) throws(StorageError) {
    try syncDirectory(path, process: 1)
  }
  package func lockForWriting(_ path: String) throws(StorageError) -> any FileLock {
    try lockForWriting(path, process: 1)
  }

  // MARK: Volume, as any process

  func open(_ path: String, _ mode: OpenMode, process: Int) throws(StorageError) -> any Device {
    monitor.lock()
    defer { monitor.unlock() }
    try checkPower(process)
    if case .createExclusive = mode {
      guard names[path] == nil else {
        throw StorageError(.alreadyExists, "there is already a simulated file by this name", path: path)
      }
      try change(.create, path) { () throws(StorageError) in
        lastInode += 1
        let file = SimulatedFile(
          inode: lastInode, region: try SimulatedVolume.emptyRegions.lend(), size: 0)
        if case .createExclusive(let permissions) = mode { file.attributes.permissions = permissions }
        files[lastInode] = file
        names[path] = lastInode
        nameChanges.append(.bind(path, inode: lastInode))
      }
    }
    guard let inode = names[path], let file = files[inode] else { throw missing(path) }
    return SimulatedDevice(self, file, path: path, isWritable: mode != .readOnly, process: process)
  }

  func exists(_ path: String, process: Int) throws(StorageError) -> Bool {
    monitor.lock()
    defer { monitor.unlock() }
    try checkPower(process)
    return names[path] != nil
  }

  func rename(_ from: String, to: String, process: Int) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    try checkPower(process)
    guard let inode = names[from] else { throw missing(from) }
    try change(.rename, "\(from) to \(to)") { () throws(StorageError) in
      names[from] = nil
      names[to] = inode
      nameChanges.append(.rename(from, to))
    }
  }

  func remove(_ path: String, process: Int) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    try checkPower(process)
    guard names[path] != nil else { throw missing(path) }
    try change(.remove, path) { () throws(StorageError) in
      names[path] = nil
      nameChanges.append(.remove(path))
    }
  }

  func syncDirectory(_ path: String, process: Int) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    try checkPower(process)
    let fault = record(.syncDirectory, path)
    try fail(fault)
    durableNames = names
    nameChanges = []
  }

  func missing(_ path: String) -> StorageError {
    StorageError(.notFound, "there is no simulated file by this name", errno: 2, path: path)
  }

  /// Makes a change of names, or fails as injected.
  private func change(
    _ kind: SimulatedCall.Kind, _ path: String, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    let fault = record(kind, path)
    if fault == nil || fault == .powerCut || fault == .lost { try body() }
    try fail(fault)
  }
}
