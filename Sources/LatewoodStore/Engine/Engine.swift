import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// One open store: the log, the newest state, and the rules for writing, checkpointing and reading
/// them.
///
/// ```
/// write:       writer lock [ run the closure, encode, change the write buffer ]
///              -> flush (shared) -> publish
/// checkpoint:  writer lock [ freeze ] -> merge, without a lock -> writer lock [ append, swap ]
///              -> publish
/// read:        register, follow the pointer to the published version, go;
///              a snapshot or cursor holds the version instead
/// ```
///
/// Invariants:
/// 1. `head`, the trees of write buffers and everything in the log that is marked "writer" are
///    touched only under `writer`.
/// 2. The rule of publishing. A commit publishes itself, and everything before it, once the log is
///    as durable as this commit asks: written if it is relaxed, synced if it is synchronous.
///    Nothing else publishes commits: before a checkpoint or a compaction publishes the newest
///    state in another form, every commit in it is as durable as it asks. So everything that
///    readers see is in the file, and no write that fails for lack of space undoes it; and if all
///    transactions are synchronous, everything that readers see is durable. A relaxed commit waits
///    for no sync: it also publishes synchronous ones before it whose sync is still under way. If
///    that sync fails, all writing ends, and the published state stays visible until the store is
///    closed.
/// 3. At most one checkpoint runs at a time (`checkpointing`), and only a checkpoint changes `base`
///    and `frozen`.
/// 4. Locks are taken in the order `checkpointing`, `writer`, the lock of `published`. While a
///    caller's closure runs, no lock but `writer` is held.
/// 5. Memory that readers may use is retired through `readers`; no thread waits for a reader.
///
/// Thread safety: all calls may come from any thread.
final class Engine: @unchecked Sendable {
  /// The state that the next transaction starts from. Committed in memory; perhaps not yet written.
  struct Head {
    /// The number of the version that has this state, or will have it.
    var number: UInt64 = 1
    var transaction: UInt64 = 0
    var active = BufferState()
    /// The handles known to refer to keyspaces of this state.
    var known = KnownKeyspaces()
    /// The number of bytes of log since the write buffer was started.
    var pendingBytes: UInt64 = 0
  }

  let path: String?
  let isReadOnly: Bool
  let options: Store.Options
  let environment: Environment
  /// The open file. A compaction replaces it.
  private let file: Guarded<LogFile>
  let registry = VersionRegistry()
  let snapshots = SnapshotRegistry()
  /// A random number that distinguishes this store's handles from those of others.
  let identity: UInt64

  let writer = Monitor()
  var head = Head()
  /// The steps of a checkpoint that want the writer lock, or hold it. Transactions let them go
  /// first.
  let services = Underway()
  let writingThread = Atomic<UInt>(0)
  /// The commits that are neither published nor failed. They begin under `writer`.
  let finishing = Underway()
  /// The end of the newest synchronous commit in the log. Stored under `writer`.
  let synchronousEnd = Atomic<UInt64>(0)

  /// The short reads under way, and the memory to release after them.
  let readers = ReaderRegistry { milliseconds, body in
    DispatchQueue.global(qos: .utility).asyncAfter(
      deadline: .now() + .milliseconds(milliseconds), execute: body)
  }
  /// The newest published state; empty once the store is closed.
  let published: VersionReference
  let closed = Atomic<Bool>(false)

  let checkpointing = Monitor()
  let checkpointScheduled = Atomic<Bool>(false)
  /// Signalled when a checkpoint ends. Transactions wait for it when the write buffer is far over
  /// its budget.
  let checkpointEnded = Monitor()
  /// Transactions that do not block their callers.
  let queuedWrites = WorkLine<any QueuedTransaction>(label: "latewood.write")
  /// Queued transactions that have run and wait for a sync.
  let queuedSyncs = WorkLine<QueuedOutcome>(label: "latewood.sync")
  /// The offset up to which the system has been asked to start writing to the disk.
  let writebackThrough = Atomic<UInt64>(0)
  let writebackQueue = DispatchQueue(label: "latewood.writeback", qos: .utility)
  let checkpointQueue = DispatchQueue(label: "latewood.checkpoint", qos: .utility)
  /// The offset of the newest checkpoint's frame; 0 if there is none.
  let lastCheckpoint = Atomic<UInt64>(0)
  let sealScheduled = Atomic<Bool>(false)
  /// The number of live bytes of the newest checkpoint's tree.
  let liveBytes = Atomic<UInt64>(0)
  /// The number of bytes of log that may gather until the next checkpoint has ended; see
  /// `measureSpare`.
  let spareBytes = Atomic<UInt64>(0)
  /// The same as `head.pendingBytes`, for other threads.
  let pendingBytes = Atomic<UInt64>(0)
  /// The number of bytes of log that the running checkpoint merges, until its dead blocks are given
  /// back.
  let frozenBytes = Atomic<UInt64>(0)
  /// The buffer that a checkpoint has frozen and not yet merged. Under `checkpointing` and
  /// `writer`.
  var unfinished: Frozen?
  let compaction = CompactionControl()
  /// The rewriters of entries for compactions and copies, by number of keyspace.
  let rewriters = Guarded<[UInt32: Rewriter]>([:])
  /// The work that a layer above wants to do before a compaction.
  let preparation = Guarded<CompactionPreparation?>(nil)
  let compactionQueue = DispatchQueue(label: "latewood.compaction", qos: .utility)
  /// The file and version that a compaction has replaced, until `forgetReplaced`.
  let replaced = Guarded<(file: LogFile, version: Version)?>(nil)
  let compactionScheduled = Atomic<CompactionUrgency>(.none)
  /// The number of bytes of log written since the store was opened. Stored under `writer`.
  let committedBytes = Atomic<UInt64>(0)
  /// The lag of the running compaction behind the commits.
  let compactionLag = CompactionLag()
  /// Whether the running compaction is an automatic one.
  let isCompactingItself = Atomic<Bool>(false)
  /// The debt of writers when checkpoints or a compaction do not keep up with them.
  let pace = WriterPace()
  /// The end of the log when a commit last considered a compaction.
  let compactionConsidered = Atomic<UInt64>(0)
  /// The failures of automatic compactions.
  let compactionAttempts = Guarded(CompactionAttempts())
  /// The first failure of a checkpoint in the background since one succeeded, for `statistics()`.
  let backgroundFailure = Guarded<Fault?>(nil)

  /// The dead parts of the file, and the readers that may still need them.
  let punching = Guarded(Punching())
  /// While this is above 0, no space is given back to the file system; see `holdPunching`.
  let punchingHolds = Atomic<Int>(0)
  /// Held while blocks are given back.
  let punchingNow = Monitor()

  /// The attempts to free a full disk.
  let relief = Guarded(Relief())
  /// The reserve of the log while a compaction uses it.
  let reserveLoan = ReserveLoan()
  /// `isLowOnSpace` and `isTight` of the log, for threads without the writer lock.
  let isLowOnSpace = Atomic<Bool>(false)
  let isTight = Atomic<Bool>(false)

  private(set) var recovery = RecoveryReport()

  init(
    log: LogFile, path: String?, isReadOnly: Bool, options: Store.Options, environment: Environment
  ) throws(Fault) {
    file = Guarded(log)
    self.path = path
    self.isReadOnly = isReadOnly
    self.options = options
    self.environment = environment
    identity = environment.random()
    published = VersionReference(nil, readers: readers)
    log.mapping.setProofLifetime(seconds: path == nil ? 0 : options.checksumLifetime)
    log.device.cache?.waitFor(readers)
    do {
      try recover()
    } catch {
      log.close()
      throw error
    }
  }

  /// The file that commits go to. It changes only under `checkpointing` and `writer`; a thread that
  /// holds neither lock reads this once and keeps the result.
  var log: LogFile { file.withLock { $0 } }

  /// Switches to another file that has the same state.
  func goOn(in next: LogFile, checkpoint: UInt64) {
    next.mapping.setProofLifetime(seconds: options.checksumLifetime)
    next.device.cache?.waitFor(readers)
    let old = file.withLock { log in
      defer { log = next }
      lastCheckpoint.store(checkpoint, ordering: .relaxed)
      return log
    }
    withExtendedLifetime(old) {}
    fitReserve()
  }

  /// The file, and the offset of the newest checkpoint in it; 0 if there is none.
  var logAndCheckpoint: (log: LogFile, checkpoint: UInt64) {
    file.withLock { ($0, lastCheckpoint.load(ordering: .relaxed)) }
  }

  // MARK: Recovery

  private func recover() throws(Fault) {
    guard try show(replayed: log) else { return }
    do throws(Fault) {
      try checkpoint(isForced: true)
    } catch {
      // A full disk does not prevent reading. The first transaction tries again; until that
      // succeeds, none can begin.
      guard error.kind == .outOfSpace else { throw error }
    }
  }

  /// Replays the log and publishes its state. Returns whether a checkpoint must follow.
  ///
  /// A separate function, so that its version is released before that checkpoint, which could
  /// otherwise give nothing back and would wait in vain.
  @inline(never) private func show(replayed log: LogFile) throws(Fault) -> Bool {
    let (state, report) = try replay(log, into: head.active.layer, version: 1)
    head.active = state
    head.transaction = report.lastTransaction
    head.pendingBytes = report.bytesReplayed
    lastCheckpoint.store(report.checkpointOffset, ordering: .relaxed)
    writebackThrough.store(log.committedPosition.offset, ordering: .relaxed)
    recovery = RecoveryReport(
      transaction: report.lastTransaction,
      checkpointTransaction: report.checkpoint?.transaction ?? 0,
      replayedTransactions: report.transactionsReplayed,
      replayedBytes: report.bytesReplayed, tornTail: report.tornTail)
    // Without a checkpoint there is no tree, only a log that has just been read.
    let hold = startPunching(
      from: report.checkpointOffset, replay: report.checkpoint?.replay ?? .start,
      isOwn: report.checkpointOffset == 0)
    let version = makeVersion(head, base: report.checkpoint?.root, frozen: nil, hold: hold)
    published.set(version)
    liveBytes.store(report.checkpoint?.root?.liveBytes ?? 0, ordering: .relaxed)
    pendingBytes.store(head.pendingBytes, ordering: .relaxed)
    fitReserve()
    measureSpare()
    return !isReadOnly && report.needsCheckpoint
  }

  /// Recovers the log into a write buffer.
  func replay(
    _ log: LogFile, into layer: BufferLayer, version: UInt64
  ) throws(Fault) -> (state: BufferState, report: LatewoodFile.RecoveryReport) {
    let writer = BufferWriter(state: BufferState(layer: layer), version: version, file: log.view)
    do throws(Fault) {
      let report = try log.recover(
        begin: { writer.read(from: $0) },
        apply: { (_, offset, record) throws(Fault) in try writer.apply(record, at: offset) })
      return (writer.finish(), report)
    } catch {
      writer.abort()
      throw error
    }
  }

  func makeVersion(_ head: Head, base: Subtree?, frozen: BufferState?, hold: BaseHold?) -> Version {
    let log = log
    return Version(
      number: head.number, transaction: head.transaction, base: base, active: head.active, frozen: frozen,
      known: head.known, file: log.view, mapping: log.use, registry: registry, hold: hold)
  }

  // MARK: Publishing

  /// Publishes a committed state, unless a newer one is already published.
  func publish(_ head: Head) {
    published.update { old in
      head.number > old.number ? makeVersion(head, base: old.base, frozen: old.frozen, hold: old.hold) : nil
    }
  }

  /// Replaces the published version with another form of the same state.
  func swap(_ change: (_ old: Version) -> Version) { published.update { change($0) } }
}
