import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// Writes and syncs what has been committed, on behalf of many threads at once, and knows how far
/// the log has come (``LogProgress``).
///
/// The first thread that needs something in the file writes everything that is complete; the first
/// that needs it durable writes and then syncs. Other threads wait while their commits are written
/// along. No work is handed to another thread: a single caller just writes.
///
/// Writing and syncing have separate turns (``FlushTurns``): a sync takes long, and others write
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
///
/// Thread safety: calls marked *writer* need the store's writer lock; the rest come from any
/// thread.
// SAFETY: the pointer `state` never changes, and the monitor guards the memory it points to.
final class GroupCommit: @unchecked Sendable {
  private struct State {
    var progress: LogProgress
    var preallocation = Preallocation()
    var writing: FlushTurns
    var syncing: FlushTurns
    /// The end of the last commit whose durability a thread has waited for.
    var wantedDurable: UInt64 = 0
    /// Whether another open file owns the writing process's lock now.
    var keepsLock = false
    /// Whether a compaction of this process is replacing this file, or has replaced it.
    var isReplaced = false
  }

  /// The number of syncs that a thread leads for others after its own.
  private static let turnsForOthers = 2
  /// The number of times that a thread gives up the processor before it leads for others, so that
  /// those whose commits have just become durable come along with their next ones.
  private static let pausesForOthers = 3

  private let frames: FrameWriter
  private let place: PlaceCheck
  private let monitor = Monitor()
  private let state: UnsafeMutablePointer<State>

  init(_ frames: FrameWriter, open: Segment) {
    self.frames = frames
    place = PlaceCheck(frames.device)
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(
        progress: LogProgress(open: open), writing: FlushTurns(under: monitor),
        syncing: FlushTurns(under: monitor)))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Reads or changes the state with the monitor held.
  @inline(__always) private func locked<Result>(_ body: (inout State) -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body(&state.pointee)
  }

  // MARK: Flushing

  /// Waits until everything before `target` is in the file and, if `durable`, would survive a power
  /// cut.
  func flush(through target: UInt64, durable: Bool) throws(Fault) {
    monitor.lock()
    defer { monitor.unlock() }
    var hasWaited = false
    while !state.pointee.progress.isDone(target, durable: durable) {
      if let fault = state.pointee.progress.refusal(of: target, durable: durable, hasWaited: hasWaited) {
        throw givingUp(fault)
      }
      precondition(
        target <= state.pointee.progress.closedThrough, "a flush of what was not committed")
      if durable, state.pointee.syncing.isTaken {
        state.pointee.wantedDurable = max(state.pointee.wantedDurable, target)
        state.pointee.syncing.ended(covering: target).wait()
      } else if target > state.pointee.progress.writtenThrough, state.pointee.writing.isTaken {
        state.pointee.writing.ended(covering: target).wait()
      } else if durable {
        leadSyncs()
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
      if let refusal = state.pointee.progress.refusal {
        throw givingUp(hasWaited ? state.pointee.progress.failure ?? refusal : refusal)
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
    let progress = state.pointee.progress
    let (from, through) = (progress.writtenThrough, progress.closedThrough)
    state.pointee.writing.begin(through: through)
    let (sealed, open) = (progress.sealed, progress.open)
    let room = isSyncing ? rangeToReserve(from: from, through: through) : nil
    let fault = unlocked { () throws(Fault) in
      try frames.inTurn { () throws(Fault) in
        try frames.checkOwner()
        if isSyncing { try endWriting(ifLost: try place.isKnownLost()) }
        if let room {
          frames.device.reserve(offset: room.lowerBound, length: room.upperBound - room.lowerBound)
        }
        try frames.write(sealed, open, from: from, through: through)
      }
    }
    if let fault {
      state.pointee.progress.fail(fault)
    } else {
      state.pointee.progress.finishWriting(through: through, open: open)
    }
    state.pointee.writing.end(isDone: fault == nil, isLast: state.pointee.progress.isStopped)
  }

  /// Syncs, and then a few times more for threads that have come to wait meanwhile. One of those
  /// would first have to be woken, and the disk would be idle until it runs.
  private func leadSyncs() {
    var rest = GroupCommit.turnsForOthers
    while leadSync(mayContinue: rest > 0) {
      rest -= 1
      monitor.unlock()
      for _ in 0..<GroupCommit.pausesForOthers { Monitor.giveUpProcessor() }
      monitor.lock()
      // A thread that did not have to be woken has taken the turn, and wakes others at its end.
      if state.pointee.syncing.isTaken || !isSyncWanted { return }
    }
  }

  /// Writes all complete frames unless another thread does, then syncs. The monitor is held and the
  /// turn free, both on entry and on return.
  ///
  /// - Parameter mayContinue: whether the caller can lead the next turn too.
  /// - Returns: whether it has to, because others wait for it and none of them was woken.
  @discardableResult
  private func leadSync(mayContinue: Bool = false) -> Bool {
    let writes =
      !state.pointee.progress.isStopped && !state.pointee.writing.isTaken
      && state.pointee.progress.closedThrough > state.pointee.progress.writtenThrough
    let through =
      writes ? state.pointee.progress.closedThrough : state.pointee.progress.writtenThrough
    state.pointee.syncing.begin(through: through)
    if writes { leadWrite(isSyncing: true) }
    let isSyncable = state.pointee.progress.isSyncable(through)
    if isSyncable {
      let sync = { () throws(Fault) in
        if !writes { try self.checkPlace() }
        try self.frames.device.sync()
      }
      if let fault = unlocked(sync) {
        var fault = fault
        // Some disks notice only now that they are full. Unlike after a refused write, there is no
        // way to continue: the written frames are lost.
        if fault.kind == .outOfSpace { fault.kind = .inputOutput }
        state.pointee.progress.end(with: fault)
      } else {
        state.pointee.progress.finishSync(through: through)
      }
    }
    let isDone = isSyncable && state.pointee.progress.failure == nil
    let isLast = state.pointee.progress.isStopped
    let continues = mayContinue && isDone && !isLast && isSyncWanted
    state.pointee.syncing.end(isDone: isDone, isLast: isLast, isFollowed: continues)
    return continues
  }

  /// Whether a thread waits for the durability of a commit. With the monitor held.
  private var isSyncWanted: Bool {
    state.pointee.wantedDurable > state.pointee.progress.syncedThrough
  }

  /// The range to preallocate before a write. With the monitor held.
  private func rangeToReserve(from: UInt64, through: UInt64) -> Range<UInt64>? {
    state.pointee.preallocation.rangeToReserve(
      from: from, through: through, isZeroed: frames.device.prefersWrittenRoom)
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

  /// Writes bytes outside the open frames, in pieces of at most `pieces` bytes.
  ///
  /// A lack of space is only this caller's; any other failure ends all writing.
  func writeAside(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int) throws(Fault) {
    try check()
    do throws(Fault) {
      try frames.writeAside(bytes, at: offset, pieces: pieces)
    } catch {
      if error.kind != .outOfSpace { end(with: error) }
      throw error
    }
  }

  // MARK: Progress

  var committedThrough: UInt64 { locked { $0.progress.closedThrough } }
  var writtenThrough: UInt64 { locked { $0.progress.writtenThrough } }
  var durableThrough: UInt64 { locked { $0.progress.syncedThrough } }
  /// The number of bytes of the file that exist and may be read.
  var readableThrough: UInt64 { locked { $0.progress.readableThrough } }

  /// Notes that the bytes before `end` exist.
  func extendReadable(through end: UInt64) { locked { $0.progress.extendReadable(through: end) } }

  /// Sets the number of bytes that exist, before a log is read.
  func setReadable(through size: UInt64) { locked { $0.progress.setReadable(through: size) } }

  /// Notes where a log ends that another process writes.
  func noteCommitted(through offset: UInt64) { locked { $0.progress.noteCommitted(through: offset) } }

  // MARK: Failures

  /// Throws if the file is closed or writing has ended.
  func check() throws(Fault) {
    if let fault = locked({ $0.progress.refusal }) { throw fault }
  }

  /// The error that ended all writing; nil if it goes on.
  var failure: Fault? { locked { $0.progress.failure } }

  /// Whether there was no space for frames, and `restart` has not been called since.
  var isOutOfSpace: Bool { locked { $0.progress.shortage != nil } }

  /// Whether a lack of space, or a gap, prevents transactions from beginning.
  var isInterrupted: Bool { locked { $0.progress.shortage != nil || $0.progress.needsCheckpoint } }

  /// Ends all writing for good.
  func end(with fault: Fault) { locked { $0.progress.end(with: fault) } }

  /// Stops writing: for good, or, if there was no space, until `restart`.
  func fail(_ fault: Fault) { locked { $0.progress.fail(fault) } }

  /// Ends all writing if the file is no longer where it was opened, because nobody would find what
  /// is written to it.
  func checkPlace() throws(Fault) { try endWriting(ifLost: try place.isLost()) }

  private func endWriting(ifLost isLost: Bool) throws(Fault) {
    guard isLost else { return }
    // Read after the check: the flag is set before the file loses its place.
    if locked({ $0.isReplaced }) { return }
    end(with: .fileMoved)
    throw .fileMoved
  }

  // MARK: Appending

  /// The progress of earlier commits when the writer begins something.
  struct Beginning {
    var writtenThrough: UInt64
    var durableMark: UInt64
    /// The chunk to begin with again, because nothing in it is waiting.
    var emptied: UnsafeMutableRawPointer?
  }

  /// *Writer.* Prepares to append at `tail`, and preallocates space for transactions.
  ///
  /// - Parameters:
  ///   - isTransaction: whether a transaction begins: then no checkpoint may be needed.
  ///   - isUsed: whether the open chunk has frames.
  func begin(at tail: UInt64, isTransaction: Bool, isUsed: Bool) throws(Fault) -> Beginning {
    var refusal: Fault?
    var zeros: Range<UInt64>?
    let zeroes = isTransaction && frames.device.prefersWrittenRoom
    let beginning = locked { state in
      if state.progress.isStopped {
        refusal = state.progress.reasonToStop()
      } else if isTransaction, state.progress.needsCheckpoint {
        refusal = .checkpointNeeded
      }
      var beginning = Beginning(
        writtenThrough: state.progress.writtenThrough, durableMark: state.progress.durableMark)
      if refusal != nil { return beginning }
      // Everything is in the file: begin at the start of the chunk again, so that small
      // transactions stay in the nearest cache.
      if isUsed, beginning.writtenThrough == state.progress.closedThrough {
        state.progress.rewind(to: tail)
        beginning.emptied = state.progress.open.chunk
      }
      if zeroes { zeros = state.preallocation.rangeToZero(at: tail) }
      return beginning
    }
    if let refusal { throw refusal }
    if let zeros { try writeZeros(zeros) }
    return beginning
  }

  private func writeZeros(_ range: Range<UInt64>) throws(Fault) {
    do throws(Fault) {
      try frames.writeZeros(range)
    } catch {
      // A lack of space is ignored: the next commits will report it.
      if error.kind == .outOfSpace { return }
      end(with: error)
      throw error
    }
  }

  /// *Writer.* The open segment is complete up to `length`.
  func completeFrames(length: Int) { locked { $0.progress.completeFrames(length: length) } }

  /// *Writer.* As `completeFrames`, for the last frame of a transaction: throws, and changes
  /// nothing, if it cannot be written any more.
  func completeTransaction(length: Int) throws(Fault) {
    let refusal = locked { state -> Fault? in
      if state.progress.isStopped { return state.progress.reasonToStop() }
      state.progress.completeFrames(length: length)
      return nil
    }
    if let refusal { throw refusal }
  }

  /// *Writer.* Completes the open segment and says how the log can go on: whether another thread is
  /// writing, and which of the chunks has nothing waiting.
  func completeChunk(
    length: Int, of chunks: [UnsafeMutableRawPointer]
  ) -> (isBusy: Bool, spare: UnsafeMutableRawPointer?) {
    locked { state in
      state.progress.completeFrames(length: length)
      let progress = state.progress
      let spare = chunks.first { chunk in
        chunk != progress.open.chunk && !progress.sealed.contains { $0.chunk == chunk }
      }
      return (state.writing.isTaken, spare)
    }
  }

  /// *Writer.* Ends the open segment at `length`; the log goes on in an empty chunk.
  func seal(length: Int, at tail: UInt64, next chunk: UnsafeMutableRawPointer) {
    locked {
      $0.progress.seal(length: length, end: tail, readable: tail, next: .empty(chunk, at: tail))
    }
  }

  /// *Writer.* Ends the open segment at `length`; the log goes on at `end`, at another place in the
  /// same chunk. What is in between is written separately.
  ///
  /// - Parameter readable: the offset up to which the bytes exist once the segment is written.
  func seal(length: Int, end: UInt64, readable: UInt64, next memory: UnsafeRawPointer) {
    locked { state in
      var next = Segment.empty(state.progress.open.chunk, at: end)
      next.memory = memory
      state.progress.seal(length: length, end: end, readable: readable, next: next)
    }
  }

  /// *Writer.* Empties the open segment, of which nothing is waiting, and returns its chunk.
  func rewind(to tail: UInt64) -> UnsafeMutableRawPointer {
    locked { state in
      state.progress.rewind(to: tail)
      return state.progress.open.chunk
    }
  }

  /// *Writer.* Begins to append: see ``LogProgress/begin(at:after:floor:hasGap:)``. Returns the
  /// open chunk.
  func begin(
    at tail: UInt64, after end: UInt64, floor: UInt64, hasGap: Bool
  ) -> UnsafeMutableRawPointer {
    locked { state in
      state.progress.begin(at: tail, after: end, floor: floor, hasGap: hasGap)
      return state.progress.open.chunk
    }
  }

  /// *Writer.* Gives up everything not yet written and continues at `tail`. Returns the open chunk.
  func restart(at tail: UInt64) -> UnsafeMutableRawPointer {
    locked { state in
      state.progress.restart(at: tail)
      return state.progress.open.chunk
    }
  }

  /// *Writer.* The memory of the byte at `offset`, if it waits in a sealed segment.
  func waitingBytes(at offset: UInt64) -> UnsafeRawPointer? {
    locked { state in
      state.progress.sealedSegment(at: offset).map { $0.memory + Int(offset - $0.offset) }
    }
  }

  // MARK: Gaps

  var needsCheckpoint: Bool { locked { $0.progress.needsCheckpoint } }

  /// The gap that a needed checkpoint has to reach beyond; nil if none is needed.
  var gap: Range<UInt64>? { locked { $0.progress.gap } }

  /// Whether a checkpoint that replays from `start` reaches beyond the last gap.
  func isBeyondGap(_ start: UInt64) -> Bool { locked { $0.progress.isBeyondGap(start) } }

  /// Whether a checkpoint that replays from `start` is the one that is needed.
  func isNeeded(replayingFrom start: UInt64) -> Bool {
    locked { $0.progress.needsCheckpoint && $0.progress.isBeyondGap(start) }
  }

  /// The offset up to which a slot may claim durability that names a checkpoint which replays from
  /// `start`.
  ///
  /// - Parameter isNeeded: whether the checkpoint was needed and is durable.
  func durableMark(replayingFrom start: UInt64, isNeeded: Bool) -> UInt64 {
    // If the log has just restarted behind a gap, this checkpoint's walk cannot reach what lies
    // beyond it.
    locked { state in
      isNeeded && state.progress.isBeyondGap(start)
        ? state.progress.syncedThrough : state.progress.durableMark
    }
  }

  /// A needed checkpoint that replays from `start` is durable, with its slot.
  func endNeed(replayingFrom start: UInt64) { locked { $0.progress.endNeed(replayingFrom: start) } }

  // MARK: Replacing and closing

  /// Whether another open file owns the writing process's lock now.
  var keepsLock: Bool {
    get { locked { $0.keepsLock } }
    set { locked { $0.keepsLock = newValue } }
  }

  /// Whether a compaction of this process is replacing this file, or has replaced it.
  func setReplaced(_ isReplaced: Bool) { locked { $0.isReplaced = isReplaced } }

  /// Returns false if it was closed before.
  func close() -> Bool {
    locked { state in
      if state.progress.isClosed { return false }
      state.progress.close()
      return true
    }
  }
}
