import LatewoodBytes
import LatewoodDevice
import Synchronization

/// Brings what waits in memory to the file, for many threads at once.
///
/// The first thread that needs something flushed leads: it writes everything that is complete, syncs if it wants durability, and wakes
/// the others, whose commits it has taken along. Nobody is handed to another thread; a caller that is alone just writes.
///
/// ```
/// syncedThrough <= writtenThrough <= closedThrough          offsets in the file, all of them ends of frames
/// | on the disk  | in the file    | in sealed and open segments
/// ```
///
/// Invariants:
/// 1. `state` is only touched with the monitor held. One thread at a time leads; only it writes frames, and it does not hold the
///    monitor while it writes or syncs.
/// 2. Sealed segments and the complete part of the open one never change, so the leader reads them without a lock.
/// 3. After the first failed sync, or a failed write for anything but lack of space, nothing is ever written again.
/// 4. After a write that failed for lack of space nothing is written until `restart` gave up what was waiting.
/// 5. Syncs do not overlap: the system tells of a failure once, so that of two that overlap the other would say that all is well.
/// 6. While a checkpoint is needed `durableMark` stands still. What the log says to be durable then never lies beyond a gap that a
///    walk from an older checkpoint cannot cross.
// SAFETY: `state` never changes, what it points to is guarded by the monitor.
final class GroupFlush: @unchecked Sendable {
  struct State {
    var sealed: [Segment] = []
    var open: Segment
    var closedThrough: UInt64 = FileLayout.logStart
    var writtenThrough: UInt64 = FileLayout.logStart
    var syncedThrough: UInt64 = FileLayout.logStart
    /// What frames and slots may say to be durable.
    var durableMark: UInt64 = FileLayout.logStart
    /// Bytes of the file that exist.
    var touchableThrough: UInt64 = FileLayout.logStart
    var isLeading = false
    var waiters = 0
    /// The failure that ended all writing.
    var poison: Fault?
    /// The lack of space that stopped writing for now.
    var shortage: Fault?
    var isClosed = false
    /// Another open file has the lock of the writing process now.
    var keepsLock = false
    /// One of the three above: asked at every begin and commit, so that it is a plain flag.
    var isStopped = false
    var needsCheckpoint = false
    /// Where the log began after the last gap, if there was one since the file was opened.
    var chainStart: UInt64 = FileLayout.logStart
    /// While a checkpoint is needed: where the log ends before the gap.
    var gapStart: UInt64 = FileLayout.logStart
    /// Ranges whose commits failed for lack of space; a commit that ends in one never comes to the file.
    var givenUp: [Range<UInt64>] = []
    /// Commits that were synced.
    var syncs = 0
    /// Bytes that the last of them added.
    var syncedLength: UInt64 = 0
    /// Where the room ends that was made ahead of the log, and how many commits had been synced then.
    var roomThrough: UInt64 = 0
    var syncsAtRoom = 0
  }

  let device: any Device
  let fileLock: (any FileLock)?
  let monitor = Monitor()
  /// Held while the file is synced. Taken before the monitor.
  private let syncing = Monitor()
  let state: UnsafeMutablePointer<State>
  /// Counts up when a leader begins to write frames and when it has: odd in between.
  private let frameWrites = Atomic<UInt64>(0)

  init(device: any Device, fileLock: (any FileLock)?, open: Segment) {
    self.device = device
    self.fileLock = fileLock
    state = .allocate(capacity: 1)
    state.initialize(to: State(open: open))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Reads or changes the state with the monitor held.
  @inline(__always) func locked<Result>(_ body: (inout State) -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body(&state.pointee)
  }

  /// Throws if the file is closed or writing has ended.
  func check() throws(Fault) {
    if let fault = locked({ $0.poisonRefusal }) { throw fault }
  }

  /// Returns when the file has everything before `target`, and if `durable`, when that would survive a power cut.
  func flush(through target: UInt64, durable: Bool) throws(Fault) {
    monitor.lock()
    defer { monitor.unlock() }
    var hasWaited = false
    while true {
      if state.pointee.isGivenUp(target) { throw Fault.commitWithoutSpace }
      if state.pointee.isDone(target, durable) { return }
      // Who was waiting when it happened gets the failure itself; who comes later learns that it is too late.
      // A lack of space keeps nothing from being synced that is in the file: others may see it already.
      if state.pointee.isStopped, !(durable && state.pointee.isSyncable(target)) {
        throw state.pointee.stopFault(forThoseWhoWaited: hasWaited)
      }
      precondition(target <= state.pointee.closedThrough, "a flush of what was not committed")
      if state.pointee.isLeading {
        state.pointee.waiters += 1
        monitor.wait()
        state.pointee.waiters -= 1
      } else {
        lead(durable: durable)
      }
      hasWaited = true
    }
  }

  /// Writes what is complete and syncs if `durable`. Called, and returns, with the monitor held.
  private func lead(durable: Bool) {
    state.pointee.isLeading = true
    let from = state.pointee.writtenThrough
    let through = state.pointee.isStopped ? from : state.pointee.closedThrough
    if through > from {
      let sealed = state.pointee.sealed
      let open = state.pointee.open
      let room = durable ? reserved(from: from, through: through) : nil
      frameWrites.wrappingAdd(1, ordering: .relaxed)
      let fault = unlocked { () throws(Fault) in
        try checkOwner()
        if let room { device.reserve(offset: room.lowerBound, length: room.upperBound - room.lowerBound) }
        for segment in sealed { try write(segment, from: from) }
        try write(open, from: from)
      }
      frameWrites.wrappingAdd(1, ordering: .relaxed)
      if let fault {
        state.pointee.fail(fault)
      } else {
        state.pointee.finishWriting(through: through, open: open)
      }
    }
    if durable, state.pointee.isSyncable(through), state.pointee.syncedThrough < through {
      // What was written is visible to those who do not wait for the sync.
      if state.pointee.waiters > 0 { monitor.broadcast() }
      let fault = unlocked { () throws(Fault) in try sync() }
      if fault == nil { state.pointee.finishSync(through: through) }
    }
    state.pointee.isLeading = false
    if state.pointee.waiters > 0 { monitor.broadcast() }
  }

  /// With the monitor held.
  private func reserved(from: UInt64, through: UInt64) -> Range<UInt64>? {
    state.pointee.roomToReserve(from: from, through: through, isWritten: device.prefersWrittenRoom)
  }

  /// Makes the file durable. The first failure ends all writing, and is thrown as it is; later calls throw `poisoned`.
  func sync() throws(Fault) {
    syncing.lock()
    defer { syncing.unlock() }
    try check()
    do throws(Fault) {
      try device.sync()
    } catch {
      var fault = error
      // Some disks find out late that they are full. Unlike a refused write that leaves nobody to go on: what was written is lost.
      if fault.kind == .outOfSpace { fault.kind = .inputOutput }
      locked { $0.end(with: fault) }
      throw fault
    }
  }

  /// Runs `body` without the monitor; returns what it threw.
  private func unlocked(_ body: () throws(Fault) -> Void) -> Fault? {
    monitor.unlock()
    defer { monitor.lock() }
    do throws(Fault) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  /// Writes zeros, which a walk takes for room that was never used. A lack of space is for the commits to meet.
  func writeRoom(_ range: Range<UInt64>) throws(Fault) {
    let zeros = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
    let fault: Fault? = zeros.withUnsafeBytes { bytes in
      do throws(Fault) {
        try device.write(bytes, at: range.lowerBound)
        return nil
      } catch {
        return error
      }
    }
    guard let fault, fault.kind != .outOfSpace else { return }
    locked { $0.end(with: fault) }
    throw fault
  }

  private func write(_ segment: Segment, from: UInt64) throws(Fault) {
    let done = from > segment.offset ? Int(min(from - segment.offset, UInt64(segment.length))) : 0
    guard segment.length > done else { return }
    let bytes = UnsafeRawBufferPointer(start: segment.memory + done, count: segment.length - done)
    try device.write(bytes, at: segment.offset + UInt64(done))
  }

  /// A child process has the parent's file and none of its locks.
  func checkOwner() throws(Fault) {
    if let fileLock, !fileLock.isOwnedByThisProcess {
      throw Fault(.lockedByOtherProcess, "the store was opened before a fork: the child must open its own")
    }
  }

  /// Returns when nobody leads.
  func waitForLeader() {
    monitor.lock()
    defer { monitor.unlock() }
    while state.pointee.isLeading {
      state.pointee.waiters += 1
      monitor.wait()
      state.pointee.waiters -= 1
    }
  }

  /// Lets the leader go first if it is writing frames.
  ///
  /// File systems let one thread at a time change a file, and not in turn: whoever writes piece after piece, or gives back block after block,
  /// would keep a small commit waiting for milliseconds. So this comes before each of them. It promises nothing, and does not wait for long.
  func giveWay() {
    let turn = frameWrites.load(ordering: .relaxed)
    if turn & 1 == 0 { return }
    for _ in 0..<100 {
      Monitor.giveUpProcessor()
      if frameWrites.load(ordering: .relaxed) != turn { return }
    }
  }

  /// Writes bytes that no frame's checksum waits for, past the log: from any thread.
  func writeAside(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int) throws(Fault) {
    if let fault = locked({ $0.poisonRefusal }) { throw fault }
    var at = 0
    do throws(Fault) {
      while at < bytes.count {
        let count = min(pieces, bytes.count - at)
        giveWay()
        try device.write(UnsafeRawBufferPointer(rebasing: bytes[at..<at + count]), at: offset + UInt64(at))
        at += count
      }
    } catch {
      if error.kind != .outOfSpace { locked { $0.fail(error) } }
      throw error
    }
  }
}

extension Fault {
  static var commitWithoutSpace: Fault {
    Fault(.outOfSpace, "there was no space for this commit; it was not kept")
  }
  static var checkpointNeeded: Fault {
    Fault(.unsupported, "a checkpoint must be written before the next transaction")
  }
}
