import LatewoodBytes
import LatewoodDevice
import Synchronization

/// Brings what waits in memory to the file, for many threads at once.
///
/// The first thread that needs something in the file writes everything that is complete; the first
/// that needs it durable writes and then syncs. Others whose commits they take along wait. Nobody
/// is handed to another thread; a caller that is alone just writes.
///
/// ```
/// syncedThrough <= writtenThrough <= closedThrough          offsets in the file, all of them ends of frames
/// | on the disk  | in the file    | in sealed and open segments
/// ```
///
/// The two kinds of work have turns of their own (`FlushTurns`): a sync takes long, and others
/// write meanwhile. It covers what was in the file when it began. Who comes to wait for durability
/// during a sync waits for the next one, which begins by writing what has gathered.
///
/// Invariants:
/// 1. `state` is only touched with the monitor held. Only the thread that has the turn writes
///    frames, or syncs, and it does not hold the monitor while it does.
/// 2. Sealed segments and the complete part of the open one never change, so the thread that writes
///    reads them without a lock.
/// 3. After the first failed sync, or a failed write for anything but lack of space, nothing is
///    ever written again.
/// 4. After a write that failed for lack of space nothing is written until `restart` gave up what
///    was waiting.
/// 5. Syncs do not overlap: the system tells of a failure once, so that of two that overlap the
///    other would say that all is well.
/// 6. While a checkpoint is needed `durableMark` stands still. What the log says to be durable then
///    never lies beyond a gap that a walk from an older checkpoint cannot cross.
/// 7. Of the frames that are written together a walk finds all or none: of several the header of
///    the first comes last. So a write that is refused part way for lack of space leaves none of
///    them in the log, for readers beside and after the end of the process.
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
    var writing: FlushTurns
    var syncing: FlushTurns
    /// The failure that ended all writing.
    var poison: Fault?
    /// The lack of space that stopped writing for now.
    var shortage: Fault?
    var isClosed = false
    /// Another open file has the lock of the writing process now.
    var keepsLock = false
    /// One of the three above: asked at every begin and commit, so that it is a plain flag.
    var isStopped = false
    /// A compaction of this process puts another file in the place of this one, or has done so.
    var isReplaced = false
    var needsCheckpoint = false
    /// Where the log began after the last gap, if there was one since the file was opened.
    var chainStart: UInt64 = FileLayout.logStart
    /// While a checkpoint is needed: where the log ends before the gap.
    var gapStart: UInt64 = FileLayout.logStart
    /// Ranges whose commits failed for lack of space; a commit that ends in one never comes to the
    /// file.
    var givenUp: [Range<UInt64>] = []
    /// Commits that were synced.
    var syncs = 0
    /// Bytes that the last of them added.
    var syncedLength: UInt64 = 0
    /// Where the room ends that was made ahead of the log, and how many commits had been synced
    /// then.
    var roomThrough: UInt64 = 0
    var syncsAtRoom = 0

    init(open: Segment, under monitor: Monitor) {
      self.open = open
      writing = FlushTurns(under: monitor)
      syncing = FlushTurns(under: monitor)
    }
  }

  let device: any Device
  let fileLock: (any FileLock)?
  let monitor = Monitor()
  let state: UnsafeMutablePointer<State>
  /// Counts up when a thread begins to write frames and when it has: odd in between.
  private let frameWrites = Atomic<UInt64>(0)

  init(device: any Device, fileLock: (any FileLock)?, open: Segment) {
    self.device = device
    self.fileLock = fileLock
    state = .allocate(capacity: 1)
    state.initialize(to: State(open: open, under: monitor))
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

  /// Returns when the file has everything before `target`, and if `durable`, when that would
  /// survive a power cut.
  func flush(through target: UInt64, durable: Bool) throws(Fault) {
    monitor.lock()
    defer { monitor.unlock() }
    var hasWaited = false
    while !state.pointee.isDone(target, durable) || state.pointee.isGivenUp(target) {
      if let fault = state.pointee.refusal(of: target, durable, hasWaited: hasWaited) {
        throw givingUp(fault)
      }
      precondition(target <= state.pointee.closedThrough, "a flush of what was not committed")
      if durable, state.pointee.syncing.isTaken {
        state.pointee.syncing.ended(covering: target).wait()
      } else if target > state.pointee.writtenThrough, state.pointee.writing.isTaken {
        state.pointee.writing.ended(covering: target).wait()
      } else if durable {
        leadSync()
      } else {
        leadWrite(isSyncing: false)
      }
      hasWaited = true
    }
  }

  /// Makes everything durable that has been written to the file by now, frames or not. The first
  /// failure ends all writing, and those who wait get it as it is; later calls throw `poisoned`.
  func sync() throws(Fault) {
    monitor.lock()
    defer { monitor.unlock() }
    // One that runs already may have begun too early.
    let number = state.pointee.syncing.begun + 1
    var hasWaited = false
    while state.pointee.syncing.done < number {
      if let refusal = state.pointee.poisonRefusal {
        throw givingUp(hasWaited ? state.pointee.poison ?? refusal : refusal)
      }
      if state.pointee.syncing.isTaken {
        let next = max(number, state.pointee.syncing.begun)
        state.pointee.syncing.ended(next).wait()
      } else {
        leadSync()
      }
      hasWaited = true
    }
  }

  /// The caller may have been woken to lead. With the monitor held.
  private func givingUp(_ fault: Fault) -> Fault {
    state.pointee.writing.wakeAll()
    state.pointee.syncing.wakeAll()
    return fault
  }

  /// Writes what is complete. Called, and returns, with the monitor held and the turn free.
  ///
  /// - Parameter isSyncing: a sync follows: room is made for the next one, and the file must be in
  ///   its place.
  private func leadWrite(isSyncing: Bool) {
    let from = state.pointee.writtenThrough
    let through = state.pointee.closedThrough
    state.pointee.writing.begin(through: through)
    let (sealed, open) = (state.pointee.sealed, state.pointee.open)
    let room = isSyncing ? reserved(from: from, through: through) : nil
    frameWrites.wrappingAdd(1, ordering: .relaxed)
    let fault = unlocked { () throws(Fault) in
      try checkOwner()
      if isSyncing { try checkPlace() }
      if let room { device.reserve(offset: room.lowerBound, length: room.upperBound - room.lowerBound) }
      try writeFrames(sealed, open, from: from, through: through)
    }
    frameWrites.wrappingAdd(1, ordering: .relaxed)
    if let fault {
      state.pointee.fail(fault)
    } else {
      state.pointee.finishWriting(through: through, open: open)
    }
    state.pointee.writing.end(isDone: fault == nil, isLast: state.pointee.isStopped)
  }

  /// Writes what is complete, if nobody else does, and makes it durable. Called, and returns, with
  /// the monitor held and the turn free.
  private func leadSync() {
    let writes =
      !state.pointee.isStopped && !state.pointee.writing.isTaken
      && state.pointee.closedThrough > state.pointee.writtenThrough
    let through = writes ? state.pointee.closedThrough : state.pointee.writtenThrough
    state.pointee.syncing.begin(through: through)
    if writes { leadWrite(isSyncing: true) }
    let isSyncable = state.pointee.isSyncable(through)
    if isSyncable {
      let sync = { () throws(Fault) in
        if !writes { try self.checkPlace() }
        try self.device.sync()
      }
      if let fault = unlocked(sync) {
        var fault = fault
        // Some disks find out late that they are full. Unlike a refused write that leaves nobody to
        // go on: what was written is lost.
        if fault.kind == .outOfSpace { fault.kind = .inputOutput }
        state.pointee.end(with: fault)
      } else {
        state.pointee.finishSync(through: through)
      }
    }
    let isDone = isSyncable && state.pointee.poison == nil
    state.pointee.syncing.end(isDone: isDone, isLast: state.pointee.isStopped)
  }

  /// With the monitor held.
  private func reserved(from: UInt64, through: UInt64) -> Range<UInt64>? {
    state.pointee.roomToReserve(from: from, through: through, isWritten: device.prefersWrittenRoom)
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

  /// Writes zeros, which a walk takes for room that was never used. A lack of space is for the
  /// commits to meet.
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

  /// Writes the frames from one offset to another so that a walk finds all of them or none; see
  /// invariant 7.
  private func writeFrames(
    _ sealed: [Segment], _ open: Segment, from: UInt64, through: UInt64
  ) throws(Fault) {
    let first = sealed.first { $0.offset + UInt64($0.length) > from } ?? open
    // SAFETY: `from` is the end of a frame and less than `through`: there is another one, and its
    // header is whole in memory.
    let header = first.memory + Int(from - first.offset)
    let end = FrameHeader.decode(from: header, at: from)?.end.flatMap(FileLayout.alignedToFrame)
    // A frame that is there in part is none. Of several the first could be whole.
    let isAlone = (end ?? from) >= through
    let start = isAlone ? from : from + UInt64(FrameHeader.length)
    for segment in sealed { try write(segment, from: start) }
    try write(open, from: start)
    if isAlone { return }
    try device.write(UnsafeRawBufferPointer(start: header, count: FrameHeader.length), at: from)
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

  /// Ends all writing if the file is not where it was opened any more: nobody would find what is
  /// written to it.
  func checkPlace() throws(Fault) {
    guard try device.place() == .lost else { return }
    // Asked after the look: it is set before the file loses its place.
    if locked({ $0.isReplaced }) { return }
    let fault = Fault.fileMoved
    locked { $0.end(with: fault) }
    throw fault
  }

  /// Returns when nobody writes frames or syncs.
  func waitUntilIdle() {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      if state.pointee.writing.isTaken {
        state.pointee.writing.ended(state.pointee.writing.begun).wait()
      } else if state.pointee.syncing.isTaken {
        state.pointee.syncing.ended(state.pointee.syncing.begun).wait()
      } else {
        return
      }
    }
  }

  /// Lets the thread go first that is writing frames.
  ///
  /// File systems let one thread at a time change a file, and not in turn: whoever writes piece
  /// after piece, or gives back block after block, would keep a small commit waiting for
  /// milliseconds. So this comes before each of them. It promises nothing, and does not wait for
  /// long.
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
  static var fileMoved: Fault {
    Fault(
      .fileMoved,
      "the file that is open was removed, renamed or replaced: nothing more is written to it")
  }
  static var checkpointNeeded: Fault {
    Fault(.unsupported, "a checkpoint must be written before the next transaction")
  }
}
