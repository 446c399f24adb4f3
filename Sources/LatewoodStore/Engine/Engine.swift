import Dispatch
import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree
import Synchronization

/// One open store: the log, the newest state, and who may do what when.
///
/// ```
/// write:       writer lock [ run the closure, encode, change the write buffer ]  ->  flush (shared)  ->  publish
/// checkpoint:  writer lock [ freeze ]  ->  merge, without a lock  ->  writer lock [ append, swap ]  ->  publish
/// read:        register, follow the pointer to the published version, go; a snapshot or cursor holds the version instead
/// ```
///
/// Invariants:
/// 1. `head`, the trees of write buffers and everything of the log that is marked "writer" are
///    touched only under `writer`.
/// 2. The rule of publishing. A commit shows itself, and all that came before it, once the log is
///    as durable as this commit asks: written if it is relaxed, synced if it is synchronous.
///    Nothing else shows commits: before a checkpoint or a compaction shows the newest state in
///    another shape, every commit in that is as durable as it asks. So what readers see is in the
///    file, and no write that fails for lack of space takes it back; and where all transactions are
///    synchronous, what they see is durable. A relaxed commit waits for nobody's sync: it shows
///    with itself synchronous ones before it whose sync is still under way. If that fails it ends
///    all writing, and what was seen stays until the store is closed.
/// 3. At most one checkpoint runs at a time (`checkpointing`), and only a checkpoint changes `base`
///    and `frozen`.
/// 4. Locks are taken in the order checkpointing, writer, that of `published`; none is held while a
///    caller's closure runs but `writer`.
/// 5. What readers may have is retired through `readers`, and nobody waits for a reader.
///
/// Thread safety: all calls may come from any thread.
final class Engine: @unchecked Sendable {
  /// The state that the next transaction starts from. Committed in memory; perhaps not yet written.
  struct Head {
    /// Of the version it is or will be.
    var number: UInt64 = 1
    var transaction: UInt64 = 0
    var active = BufferState()
    /// The handles that are known to mean keyspaces which it has.
    var known = KnownKeyspaces()
    /// Bytes of log since the write buffer was started.
    var pendingBytes: UInt64 = 0
  }

  let path: String?
  let isReadOnly: Bool
  let options: Store.Options
  let environment: Environment
  /// The open file; a compaction puts another in its place.
  private let file: Guarded<LogFile>
  let registry = VersionRegistry()
  let snapshots = SnapshotRegistry()
  /// Tells handles of this store from those of others.
  let identity: UInt64

  let writer = Monitor()
  var head = Head()
  /// Moments of a checkpoint's work that want the writer lock, or have it; transactions let them go
  /// first.
  let services = Underway()
  let writingThread = Atomic<UInt>(0)
  /// Commits that are neither published nor have failed. They begin under `writer`.
  let finishing = Underway()
  /// Where the newest synchronous commit ends in the log. Stored under `writer`.
  let synchronousEnd = Atomic<UInt64>(0)

  /// Who reads without holding anything, and what waits for them to be done.
  let readers = ReaderRegistry { milliseconds, body in
    DispatchQueue.global(qos: .utility).asyncAfter(
      deadline: .now() + .milliseconds(milliseconds), execute: body)
  }
  /// The newest state; none once the store is closed.
  let published: VersionReference
  let closed = Atomic<Bool>(false)

  let checkpointing = Monitor()
  let checkpointScheduled = Atomic<Bool>(false)
  /// Signalled when a checkpoint ends; waited for by transactions when the write buffer is far over
  /// its budget.
  let checkpointEnded = Monitor()
  /// Transactions that do not block their callers.
  let queuedWrites = WorkLine<any QueuedTransaction>(label: "latewood.write")
  /// Those of them that have run and wait for a sync.
  let queuedSyncs = WorkLine<QueuedOutcome>(label: "latewood.sync")
  /// How far the system has been asked to start writing to the disk.
  let writebackThrough = Atomic<UInt64>(0)
  let writebackQueue = DispatchQueue(label: "latewood.writeback", qos: .utility)
  let checkpointQueue = DispatchQueue(label: "latewood.checkpoint", qos: .utility)
  /// Offset of the newest checkpoint's frame; 0 if there is none.
  let lastCheckpoint = Atomic<UInt64>(0)
  let sealScheduled = Atomic<Bool>(false)
  /// Of the newest checkpoint's tree.
  let liveBytes = Atomic<UInt64>(0)
  /// Bytes of log since the write buffer was started.
  let pendingBytes = Atomic<UInt64>(0)
  /// Bytes of log that the running checkpoint merges, until what it has left is given back.
  let frozenBytes = Atomic<UInt64>(0)
  /// What a checkpoint has frozen and not yet merged. Under `checkpointing` and `writer`.
  var unfinished: Frozen?
  let compaction = CompactionControl()
  /// By number of keyspace: what becomes of entries when the file is written anew.
  let rewriters = Guarded<[UInt32: Rewriter]>([:])
  /// What a layer above wants done before the file is compacted.
  let preparation = Guarded<CompactionPreparation?>(nil)
  let compactionQueue = DispatchQueue(label: "latewood.compaction", qos: .utility)
  /// What a compaction has left behind, until `forgetReplaced`.
  let replaced = Guarded<(file: LogFile, version: Version)?>(nil)
  let compactionScheduled = Atomic<CompactionUrgency>(.none)
  /// Bytes of log that have come since the store was opened. Stored under `writer`.
  let committedBytes = Atomic<UInt64>(0)
  /// How many of them the compaction that is running has followed.
  let compactionLag = CompactionLag()
  /// Whether that is one which nobody asked for.
  let isCompactingItself = Atomic<Bool>(false)
  /// What writers owe when checkpoints or a compaction do not keep up with them.
  let pace = WriterPace()
  /// Where the log ended when a commit last asked whether to compact.
  let compactionConsidered = Atomic<UInt64>(0)
  /// How compactions that nobody asked for have gone.
  let compactionAttempts = Guarded(CompactionAttempts())
  /// The first failure of a checkpoint in the background, for whoever asks next.
  let backgroundFailure = Guarded<Fault?>(nil)

  /// Dead parts of the file, and who may still read them.
  let punching = Guarded(Punching())
  /// While it is above 0 nothing is given back to the file system; see `holdPunching`.
  let punchingHolds = Atomic<Int>(0)
  /// Held while blocks are given back.
  let punchingNow = Monitor()

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
    do {
      try recover()
    } catch {
      log.close()
      throw error
    }
  }

  /// The file that commits go to. It changes only under `checkpointing` and `writer`: who has
  /// neither keeps what it was given.
  var log: LogFile { file.withLock { $0 } }

  /// Goes on in another file that has the same state.
  func goOn(in next: LogFile, checkpoint: UInt64) {
    next.mapping.setProofLifetime(seconds: options.checksumLifetime)
    let old = file.withLock { log in
      defer { log = next }
      lastCheckpoint.store(checkpoint, ordering: .relaxed)
      return log
    }
    withExtendedLifetime(old) {}
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
      // A full disk keeps nobody from reading. The first transaction tries again, and until then
      // none can begin.
      guard error.kind == .outOfSpace else { throw error }
    }
  }

  /// Lets readers see what the log says; true if a checkpoint must follow.
  ///
  /// A function of its own: while it ran, its version would keep that checkpoint from giving
  /// anything back, and have it wait for nothing.
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
    // Without a checkpoint there is no tree, only a log that has just been gone over.
    let hold = startPunching(
      from: report.checkpointOffset, replay: report.checkpoint?.replay ?? .start,
      isOwn: report.checkpointOffset == 0)
    let version = makeVersion(head, base: report.checkpoint?.root, frozen: nil, hold: hold)
    published.set(version)
    liveBytes.store(report.checkpoint?.root?.liveBytes ?? 0, ordering: .relaxed)
    pendingBytes.store(head.pendingBytes, ordering: .relaxed)
    return !isReadOnly && report.needsCheckpoint
  }

  /// Walks the log into a write buffer.
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

  /// Lets readers see a committed state, unless they see a newer one already.
  func publish(_ head: Head) {
    published.update { old in
      head.number > old.number ? makeVersion(head, base: old.base, frozen: old.frozen, hold: old.hold) : nil
    }
  }

  /// Makes a version with another base, for the state that readers see now.
  func swap(_ change: (_ old: Version) -> Version) { published.update { change($0) } }
}
