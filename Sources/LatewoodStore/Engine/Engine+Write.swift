import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

extension Engine {
  /// A transaction whose closure has run.
  struct Ended {
    let transaction: Transaction
    /// The error of the closure for the caller; nil if it succeeded.
    let failure: (any Error)?
    /// The durability that the log must reach before the state that the transaction left, or found,
    /// is published and its caller continues. Nil if that state is already published.
    let awaited: Durability?
  }

  /// Runs a transaction: the closure under the writer lock, then the flush, then publishes the
  /// commit.
  func write(_ durability: Durability, _ body: (Transaction) throws -> Void) throws {
    do {
      let ended = try runAlone(durability, body)
      if let awaited = ended.awaited {
        do throws(Fault) {
          try finish(ended.transaction, awaited)
        } catch {
          // The closure's own error matters more to the caller than a failure here.
          throw ended.failure ?? error
        }
      }
      if let failure = ended.failure { throw failure }
    } catch { throw told(error) }
  }

  /// The error that the caller of a transaction gets: a `Fault` becomes a `StoreError`.
  func told(_ error: any Error) -> any Error { (error as? Fault).map { StoreError($0, path: path) } ?? error }

  private func runAlone(
    _ durability: Durability, _ body: (Transaction) throws -> Void
  ) throws -> Ended {
    try lockForTransaction()
    defer { unlockTransaction() }
    return try run(durability, body)
  }

  /// Runs the closure and commits. Under the writer lock, between `lockForTransaction` and
  /// `unlockTransaction`.
  ///
  /// A transaction that changes nothing, or throws, may have read a commit that is not published
  /// yet. Its caller may act on that, so a later read must see the commit too.
  func run(_ durability: Durability, _ body: (Transaction) throws -> Void) throws -> Ended {
    let transaction = try Transaction(engine: self)
    do {
      try body(transaction)
      if let fault = transaction.failure { throw fault }
    } catch {
      transaction.leave()
      checkpointIfDue()
      let isHidden = (try? hasPublishedHead()) == false
      return ended(transaction, error, isHidden ? .relaxed : nil)
    }
    let durability = transaction.isSynchronous ? .synchronous : durability
    if transaction.hasOperations {
      try transaction.commit()
      if durability == .synchronous {
        synchronousEnd.store(transaction.position.offset, ordering: .relaxed)
      }
      return ended(transaction, nil, durability)
    }
    transaction.leave()
    let isSettled = try hasPublishedHead() && durability == .relaxed
    return ended(transaction, nil, isSettled ? nil : durability)
  }

  private func ended(
    _ transaction: Transaction, _ failure: (any Error)?, _ awaited: Durability?
  ) -> Ended {
    if awaited != nil { finishing.begin() }
    return Ended(transaction: transaction, failure: failure, awaited: awaited)
  }

  /// Whether the newest state is published. Under the writer lock. Throws if it never will be,
  /// because writing has ended.
  private func hasPublishedHead() throws(Fault) -> Bool {
    if let version = published.held(), version.number >= head.number { return true }
    try log.checkWriting()
    return false
  }

  /// Settles a commit, or the state that a transaction found, and starts the work that follows
  /// commits.
  private func finish(_ transaction: Transaction, _ durability: Durability) throws(Fault) {
    do {
      try settle(transaction, durability)
    } catch {
      if error.kind == .outOfSpace { try takeBackRefused() }
      throw error
    }
    followUp(transaction, durability)
  }

  /// Waits until a commit, or the state that a transaction found, is as durable as requested, then
  /// publishes it.
  func settle(_ transaction: Transaction, _ durability: Durability) throws(Fault) {
    defer { finishing.end() }
    try transaction.log.flush(through: transaction.position, durable: durability == .synchronous)
    publish(transaction.committed)
  }

  /// Undoes unwritten commits after one that there was no space for. Waits until all other commits
  /// are settled, so the calling thread must have none left to settle.
  func takeBackRefused() throws(Fault) {
    writer.lock()
    defer { writer.unlock() }
    try rollBackUnwritten()
  }

  /// Starts the background work that becomes due with a commit.
  func followUp(_ transaction: Transaction, _ durability: Durability) {
    writebackLater(transaction.log, through: transaction.position.offset)
    if durability == .synchronous { sealLater() }
    checkpointIfDue()
    considerCompaction(at: transaction.position.offset)
  }

  /// Makes the system write cached pages before anybody has to wait for them: 8 MiB at a time, on a
  /// separate thread, because the call blocks while the disk is busy. (Sequential fills of 116 MB
  /// with a sync at the end: 4.1 to 4.5 million a second.)
  private func writebackLater(_ log: LogFile, through end: UInt64) {
    let start = writebackThrough.load(ordering: .relaxed)
    guard end > start, end - start >= 8 << 20, options.checkpointsInBackground,
      writebackThrough.compareExchange(expected: start, desired: end, ordering: .relaxed).exchanged
    else { return }
    writebackQueue.async { log.device.startWriteback(offset: start, length: end - start) }
  }

  /// After a full disk: undoes commits in memory that could not be written. Under the writer lock.
  ///
  /// Throws `inputOutput` if the disk now fails in another way, which ends all writing.
  func rollBackUnwritten() throws(Fault) {
    guard log.isOutOfSpace else { return }
    // A commit that is in the file but not published yet must not be undone. Every running flush
    // ends with the failure, and no new commit begins.
    finishing.waitForNone()
    guard let version = published.held() else { return }
    if head.number > version.number {
      // Nodes of the lost transactions stay in the slab until the next checkpoint releases it.
      version.active.layer.forget(after: version.number, keeping: version.active)
      head.active = version.active
      head.transaction = version.transaction
      head.known = version.known
    }
    synchronousEnd.store(0, ordering: .relaxed)
    do throws(Fault) {
      try log.recoverFromOutOfSpace()
    } catch {
      // From here on the log refuses writes with an error that gives the reason; but this one has
      // not been reported yet.
      if error.kind == .inputOutput { throw error }
    }
  }

  /// After a full disk: undoes unwritten commits before another attempt. Takes the writer lock;
  /// does nothing in a transaction.
  func takeBackUnwritten() throws(Fault) {
    guard log.isOutOfSpace, !isInTransaction else { return }
    writer.lock()
    defer { writer.unlock() }
    try rollBackUnwritten()
  }

  /// Makes the log usable after a torn tail or a full disk: nothing may be acknowledged before
  /// there is a checkpoint beyond the gap. Returns false if the disk is still full;
  /// `beginTransaction` then throws the reason.
  private func restoreLog() throws(Fault) -> Bool {
    guard log.isInterrupted else { return true }
    try takeBackUnwritten()
    if log.isOutOfSpace { return false }
    if log.needsCheckpoint { try checkpoint(isForced: true) }
    return true
  }

  /// Takes the writer lock for transactions, once writers may continue and the log is usable.
  ///
  /// The caller must have no commit left to settle: the owner of the lock may be waiting for all of
  /// them.
  func lockForTransaction() throws(Fault) {
    if isReadOnly { throw Fault(.readOnly, "the store was opened to be read only") }
    try refuseInsideTransaction("a transaction was begun")
    while true {
      let isRestored = try restoreLog()
      try freeSpaceIfDue()
      let mayWait = waitForReserve()
      slowDown()
      // A checkpoint needs the lock for some microseconds, and might never get it because the lock
      // is unfair.
      services.waitForNone()
      writer.lock()
      // The previous transaction may have filled the disk, or a compaction borrowed the reserve.
      if !isRestored || !log.isInterrupted, !mayWait || !reserveLoan.isUnderWay { break }
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

  /// Throws `invalidRange` inside a transaction's closure, for calls that would wait for their own
  /// transaction.
  func refuseInsideTransaction(_ what: String) throws(Fault) {
    guard isInTransaction else { return }
    throw Fault(.invalidRange, "\(what) inside the closure of a transaction, which must end first")
  }

  /// Throws `invalidRange` inside a closure of the running compaction, copy or backup too, for
  /// calls that would wait for its end.
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
