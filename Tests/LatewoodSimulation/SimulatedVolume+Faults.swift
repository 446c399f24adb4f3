import LatewoodBytes
import LatewoodDevice

// The controls of a simulated disk for tests, and its observable state.
extension SimulatedVolume {
  /// The number of calls so far that changed the disk or would have changed it.
  package var callCount: Int { locked { calls } }
  /// The number of reads so far, without those through a mapping.
  package var readCount: Int { locked { reads } }
  /// The number of calls so far that made a mapping readable.
  package var populatingCount: Int { locked { populatings } }
  package var isCrashed: Bool { locked { hasLostPower } }
  package var trace: [SimulatedCall] { locked { recorded } }

  /// The last calls, one a line.
  package func traceText(last count: Int = 40) -> String {
    trace.suffix(count).map { "\($0)" }.joined(separator: "\n")
  }

  /// Makes the changing call with this number, counted from 0, fail.
  package func inject(_ fault: InjectedFault, atCall call: Int) { locked { faults[call] = fault } }
  package func clearFaults() {
    locked {
      faults = [:]
      readFaults = []
    }
  }
  /// Makes the read with this number, counted from 0, fail.
  package func failRead(_ read: Int) { locked { _ = readFaults.insert(read) } }
  /// Makes bytes of a file unreadable for everyone.
  package func makeUnreadable(_ path: String, _ range: Range<UInt64>) {
    locked { unreadable.append((path, range)) }
  }
  /// Makes all files remote.
  package func becomeRemote() { locked { isRemote = true } }

  /// Makes every later mapping of a file fail.
  package func refuseMappings(_ kind: StorageError.Kind) { locked { mappingRefusal = kind } }

  /// Makes everything readable again.
  package func makeAllReadable() { locked { unreadable = [] } }

  /// Cuts the power now: every later call throws.
  package func crash() { locked { hasLostPower = true } }

  /// The greatest sum of the lengths of all files, in bytes; nil for no limit. A write beyond it
  /// arrives in part and fails.
  package var spaceLimit: Int? {
    get { locked { space } }
    set { locked { space = newValue } }
  }

  /// The sum of the lengths of all files, in bytes, as `spaceLimit` counts them.
  package var totalLength: Int {
    locked { Set(names.values).reduce(0) { $0 + (files[$1]?.liveSize ?? 0) } }
  }

  /// The size that every file reports, in bytes; nil for the real one.
  package var claimedSize: UInt64? {
    get { locked { reportedSize } }
    set { locked { reportedSize = newValue } }
  }

  /// The paths and ranges of the requests to write cached pages, oldest first.
  package var requestedWritebacks: [(path: String, range: Range<UInt64>)] { locked { writebacks } }

  /// The number of bytes left below the limit. With the lock held.
  var freeBlocks: Int {
    guard let space else { return 1 << 40 }
    return max(0, space - Set(names.values).reduce(0) { $0 + (files[$1]?.allocatedSize ?? 0) })
  }

  /// Whether the file system can release blocks.
  package var supportsPunching: Bool {
    get { locked { canPunch } }
    set { locked { canPunch = newValue } }
  }

  /// Whether every page is mapped, so that the cache drops none.
  package var pinsCache: Bool {
    get { locked { isCachePinned } }
    set { locked { isCachePinned = newValue } }
  }
  /// Whether the system supports reads that bypass its cache.
  package var supportsReadsFromDisk: Bool {
    get { locked { readsFromDisk } }
    set { locked { readsFromDisk = newValue } }
  }

  /// Whether the simulated user may change the owner of files, as root may.
  package var canGiveFilesAway: Bool {
    get { locked { allowsOwners } }
    set { locked { allowsOwners = newValue } }
  }

  /// Called before each write, sync, read past the cache, punched hole and exclusive lock, on the
  /// calling thread and without a lock, so that a test can let another thread go first. A test
  /// whose closure captures a store must reset it.
  package var beforeAccess: (@Sendable (SimulatedAccess) -> Void)? {
    get { locked { hook } }
    set { locked { hook = newValue } }
  }

  // MARK: Contents

  /// The names that a program sees, sorted.
  package var liveNames: [String] { locked { names.keys.sorted() } }

  package func attributes(of path: String) throws(StorageError) -> SimulatedAttributes {
    try file(path) { $0.attributes }
  }
  /// Changes the attributes of a file, durably and without a counted call.
  package func setAttributes(of path: String, _ attributes: SimulatedAttributes) throws(StorageError) {
    try file(path) { $0.attributes = attributes }
  }

  /// Gives a file a second name, durably and without a counted call.
  package func link(_ path: String, as other: String) throws(StorageError) {
    let inode = try file(path) { $0.inode }
    locked {
      names[other] = inode
      durableNames[other] = inode
    }
  }

  package func liveBytes(of path: String) throws(StorageError) -> [UInt8] { try file(path) { $0.liveBytes } }
  /// The bytes that would be left if nothing pending reached the disk.
  package func durableBytes(of path: String) throws(StorageError) -> [UInt8] {
    try file(path) { $0.durableBytes }
  }
  package func pendingSectors(of path: String) throws(StorageError) -> [Int] {
    try file(path) { $0.pending.keys.sorted() }
  }
  /// The number of open devices that hold the reader's lock.
  package func readerCount(of path: String) throws(StorageError) -> Int { try file(path) { $0.readers } }
  /// Flips bits of a byte, live and on the disk.
  package func corrupt(_ path: String, at offset: Int, xor mask: UInt8) throws(StorageError) {
    try file(path) { $0.corrupt(at: offset, xor: mask) }
  }

  /// Puts a file on the disk, durable immediately and without a counted call.
  package func place(_ bytes: [UInt8], at path: String) throws(StorageError) {
    let device = try open(path, .createExclusive(permissions: 0o600), process: 0)
    defer { device.close() }
    var failure: StorageError?
    bytes.withUnsafeBytes { source in
      do throws(StorageError) { try device.write(source, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
    try file(path) { $0.sync() }
    locked {
      durableNames = names
      nameChanges = []
      calls = 0
      recorded = []
    }
  }

  private func file<Result>(_ path: String, _ body: (SimulatedFile) -> Result) throws(StorageError) -> Result
  {
    monitor.lock()
    defer { monitor.unlock() }
    guard let inode = names[path], let file = files[inode] else { throw missing(path) }
    return body(file)
  }

  func locked<Result>(_ body: () -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body()
  }

  // MARK: Used by calls, under the lock

  func checkPower(_ process: Int) throws(StorageError) {
    if hasLostPower { throw StorageError(.inputOutput, "the simulated machine has lost power") }
    if killed.contains(process) { throw StorageError(.inputOutput, "the simulated process has been killed") }
  }

  /// Counts a call and returns its injected fault.
  func record(_ kind: SimulatedCall.Kind, _ path: String, offset: Int = 0, length: Int = 0) -> InjectedFault?
  {
    let fault = faults[calls]
    recorded.append(
      SimulatedCall(number: calls, kind: kind, path: path, offset: offset, length: length, fault: fault))
    calls += 1
    return fault
  }

  func fail(_ fault: InjectedFault?) throws(StorageError) {
    switch fault {
    case nil, .lost: return
    case .powerCut:
      hasLostPower = true
      throw StorageError(.inputOutput, "the simulated machine lost power during this call")
    case .inputOutput, .syncLosingSome:
      throw StorageError(.inputOutput, "a simulated fault of the device", errno: ErrorNumber.inputOutput.code)
    case .outOfSpace:
      throw StorageError(.outOfSpace, "the simulated disk is full", errno: ErrorNumber.noSpace.code)
    }
  }
}
