import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// Collects the dead parts of a store's file, and returns their blocks to the file system when they
/// can no longer be read.
///
/// Methods are called by one thread at a time, in a checkpoint or while none runs, unless their
/// comment says otherwise. See `DeadSpaceState` for the states of a dead range.
final class SpaceReclaimer: Sendable {
  /// The maximum time for which readers are kept out, and the pause after it.
  private static let punchNanoseconds: UInt64 = 10_000_000
  private static let pauseMilliseconds: UInt64 = 3
  /// The maximum wait for the end of short reads of an older tree.
  private static let patienceMilliseconds: UInt64 = 20
  /// The maximum time that one checkpoint spends counting references. Up to `quickLength` live
  /// bytes, counting begins regardless of the dead bytes.
  private static let countNanoseconds: UInt64 = 500_000_000
  private static let quickLength: UInt64 = 64 << 20
  /// A longer tree is counted only if the dead bytes are at least a sixteenth of its live bytes.
  private static let countedShare: UInt64 = 16

  private let currentFile: CurrentFile
  private let readers: ReaderRegistry
  private let options: Store.Options
  private let isReadOnly: Bool
  private let state = Guarded(DeadSpaceState())
  /// While this is above 0, no space is reclaimed; see `pause`.
  private let pauses = Atomic<Int>(0)
  /// Held while blocks are punched.
  private let punching = Monitor()

  init(_ currentFile: CurrentFile, readers: ReaderRegistry, options: Store.Options, isReadOnly: Bool) {
    self.currentFile = currentFile
    self.readers = readers
    self.options = options
    self.isReadOnly = isReadOnly
  }

  /// Whether dead ranges are collected. Any thread.
  var isCollecting: Bool { options.punchesHoles && !isReadOnly && !state.withLock { $0.isOver } }

  /// The replay position of the newest checkpoint. Any thread.
  var replay: ReplayPosition { state.withLock { $0.replay } }

  /// The offset of the oldest readable checkpoint; 0 if all are. Any thread.
  var oldestWhole: UInt64 { state.withLock { $0.oldestWhole } }

  /// The number of bytes reclaimed since the store was opened. Any thread.
  var reclaimedBytes: UInt64 { state.withLock { $0.reclaimedBytes } }

  /// The error that ended reclaiming; nil if there was no error. Any thread.
  var failure: StorageError? { state.withLock { $0.failure } }

  /// The number of dead bytes in partly live blocks, which only a compaction can reclaim. Any
  /// thread.
  var partialBlockBytes: UInt64 { state.withLock { $0.punchable.ranges.reduce(0) { $0 &+ $1.length } } }

  /// Whether dead ranges are kept only because an older base tree is being read. Any thread.
  var isHeldByReaders: Bool {
    state.withLock { state in
      let kept = options.wholeCheckpoints
      return state.eligible(keeping: kept, oldestPinned: nil)?.epoch
        != state.eligible(keeping: kept, oldestPinned: state.bases.oldest)?.epoch
    }
  }

  /// Starts over with a new file.
  ///
  /// - Parameters:
  ///   - checkpoint: offset of its newest checkpoint; 0 if there is none.
  ///   - replay: the replay position of that checkpoint.
  ///   - isOwn: whether this process wrote the entire file.
  /// - Returns: the pin of that checkpoint's base tree.
  func start(from checkpoint: UInt64, replay: ReplayPosition, isOwn: Bool) -> BasePin {
    let file = currentFile.file
    return state.withLock { state in
      var fresh = DeadSpaceState()
      fresh.replay = replay
      fresh.ownership = isOwn ? .own : .unknown
      fresh.oldestWhole = file.oldestWholeCheckpoint
      if checkpoint != 0 { fresh.complete = [.init(checkpoint: checkpoint, epoch: fresh.epoch)] }
      fresh.reclaimedBytes = state.reclaimedBytes
      state = fresh
      return BasePin(epoch: fresh.epoch, registry: fresh.bases)
    }
  }

  /// Begins the next epoch, and returns the pin of its base tree.
  func pinNextBase() -> BasePin {
    state.withLock { state in
      state.epoch += 1
      return BasePin(epoch: state.epoch, registry: state.bases)
    }
  }

  /// Pins the base tree of an older checkpoint; nil if parts of it may have been reclaimed. Any
  /// thread.
  func pin(checkpoint offset: UInt64) -> BasePin? {
    state.withLock { state in
      guard offset >= state.oldestWhole else { return nil }
      let epoch = state.complete.first { $0.checkpoint == offset }?.epoch ?? 0
      return BasePin(epoch: epoch, registry: state.bases)
    }
  }

  /// Calls a closure with the state of dead space locked. For tests.
  func withStateLocked<Result>(_ body: () throws -> Result) rethrows -> Result {
    try state.withLock { _ in try body() }
  }

  // MARK: Collecting

  /// Carries the dead space of a merge over to the next checkpoint: its tree is in use although its
  /// checkpoint was not written, so the previous checkpoint still needs that space.
  func carryOver(_ dead: DeadSpace) {
    if isCollecting { state.withLock { $0.unconcluded.append(dead) } }
  }

  /// Collects the dead space of a checkpoint once its slot is written, before its tree is
  /// installed. Neither the next base tree nor a later one needs that space, or the log before its
  /// replay offset.
  func collect(_ dead: DeadSpace, of checkpoint: AppendedCheckpoint) {
    let replay = checkpoint.record.replay
    var frames: [DeadRange] = []
    let collects = isCollecting
    if collects {
      // Unreadable frames are not reclaimed.
      do throws(StorageError) {
        frames = try currentFile.file.frames(from: self.replay, to: replay.offset).ranges
      } catch {}
    }
    state.withLock { state in
      var all = state.unconcluded
      state.unconcluded = DeadSpace()
      all.append(dead)
      all.add(log: frames)
      all.removeAll(beyond: checkpoint.offset)
      state.replay = replay
      state.newest = checkpoint
      state.complete.append(.init(checkpoint: checkpoint.offset, epoch: state.epoch + 1))
      // If no space is reclaimed, all checkpoints stay complete, and only some need to be listed.
      if !collects { state.complete.removeFirst(max(0, state.complete.count - options.wholeCheckpoints)) }
      if collects {
        state.waiting.append(.init(epoch: state.epoch + 1, ranges: all.ranges, length: all.length))
      }
    }
  }

  // MARK: Reclaiming

  /// Pauses reclaiming until the matching `resume`, and waits until no blocks are being punched.
  /// Any thread.
  func pause() {
    pauses.add(1, ordering: .acquiringAndReleasing)
    punching.withLock {}
  }

  func resume() { pauses.subtract(1, ordering: .acquiringAndReleasing) }

  private var isPaused: Bool { pauses.load(ordering: .acquiring) > 0 }

  /// Returns dead blocks to the file system. Must be called without any lock.
  ///
  /// - Parameter least: the smallest number of dead bytes for which this is worthwhile; nil for the
  ///   default.
  /// - Throws: only if the store can no longer write, because a slot could not be made durable.
  func reclaim(least: UInt64? = nil) throws(StorageError) {
    try attempt { () throws(StorageError) in
      try joinDead(least: least ?? options.punchingThreshold)
      try punchDead()
    }
  }

  /// Runs a step of reclaiming, unless that has ended or is paused. A failure ends it.
  private func attempt(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    guard isCollecting, !isPaused else { return }
    do throws(StorageError) {
      try body()
    } catch {
      if currentFile.file.isPoisoned { throw error }
      // If there was no space for the slot, the next checkpoint tries again. Other failures are not
      // worth a second attempt.
      if error.kind == .outOfSpace { return }
      state.withLock { state in
        state.failure = error
        state.end()
      }
    }
  }

  /// Reclaims the nodes that a checkpoint wrote before it failed for lack of space. They were never
  /// referenced.
  func discard(_ regions: [Range<UInt64>]) {
    guard isCollecting else { return }
    state.withLock { state in
      state.punchable.insert(
        regions.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) })
    }
    // If this fails, the regions wait for the next checkpoint.
    do throws(StorageError) { try punchDead() } catch { return }
  }

  /// Moves ranges that are no longer needed to `punchable`, after ensuring that neither slot leads
  /// to them.
  private func joinDead(least: UInt64) throws(StorageError) {
    let file = currentFile.file
    let limit = state.withLock { state in
      state.eligible(keeping: options.wholeCheckpoints, oldestPinned: nil)
    }
    guard let limit, limit.length >= least, try !file.hasReaders(),
      try areReferencesCounted(dead: limit.length)
    else { return }
    waitForReads(of: limit.epoch)
    // After this, older checkpoints cannot be opened, so new readers cannot pin these ranges.
    let decided = state.withLock { state -> (checkpoint: AppendedCheckpoint, epoch: UInt64)? in
      guard
        let eligible = state.eligible(keeping: options.wholeCheckpoints, oldestPinned: state.bases.oldest),
        eligible.length >= least, let newest = state.newest
      else { return nil }
      state.complete.removeAll { $0.epoch < eligible.epoch }
      state.oldestWhole = state.complete.first?.checkpoint ?? newest.offset
      return (newest, eligible.epoch)
    }
    guard let decided else { return }
    try file.writeBothSlots(naming: decided.checkpoint, oldestWhole: oldestWhole)
    state.withLock { state in
      let count = state.waiting.prefix { $0.epoch <= decided.epoch }.count
      let dead = state.waiting.prefix(count).flatMap(\.ranges)
      state.waiting.removeFirst(count)
      state.ownership.remove(dead)
      state.punchable.insert(dead) { file.isPadding($0) }
    }
  }

  /// Waits briefly for transactions and short reads, which pin an older base tree only for
  /// microseconds and do not signal their end. Does not wait for snapshots.
  private func waitForReads(of epoch: UInt64) {
    let bases = state.withLock { $0.bases }
    var waited: UInt64 = 0
    readers.collect()
    while waited < SpaceReclaimer.patienceMilliseconds, let oldest = bases.oldest, oldest < epoch {
      Monitor.sleep(milliseconds: 1)
      readers.collect()
      waited += 1
    }
  }

  private func punchDead() throws(StorageError) {
    let file = currentFile.file
    let blockLength = file.device.blockLength
    var blocks = state.withLock { state in
      state.ownership.free(
        in: state.punchable.takeBlocks(of: blockLength) { file.isPadding($0) }, of: blockLength)
    }
    let all = blocks.reduce(0) { $0 + $1.count }
    var outcome = PunchOutcome.busy
    defer {
      let rest = blocks.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) }
      state.withLock { state in
        state.reclaimedBytes += UInt64(all - blocks.reduce(0) { $0 + $1.count })
        state.punchable.insert(rest)
        if outcome == .unsupported { state.end() }
      }
    }
    while !blocks.isEmpty, !isPaused {
      // Part of a long range may have been punched.
      let before = blocks.last
      outcome = try punching.withLock { () throws(StorageError) in
        // Measured from the first block, so that each turn punches at least one.
        var start: UInt64?
        return try file.punch(&blocks) {
          if isPaused { return true }
          let now = MonotonicClock.nanoseconds
          defer { start = start ?? now }
          return now - (start ?? now) >= SpaceReclaimer.punchNanoseconds
        }
      }
      if outcome != .busy || blocks.last == before { return }
      Monitor.sleep(milliseconds: SpaceReclaimer.pauseMilliseconds)
    }
  }

  // MARK: Sweeping
  //
  // The dead ranges of a session are known only to it: when it closes, parts of blocks, and what
  // was too little to be worth a root slot, stay. Many short sessions leave many of these. So
  // everything that can still be read is counted, and all other blocks are dead, even blocks that
  // other processes left.

  /// Reclaims every block before the newest checkpoint that nothing refers to.
  ///
  /// Does nothing after the first time, because this session then knows all dead ranges; nor
  /// while a reader, a snapshot or a copy may need an older tree. Reads all nodes: O(live bytes).
  ///
  /// - Parameter longest: the maximum number of live bytes for which this is worthwhile.
  /// - Throws: only if the store can no longer write, because a slot could not be made durable.
  func sweep(upTo longest: UInt64) throws(StorageError) {
    try attempt { () throws(StorageError) in
      guard let found = try findFreeBlocks(upTo: longest) else { return }
      try currentFile.file.writeBothSlots(naming: found.checkpoint, oldestWhole: oldestWhole)
      let file = currentFile.file
      state.withLock { state in
        state.ownership = .counted(found.claims)
        state.isSwept = true
        let dead = state.waiting.flatMap(\.ranges)
        state.waiting = []
        state.punchable.insert(dead) { file.isPadding($0) }
        state.punchable.insert(
          found.blocks.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) })
      }
      try punchDead()
    }
  }

  private struct Found {
    var checkpoint: AppendedCheckpoint
    var claims: BlockReferenceCounts
    var blocks: [Range<UInt64>]
  }

  /// Counts the references to all blocks before the newest checkpoint; nil if there is none, some
  /// cannot be counted, or an older tree may be read.
  private func findFreeBlocks(upTo longest: UInt64) throws(StorageError) -> Found? {
    let file = currentFile.file
    let (isKnown, epoch) = state.withLock { ($0.isSwept || $0.ownership.isOwn, $0.epoch) }
    guard !isKnown, options.wholeCheckpoints == 1, try !file.hasReaders(),
      let checkpoint = try newestCheckpoint(), (checkpoint.record.root?.liveBytes ?? 0) <= longest
    else { return nil }
    waitForReads(of: epoch)
    // After this no older checkpoint can be opened, so no new reader can pin its tree.
    let isAlone = state.withLock { state in
      guard state.epoch == epoch, state.bases.oldest ?? .max >= epoch else { return false }
      state.complete = [.init(checkpoint: checkpoint.offset, epoch: epoch)]
      state.oldestWhole = checkpoint.offset
      return true
    }
    guard isAlone, var claims = BlockReferenceCounts(limit: checkpoint.offset) else { return nil }
    let frames = try file.frames(from: checkpoint.record.replay, to: checkpoint.offset)
    guard frames.isComplete else { return nil }
    for range in frames.ranges {
      guard claims.add(range) else { throw Ownership.contradiction(at: range.start) }
    }
    guard let pin = pin(checkpoint: checkpoint.offset) else { return nil }
    let count = ReferenceCount(claims, tree: Version(of: checkpoint.record, in: file, pin: pin))
    guard try count.run(until: { isPaused }) else { return nil }
    let blocks = try withoutHoles(count.claims.freeBlocks(of: file.device.blockLength), in: file)
    return Found(checkpoint: checkpoint, claims: count.claims, blocks: blocks)
  }

  /// Returns ascending blocks without the holes that the system knows. Makes a system call for each
  /// hole.
  private func withoutHoles(
    _ blocks: [Range<UInt64>], in file: DatabaseFile
  ) throws(StorageError) -> [Range<UInt64>] {
    guard let first = blocks.first else { return [] }
    var rest: [Range<UInt64>] = []
    var hole = try file.device.nextHole(from: first.lowerBound)
    for block in blocks {
      var start = block.lowerBound
      while start < block.upperBound {
        if let known = hole, known.upperBound <= start { hole = try file.device.nextHole(from: start) }
        guard let next = hole, next.lowerBound < block.upperBound else {
          rest.append(start..<block.upperBound)
          break
        }
        if next.lowerBound > start { rest.append(start..<next.lowerBound) }
        start = max(start, next.upperBound)
      }
    }
    return rest
  }

  /// The newest checkpoint, written by this session or an earlier one; nil if there is none.
  private func newestCheckpoint() throws(StorageError) -> AppendedCheckpoint? {
    if let newest = state.withLock({ $0.newest }) { return newest }
    let (file, offset) = currentFile.fileAndCheckpoint
    return offset == 0 ? nil : try file.appendedCheckpoint(at: offset)
  }

  // MARK: Owners

  /// Returns whether all references to blocks with dead bytes are known. Counts them if necessary.
  ///
  /// Throws if the file contradicts itself, or cannot be read.
  private func areReferencesCounted(dead length: UInt64) throws(StorageError) -> Bool {
    let (ownership, newest) = state.withLock { ($0.ownership, $0.newest) }
    switch ownership {
    case .own, .counted: return true
    case .counting(let count): return try continueCounting(count)
    case .unknown:
      let live = newest?.record.root?.liveBytes ?? 0
      let isQuick = live <= SpaceReclaimer.quickLength
      guard isQuick || length >= live / SpaceReclaimer.countedShare, let newest else { return false }
      guard let count = try startCounting(before: newest) else { return false }
      state.withLock { $0.ownership = .counting(count) }
      return try continueCounting(count)
    }
  }

  private func continueCounting(_ count: ReferenceCount) throws(StorageError) -> Bool {
    let start = MonotonicClock.nanoseconds
    let isDone = try count.run {
      MonotonicClock.nanoseconds - start > SpaceReclaimer.countNanoseconds
    }
    if isDone { state.withLock { $0.ownership = .counted(count.claims) } }
    return isDone
  }

  /// Counts the log and the waiting ranges; nil if not everything can be counted.
  private func startCounting(before newest: AppendedCheckpoint) throws(StorageError) -> ReferenceCount? {
    guard var claims = BlockReferenceCounts(limit: newest.offset) else { return nil }
    let (waiting, replay) = state.withLock { ($0.waiting, $0.replay) }
    let file = currentFile.file
    let frames = try file.frames(from: replay, to: newest.offset)
    guard frames.isComplete else { return nil }
    for range in waiting.flatMap(\.ranges) + frames.ranges {
      guard claims.add(range) else { throw Ownership.contradiction(at: range.start) }
    }
    guard let pin = pin(checkpoint: newest.offset) else { return nil }
    return ReferenceCount(claims, tree: Version(of: newest.record, in: file, pin: pin))
  }
}

extension Version {
  /// Creates the state of a checkpoint, without later commits.
  convenience init(of record: CheckpointRecord, in file: DatabaseFile, pin: BasePin) {
    self.init(
      number: 0, transaction: record.transaction, base: record.root, active: BufferState(), frozen: nil,
      known: ValidatedKeyspaces(), file: file.view, mapping: file.pin, pin: pin)
  }
}

extension Ownership {
  fileprivate var isOwn: Bool {
    if case .own = self { return true }
    return false
  }
}

extension BlockReferenceCounts {
  /// Returns all complete blocks before `limit` that are free of claims, in ascending order with
  /// neighbours joined.
  ///
  /// - Parameter length: the length of a block of the file system, a power of two.
  fileprivate func freeBlocks(of length: UInt64) -> [Range<UInt64>] {
    let step = max(length, BlockReferenceCounts.blockLength)
    var free: [Range<UInt64>] = []
    var start = (FileLayout.logStart + step - 1) & ~(step - 1)
    while start + step <= limit {
      // The regions begin at multiples of every usual step, so an empty one ends at such a
      // multiple.
      var end = start + step
      if let empty = endOfEmptyRegion(at: start) { end = max(end, min(empty, limit) & ~(step - 1)) }
      if isFree(start..<end) {
        if let last = free.last, last.upperBound == start {
          free[free.count - 1] = last.lowerBound..<end
        } else {
          free.append(start..<end)
        }
      }
      start = end
    }
    return free
  }
}
