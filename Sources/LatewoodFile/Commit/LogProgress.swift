import LatewoodBytes

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
  private var discarded: [Range<UInt64>] = []

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
    if completedThrough > writtenThrough { discarded.append(writtenThrough..<completedThrough) }
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

  /// Replaces the open segment with the same one after more frames, or with another one that starts
  /// at its end, once all frames of the earlier one are written.
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
