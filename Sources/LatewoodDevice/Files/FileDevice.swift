import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// A file of the operating system.
///
/// Interrupted and short calls are continued where they stopped. An interrupted sync has not
/// reported a result and is repeated. A failed sync is not repeated, because the system reports a
/// failure once and then drops the data.
///
/// Thread safety: all calls from any thread. `close` does not wait; running calls finish on the
/// open file.
package final class FileDevice: Device {
  package let identity: FileIdentity
  private let currentPath: Guarded<String>
  let descriptor: OpenDescriptor
  private let calls: FileCalls
  private let direct: DirectReads
  /// The user to whom the file belonged when it was opened; nil if the system did not report it.
  private let owner: UInt32?
  /// The offset up to which writes are known to stay within the process's limit for file lengths.
  private let allowedEnd = Atomic<UInt64>(0)

  /// The number of bytes after a write that are checked together with it and then taken as allowed,
  /// because asking the system before every write costs a microsecond.
  private static let allowedAhead: UInt64 = 1 << 20
  /// The maximum number of bytes for one call. Systems transfer at most about 2 GiB per call, and
  /// some refuse more.
  private static let longestCall = 1 << 30
  private static let leastBlock: UInt64 = 4096
  /// The longest time that a reader waits for the lock. A writer that punches holes holds it for
  /// milliseconds at a time, with pauses in between.
  private static let patienceMilliseconds: UInt64 = 10_000

  /// Takes over `number`, the descriptor of the open file.
  init(_ number: Int32, identity: FileIdentity, path: String, calls: FileCalls) {
    descriptor = OpenDescriptor(number)
    self.identity = identity
    currentPath = Guarded(path)
    self.calls = calls
    direct = DirectReads(identity: identity)
    owner = FileDevice.owner(of: number)
  }

  var path: String { currentPath.withLock { $0 } }

  package func wasRenamed(to path: String) { currentPath.withLock { $0 = path } }

  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
  {
    try descriptor.use { number throws(StorageError) in
      var done = 0
      while done < target.count {
        let (position, overflow) = offset.addingReportingOverflow(UInt64(done))
        guard !overflow, position <= UInt64(Int64.max) else { return done }
        let piece = min(target.count - done, FileDevice.longestCall)
        do throws(ErrorNumber) {
          let count = try calls.read(number, .init(rebasing: target[done..<done + piece]), Int64(position))
          if count == 0 { return done }
          done += count
        } catch .interrupted {
          continue
        } catch {
          throw StorageError(error, "read the file", path: path, offset: position)
        }
      }
      return done
    }
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
    guard !overflow, end <= UInt64(Int64.max) else {
      throw StorageError(.fileTooLarge, "no file can have so many bytes", offset: offset, path: path)
    }
    try descriptor.use { number throws(StorageError) in
      var done = 0
      while done < bytes.count {
        let piece = min(bytes.count - done, FileDevice.longestCall)
        let position = offset + UInt64(done)
        do throws(ErrorNumber) {
          try checkLimit(position + UInt64(piece))
          let count = try calls.write(number, .init(rebasing: bytes[done..<done + piece]), Int64(position))
          // Nothing was written, and there is no error. Systems do not return this for a file, and
          // a retry might loop forever.
          guard count > 0 else { throw ErrorNumber.inputOutput }
          done += count
        } catch .interrupted {
          continue
        } catch {
          throw StorageError(error, "write to the file", path: path, offset: position)
        }
      }
    }
  }

  /// Throws if a write would exceed the process's limit for file lengths. The system would not only
  /// refuse it but also end the process with a signal, unless that is ignored. A library must not
  /// change how a whole process handles signals. A limit that is lowered while the file is open is
  /// noticed within `allowedAhead` bytes.
  private func checkLimit(_ end: UInt64) throws(ErrorNumber) {
    if end <= allowedEnd.load(ordering: .relaxed) { return }
    let limit = SystemCalls.fileLengthLimit ?? .max
    guard end <= limit else { throw .fileTooBig }
    allowedEnd.store(min(limit, end + FileDevice.allowedAhead), ordering: .relaxed)
  }

  package func sync() throws(StorageError) {
    try descriptor.use { number throws(StorageError) in
      while true {
        do throws(ErrorNumber) {
          return try calls.sync(number)
        } catch .interrupted {
          continue
        } catch {
          throw StorageError(error, "make the file durable", path: path)
        }
      }
    }
  }

  package func size() throws(StorageError) -> UInt64 { try status().size }
  package func allocatedSize() throws(StorageError) -> UInt64 { try status().allocated }
  package func permissions() throws(StorageError) -> UInt16 { try status().permissions }

  package func pathStatus() throws(StorageError) -> PathStatus {
    do throws(ErrorNumber) {
      let there = try SystemCalls.place(ofPath: path)
      return there.identity == identity ? .inPlace(links: there.links) : .lost
    } catch {
      return error == .noSuchFile || error == .notADirectory ? .lost : .unknown
    }
  }

  private static func owner(of number: Int32) -> UInt32? {
    do throws(ErrorNumber) { return try SystemCalls.status(number).user } catch { return nil }
  }

  /// Whether the file belongs to the effective user of this process.
  var isOwnedByUser: Bool { owner == SystemCalls.effectiveUser }

  private func status() throws(StorageError) -> SystemCalls.Status {
    try descriptor.use { number throws(StorageError) in
      do throws(ErrorNumber) {
        return try SystemCalls.status(number)
      } catch {
        throw StorageError(error, "ask for the size of the file", path: path)
      }
    }
  }

  package func map(capacity: UInt64) throws(StorageError) -> AddressSpace {
    try descriptor.use { number throws(StorageError) in
      try AddressSpace.overFile(number, capacity: capacity, path: path)
    }
  }

  package func extend(_ space: AddressSpace, capacity: UInt64) throws(StorageError) -> AddressSpace? {
    try descriptor.use { number in AddressSpace.extending(space, over: number, capacity: capacity) }
  }

  package func readFromDisk(
    into target: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StorageError) -> Int? {
    try direct.read(into: target, at: offset, path: path)
  }

  package func dropCache(_ range: Range<UInt64>) {
    guard let position = Int64(exactly: range.lowerBound), !range.isEmpty else { return }
    // A length of 0 means everything to the end of the file.
    let length = Int64(exactly: range.upperBound) == nil ? 0 : Int64(range.upperBound) - position
    advise { SystemCalls.forgetCache($0, position, length) }
  }

  package func startWriteback(offset: UInt64, length: UInt64) {
    guard let position = Int64(exactly: offset), let count = Int64(exactly: length) else { return }
    advise { SystemCalls.startWriteback($0, position, count) }
  }

  package func reserve(offset: UInt64, length: UInt64) {
    guard let position = Int64(exactly: offset), let count = Int64(exactly: length) else { return }
    do throws(ErrorNumber) { try checkLimit(offset + length) } catch { return }
    advise { SystemCalls.reserve($0, position, count) }
  }

  package func allocateBlocks(offset: UInt64, length: UInt64) -> BlockAllocation {
    guard let position = Int64(exactly: offset), let count = Int64(exactly: length),
      !position.addingReportingOverflow(count).overflow
    else { return .unsupported }
    var outcome = BlockAllocation.unsupported
    advise { outcome = FileDevice.allocateBlocks($0, position, count) }
    return outcome
  }

  private static func allocateBlocks(_ number: Int32, _ position: Int64, _ count: Int64) -> BlockAllocation {
    while true {
      do throws(ErrorNumber) {
        try SystemCalls.allocateBlocks(number, position, count)
        return .allocated
      } catch {
        if error == .interrupted { continue }
        return error == .noSpace || error == .quotaExceeded ? .full : .unsupported
      }
    }
  }

  package func freeSpace() -> UInt64? {
    var bytes: UInt64?
    advise { bytes = SystemCalls.freeSpace($0) }
    return bytes
  }

  package var prefersZeroedSpace: Bool { true }

  /// The block length that the file system reports, but at least a page, because smaller blocks
  /// have no benefit. A reported length that is not a power of two, or is very large, is ignored.
  package var blockLength: UInt64 {
    let told = FileDevice.leastBlock
    do {
      let length = try descriptor.use { number throws(StorageError) in
        do throws(ErrorNumber) {
          return try SystemCalls.status(number).blockLength
        } catch {
          return told
        }
      }
      let isSensible = length.nonzeroBitCount == 1 && length <= 1 << 20
      return isSensible ? max(length, FileDevice.leastBlock) : FileDevice.leastBlock
    } catch {
      return told
    }
  }

  package func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool {
    guard let position = Int64(exactly: offset), let count = Int64(exactly: length), count > 0 else {
      return true
    }
    return try descriptor.use { number throws(StorageError) in
      while true {
        do throws(ErrorNumber) {
          try calls.punch(number, position, count)
          return true
        } catch .interrupted {
          continue
        } catch {
          if error == .notSupported || error == .noSuchCall { return false }
          throw StorageError(error, "punch holes into the file", path: path, offset: offset)
        }
      }
    }
  }

  // Runs `body` with the descriptor. The only possible error, that the file is closed, is ignored.
  private func advise(_ body: (Int32) -> Void) {
    do {
      try descriptor.use { number throws(StorageError) in body(number) }
    } catch {}
  }

  package func lockForReading() throws(StorageError) {
    var waited: UInt64 = 0
    while try !tryLock(exclusive: false) {
      guard waited < FileDevice.patienceMilliseconds else {
        throw StorageError(
          .lockedByOtherProcess, "another process has locked out readers of this file", path: path)
      }
      Monitor.sleep(milliseconds: 1)
      waited += 1
    }
  }

  package func tryLockForReading() throws(StorageError) -> Bool { try tryLock(exclusive: false) }

  package func tryLockExclusively() throws(StorageError) -> Bool { try tryLock(exclusive: true) }

  package func unlockExclusively() {
    do {
      try descriptor.use { number throws(StorageError) in SystemCalls.unlockFile(number) }
    } catch {
      // The file is closed, which has released its lock.
    }
  }

  package func lockForWriting() throws(StorageError) -> Bool {
    try descriptor.use { number throws(StorageError) in
      do throws(ErrorNumber) {
        try SystemCalls.lockWriting(number)
        return true
      } catch {
        if error == .wouldBlock || error == .accessDenied { return false }
        // The file system does not support this lock, so the lock file must suffice.
        if error == .invalid || error == .noLocks || error == .notSupported { return true }
        throw StorageError(error, "lock the file for writing", path: path)
      }
    }
  }

  package func unlockWriting() {
    do {
      try descriptor.use { number throws(StorageError) in SystemCalls.unlockWriting(number) }
    } catch {
      // The file is closed, which has released its lock.
    }
  }

  private func tryLock(exclusive: Bool) throws(StorageError) -> Bool {
    try descriptor.use { number throws(StorageError) in
      while true {
        do throws(ErrorNumber) {
          try SystemCalls.lockFile(number, exclusive: exclusive)
          return true
        } catch .interrupted {
          continue
        } catch .wouldBlock {
          return false
        } catch {
          throw StorageError(error, "lock the file for reading", path: path)
        }
      }
    }
  }

  package func close() {
    direct.close()
    descriptor.close()
  }
}

extension FileDevice {
  /// Whether the file is known to be remote. Makes one system call, which does not access the disk.
  /// False for a closed file.
  package var isRemote: Bool {
    do {
      return try descriptor.use { number throws(StorageError) in SystemCalls.isRemote(number) }
    } catch {
      return false
    }
  }
}

extension FileDevice {
  package func nextHole(from offset: UInt64) throws(StorageError) -> Range<UInt64>? {
    guard let position = Int64(exactly: offset) else { return nil }
    return try descriptor.use { number throws(StorageError) in
      do throws(ErrorNumber) {
        guard let hole = try SystemCalls.seekHole(number, from: position) else { return nil }
        return UInt64(hole.lowerBound)..<UInt64(hole.upperBound)
      } catch {
        throw StorageError(error, "ask where the file has holes", path: path, offset: offset)
      }
    }
  }
}

/// A file descriptor that is closed exactly once, and never while a call uses it.
///
/// The system reuses a descriptor's number for the next file as soon as it is closed, so a late
/// read would read another file. Therefore calls in flight are counted, and the last of them closes
/// the descriptor.
///
/// ```
/// state   bit 63: closing    bits 0 ..< 63: calls in flight
/// ```
final class OpenDescriptor: Sendable {
  private static let closing: UInt64 = 1 << 63
  private let number: Int32
  private let forkGeneration = SystemCalls.forkGeneration
  private let state = Atomic<UInt64>(0)

  /// Takes over `number`.
  init(_ number: Int32) { self.number = number }

  deinit {
    if state.load(ordering: .acquiring) & OpenDescriptor.closing == 0 { release() }
  }

  /// Runs `body` with the descriptor; throws `closed` after `close`.
  @inline(__always) func use<Result>(_ body: (Int32) throws(StorageError) -> Result) throws(StorageError)
    -> Result
  {
    let before = state.add(1, ordering: .acquiring).oldValue
    defer {
      let after = state.subtract(1, ordering: .acquiringAndReleasing).newValue
      if after == OpenDescriptor.closing { finish() }
    }
    guard before & OpenDescriptor.closing == 0 else {
      throw StorageError(.closed, "the file has been closed")
    }
    return try body(number)
  }

  /// Closes the descriptor once no call uses it. Idempotent.
  func close() {
    let before = state.bitwiseOr(OpenDescriptor.closing, ordering: .acquiringAndReleasing).oldValue
    if before == 0 { finish() }
  }

  // Two calls after the close may both see the count fall to zero, but only one changes the state
  // from "closing, none in flight" to its final value.
  private func finish() {
    let done = OpenDescriptor.closing | 1 << 62
    if state.compareExchange(
      expected: OpenDescriptor.closing, desired: done, ordering: .acquiringAndReleasing
    ).exchanged {
      release()
    }
  }

  private func release() {
    // A mapping keeps the open file, and its locks, alive after the close, so unlock first. In a
    // forked child the locks are the parent's.
    if forkGeneration == SystemCalls.forkGeneration {
      SystemCalls.unlockFile(number)
      SystemCalls.unlockWriting(number)
    }
    SystemCalls.closeFile(number)
  }
}
