import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// Writes waiting frames to the file, on behalf of many threads at once.
///
/// The first thread that needs something in the file writes everything that is complete; the first
/// that needs it durable writes and then syncs. Other threads wait while their commits are written
/// along. No work is handed to another thread: a single caller just writes.
///
/// ```
/// syncedThrough <= writtenThrough <= closedThrough      offsets in the file, ends of frames
/// | on the disk  | in the file    | in sealed and open segments
/// ```
///
/// Writing and syncing have separate turns (`FlushTurns`): a sync takes long, and others write
/// meanwhile. A sync covers everything that was in the file when it began. A thread that asks for
/// durability during a sync waits for the next one, which begins by writing what has gathered.
///
/// Invariants:
/// 1. `state` is only touched with the monitor held. Only the thread that has the turn writes
///    frames, or syncs, and it does not hold the monitor while it does.
/// 2. Sealed segments and the complete part of the open one never change, so the thread that writes
///    reads them without a lock.
/// 3. After the first failed sync, or a failed write for anything but lack of space, nothing is
///    ever written again.
/// 4. After a write that failed for lack of space nothing is written until `restart` has given up
///    the waiting frames.
/// 5. Syncs do not overlap: the system reports a failure only once, so of two overlapping syncs one
///    would wrongly succeed.
/// 6. While a checkpoint is needed, `durableMark` does not move. So the log never claims durability
///    beyond a gap that a walk from an older checkpoint cannot cross.
/// 7. A walk finds all frames that are written together, or none: of several, the header of the
///    first is written last. So a write that runs out of space part way leaves none of them in the
///    log, neither for concurrent readers nor after the end of the process.
// SAFETY: the pointer `state` never changes, and the monitor guards the memory it points to.
final class GroupFlush: @unchecked Sendable {
  struct State {
    var sealed: [Segment] = []
    var open: Segment
    var closedThrough: UInt64 = FileLayout.logStart
    var writtenThrough: UInt64 = FileLayout.logStart
    var syncedThrough: UInt64 = FileLayout.logStart
    /// The offset up to which frames and slots may claim durability.
    var durableMark: UInt64 = FileLayout.logStart
    /// The number of bytes of the file that exist and may be read.
    var touchableThrough: UInt64 = FileLayout.logStart
    var writing: FlushTurns
    var syncing: FlushTurns
    /// The failure that ended all writing.
    var poison: Fault?
    /// The lack of space that stopped writing for now.
    var shortage: Fault?
    var isClosed = false
    /// Whether another open file owns the writing process's lock now.
    var keepsLock = false
    /// Whether there is a `poison` or a `shortage`, or the file is closed. A plain flag, because
    /// every begin and commit reads it.
    var isStopped = false
    /// Whether a compaction of this process is replacing this file, or has replaced it.
    var isReplaced = false
    var needsCheckpoint = false
    /// The start of the log after the last gap since the file was opened.
    var chainStart: UInt64 = FileLayout.logStart
    /// The end of the log before the gap. Only valid while a checkpoint is needed.
    var gapStart: UInt64 = FileLayout.logStart
    /// Ranges whose commits failed for lack of space. A commit that ends in one will never be in
    /// the file.
    var givenUp: [Range<UInt64>] = []
    /// The number of writes so far that were followed by a sync.
    var syncs = 0
    /// The number of bytes that the last of them added.
    var syncedLength: UInt64 = 0
    /// The end of the space preallocated behind the log; `syncsAtRoom` is the value of `syncs` when
    /// that was done.
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
  /// Incremented before and after frames are written, so it is odd in between.
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

  /// Waits until everything before `target` is in the file and, if `durable`, would survive a power
  /// cut.
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

  /// Makes everything written to the file so far durable, frames or not. The first failure ends all
  /// writing. Waiting threads get that failure; later calls throw `poisoned`.
  func sync() throws(Fault) {
    monitor.lock()
    defer { monitor.unlock() }
    // A sync that is already running may have begun too early.
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

  /// Wakes all waiting threads, because the caller may have been woken to lead, and returns
  /// `fault`. With the monitor held.
  private func givingUp(_ fault: Fault) -> Fault {
    state.pointee.writing.wakeAll()
    state.pointee.syncing.wakeAll()
    return fault
  }

  /// Writes all complete frames. The monitor is held and the turn free, both on entry and on
  /// return.
  ///
  /// - Parameter isSyncing: whether a sync follows: then space is preallocated for the next
  ///   commits, and the file must still be at its path.
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

  /// Writes all complete frames unless another thread does, then syncs. The monitor is held and the
  /// turn free, both on entry and on return.
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
        // Some disks notice only now that they are full. Unlike after a refused write, there is no
        // way to continue: the written frames are lost.
        if fault.kind == .outOfSpace { fault.kind = .inputOutput }
        state.pointee.end(with: fault)
      } else {
        state.pointee.finishSync(through: through)
      }
    }
    let isDone = isSyncable && state.pointee.poison == nil
    state.pointee.syncing.end(isDone: isDone, isLast: state.pointee.isStopped)
  }

  /// The range to preallocate before a write; see `State.roomToReserve`. With the monitor held.
  private func reserved(from: UInt64, through: UInt64) -> Range<UInt64>? {
    state.pointee.roomToReserve(from: from, through: through, isWritten: device.prefersWrittenRoom)
  }

  /// Runs `body` without the monitor; returns the error that it threw, or nil.
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

  /// As many zeros as are written ahead at once.
  private static let zeros = [UInt8](repeating: 0, count: Int(LogFile.reservedLength))

  /// Writes zeros, which a walk takes for space that was never used. A lack of space is ignored:
  /// the next commits will report it.
  func writeRoom(_ range: Range<UInt64>) throws(Fault) {
    let length = Int(range.upperBound - range.lowerBound)
    let fault: Fault? = GroupFlush.zeros.withUnsafeBytes { bytes in
      do throws(Fault) {
        try device.write(UnsafeRawBufferPointer(rebasing: bytes[..<length]), at: range.lowerBound)
        return nil
      } catch {
        return error
      }
    }
    guard let fault, fault.kind != .outOfSpace else { return }
    locked { $0.end(with: fault) }
    throw fault
  }

  /// Writes the frames between two offsets so that a walk finds all of them or none (invariant 7).
  private func writeFrames(
    _ sealed: [Segment], _ open: Segment, from: UInt64, through: UInt64
  ) throws(Fault) {
    let first = sealed.first { $0.offset + UInt64($0.length) > from } ?? open
    // SAFETY: `from` is the end of a frame and less than `through`: there is another one, and its
    // header is whole in memory.
    let header = first.memory + Int(from - first.offset)
    let end = FrameHeader.decode(from: header, at: from)?.end.flatMap(FileLayout.alignedToFrame)
    // A walk rejects an incomplete frame. But of several frames the first could be complete.
    let isAlone = (end ?? from) >= through
    let start = isAlone ? from : from + UInt64(FrameHeader.length)
    for segment in sealed { try write(segment, from: start) }
    try write(open, from: start)
    if !isAlone {
      try device.write(UnsafeRawBufferPointer(start: header, count: FrameHeader.length), at: from)
    }
    for segment in sealed { try keep(segment, from: from) }
    try keep(open, from: from)
  }

  /// Keeps a segment in memory, because readers find its records through the mapping from now on.
  private func keep(_ segment: Segment, from: UInt64) throws(Fault) {
    let end = segment.offset + UInt64(segment.length)
    if end > from { try device.keepMapped(max(from, segment.offset)..<end) }
  }

  private func write(_ segment: Segment, from: UInt64) throws(Fault) {
    let done = from > segment.offset ? Int(min(from - segment.offset, UInt64(segment.length))) : 0
    guard segment.length > done else { return }
    let bytes = UnsafeRawBufferPointer(start: segment.memory + done, count: segment.length - done)
    try device.write(bytes, at: segment.offset + UInt64(done))
  }

  /// Throws in a forked child, which has the parent's file but none of its locks.
  func checkOwner() throws(Fault) {
    if let fileLock, !fileLock.isOwnedByThisProcess {
      throw Fault(.lockedByOtherProcess, "the store was opened before a fork: the child must open its own")
    }
  }

  /// Ends all writing if the file is no longer where it was opened, because nobody would find what
  /// is written to it.
  func checkPlace() throws(Fault) {
    guard try device.place() == .lost else { return }
    // Read after `place()`: the flag is set before the file loses its place.
    if locked({ $0.isReplaced }) { return }
    let fault = Fault.fileMoved
    locked { $0.end(with: fault) }
    throw fault
  }

  /// Waits until no thread writes frames or syncs.
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

  /// Yields to a thread that is writing frames.
  ///
  /// File systems let one thread at a time change a file, without taking turns: writing piece after
  /// piece, or giving back block after block, would keep a small commit waiting for milliseconds.
  /// So this is called before each piece. It waits only briefly and guarantees nothing.
  func giveWay() {
    let turn = frameWrites.load(ordering: .relaxed)
    if turn & 1 == 0 { return }
    for _ in 0..<100 {
      Monitor.giveUpProcessor()
      if frameWrites.load(ordering: .relaxed) != turn { return }
    }
  }

  /// Writes bytes outside the open frames, in pieces of at most `pieces` bytes. From any thread.
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
