import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// Writes and syncs commits on behalf of many threads.
///
/// The first thread that needs a commit in the file writes all complete frames; the first that
/// needs durability writes them and then syncs. Other threads wait while their commits are written
/// with them. No background thread is involved: a single caller simply writes.
///
/// Writing and syncing have separate turns (``FlushTurns``), so that others can write during a long
/// sync. A sync covers everything that was in the file when it began. A thread that requests
/// durability during a sync waits for the next one, which first writes the accumulated frames.
///
/// Invariants:
/// 1. `turns` is only accessed with the monitor of `progress` held. Only the thread that has the
///    turn writes frames, or syncs, and it does so without holding the monitor.
/// 2. Waiting segments and the complete part of the open one never change, so the thread that
///    writes reads them without a lock.
/// 3. After the first failed sync, or a write that failed for any reason other than lack of space,
///    nothing is ever written again.
/// 4. After a write that failed for lack of space, nothing is written until a restart of the log
///    has discarded the waiting frames.
/// 5. Syncs do not overlap: the system reports a failure only once, so one of two overlapping syncs
///    would wrongly succeed.
///
/// Thread safety: calls marked *writer* need the store's writer lock; the rest can be made from any
/// thread.
// SAFETY: the pointer `turns` never changes, and the monitor guards the memory it points to.
final class GroupCommit: @unchecked Sendable {
  private struct Turns {
    var writing: FlushTurns
    var syncing: FlushTurns
    /// The end of the last commit whose durability a thread has waited for.
    var wantedDurable: UInt64 = 0
    var preallocation = Preallocation()
  }

  /// The number of syncs that a thread leads for others after its own.
  private static let turnsForOthers = 2
  /// The number of times that a thread yields the processor before it leads for others, so that
  /// threads whose commits have just become durable can join with their next ones.
  private static let pausesForOthers = 3

  private let frames: FrameWriter
  private let progress: SharedProgress
  private let path: PathCheck
  private let turns: UnsafeMutablePointer<Turns>
  /// The `Preallocation.tailToZero`, for transactions that have no reason to take the monitor.
  private let tailToZero = Atomic<UInt64>(.max)

  init(_ frames: FrameWriter, _ progress: SharedProgress) {
    self.frames = frames
    self.progress = progress
    path = PathCheck(frames.device)
    turns = .allocate(capacity: 1)
    turns.initialize(
      to: Turns(
        writing: FlushTurns(under: progress.monitor), syncing: FlushTurns(under: progress.monitor)))
  }

  deinit {
    turns.deinitialize(count: 1)
    turns.deallocate()
  }

  // MARK: Flushing

  /// Waits until everything before `target` is in the file and, if `durable`, would survive a power
  /// cut.
  func flush(through target: UInt64, durable: Bool) throws(StorageError) {
    progress.monitor.lock()
    defer { progress.monitor.unlock() }
    var hasWaited = false
    while !progress.held.isDone(target, durable: durable) {
      if let failure = progress.held.refusal(of: target, durable: durable, hasWaited: hasWaited) {
        throw wakingOthers(failure)
      }
      precondition(
        target <= progress.held.completedThrough, "a flush beyond the last commit")
      if durable, turns.pointee.syncing.isTaken {
        turns.pointee.wantedDurable = max(turns.pointee.wantedDurable, target)
        if hasWaited { turns.pointee.writing.passOn() }
        turns.pointee.syncing.ended(covering: target).wait()
      } else if target > progress.held.writtenThrough, turns.pointee.writing.isTaken {
        if durable, hasWaited { turns.pointee.syncing.passOn() }
        turns.pointee.writing.ended(covering: target).wait()
      } else if durable {
        leadSyncs()
      } else {
        leadWrite(isSyncing: false)
      }
      hasWaited = true
    }
  }

  /// Syncs everything that has been written to the file so far, not only frames. The first failure
  /// ends all writing. Waiting threads get that failure; later calls throw `poisoned`.
  func sync() throws(StorageError) {
    progress.monitor.lock()
    defer { progress.monitor.unlock() }
    // A sync that is already running may have begun too early.
    let number = turns.pointee.syncing.begun + 1
    var hasWaited = false
    while turns.pointee.syncing.done < number {
      if let refusal = progress.held.refusal {
        throw wakingOthers(hasWaited ? progress.held.failure ?? refusal : refusal)
      }
      if turns.pointee.syncing.isTaken {
        let next = max(number, turns.pointee.syncing.begun)
        turns.pointee.syncing.ended(next).wait()
      } else {
        leadSync()
      }
      hasWaited = true
    }
  }

  /// Wakes all waiting threads, because the caller may have been woken to lead, and returns
  /// `failure`. Called with the monitor held.
  private func wakingOthers(_ failure: StorageError) -> StorageError {
    turns.pointee.writing.wakeAll()
    turns.pointee.syncing.wakeAll()
    return failure
  }

  /// Writes all complete frames. The monitor is held and the turn free, both on entry and on
  /// return.
  ///
  /// - Parameter isSyncing: whether a sync follows. If so, space is preallocated for the next
  ///   commits, and the file must still be at its path.
  private func leadWrite(isSyncing: Bool) {
    let (from, through) = (progress.held.writtenThrough, progress.held.completedThrough)
    turns.pointee.writing.begin(through: through)
    let (waiting, open) = (progress.held.waiting, progress.held.open)
    let space = isSyncing ? rangeToReserve(from: from, through: through) : nil
    let failure = unlocked { () throws(StorageError) in
      try frames.inTurn { () throws(StorageError) in
        try frames.checkOwner()
        if isSyncing { try endWriting(ifLost: try path.isKnownLost()) }
        if let space {
          frames.device.reserve(offset: space.lowerBound, length: space.upperBound - space.lowerBound)
        }
        try frames.write(waiting, open, from: from, through: through)
      }
    }
    progress.change {
      if let failure { $0.fail(failure) } else { $0.finishWriting(through: through, open: open) }
    }
    turns.pointee.writing.end(isDone: failure == nil, isLast: progress.held.isStopped)
  }

  /// Syncs, and then syncs a few more times for threads that have begun to wait in the meantime.
  /// Waking one of them to lead would leave the disk idle until that thread runs.
  private func leadSyncs() {
    var rest = GroupCommit.turnsForOthers
    while leadSync(mayContinue: rest > 0) {
      rest -= 1
      progress.monitor.unlock()
      for _ in 0..<GroupCommit.pausesForOthers { Monitor.yieldProcessor() }
      progress.monitor.lock()
      // Another thread has taken the turn, and wakes others when its turn ends.
      if turns.pointee.syncing.isTaken || !isSyncWanted { return }
    }
  }

  /// Writes all complete frames unless another thread does, then syncs. The monitor is held and the
  /// turn free, both on entry and on return.
  ///
  /// - Parameter mayContinue: whether the caller can lead another turn.
  /// - Returns: whether the caller must lead another turn, because threads wait for it and none of
  ///   them was woken.
  @discardableResult
  private func leadSync(mayContinue: Bool = false) -> Bool {
    let writes =
      !progress.held.isStopped && !turns.pointee.writing.isTaken
      && progress.held.completedThrough > progress.held.writtenThrough
    let through =
      writes ? progress.held.completedThrough : progress.held.writtenThrough
    turns.pointee.syncing.begin(through: through)
    if writes { leadWrite(isSyncing: true) }
    let isSyncable = progress.held.isSyncable(through)
    if isSyncable {
      let sync = { () throws(StorageError) in
        if !writes { try self.checkPath() }
        try self.frames.device.sync()
      }
      if let failure = unlocked(sync) {
        var failure = failure
        // Some file systems do not report a full disk before the sync. Unlike after a refused
        // write, the written frames are then lost, so writing cannot continue.
        if failure.kind == .outOfSpace { failure.kind = .inputOutput }
        progress.change { $0.end(with: failure) }
      } else {
        progress.change { $0.finishSync(through: through) }
      }
    }
    let isDone = isSyncable && progress.held.failure == nil
    let isLast = progress.held.isStopped
    let continues = mayContinue && isDone && !isLast && isSyncWanted
    turns.pointee.syncing.end(isDone: isDone, isLast: isLast, isFollowed: continues)
    return continues
  }

  /// Whether a thread waits for durability. Called with the monitor held.
  private var isSyncWanted: Bool {
    turns.pointee.wantedDurable > progress.held.syncedThrough
  }

  /// Returns the range to preallocate before a write. Called with the monitor held.
  private func rangeToReserve(from: UInt64, through: UInt64) -> Range<UInt64>? {
    let isZeroed = frames.device.prefersZeroedSpace
    defer { if isZeroed { tailToZero.store(turns.pointee.preallocation.tailToZero, ordering: .relaxed) } }
    return turns.pointee.preallocation.rangeToReserve(from: from, through: through, isZeroed: isZeroed)
  }

  /// Runs `body` without holding the monitor; returns the error that it threw, or nil.
  private func unlocked(_ body: () throws(StorageError) -> Void) -> StorageError? {
    progress.monitor.unlock()
    defer { progress.monitor.lock() }
    do throws(StorageError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  /// Waits until no thread writes frames or syncs.
  func waitUntilIdle() {
    progress.monitor.lock()
    defer { progress.monitor.unlock() }
    while true {
      if turns.pointee.writing.isTaken {
        turns.pointee.writing.ended(turns.pointee.writing.begun).wait()
      } else if turns.pointee.syncing.isTaken {
        turns.pointee.syncing.ended(turns.pointee.syncing.begun).wait()
      } else {
        return
      }
    }
  }

  /// Writes bytes outside the open frames, in pieces of at most `pieces` bytes.
  ///
  /// A lack of space fails only this call; any other failure ends all writing.
  func writeOutOfBand(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int) throws(StorageError) {
    try progress.check()
    try frames.checkOwner()
    do throws(StorageError) {
      try frames.write(bytes, at: offset, pieces: pieces)
    } catch {
      if error.kind != .outOfSpace { progress.end(with: error) }
      throw error
    }
  }

  /// Throws in a forked child. Its end of the log may be outdated, so appending there could
  /// overwrite commits of the parent.
  func checkOwner() throws(StorageError) { try frames.checkOwner() }

  /// *Writer.* Fills space after `tail` with zeros for the next transactions, where that makes
  /// their syncs cheaper (``Preallocation``).
  func writeZeros(ahead tail: UInt64) throws(StorageError) {
    guard tail > tailToZero.load(ordering: .relaxed) else { return }
    let range = progress.monitor.withLock {
      defer { tailToZero.store(turns.pointee.preallocation.tailToZero, ordering: .relaxed) }
      return turns.pointee.preallocation.rangeToZero(at: tail)
    }
    guard let range else { return }
    do throws(StorageError) {
      try frames.writeZeros(range)
    } catch {
      // A lack of space is ignored: the next commits will report it.
      if error.kind == .outOfSpace { return }
      progress.end(with: error)
      throw error
    }
  }

  /// Whether a thread is writing frames now.
  var isWriting: Bool { progress.monitor.withLock { turns.pointee.writing.isTaken } }

  // MARK: Path

  /// Ends all writing if the file is no longer at its path, because later commits could not be
  /// found.
  func checkPath() throws(StorageError) { try endWriting(ifLost: try path.isLost()) }

  private func endWriting(ifLost isLost: Bool) throws(StorageError) {
    guard isLost else { return }
    progress.end(with: .fileMoved)
    throw .fileMoved
  }

  /// Sets whether a compaction of this process is replacing this file, or has replaced it.
  func setReplaced(_ isReplaced: Bool) { path.setReplaced(isReplaced) }
}

// MARK: - The file's part

extension DatabaseFile {
  /// Waits until everything before `position` is in the file and, if `durable`, would survive a
  /// power cut. Can be called from any thread.
  ///
  /// The first thread writes, or syncs, for all waiting threads; a caller that does not request
  /// durability does not wait for a sync. The first failed sync, or write that fails for any reason
  /// other than lack of space, ends all writing: waiting threads get the failure itself, later
  /// calls `poisoned`. Throws `outOfSpace` if there was no space for the commit: it will never be
  /// in the file, and `recoverFromOutOfSpace` must be called.
  package func flush(through position: CommitPosition, durable: Bool) throws(StorageError) {
    try group.flush(through: position.offset, durable: durable)
  }

  /// Waits, like ``flush(through:durable:)``, for everything that has been committed so far.
  package func flushCommitted(durable: Bool) throws(StorageError) {
    try flush(through: completedThrough, durable: durable)
  }
}

/// The turns of threads at writing frames, or at syncing. One thread at a time does the work for
/// all waiting threads.
///
/// ```
///            begin                               end
/// turn n     | covers bytes before `through`     |     wakes all that wait for n, and one that
///                                                      waits for n + 1, to lead it, unless the
///                                                      same thread leads on
/// ```
///
/// Invariants (all calls with the flush's monitor held):
/// 1. Turns do not overlap.
/// 2. Each thread waits for the first turn that can cover its target: the running one or the next.
///    It is woken when that turn ends, and not earlier unless it is the thread that leads the turn.
/// 3. A thread that was woken to lead, but first has to wait for the other kind of turn, calls
///    `passOn`. If it fails, it calls `wakeAll`. In both cases another thread leads.
struct FlushTurns {
  private(set) var isTaken = false
  /// The number of turns that have begun, which is also the number of the running turn, or of the
  /// last one.
  private(set) var begun: UInt64 = 0
  /// The number of the last turn whose work succeeded.
  private(set) var done: UInt64 = 0
  private var through: UInt64 = 0
  private let even: Monitor.Condition
  private let odd: Monitor.Condition

  init(under monitor: Monitor) {
    even = Monitor.Condition(of: monitor)
    odd = Monitor.Condition(of: monitor)
  }

  mutating func begin(through: UInt64) {
    precondition(!isTaken, "turns overlap")
    isTaken = true
    begun += 1
    self.through = through
  }

  /// - Parameters:
  ///   - isDone: whether the turn's work succeeded.
  ///   - isLast: whether all threads that wait for the next turn must check the state again.
  ///   - isFollowed: whether the caller itself begins the next turn, so that no thread is woken to
  ///     lead it.
  mutating func end(isDone: Bool, isLast: Bool, isFollowed: Bool = false) {
    isTaken = false
    if isDone { done = begun }
    ended(begun).broadcast()
    if isLast {
      ended(begun + 1).broadcast()
    } else if !isFollowed {
      ended(begun + 1).signal()
    }
  }

  /// Returns the condition to wait for, while a turn runs, until everything before `target` is
  /// done.
  func ended(covering target: UInt64) -> Monitor.Condition { ended(target <= through ? begun : begun + 1) }

  /// Returns the condition that signals the end of a turn, which is the running one or the next.
  func ended(_ number: UInt64) -> Monitor.Condition { number & 1 == 0 ? even : odd }

  /// Wakes another thread to lead the next turn, unless one is running.
  func passOn() { if !isTaken { ended(begun + 1).signal() } }

  func wakeAll() {
    even.broadcast()
    odd.broadcast()
  }
}

/// The space preallocated after the log for small synchronous commits: a sync that does not have to
/// record a new file length is a third cheaper.
///
/// ```
/// log ... tail |.... preallocated ....| through
///              | reserved: the file has this length, and blocks
///              | zeroed: the blocks have been written, too
/// ```
///
/// On some file systems (`Device.prefersZeroedSpace`) the first sync of a block that was only
/// reserved takes two to three times as long, because it records that the block is now in use. On
/// these file systems the space is filled with zeros ahead of time instead, unless commits are so
/// long that each reaches a new block anyway.
///
/// The sync after a preallocation takes longer itself, so each one is twice as long as the last, up
/// to a limit.
struct Preallocation {
  /// The minimum and maximum length of one preallocation, in bytes.
  private static let leastLength: UInt64 = 64 << 10
  private static let greatestLength: UInt64 = 512 << 10
  /// The number of syncs before the first preallocation.
  private static let syncsBefore = 8
  /// The minimum length of synchronous commits, in bytes, for which no space is zeroed.
  private static let longLength: UInt64 = 16 << 10

  /// The number of writes so far that were followed by a sync.
  private var syncs = 0
  /// The number of bytes that the last of these writes added.
  private var syncedLength: UInt64 = 0
  private var through: UInt64 = 0
  /// The length of the next preallocation, in bytes.
  private var length = Preallocation.leastLength
  /// The value of `syncs` when `through` was set.
  private var syncsAtLast = 0

  /// Counts a write that will be synced, and returns the range to reserve before it for the small
  /// commits that follow; nil if there is no need.
  ///
  /// - Parameter isZeroed: whether the writer fills the space with zeros instead.
  mutating func rangeToReserve(from start: UInt64, through end: UInt64, isZeroed: Bool) -> Range<UInt64>? {
    syncs += 1
    syncedLength = end - start
    guard !isZeroed, syncs > Self.syncsBefore, end > through, syncedLength < Self.leastLength else {
      return nil
    }
    return extend(from: start, beyond: end)
  }

  /// The offset at or before which no transaction begins for which `rangeToZero` returns a range.
  var tailToZero: UInt64 {
    let isDue = syncs > Self.syncsBefore && syncedLength < Self.longLength && syncs - syncsAtLast >= 4
    return isDue ? through - min(through, syncedLength) : .max
  }

  /// Returns the range to fill with zeros before the next transaction, which begins at `tail`; nil
  /// if there is no need.
  ///
  /// Only called by the writer: other threads do not write at or after `tail`, except into regions
  /// that the writer has reserved for them.
  mutating func rangeToZero(at tail: UInt64) -> Range<UInt64>? {
    tail > tailToZero ? extend(from: tail, beyond: tail) : nil
  }

  private mutating func extend(from start: UInt64, beyond end: UInt64) -> Range<UInt64> {
    through = end + length
    length = min(2 * length, Self.greatestLength)
    syncsAtLast = syncs
    return start..<through
  }
}

/// A frequent, cheap check that the database file is still at its path.
///
/// Looking up the path takes 3 to 8 µs, too long for each synchronous commit of about 100 µs.
/// Therefore a commit within `interval` of the last lookup relies on that lookup.
///
/// Thread safety: all calls from any thread.
final class PathCheck: Sendable {
  private let device: any Device
  private let clock: @Sendable () -> UInt64
  /// The time of the last lookup of the path; 0 before the first.
  private let lastLookup = Atomic<UInt64>(0)
  private let isReplaced = Atomic<Bool>(false)

  /// The time for which a lookup of the path is trusted, in nanoseconds.
  static let interval: UInt64 = 2_000_000

  /// - Parameter clock: a monotonic clock, in nanoseconds.
  init(_ device: any Device, clock: @escaping @Sendable () -> UInt64 = { MonotonicClock.nanoseconds }) {
    self.device = device
    self.clock = clock
  }

  /// Sets whether a compaction of this process is replacing the file, or has replaced it. In this
  /// case the file is not lost.
  func setReplaced(_ isReplaced: Bool) {
    self.isReplaced.store(isReplaced, ordering: .sequentiallyConsistent)
  }

  /// Returns whether the file was removed, renamed or replaced by someone else.
  func isLost() throws(StorageError) -> Bool {
    lastLookup.store(clock(), ordering: .relaxed)
    guard try device.pathStatus() == .lost else { return false }
    // The flag is read after the lookup, because it is set before the file leaves its path.
    return !isReplaced.load(ordering: .sequentiallyConsistent)
  }

  /// Like `isLost`, but returns false if the last lookup was less than `interval` ago.
  func isKnownLost() throws(StorageError) -> Bool {
    let last = lastLookup.load(ordering: .relaxed)
    return last == 0 || clock() >= last + PathCheck.interval ? try isLost() : false
  }
}

/// Writes frames, and the bytes between them, to the file.
///
/// Invariant: a walk finds all frames that are written together, or none, because the header of the
/// first is written last. Therefore a write that runs out of space part way does not leave any of
/// them in the log, neither for concurrent readers nor after the process ends.
///
/// Thread safety: `write(_:_:from:through:)` by one thread at a time; the rest by any.
final class FrameWriter: Sendable {
  let device: any Device
  let fileLock: (any FileLock)?
  /// Incremented before and after frames are written, so it is odd in between.
  private let writes = Atomic<UInt64>(0)
  /// The zeros written by one call. A longer write would be cached in larger units, all of whose
  /// blocks each later write and sync has to check.
  private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

  /// The length of the trailers of frames.
  private let trailerLength: Int

  init(_ device: any Device, _ fileLock: (any FileLock)?, trailerLength: Int) {
    self.device = device
    self.trailerLength = trailerLength
    self.fileLock = fileLock
  }

  /// Throws in a forked child, which inherits the file but not its locks.
  func checkOwner() throws(StorageError) {
    if let fileLock, !fileLock.isOwnedByThisProcess {
      throw StorageError(
        .lockedByOtherProcess, "the store was opened before a fork: the child must open its own")
    }
  }

  /// Runs `body`, which writes frames, while others yield.
  func inTurn(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    writes.wrappingAdd(1, ordering: .relaxed)
    defer { writes.wrappingAdd(1, ordering: .relaxed) }
    try body()
  }

  /// Writes the frames between two offsets so that a walk finds all of them or none.
  func write(_ waiting: [Segment], _ open: Segment, from: UInt64, through: UInt64) throws(StorageError) {
    let first = waiting.first { $0.offset + UInt64($0.length) > from } ?? open
    // SAFETY: `from` is the end of a frame and less than `through`, so another frame follows, with
    // its header complete in memory.
    let header = first.stored + Int(from - first.offset)
    let next = FrameHeader.decode(from: header, at: from, trailerLength: trailerLength)?.next
    // A walk rejects a single incomplete frame, but the first of several frames could be complete.
    let isAlone = (next ?? from) >= through
    let start = isAlone ? from : from + UInt64(FrameHeader.length)
    for segment in waiting { try write(segment, from: start) }
    try write(open, from: start)
    if !isAlone {
      try device.write(UnsafeRawBufferPointer(start: header, count: FrameHeader.length), at: from)
    }
    for segment in waiting { try pin(segment, from: from) }
    try pin(open, from: from)
  }

  private func write(_ segment: Segment, from: UInt64) throws(StorageError) {
    let done = from > segment.offset ? Int(min(from - segment.offset, UInt64(segment.length))) : 0
    guard segment.length > done else { return }
    let bytes = UnsafeRawBufferPointer(start: segment.stored + done, count: segment.length - done)
    try device.write(bytes, at: segment.offset + UInt64(done))
  }

  /// Keeps a segment in memory, because readers now find its records through the mapping.
  private func pin(_ segment: Segment, from: UInt64) throws(StorageError) {
    let end = segment.offset + UInt64(segment.length)
    guard end > from else { return }
    let start = max(from, segment.offset)
    try device.pinMapped(start..<end)
    guard segment.storedDistance > 0 else { return }
    let bytes = segment.memory + Int(start - segment.offset)
    device.show(UnsafeRawBufferPointer(start: bytes, count: Int(end - start)), at: start)
  }

  /// Writes bytes that are not part of waiting frames, piece by piece, and lets frames pass before
  /// each piece.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int) throws(StorageError) {
    var at = 0
    while at < bytes.count {
      let count = min(pieces, bytes.count - at)
      yieldToFrames()
      try device.write(UnsafeRawBufferPointer(rebasing: bytes[at..<at + count]), at: offset + UInt64(at))
      at += count
    }
  }

  /// Writes zeros, which a walk treats as unused space.
  func writeZeros(_ range: Range<UInt64>) throws(StorageError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let length = min(Int(range.upperBound - offset), FrameWriter.zeros.count)
      let result = FrameWriter.zeros.withUnsafeBytes { bytes in
        Result { () throws(StorageError) in
          try device.write(UnsafeRawBufferPointer(rebasing: bytes[..<length]), at: offset)
        }
      }
      try result.get()
      offset += UInt64(length)
    }
  }

  /// Yields to a thread that is writing frames.
  ///
  /// File systems let one thread at a time change a file, without fairness: writing piece after
  /// piece, or punching block after block, would delay a small commit by milliseconds. Therefore
  /// this is called before each piece. It only waits briefly, and does not guarantee a turn.
  func yieldToFrames() {
    let turn = writes.load(ordering: .relaxed)
    if turn & 1 == 0 { return }
    for _ in 0..<100 {
      Monitor.yieldProcessor()
      if writes.load(ordering: .relaxed) != turn { return }
    }
  }
}

/// Requests the system to write cached pages of a file's log before a sync has to wait for them: 8
/// MiB at a time, on a separate thread, because the call blocks while the disk is busy.
///
/// Thread safety: all methods may be called from any thread.
package final class Writeback: Sendable {
  private static let step: UInt64 = 8 << 20

  private let device: any Device
  /// The offset up to which writing has been requested.
  private let through = Atomic<UInt64>(0)
  private let queue = DispatchQueue(label: "latewood.writeback", qos: .utility)

  init(_ device: any Device) { self.device = device }

  /// Starts at an offset of the log.
  package func restart(at offset: UInt64) { through.store(offset, ordering: .relaxed) }

  /// Requests writing of the log up to `end`, if enough of it is new.
  package func advance(through end: UInt64) {
    let start = through.load(ordering: .relaxed)
    guard end > start, end - start >= Writeback.step,
      through.compareExchange(expected: start, desired: end, ordering: .relaxed).exchanged
    else { return }
    queue.async { [device] in device.startWriteback(offset: start, length: end - start) }
  }
}
