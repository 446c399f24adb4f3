import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// The progress of the log from memory to the disk, and the error that stopped it, if any.
///
/// ```
/// syncedThrough <= writtenThrough <= completedThrough   offsets in the file, ends of frames
/// | on the disk  | in the file    | in waiting and open segments
/// ```
///
/// ```
///            a write finds no space                restart
/// writing  ------------------------->  full  -------------------->  writing, a checkpoint is needed
///    |                                  |
///    |  another failure of a write,     |
///    |  or any of a sync                v
///    +------------------------------> ended                         until the file is opened again
/// ```
///
/// On a full disk, `restart` discards the frames in memory and continues after a gap, which a walk
/// from an older checkpoint does not cross.
///
/// Invariant: while a checkpoint is needed, `durableMark` does not move, so the log never claims
/// durability beyond such a gap.
///
/// A plain value; ``SharedProgress`` guards it.
struct LogProgress {
  private enum Stage {
    case writing
    /// The disk has no space for frames: nothing is written until `restart`.
    case full(StorageError)
    /// Writing has ended for good; `after` is an earlier lack of space, if any.
    case ended(StorageError, after: StorageError?)
  }

  private var stage = Stage.writing
  private(set) var isClosed = false
  /// Whether appending is refused. This is a plain flag, because every begin and commit reads it.
  private(set) var isStopped = false

  /// Segments that wait to be written, oldest first.
  private(set) var waiting: [Segment] = []
  private(set) var open: Segment
  private(set) var completedThrough: UInt64 = FileLayout.logStart
  private(set) var writtenThrough: UInt64 = FileLayout.logStart
  private(set) var syncedThrough: UInt64 = FileLayout.logStart
  /// The offset up to which frames and slots may claim durability.
  private(set) var durableMark: UInt64 = FileLayout.logStart
  /// The number of bytes of the file that exist and may be read.
  private(set) var readableThrough: UInt64 = FileLayout.logStart

  private(set) var needsCheckpoint = false
  /// The start of the log after its last gap since the file was opened.
  private(set) var chainStart: UInt64 = FileLayout.logStart
  /// The end of the log before the gap. Only valid while a checkpoint is needed.
  private var gapStart: UInt64 = FileLayout.logStart
  /// Ranges whose commits were discarded for lack of space. A commit that ends in such a range will
  /// never be in the file.
  ///
  /// They matter only to a caller that reads a position before a restart and flushes after it, so
  /// few are kept. Beyond ``discardedLimit``, the two oldest ranges are merged. The merged range
  /// includes the commits between them, which their callers have long since flushed.
  private(set) var discarded: [Range<UInt64>] = []
  static let discardedLimit = 16

  init(open: Segment) { self.open = open }

  // MARK: Stages

  /// The error that ended all writing; nil if it has not ended.
  var failure: StorageError? {
    if case .ended(let failure, _) = stage { return failure }
    return nil
  }

  /// The lack of space that stopped writing, even if another failure followed.
  var shortage: StorageError? {
    switch stage {
    case .writing: nil
    case .full(let shortage): shortage
    case .ended(_, let shortage): shortage
    }
  }

  mutating func close() {
    isClosed = true
    isStopped = true
  }

  mutating func fail(_ error: StorageError) {
    guard error.kind == .outOfSpace else { return end(with: error) }
    switch stage {
    case .writing: stage = .full(error)
    case .full: break
    case .ended(let failure, let shortage): stage = .ended(failure, after: shortage ?? error)
    }
    isStopped = true
  }

  /// Ends all writing for good. The first failure is kept.
  mutating func end(with error: StorageError) {
    if failure == nil { stage = .ended(error, after: shortage) }
    isStopped = true
  }

  /// Discards everything not yet written and continues at `tail`, past everything that may have
  /// been written.
  mutating func restart(at tail: UInt64) {
    if completedThrough > writtenThrough { discard(writtenThrough..<completedThrough) }
    if !needsCheckpoint { gapStart = writtenThrough }
    waiting = []
    chainStart = tail
    completedThrough = tail
    writtenThrough = tail
    if let failure { stage = .ended(failure, after: nil) } else { stage = .writing }
    isStopped = failure != nil || isClosed
    needsCheckpoint = true
    open = .empty(open.chunk, at: tail)
  }

  private mutating func discard(_ range: Range<UInt64>) {
    if discarded.count == LogProgress.discardedLimit {
      discarded.replaceSubrange(0..<2, with: [discarded[0].lowerBound..<discarded[1].upperBound])
    }
    discarded.append(range)
  }

  // MARK: Errors

  /// The error for every further write; nil if writing is possible, or stopped only for lack of
  /// space.
  var refusal: StorageError? {
    if !isStopped { return nil }
    if isClosed { return StorageError(.closed, "the file is closed") }
    guard let failure else { return nil }
    if failure.kind == .fileMoved { return failure }
    return StorageError(
      .poisoned, "writing failed earlier (\(failure.reason)): open the store again",
      offset: failure.offset, errno: failure.errno)
  }

  /// The reason why appending is refused. `isStopped` must be set.
  func reasonToStop(hasWaited: Bool = false) -> StorageError {
    if hasWaited, let first = failure ?? shortage { return first }
    return refusal ?? shortage ?? .commitWithoutSpace
  }

  /// Returns the error of a flush of everything before `target`; nil if it can proceed.
  ///
  /// Threads that were waiting get the failure itself; later ones get `poisoned`. A lack of space
  /// does not prevent a sync of bytes already in the file, which readers may have seen.
  func refusal(of target: UInt64, durable: Bool, hasWaited: Bool) -> StorageError? {
    if isDiscarded(target) { return .commitWithoutSpace }
    if !isStopped || (durable && isSyncable(target)) { return nil }
    return reasonToStop(hasWaited: hasWaited)
  }

  // MARK: Flushing

  /// Returns whether everything before `target` is in the file or, if `durable`, synced.
  func isDone(_ target: UInt64, durable: Bool) -> Bool {
    target <= (durable ? syncedThrough : writtenThrough) && !isDiscarded(target)
  }

  /// Returns whether everything before `target` is in the file, and can still be synced.
  func isSyncable(_ target: UInt64) -> Bool { target <= writtenThrough && failure == nil && !isClosed }

  private func isDiscarded(_ target: UInt64) -> Bool {
    !discarded.isEmpty && discarded.contains { $0.lowerBound < target && target <= $0.upperBound }
  }

  /// Records that everything before `through` has been written; `written` is the open segment as of
  /// the start of the write.
  mutating func finishWriting(through: UInt64, open written: Segment) {
    writtenThrough = through
    for segment in waiting where segment.end <= through {
      readableThrough = max(readableThrough, segment.readable)
    }
    if !waiting.isEmpty { waiting.removeAll { $0.end <= through } }
    if written.length > 0 {
      readableThrough = max(readableThrough, written.offset + UInt64(written.length))
    }
  }

  mutating func finishSync(through: UInt64) {
    syncedThrough = max(syncedThrough, through)
    if !needsCheckpoint { durableMark = max(durableMark, syncedThrough) }
  }

  /// Records that the bytes before `end` exist.
  mutating func extendReadable(through end: UInt64) { readableThrough = max(readableThrough, end) }

  // MARK: Appending

  /// Replaces the open segment: with the same segment after more frames or, once all its frames are
  /// written, with a new segment that starts at its end.
  mutating func completeFrames(of segment: Segment) {
    open = segment
    completedThrough = segment.end
  }

  /// Ends the open segment and opens `next`.
  mutating func endSegment(_ segment: Segment, next: Segment) {
    completeFrames(of: segment)
    if segment.end > writtenThrough { waiting.append(segment) }
    open = next
  }

  /// Returns the unwritten segment that contains the byte at `offset`.
  func waitingSegment(at offset: UInt64) -> Segment? {
    guard let segment = waiting.last(where: { $0.offset <= offset }),
      offset < segment.offset + UInt64(segment.length)
    else { return nil }
    return segment
  }

  // MARK: Opening

  /// Sets the end of a log written by another process.
  mutating func noteCommitted(through offset: UInt64) {
    completedThrough = offset
    writtenThrough = offset
  }

  mutating func setReadable(through size: UInt64) { readableThrough = size }

  /// Begins to append at `tail` to a log that ends at `end` and is known to be durable before
  /// `floor`. A gap before `tail` is not crossed by any walk, so a checkpoint is then needed.
  mutating func begin(at tail: UInt64, after end: UInt64, floor: UInt64, hasGap: Bool) {
    noteCommitted(through: tail)
    syncedThrough = floor
    durableMark = floor
    needsCheckpoint = hasGap
    gapStart = end
    if hasGap { chainStart = tail }
    open = .empty(open.chunk, at: tail)
  }

  // MARK: Gaps

  /// The gap that the needed checkpoint must replay beyond; nil if no checkpoint is needed.
  var gap: Range<UInt64>? { needsCheckpoint ? gapStart..<max(gapStart, chainStart) : nil }

  /// Returns whether a checkpoint that replays from `start` does so beyond the last gap.
  func isBeyondGap(_ start: UInt64) -> Bool { start >= chainStart }

  /// Records that a checkpoint which replays from `start` is durable.
  mutating func clearNeedsCheckpoint(replayingFrom start: UInt64) {
    // The log may have restarted again while the slot was written.
    guard isBeyondGap(start) else { return }
    needsCheckpoint = false
    durableMark = max(durableMark, syncedThrough)
  }
}

extension StorageError {
  static var commitWithoutSpace: StorageError {
    StorageError(.outOfSpace, "the disk is full: this commit did not fit and was discarded")
  }
  static var fileMoved: StorageError {
    StorageError(
      .fileMoved,
      "the open file was removed, renamed or replaced: writing stops")
  }
  static var checkpointNeeded: StorageError {
    StorageError(.unsupported, "a checkpoint must be written before the next transaction")
  }
}

/// A contiguous range of the log in memory, on its way to the file.
struct Segment {
  var memory: UnsafeRawPointer
  /// The distance to the same bytes as they will be in the file; 0 unless it is encrypted.
  var storedDistance = 0
  /// The file offset of its first byte.
  var offset: UInt64
  /// The number of bytes in memory, all of them in complete frames.
  var length: Int
  /// The file offset of the next segment. Bytes in between, such as a large value or nodes, are
  /// written separately.
  var end: UInt64
  /// The offset up to which the file exists once the segment is written.
  var readable: UInt64
  var chunk: UnsafeMutableRawPointer

  /// The bytes as they will be in the file.
  var stored: UnsafeRawPointer { memory + storedDistance }

  /// A segment without frames, which begins at `offset` in the file and at the start of a chunk.
  static func empty(_ chunk: UnsafeMutableRawPointer, at offset: UInt64) -> Segment {
    Segment(
      memory: UnsafeRawPointer(chunk), offset: offset, length: 0, end: offset, readable: offset,
      chunk: chunk)
  }
}

/// The progress of the log (``LogProgress``) and the monitor that guards it.
///
/// ```
/// LogBuffer                      SharedProgress                  GroupCommit
/// completes frames, ends     ->  open and waiting segments,  ->  writes them, syncs,
/// segments, empties chunks       how far they have come          and notes what is done
/// ```
///
/// Offsets and flags are also published when the monitor is released, each in a separate atomic, so
/// that the start of a transaction, a view of the file and most questions take no lock.
///
/// Invariants:
/// 1. A thread that finds an offset published sees all bytes of the log before it.
/// 2. The flags may be older than the progress, unless the caller has the lock that they change
///    under. So a frame that was begun can still be refused when it is handed over, under the
///    monitor.
///
/// Thread safety: all calls from any thread. Only the thread that has the store's writer lock
/// changes the segments; only a thread that has a turn of ``GroupCommit`` records progress of
/// writes and syncs.
// SAFETY: the pointer `state` never changes, and the monitor guards the memory it points to.
final class SharedProgress: @unchecked Sendable {
  /// The flags of `signals`.
  private enum Signal {
    static let stopped: UInt8 = 1
    static let outOfSpace: UInt8 = 2
    static let needsCheckpoint: UInt8 = 4
  }

  /// Guards the progress and the turns at writing and syncing.
  let monitor = Monitor()
  private let state: UnsafeMutablePointer<LogProgress>
  // The progress as of the last change.
  private let completed = Atomic<UInt64>(FileLayout.logStart)
  private let written = Atomic<UInt64>(FileLayout.logStart)
  private let synced = Atomic<UInt64>(FileLayout.logStart)
  private let durable = Atomic<UInt64>(FileLayout.logStart)
  private let readable = Atomic<UInt64>(FileLayout.logStart)
  private let signals = Atomic<UInt8>(0)

  init(open: Segment) {
    state = .allocate(capacity: 1)
    state.initialize(to: LogProgress(open: open))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Reads or changes the progress with the monitor held.
  @inline(__always) func locked<Result>(_ body: (inout LogProgress) -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return change(body)
  }

  /// The progress. The caller must hold the monitor.
  @inline(__always) var held: LogProgress { _read { yield state.pointee } }

  /// Changes the progress. The caller must hold the monitor.
  @inline(__always) func change<Result>(_ body: (inout LogProgress) -> Result) -> Result {
    defer { publish() }
    return body(&state.pointee)
  }

  private func publish() {
    completed.store(held.completedThrough, ordering: .releasing)
    written.store(held.writtenThrough, ordering: .releasing)
    synced.store(held.syncedThrough, ordering: .releasing)
    durable.store(held.durableMark, ordering: .releasing)
    readable.store(held.readableThrough, ordering: .releasing)
    var flags = held.needsCheckpoint ? Signal.needsCheckpoint : 0
    if held.isStopped { flags |= held.shortage == nil ? Signal.stopped : Signal.stopped | Signal.outOfSpace }
    signals.store(flags, ordering: .releasing)
  }

  private func has(_ flags: UInt8) -> Bool { signals.load(ordering: .acquiring) & flags != 0 }

  // MARK: Offsets

  var completedThrough: UInt64 { completed.load(ordering: .acquiring) }
  var writtenThrough: UInt64 { written.load(ordering: .acquiring) }
  var syncedThrough: UInt64 { synced.load(ordering: .acquiring) }
  /// The offset up to which frames and slots may claim durability.
  var durableMark: UInt64 { durable.load(ordering: .acquiring) }
  /// The number of bytes of the file that exist and may be read.
  var readableThrough: UInt64 { readable.load(ordering: .acquiring) }

  /// Notes that the bytes before `end` exist.
  func extendReadable(through end: UInt64) { locked { $0.extendReadable(through: end) } }

  /// Sets the number of bytes that exist, before a log is read.
  func setReadable(through size: UInt64) { locked { $0.setReadable(through: size) } }

  /// Sets the end of a log written by another process.
  func noteCommitted(through offset: UInt64) { locked { $0.noteCommitted(through: offset) } }

  // MARK: Failures

  /// Throws if the file is closed or writing has ended.
  func check() throws(StorageError) {
    if has(Signal.stopped), let error = locked({ $0.refusal }) { throw error }
  }

  /// Throws if a frame cannot be begun now.
  ///
  /// - Parameter isTransaction: whether a transaction begins, which must wait for a needed
  ///   checkpoint.
  func checkBeginning(ofTransaction isTransaction: Bool) throws(StorageError) {
    if has(Signal.stopped), let error = locked({ $0.isStopped ? $0.reasonToStop() : nil }) { throw error }
    if isTransaction, needsCheckpoint { throw .checkpointNeeded }
  }

  /// The error that ended all writing; nil if it has not ended.
  var failure: StorageError? { has(Signal.stopped) ? locked { $0.failure } : nil }

  /// Whether writing is stopped for lack of space until the log restarts.
  var isOutOfSpace: Bool { has(Signal.outOfSpace) }

  /// Whether a lack of space, or a gap, prevents transactions from beginning.
  var isInterrupted: Bool { has(Signal.outOfSpace | Signal.needsCheckpoint) }

  /// Ends all writing for good.
  func end(with error: StorageError) { locked { $0.end(with: error) } }

  /// Stops writing: for lack of space until the log restarts, otherwise for good.
  func fail(_ error: StorageError) { locked { $0.fail(error) } }

  /// Closes the log. Returns false if it was closed before.
  func close() -> Bool {
    locked { progress in
      if progress.isClosed { return false }
      progress.close()
      return true
    }
  }

  // MARK: Gaps

  var needsCheckpoint: Bool { has(Signal.needsCheckpoint) }

  /// The gap beyond which the needed checkpoint must replay; nil if no checkpoint is needed.
  var gap: Range<UInt64>? { locked { $0.gap } }

  /// Returns whether a checkpoint that replays from `start` does so beyond the last gap.
  func isBeyondGap(_ start: UInt64) -> Bool { locked { $0.isBeyondGap(start) } }

  /// Returns whether a checkpoint that replays from `start` satisfies the need for a checkpoint.
  func isNeeded(replayingFrom start: UInt64) -> Bool {
    locked { $0.needsCheckpoint && $0.isBeyondGap(start) }
  }

  /// Returns the offset up to which a slot may claim durability if its checkpoint replays from
  /// `start`.
  ///
  /// - Parameter isNeeded: whether the checkpoint was needed and is durable.
  func durableMark(replayingFrom start: UInt64, isNeeded: Bool) -> UInt64 {
    // If the log has just restarted after a gap, the walk from this checkpoint does not reach
    // beyond it.
    locked { progress in
      isNeeded && progress.isBeyondGap(start) ? progress.syncedThrough : progress.durableMark
    }
  }

  /// Records that a checkpoint which replays from `start` is durable, with its slot.
  func clearNeedsCheckpoint(replayingFrom start: UInt64) {
    locked { $0.clearNeedsCheckpoint(replayingFrom: start) }
  }
}
