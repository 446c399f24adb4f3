import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// Merges the write buffer of a store into its base tree, one checkpoint at a time.
///
/// ```
///          freeze                merge              conclude, install
/// (none) --------->  frozen  ------------->  merged  ------------->  (none)
///                      ^                        |
///                      |  the merge failed      |  the slot could not be written
///                      +------------------------+
/// ```
///
/// - *Frozen*: the full write buffer, in `unfinished`, no longer changes. Readers see it between
///   the active buffer and the base tree, and transactions fill an empty one. Freezing takes the
///   writer lock for microseconds.
/// - *Merged*: the next tree is in the file and durable, with all of the log before it, but nothing
///   refers to it.
/// - Then the checkpoint's frame is appended, a root slot refers to it, and readers see the new
///   tree.
///
/// A failure, such as a full disk, leaves the buffer frozen. The next checkpoint merges it first.
/// If the process ends instead, recovery begins at the older checkpoint and finds everything in the
/// log.
///
/// Invariants:
/// 1. `running` is held from the first step to the last, and for the switch at the end of a
///    compaction. Only its owner changes the base tree, the frozen buffer and the file.
/// 2. `running` is taken before the writer lock, never after it.
///
/// Thread safety: all methods may be called from any thread.
final class Checkpointer: @unchecked Sendable {
  /// The contents of a checkpoint, fixed when the write buffer is frozen.
  private struct Frozen {
    var buffer: BufferState
    var transaction: UInt64
    var replay: ReplayPosition
  }

  private let currentFile: CurrentFile
  private let head: CommitHead
  private let versions: VersionPublisher
  private let pacer: WritePacer
  private let reclaimer: SpaceReclaimer
  private let options: Store.Options
  private let environment: Environment

  private let running = Monitor()
  // SAFETY: changed under both `running` and the writer lock, read under either.
  private var unfinished: Frozen?
  private let queue = DispatchQueue(label: "latewood.checkpoint", qos: .utility)
  /// The first failure in the background since a checkpoint succeeded.
  private let backgroundFailure = Guarded<StorageError?>(nil)

  init(
    _ currentFile: CurrentFile, _ head: CommitHead, _ versions: VersionPublisher, _ pacer: WritePacer,
    _ reclaimer: SpaceReclaimer, options: Store.Options, environment: Environment
  ) {
    self.currentFile = currentFile
    self.head = head
    self.versions = versions
    self.pacer = pacer
    self.reclaimer = reclaimer
    self.options = options
    self.environment = environment
  }

  /// The first failure in the background since a checkpoint succeeded.
  var failure: StorageError? { backgroundFailure.withLock { $0 } }

  // MARK: Running

  /// Runs `checkpoint` on the background queue, unless one is waiting or running there.
  func schedule(_ checkpoint: @escaping @Sendable () throws(StorageError) -> Void) {
    guard options.checkpointsInBackground, pacer.awaitCheckpoint() else { return }
    queue.async { [self] in
      defer { pacer.endCheckpoint() }
      do throws(StorageError) {
        try checkpoint()
      } catch {
        backgroundFailure.withLock { $0 = $0 ?? error }
      }
    }
  }

  /// Calls a closure after a delay, on the queue of checkpoints.
  func runOnQueue(afterMilliseconds delay: Int, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .milliseconds(delay), execute: body)
  }

  /// Calls a closure while no checkpoint runs.
  func withoutCheckpoints<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    try running.withLock(body)
  }

  /// Writes a checkpoint, at which recovery then starts.
  ///
  /// - Parameters:
  ///   - isForced: whether to write a checkpoint even without commits since the last one.
  ///   - reclaims: whether to reclaim dead blocks afterwards. Otherwise they wait for the next
  ///     checkpoint.
  func run(isForced: Bool, reclaims: Bool = true) throws(StorageError) {
    try withoutCheckpoints { () throws(StorageError) in
      try write(isForced: isForced)
      if reclaims { try reclaimer.reclaim() }
      pacer.didReclaim()
    }
  }

  /// Encrypts the key of the file with another key, and durably writes both root slots with it.
  ///
  /// Between the two, the file opens with either key. If this throws, all later slots have the old
  /// key again. So the old key opens the file, unless the last slot or its sync failed, which ends
  /// all writing; then it may be the old key, the new one, or both.
  func changeKey(_ encryption: NewEncryption) throws(StorageError) {
    try withoutCheckpoints { () throws(StorageError) in
      let file = currentFile.file
      let old = try file.replaceWrap(with: encryption)
      do throws(StorageError) {
        try writeBothSlots(of: file)
      } catch {
        file.restoreWrap(old)
        throw error
      }
    }
  }

  /// Returns an anchor of the newest state, which both slots then durably lead to.
  ///
  /// The state belongs to the checkpoint before the two that have the anchor, so that no file ever
  /// has the anchor without the state.
  func anchor() throws(StorageError) -> StateAnchor {
    try withoutCheckpoints { () throws(StorageError) in
      let file = currentFile.file
      guard file.isEncrypted else { throw StateAnchor.needsEncryption }
      try write(isForced: false)
      if let anchor = head.withMaintenance({ file.writer.anchors.current }) { return anchor }
      let anchor = head.withMaintenance { file.writer.anchors.add(environment.random) }
      try writeBothSlots(of: file)
      head.withMaintenance { file.writer.anchors.didBecomeDurable() }
      return anchor
    }
  }

  /// Writes a checkpoint for each of the two slots, and makes each durable.
  private func writeBothSlots(of file: DatabaseFile) throws(StorageError) {
    for _ in 0..<2 {
      try write(isForced: true)
      try file.syncNodes()
    }
  }

  /// Reclaims all known dead blocks, regardless of their number. If there is enough space, also
  /// writes a checkpoint, after which more blocks are dead. Called in `withoutCheckpoints`.
  ///
  /// - Returns: whether any blocks were reclaimed.
  @discardableResult func mergeAndReclaim() throws(StorageError) -> Bool {
    let given = reclaimer.reclaimedBytes
    try reclaimer.reclaim(least: 1)
    let before = reclaimer.reclaimedBytes
    do throws(StorageError) {
      try write(isForced: false)
      pacer.didReclaim()
    } catch {
      // Blocks that were already dead have been punched in any case.
      guard error.kind == .outOfSpace else { throw error }
      return before > given
    }
    try reclaimer.reclaim(least: 1)
    return reclaimer.reclaimedBytes > given
  }

  /// Discards the frozen buffer, because the store switches to a file whose tree already contains
  /// it. Called in `withoutCheckpoints`, under the writer lock.
  func forget() {
    unfinished = nil
    backgroundFailure.withLock { $0 = nil }
  }

  // MARK: The steps

  private func write(isForced: Bool) throws(StorageError) {
    var isForced = isForced
    try rollBackUnwritten()
    while true {
      // Merge the frozen buffer that a checkpoint left when it failed on a full disk.
      let left = unfinished
      var next = left
      if next == nil { next = try freeze(isForced: isForced) }
      guard let frozen = next else { return }
      let (root, dead) = try merge(frozen)
      do throws(StorageError) {
        try conclude(frozen, root, dead)
        if left == nil { return }
      } catch {
        // The log restarted after this buffer was frozen, so checkpoints cannot refer to its old
        // position any more. But the tree is usable: the next checkpoint, which covers everything,
        // is the one that the log needs.
        guard error.kind == .unsupported else { throw error }
        reclaimer.carryOver(dead)
        install(root, of: frozen)
        isForced = true
      }
    }
  }

  /// Undoes unwritten commits after a full disk, unless the thread is in a transaction.
  private func rollBackUnwritten() throws(StorageError) {
    guard currentFile.file.isOutOfSpace, !head.isInTransaction else { return }
    head.lock()
    defer { head.unlock() }
    try head.rollBackUnwritten(in: currentFile.file) { versions.held() }
  }

  /// Replaces the full write buffer with a new one. Holds the writer lock for microseconds.
  private func freeze(isForced: Bool) throws(StorageError) -> Frozen? {
    let file = currentFile.file
    // A store that can no longer write throws the reason, even if there is nothing to merge.
    try file.checkWriting()
    // Flush most of the log before taking the lock, so that it is held for microseconds only. If
    // threads commit synchronously without a pause, it is held for a sync of their commits since.
    try file.flushCommitted(durable: head.awaitsSync(of: file))
    return try head.withMaintenance { () throws(StorageError) in
      try head.rollBackUnwritten(in: file) { versions.held() }
      // The pending bytes include frames of aborted transactions, because a replay must read them.
      if head.newest.active.isEmpty, pacer.pendingBytes == 0, !isForced, !file.needsCheckpoint { return nil }
      // Readers will see the entire frozen buffer. This throws for a commit whose sync failed: it
      // is still in memory and must not be published.
      try file.flush(through: file.writer.position, durable: head.awaitsSync(of: file))
      let buffer = head.freeze()
      let frozen = Frozen(
        buffer: buffer, transaction: head.newest.transaction, replay: file.writer.replayPosition)
      pacer.didFreeze()
      versions.publish(head.newest, freezing: buffer)
      unfinished = frozen
      return frozen
    }
  }

  /// Writes the next base tree and makes it durable with all of the log before it. The log is
  /// verified first, so that a damaged operation does not get a new checksum.
  private func merge(_ frozen: Frozen) throws(StorageError) -> (root: Subtree?, dead: DeadSpace) {
    let base = try versions.current().base
    var dead = DeadSpace()
    let file = currentFile.file
    let reading = file.view.pin()
    defer { withExtendedLifetime(reading) {} }
    try verifyLog(of: file, through: frozen)
    var regions: [Range<UInt64>] = []
    do throws(StorageError) {
      let root = try BufferMerge.run(
        frozen.buffer, into: base, file: file.view, nodeSize: options.nodeSize,
        transaction: frozen.transaction, leaving: &dead,
        reserve: { (length) throws(StorageError) in
          let offset = try head.withMaintenance { () throws(StorageError) in
            try file.writer.reserveNodes(length: length)
          }
          regions.append(offset..<offset + UInt64(length))
          return offset
        },
        write: { (bytes, offset) throws(StorageError) in try file.writeNodes(bytes, at: offset) })
      try file.syncNodes()
      return (root, dead)
    } catch {
      if error.kind == .outOfSpace { reclaimer.discard(regions) }
      throw error
    }
  }

  /// Verifies the log before it is merged. Ends all writing if a frame of it has changed.
  private func verifyLog(of file: DatabaseFile, through frozen: Frozen) throws(StorageError) {
    do throws(StorageError) {
      try file.verifyFrames(from: reclaimer.replay, to: frozen.replay.offset)
    } catch {
      guard error.kind == .damaged else { throw error }
      head.withMaintenance {
        // Recovery would take the changed frame for a torn one, and drop it silently, unless a
        // later frame shows that it had been durable.
        do throws(StorageError) {
          try file.writer.appendSeal()
          try file.flush(through: file.writer.position, durable: true)
        } catch {
          // Then only this process knows that; see `PromisedFloors`.
        }
        file.endWriting(error)
      }
      throw error
    }
  }

  /// Appends the checkpoint of the new tree, and writes a root slot that refers to it.
  private func conclude(_ frozen: Frozen, _ root: Subtree?, _ dead: DeadSpace) throws(StorageError) {
    let file = currentFile.file
    let record = CheckpointRecord(
      root: root, replay: frozen.replay, transaction: frozen.transaction, time: environment.now(),
      previousCheckpoint: currentFile.checkpoint)
    let checkpoint = try head.withMaintenance { () throws(StorageError) in
      try file.writer.appendCheckpoint(record)
    }
    try file.writeSlot(naming: checkpoint)
    currentFile.didWriteCheckpoint(at: checkpoint.offset)
    backgroundFailure.withLock { $0 = nil }
    reclaimer.collect(dead, of: checkpoint)
    install(root, of: frozen)
  }

  /// Publishes the new tree, which replaces the old one and the frozen buffer.
  private func install(_ root: Subtree?, of frozen: Frozen) {
    head.withMaintenance {
      unfinished = nil
      pacer.didInstall(live: root?.liveBytes ?? 0)
      fitReserve()
      currentFile.file.requireRecords(from: frozen.replay.offset)
      versions.publish(merged: root, pin: reclaimer.pinNextBase())
    }
  }

  // MARK: The reserve

  /// The minimum and maximum length of the reserve, in bytes, while the disk has plenty of space
  /// and while it has little. The maximum is the space for a checkpoint that rewrites a tree of
  /// this length.
  static let plentifulReserve: ClosedRange<UInt64> = 64 << 10...1 << 20
  private static let littleReserve: ClosedRange<UInt64> = 256 << 10...16 << 20

  /// Sets the number of blocks that the log keeps in reserve, so that the next checkpoint has
  /// space. Called under the writer lock.
  func fitReserve() {
    let file = currentFile.file
    guard !file.isReadOnly, options.punchesHoles else { return }
    let live = pacer.liveBytes
    let (plenty, little) = (Checkpointer.plentifulReserve, Checkpointer.littleReserve)
    let unmerged = pacer.pendingBytes + (unfinished == nil ? 0 : pacer.frozenBytes)
    file.writer.setReserve(
      ReserveLengths(
        least: min(max(live / 4, plenty.lowerBound), plenty.upperBound),
        full: min(max(live + live / 2, little.lowerBound), little.upperBound),
        pendingStart: file.writer.tail - min(file.writer.tail, unmerged)))
  }
}
