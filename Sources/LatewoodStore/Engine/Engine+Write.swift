import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

extension Engine {
  /// A transaction whose closure has run, and what its caller will be told.
  struct Ended<R> {
    let transaction: Transaction
    let result: Result<R, any Error>
    /// How durable the log must be before readers see what the transaction left, or found, and its
    /// caller is told. Nil: they see it already.
    let awaited: Durability?
  }

  /// Runs a transaction: the closure under the writer lock, then the flush, then everybody may see
  /// it.
  func write<R>(_ durability: Durability, _ body: (Transaction) throws -> R) throws -> R {
    do {
      let ended = try runAlone(durability, body)
      if let awaited = ended.awaited {
        do throws(Fault) {
          try finish(ended.transaction, awaited)
        } catch {
          // Why the closure threw is what its caller wants to know, whatever else fails now.
          _ = try ended.result.get()
          throw error
        }
      }
      return try ended.result.get()
    } catch { throw told(error) }
  }

  /// What the caller of a transaction is told.
  func told(_ error: any Error) -> any Error { (error as? Fault).map { StoreError($0, path: path) } ?? error }

  private func runAlone<R>(
    _ durability: Durability, _ body: (Transaction) throws -> R
  ) throws -> Ended<R> {
    try lockForTransaction()
    defer { unlockTransaction() }
    return try run(durability, body)
  }

  /// Runs the closure and commits. Under the writer lock, between `lockForTransaction` and
  /// `unlockTransaction`.
  ///
  /// A transaction that changes nothing, or throws, may have found what another thread has
  /// committed and not published yet: its caller acts on that, so that a read after it must see it
  /// too.
  func run<R>(_ durability: Durability, _ body: (Transaction) throws -> R) throws -> Ended<R> {
    let transaction = try Transaction(engine: self)
    let result: R
    do {
      result = try body(transaction)
      if let fault = transaction.failure { throw fault }
    } catch {
      transaction.leave()
      checkpointIfDue()
      let isHidden = (try? hasPublishedHead()) == false
      return ended(transaction, .failure(error), isHidden ? .relaxed : nil)
    }
    let durability = transaction.isSynchronous ? .synchronous : durability
    if transaction.hasOperations {
      try transaction.commit()
      if durability == .synchronous {
        synchronousEnd.store(transaction.position.offset, ordering: .relaxed)
      }
      return ended(transaction, .success(result), durability)
    }
    transaction.leave()
    let isSettled = try hasPublishedHead() && durability == .relaxed
    return ended(transaction, .success(result), isSettled ? nil : durability)
  }

  private func ended<R>(
    _ transaction: Transaction, _ result: Result<R, any Error>, _ awaited: Durability?
  ) -> Ended<R> {
    if awaited != nil { finishing.begin() }
    return Ended(transaction: transaction, result: result, awaited: awaited)
  }

  /// Whether readers see the newest state. Under the writer lock. Throws if they never will,
  /// because writing has ended.
  private func hasPublishedHead() throws(Fault) -> Bool {
    if let version = published.held(), version.number >= head.number { return true }
    try log.checkWriting()
    return false
  }

  /// Settles a commit, or what a transaction found, and does what commits bring with them.
  private func finish(_ transaction: Transaction, _ durability: Durability) throws(Fault) {
    do {
      try settle(transaction, durability)
    } catch {
      if error.kind == .outOfSpace { try takeBackRefused() }
      throw error
    }
    followUp(transaction, durability)
  }

  /// Waits until a commit, or what a transaction found, is where its durability wants it, then
  /// publishes it.
  func settle(_ transaction: Transaction, _ durability: Durability) throws(Fault) {
    defer { finishing.end() }
    try transaction.log.flush(through: transaction.position, durable: durability == .synchronous)
    publish(transaction.committed)
  }

  /// After a commit that there was no space for, by a thread that has none to settle: everybody
  /// else's is waited for. A failure that ends all writing is told first.
  func takeBackRefused() throws(Fault) {
    writer.lock()
    defer { writer.unlock() }
    try rollBackUnwritten()
  }

  /// Starts what becomes due with a commit.
  func followUp(_ transaction: Transaction, _ durability: Durability) {
    writebackLater(transaction.log, through: transaction.position.offset)
    if durability == .synchronous { sealLater() }
    checkpointIfDue()
    considerCompaction(at: transaction.position.offset)
  }

  /// Has the system write what it caches before somebody has to wait for it: 8 MiB at a time, on a
  /// thread of its own, since the call blocks when the disk is busy. (Sequential fills of 116 MB
  /// with the sync at their end: 4.1 to 4.5 million a second.)
  private func writebackLater(_ log: LogFile, through end: UInt64) {
    let start = writebackThrough.load(ordering: .relaxed)
    guard end > start, end - start >= 8 << 20, options.checkpointsInBackground,
      writebackThrough.compareExchange(expected: start, desired: end, ordering: .relaxed).exchanged
    else { return }
    writebackQueue.async { log.device.startWriteback(offset: start, length: end - start) }
  }

  /// After a full disk: what was committed in memory and could not be written is taken back. Under
  /// the writer lock.
  ///
  /// Throws `inputOutput` if the disk fails in another way now, which ends all writing.
  func rollBackUnwritten() throws(Fault) {
    guard log.isOutOfSpace else { return }
    // What is in the file and not yet published must not be taken back. No flush outlasts the
    // failure, and no commit begins.
    finishing.waitForNone()
    guard let version = published.held() else { return }
    if head.number > version.number {
      // Nodes that the lost transactions made stay in the slab until the next checkpoint lets go of
      // it.
      version.active.layer.forget(after: version.number, keeping: version.active)
      head.active = version.active
      head.transaction = version.transaction
      head.known = version.known
    }
    synchronousEnd.store(0, ordering: .relaxed)
    do throws(Fault) {
      try log.recoverFromOutOfSpace()
    } catch {
      // The log refuses from here on, with a fault of its own that says why; but nobody has been
      // told of this one.
      if error.kind == .inputOutput { throw error }
    }
  }

  /// After a full disk, before anything is tried again. Not while this thread has the writer lock;
  /// in a transaction it does nothing.
  func takeBackUnwritten() throws(Fault) {
    guard log.isOutOfSpace, !isInTransaction else { return }
    writer.lock()
    defer { writer.unlock() }
    try rollBackUnwritten()
  }

  /// After a torn tail or a full disk nothing may be acknowledged before a checkpoint lies beyond
  /// what was left behind. False if the log refuses to go on; it says why when a transaction
  /// begins.
  private func restoreLog() throws(Fault) -> Bool {
    guard log.isInterrupted else { return true }
    try takeBackUnwritten()
    if log.isOutOfSpace { return false }
    if log.needsCheckpoint { try checkpoint(isForced: true) }
    return true
  }

  /// Takes the writer lock for transactions, once writers may go on and the log can take one.
  ///
  /// The caller has no commit of its own to settle: whoever has the lock may be waiting for all of
  /// them.
  func lockForTransaction() throws(Fault) {
    if isReadOnly { throw Fault(.readOnly, "the store was opened to be read only") }
    try refuseInsideTransaction("a transaction was begun")
    while true {
      let isRestored = try restoreLog()
      slowDown()
      // A checkpoint wants the lock for some microseconds, and an unfair lock might never give it
      // one.
      services.waitForNone()
      writer.lock()
      // The transaction before may have met a full disk.
      if !isRestored || !log.isInterrupted { break }
      writer.unlock()
    }
    if closed.load(ordering: .relaxed) {
      writer.unlock()
      throw Engine.closedFault
    }
    writingThread.store(Monitor.currentThread, ordering: .relaxed)
  }

  /// Whether this thread runs the closure of a transaction, and so has the writer lock.
  var isInTransaction: Bool { writingThread.load(ordering: .relaxed) == Monitor.currentThread }

  /// What waits for the running transaction would wait for itself.
  func refuseInsideTransaction(_ what: String) throws(Fault) {
    guard isInTransaction else { return }
    throw Fault(.invalidRange, "\(what) inside the closure of a transaction, which must end first")
  }

  /// The same for what waits for the running compaction, copy or backup, or its result.
  func refuseInsideCompaction(_ what: String) throws(Fault) {
    try refuseInsideTransaction(what)
    guard compaction.isRunningHere else { return }
    throw Fault(
      .invalidRange, "\(what) inside a closure of a compaction, copy or backup, which must end first")
  }

  func unlockTransaction() {
    writingThread.store(0, ordering: .relaxed)
    writer.unlock()
  }
}
