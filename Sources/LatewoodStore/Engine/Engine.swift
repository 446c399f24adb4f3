import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// An open store: its components, and the operations that need several of them.
///
/// ```
/// write:       writer lock [ run the closure, encode, change the write buffer ]
///              -> flush (shared) -> publish
/// checkpoint:  writer lock [ freeze ] -> merge, without a lock -> writer lock [ append, swap ]
///              -> publish
/// read:        register, load the pointer to the published version, leave;
///              a snapshot or cursor holds the version instead
/// ```
///
/// Each component guards its own state and documents its invariants:
///
/// | component | owns |
/// | --- | --- |
/// | `CurrentFile` | the open file, and its newest checkpoint |
/// | `CommitHead` | the writer lock, and the state that the next transaction starts from |
/// | `VersionPublisher` | the state that readers see |
/// | `WritePacer` | the number of waiting bytes of log, and the debt of writers |
/// | `Checkpointer` | the frozen write buffer, and the right to write a checkpoint |
/// | `SpaceReclaimer` | the dead parts of the file |
/// | `DiskSpace` | the known state of a disk that fills up |
/// | `CompactionControl`, `CompactionTimer` | the running compaction, and the next automatic one |
/// | `CompactionHooks` | the closures of the layers above that take part in a compaction |
/// | `ReplacedFile` | the file that a compaction has replaced, until it is released in the background |
/// | `QueuedWrites` | the transactions of callers that do not block |
/// | `SnapshotRegistry` | the open snapshots |
/// | `ReaderRegistry` | the running short reads, and the memory to release after them |
///
/// Invariants:
/// 1. Locks are taken in the order checkpointer, writer, all others. `Sources/README.md` lists
///    others that are held while another one is taken. The closure of a transaction runs under
///    the writer lock, and the rewriter of a compaction, for its last transactions, also under the
///    lock of the checkpointer. No closure of a caller runs under any other lock.
/// 2. Memory that readers may use is retired through `readers`. Commits never wait for a reader; a
///    checkpoint that reclaims blocks waits for short reads, for 20 ms at most.
///
/// Thread safety: all methods may be called from any thread.
@usableFromInline final class Engine: Sendable {
  let path: String?
  let isReadOnly: Bool
  let options: Store.Options
  let environment: Environment
  /// A random number that distinguishes this store's handles from those of others.
  let identity: UInt64

  let currentFile: CurrentFile
  let head: CommitHead
  let versions: VersionPublisher
  /// The same object as `versions`, for reads, which avoid counting references that all threads
  /// share.
  // SAFETY: used only by methods, during which `versions` holds it.
  private let uncountedVersions: Unmanaged<VersionPublisher>
  let pacer: WritePacer
  let checkpointer: Checkpointer
  let reclaimer: SpaceReclaimer
  let disk = DiskSpace()
  let compaction = CompactionControl()
  let schedule = CompactionTimer()
  let hooks = CompactionHooks()
  let replaced = ReplacedFile()
  let queuedWrites = QueuedWrites()
  let snapshots = SnapshotRegistry()
  private let sealScheduled = Atomic<Bool>(false)
  private let closed = Atomic<Bool>(false)
  private let found = Guarded(RecoveryReport())

  /// The running short reads, and the memory to release after them.
  let readers = ReaderRegistry { milliseconds, body in
    DispatchQueue.global(qos: .utility).asyncAfter(
      deadline: .now() + .milliseconds(milliseconds), execute: body)
  }

  /// Opens a store, and writes a checkpoint if recovery requires one. If this throws, the file is
  /// closed.
  init(
    file: DatabaseFile, path: String?, isReadOnly: Bool, options: Store.Options, environment: Environment
  ) throws(StorageError) {
    self.path = path
    self.isReadOnly = isReadOnly
    self.options = options
    self.environment = environment
    identity = environment.random()
    currentFile = CurrentFile(file)
    head = CommitHead()
    versions = VersionPublisher(currentFile, readers: readers)
    uncountedVersions = Unmanaged.passUnretained(versions)
    pacer = WritePacer(options, disk)
    reclaimer = SpaceReclaimer(currentFile, readers: readers, options: options, isReadOnly: isReadOnly)
    checkpointer = Checkpointer(
      currentFile, head, versions, pacer, reclaimer, options: options, environment: environment)
    setUpReading(of: file)
    do {
      try recover()
    } catch {
      file.close()
      throw error
    }
  }

  /// The file that commits go to; see `CurrentFile`.
  var file: DatabaseFile { currentFile.file }

  var isClosed: Bool { closed.load(ordering: .relaxed) }

  /// The result of recovery when the store was opened.
  var recovery: RecoveryReport { found.withLock { $0 } }

  /// The newest version for a registered read, as `VersionPublisher.load`.
  @inline(__always) func loadVersion(_ ticket: ReaderRegistry.Ticket) -> UnsafePointer<VersionPointers>? {
    uncountedVersions._withUnsafeGuaranteedRef { $0.load(ticket) }
  }

  private func setUpReading(of file: DatabaseFile) {
    file.mapping.setProofLifetime(seconds: path == nil ? 0 : options.checksumLifetime)
    file.device.cache?.waitFor(readers)
  }

  /// Switches to a file and the state in it. Called under the writer lock while no checkpoint
  /// runs.
  func adopt(_ next: FileState) {
    setUpReading(of: next.file)
    head.replace(with: next.head)
    head.forgetSynchronousCommits()
    currentFile.replace(with: next.file, checkpoint: next.checkpoint)
    checkpointer.forget()
    pacer.start(pending: next.pendingBytes, live: next.base?.liveBytes ?? 0)
    next.file.writeback.restart(at: next.file.completedThrough.offset)
    checkpointer.fitReserve()
    let pin = reclaimer.start(from: next.checkpoint, replay: next.replay, isOwn: next.isOwn)
    next.file.mapping.compareWithMemory(log: next.replay.offset)
    versions.publish(next.head, base: next.base, pin: pin)
    measureLogHeadroom()
  }

  /// Switches to the file that a compaction has written, which has this store's state and has
  /// replaced its file. Called while no checkpoint runs, under the writer lock.
  func adopt(compacted next: FileState) {
    let newest = head.newest
    // Publish for threads that still wait for the old file, so that they do not publish this state
    // with the new one.
    versions.publish(newest, in: currentFile.fileForWriter)
    var next = next
    // Version numbers never decrease, neither here nor in the write buffer of the new file.
    next.head.number = max(newest.number, next.head.number) + 1
    next.head.known = newest.known
    schedule.didSucceed()
    adopt(next)
  }

  // MARK: Recovery

  private func recover() throws(StorageError) {
    guard try publish(replayed: file) else { return }
    do throws(StorageError) {
      try checkpoint(isForced: true)
    } catch {
      // A full disk does not prevent reading. The first transaction tries again, and transactions
      // cannot begin before that succeeds.
      guard error.kind == .outOfSpace else { throw error }
    }
  }

  /// Replays the log and publishes its state. Returns whether a checkpoint must follow.
  ///
  /// It is a separate function so that its version is released before that checkpoint. Otherwise
  /// the checkpoint would wait for that version without being able to reclaim space.
  @inline(never) private func publish(replayed file: DatabaseFile) throws(StorageError) -> Bool {
    let (active, report) = try replay(file, into: BufferLayer(), version: Head.first)
    let recovery = RecoveryReport(
      transaction: report.lastTransaction,
      checkpointTransaction: report.checkpoint?.transaction ?? 0,
      replayedTransactions: report.transactionsReplayed,
      replayedBytes: report.bytesReplayed, tornTail: report.tornTail)
    found.withLock { $0 = recovery }
    let state = FileState(file, recovered: active, report)
    head.withMaintenance { adopt(state) }
    return !isReadOnly && report.needsCheckpoint
  }

  /// Recovers the log into a write buffer.
  func replay(
    _ file: DatabaseFile, into layer: BufferLayer, version: UInt64
  ) throws(StorageError) -> (state: BufferState, report: LogRecoveryReport) {
    let empty = BufferState(layer: layer)
    var writer: BufferWriter?
    do throws(StorageError) {
      let report = try file.recover(
        begin: { writer = BufferWriter(state: empty, version: version, file: $0) },
        apply: { (_, offset, record) throws(StorageError) in try writer?.apply(record, at: offset) })
      return (writer?.finish() ?? empty, report)
    } catch {
      writer?.abort()
      throw error
    }
  }

  // MARK: The work that follows commits

  /// Writes a checkpoint for a caller outside of transactions.
  func requestCheckpoint() throws(StorageError) {
    try checkOpen()
    if isReadOnly { throw StorageError(.readOnly, "the store was opened read-only") }
    try refuseInsideTransaction("a checkpoint was requested")
    try checkpoint(isForced: false)
  }

  /// Merges the write buffer into the base tree; see `Checkpointer`. Then measures the file again.
  func checkpoint(isForced: Bool, reclaims: Bool = true) throws(StorageError) {
    try checkpointer.run(isForced: isForced, reclaims: reclaims)
    measureLogHeadroom()
    if reclaims { scheduleCompaction() }
  }

  /// Starts a checkpoint on the background queue if there is enough log.
  func checkpointIfDue() {
    guard pacer.isCheckpointDue else { return }
    checkpointer.schedule { [self] () throws(StorageError) in
      if !isClosed { try checkpoint(isForced: false) }
    }
  }

  /// Asks the system to begin writing the log.
  func scheduleWriteback(_ file: DatabaseFile, through end: UInt64) {
    if options.checkpointsInBackground { file.writeback.advance(through: end) }
  }

  /// Schedules a seal half a second after a synchronous commit, which records that the commit is
  /// durable.
  func scheduleSeal() {
    guard options.checkpointsInBackground,
      sealScheduled.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
        .exchanged
    else { return }
    checkpointer.runOnQueue(afterMilliseconds: 500) { [weak self] in
      guard let self else { return }
      sealScheduled.store(false, ordering: .releasing)
      head.withMaintenance { if !isClosed { writeSeal() } }
    }
  }

  /// Appends a seal. Best effort: a missing seal does no harm. Called under the writer lock.
  private func writeSeal() {
    do throws(StorageError) {
      try file.writer.appendSeal()
      try file.flush(through: file.writer.position, durable: false)
    } catch {
      return
    }
  }

  // MARK: Closing

  /// Closes the store and its snapshots, whose reads then throw. Idempotent.
  func close() throws(StorageError) {
    try refuseInsideCompaction("the store was closed")
    let event = compactBeforeClosing()
    // Not before the end, and on another thread: the closure may close the store once more, or open
    // the file again.
    defer { if let event, let handler = options.onEvent { schedule.runOnQueue { handler(event) } } }
    let wasClosed = head.withMaintenance { closed.exchange(true, ordering: .acquiringAndReleasing) }
    if wasClosed { return }
    compaction.close()
    var failure: StorageError?
    if !isReadOnly, !file.isPoisoned {
      do throws(StorageError) {
        try checkpoint(isForced: false)
        try sweepBeforeClosing()
        try file.syncNodes()
        head.withMaintenance { writeSeal() }
      } catch {
        failure = error
      }
    }
    checkpointer.withoutCheckpoints {
      versions.close()
      snapshots.closeAll()
      file.close()
    }
    if let failure { throw failure }
  }
}

/// The file of a store, and the offset of the newest checkpoint in it.
///
/// A compaction replaces the file while no checkpoint and no transaction runs. A thread that may
/// run at that time must read `file` once and keep the result.
///
/// Thread safety: all methods may be called from any thread, unless their comment says otherwise.
final class CurrentFile: @unchecked Sendable {
  private let monitor = Monitor()
  // SAFETY: changed under both the writer lock and `monitor`, and read under either.
  private var open: DatabaseFile
  // SAFETY: accessed under `monitor`.
  private var newest: UInt64

  /// - Parameter checkpoint: the offset of the newest checkpoint's frame; 0 if there is no
  ///   checkpoint.
  init(_ file: DatabaseFile, checkpoint: UInt64 = 0) {
    open = file
    newest = checkpoint
  }

  var file: DatabaseFile { monitor.withLock { open } }

  /// The file, without another lock. For the thread that has the writer lock.
  var fileForWriter: DatabaseFile { open }

  /// The offset of the newest checkpoint's frame; 0 before the first one.
  var checkpoint: UInt64 { monitor.withLock { newest } }

  /// The file and the newest checkpoint in it, which belong together.
  var fileAndCheckpoint: (file: DatabaseFile, checkpoint: UInt64) { monitor.withLock { (open, newest) } }

  func didWriteCheckpoint(at offset: UInt64) { monitor.withLock { newest = offset } }

  /// Called under the writer lock.
  func replace(with next: DatabaseFile, checkpoint: UInt64) {
    let old = monitor.withLock {
      defer { (open, newest) = (next, checkpoint) }
      return open
    }
    // Releasing the last reference closes the file, which is forbidden under the lock.
    withExtendedLifetime(old) {}
  }
}
