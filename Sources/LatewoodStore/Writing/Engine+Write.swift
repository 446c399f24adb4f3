import LatewoodBytes
import LatewoodFile

extension Engine {
  /// The outcome of a transaction whose closure has run.
  struct TransactionOutcome {
    let transaction: Transaction
    /// The error of the closure for the caller; nil if the closure succeeded.
    let failure: (any Error)?
    /// The durability that the log must reach before the state that the transaction left, or found,
    /// is published and its caller continues. Nil if that state is already published.
    let awaited: Durability?
  }

  /// Runs a transaction: calls the closure under the writer lock, flushes, then publishes the
  /// commit.
  ///
  /// - Parameter durability: the durability of the commit; nil for the store's option.
  @usableFromInline func write(
    _ durability: Durability?, _ body: (Transaction) throws -> Void
  ) throws {
    do {
      let ended: TransactionOutcome
      do {
        let file = try lockForTransaction()
        defer { unlockTransaction() }
        ended = try run(in: file, durability ?? options.durability, body)
      } catch let refused as RefusedTransaction {
        ended = try runAgain(refused)
      }
      if let awaited = ended.awaited {
        do throws(StorageError) {
          try finish(ended.transaction, awaited)
        } catch {
          // The closure's own error matters more to the caller than a failure here.
          throw ended.failure ?? error
        }
      }
      if let failure = ended.failure { throw failure }
    } catch { throw publicError(error) }
  }

  /// Returns the error for the caller of a transaction: a `StorageError` becomes a `StoreError`.
  func publicError(_ error: any Error) -> any Error {
    (error as? StorageError).map { StoreError($0, path: path) } ?? error
  }

  // MARK: Under the writer lock

  /// Takes the writer lock for a transaction, after repairing the log, freeing space and throttling
  /// as needed. Returns the file that the transaction commits to.
  ///
  /// The caller must have no unsettled commits, because the owner of the lock may be waiting for
  /// all of them.
  ///
  /// - Parameter longest: the maximum number of live bytes of a file on a full disk in which to
  ///   look for dead blocks of earlier sessions.
  func lockForTransaction(
    sweepingUpTo longest: UInt64 = Engine.greatestSweptWhenTight
  ) throws(StorageError) -> DatabaseFile {
    if isReadOnly { throw StorageError(.readOnly, "the store was opened read-only") }
    try refuseInsideTransaction("a transaction was started")
    var file = lockIfUnhindered()
    if file == nil { file = try lockWhenReady(sweepingUpTo: longest) }
    guard let file, !isClosed else {
      head.unlock()
      throw Engine.closedError
    }
    head.beginClosures()
    return file
  }

  /// Takes the writer lock, unless there is something to wait for or to repair first. Returns nil
  /// without the lock in that case.
  private func lockIfUnhindered() -> DatabaseFile? {
    guard !pacer.isOwed else { return nil }
    head.lock()
    let file = currentFile.fileForWriter
    if disk.admits(to: file) { return file }
    head.unlock()
    return nil
  }

  private func lockWhenReady(sweepingUpTo longest: UInt64) throws(StorageError) -> DatabaseFile {
    while true {
      let isRestored = try restoreLog()
      try freeSpaceIfDue(sweepingUpTo: longest)
      let mayWait = waitForReserve()
      slowDown()
      head.lock()
      let file = currentFile.fileForWriter
      // The previous transaction may have filled the disk, a checkpoint may have failed after
      // undoing unwritten commits, or a compaction may have borrowed the reserve.
      let isUsable = !file.isInterrupted || !isRestored && file.isOutOfSpace
      if isUsable, !mayWait || !disk.loan.isUnderWay { return file }
      head.unlock()
    }
  }

  func unlockTransaction() {
    head.endClosures()
    head.unlock()
  }

  private func slowDown() {
    // A closure called by the compaction would wait for itself.
    if pacer.isOwed, !compaction.isRunningHere { pacer.slowDown() }
  }

  /// Runs the closure and commits. Called between `lockForTransaction` and `unlockTransaction`.
  ///
  /// A transaction that makes no changes, or throws, may have read a commit that is not published
  /// yet. Its caller may act on that commit, so later reads must also see it.
  ///
  /// Throws `RefusedTransaction` if `runAgain` may find space for the changes.
  func run(
    in file: DatabaseFile, _ durability: Durability, _ body: (Transaction) throws -> Void
  ) throws -> TransactionOutcome {
    let transaction = try Transaction(engine: self, file)
    do {
      try body(transaction)
      if let error = transaction.failure { throw error }
    } catch {
      if transaction.failure?.kind == .outOfSpace, !file.isOutOfSpace { didRefuse(transaction) }
      leave(transaction)
      checkpointIfDue()
      let isHidden = (try? hasPublishedHead(of: file)) == false
      return outcome(of: transaction, error, isHidden ? .relaxed : nil)
    }
    let durability = transaction.isSynchronous ? .synchronous : durability
    if transaction.hasOperations {
      let seen = head.newest.transaction
      do throws(StorageError) {
        return try commit(transaction, durability)
      } catch {
        guard error.kind == .outOfSpace, let records = transaction.refused, disk.isReliefHopeful else {
          throw error
        }
        throw RefusedTransaction(
          error: error, records: records, freesSpace: transaction.isRemoval, durability: durability,
          seen: seen)
      }
    }
    leave(transaction)
    let isSettled = try hasPublishedHead(of: file) && durability == .relaxed
    return outcome(of: transaction, nil, isSettled ? nil : durability)
  }

  /// Commits in memory and in the log, which the caller flushes. Called under the writer lock.
  func commit(
    _ transaction: Transaction, _ durability: Durability
  ) throws(StorageError) -> TransactionOutcome {
    let (file, removes) = (transaction.file, transaction.isRemoval)
    defer { pacer.didLog(file.writer.transactionLength) }
    do throws(StorageError) {
      head.replace(with: try transaction.commit(freesSpace: removes))
    } catch {
      if error.kind == .outOfSpace { didRefuse(transaction) }
      throw error
    }
    if disk.didCommit(transaction.committed.transaction, to: file, removes: removes) { pacer.wake() }
    if durability == .synchronous { head.didCommitSynchronously(through: transaction.position.offset) }
    return outcome(of: transaction, nil, durability)
  }

  private func didRefuse(_ transaction: Transaction) {
    disk.didRefuse(after: head.newest.transaction, by: transaction.file)
    pacer.wake()
  }

  /// Repeats the changes of a refused transaction, after freeing space. Its closure does not run
  /// again, so this is possible only if no other transaction has committed since.
  ///
  /// The caller must have no unsettled commits. Throws the error of the refusal if there is still
  /// no space.
  func runAgain(_ refused: RefusedTransaction) throws(StorageError) -> TransactionOutcome {
    // Taking the lock frees space, as for every transaction after a refused one. A delete is not
    // refused until every dead block has been found, however long that takes.
    let longest = refused.freesSpace ? .max : Engine.greatestSweptWhenTight
    let file = try lockForTransaction(sweepingUpTo: longest)
    defer { unlockTransaction() }
    guard head.newest.transaction == refused.seen, !file.isInterrupted else { throw refused.error }
    let transaction = try Transaction(engine: self, file)
    do throws(StorageError) {
      try transaction.reapply(refused)
    } catch {
      leave(transaction)
      throw error
    }
    return try commit(transaction, refused.durability)
  }

  /// Ends a transaction without its changes. Called under the writer lock.
  private func leave(_ transaction: Transaction) {
    abort(transaction)
    transaction.resetToHead(head.newest)
  }

  /// Drops the changes of a transaction. Called under the writer lock.
  func abort(_ transaction: Transaction) { pacer.didLog(transaction.abort()) }

  private func outcome(
    of transaction: Transaction, _ failure: (any Error)?, _ awaited: Durability?
  ) -> TransactionOutcome {
    if awaited != nil { head.beginSettling() }
    return TransactionOutcome(transaction: transaction, failure: failure, awaited: awaited)
  }

  /// Returns whether the newest state is published. Throws if it never will be, because writing has
  /// ended. Called under the writer lock.
  private func hasPublishedHead(of file: DatabaseFile) throws(StorageError) -> Bool {
    if let version = versions.held(), version.number >= head.newest.number { return true }
    try file.checkWriting()
    return false
  }

  // MARK: After it

  /// Settles a commit, or the state that a transaction found, and starts the work that follows
  /// commits.
  private func finish(_ transaction: Transaction, _ durability: Durability) throws(StorageError) {
    do {
      try settle(transaction, durability)
    } catch {
      if error.kind == .outOfSpace { try rollBackRefused() }
      throw error
    }
    followUp(transaction, durability)
  }

  /// Waits until a commit, or the state that a transaction found, is as durable as requested, then
  /// publishes it.
  func settle(_ transaction: Transaction, _ durability: Durability) throws(StorageError) {
    defer { head.endSettling() }
    try transaction.file.flush(through: transaction.position, durable: durability == .synchronous)
    versions.publish(transaction.committed, in: transaction.file)
  }

  /// Starts the background work that becomes due with a commit.
  func followUp(_ transaction: Transaction, _ durability: Durability) {
    scheduleWriteback(transaction.file, through: transaction.position.offset)
    if durability == .synchronous { scheduleSeal() }
    checkpointIfDue()
    if pacer.shouldConsiderCompaction(at: transaction.position.offset) { scheduleCompaction() }
  }

  /// Makes all commits so far durable.
  func sync() throws(StorageError) {
    try checkOpen()
    if isReadOnly { return }
    try rollBackUnwritten()
    // In one call, because a compaction may replace the file between two.
    try file.flushCommitted(durable: true)
  }

  // MARK: After a full disk

  /// Undoes unwritten commits after a commit that found no space. Waits until all other commits are
  /// settled, so the calling thread must not have commits left to settle.
  func rollBackRefused() throws(StorageError) {
    head.lock()
    defer { head.unlock() }
    try head.rollBackUnwritten(in: file) { versions.held() }
  }

  /// Undoes unwritten commits before another attempt. Takes the writer lock; does nothing in a
  /// transaction.
  func rollBackUnwritten() throws(StorageError) {
    if file.isOutOfSpace, !head.isInTransaction { try rollBackRefused() }
  }

  /// Makes the log usable after a torn tail or a full disk: commits may be acknowledged only once
  /// there is a checkpoint after the gap. Returns false if the disk is still full;
  /// `beginTransaction` then throws the reason.
  private func restoreLog() throws(StorageError) -> Bool {
    guard file.isInterrupted else { return true }
    try rollBackUnwritten()
    if file.isOutOfSpace { return false }
    if file.needsCheckpoint { try checkpoint(isForced: true) }
    return true
  }

  // MARK: Calls in the wrong place

  /// Throws `invalidRange` inside a transaction's closure, for calls that would wait for their own
  /// transaction.
  func refuseInsideTransaction(_ what: String) throws(StorageError) {
    guard head.isInTransaction else { return }
    throw StorageError(.invalidRange, "\(what) inside the closure of a transaction, which must end first")
  }

  /// Throws `invalidRange` inside the closure of a transaction, or of the running compaction, copy
  /// or backup, for calls that would wait for its end.
  func refuseInsideCompaction(_ what: String) throws(StorageError) {
    try refuseInsideTransaction(what)
    guard compaction.isRunningHere else { return }
    throw StorageError(
      .invalidRange, "\(what) inside a closure of a compaction, copy or backup, which must end first")
  }
}

/// The changes of a transaction whose closure has run, but whose commit found no space outside the
/// reserve.
///
/// ```
/// closure runs -> refused -> checkpoint, reclaim blocks -> the same changes -> committed
///                                                                         \-> refused
/// ```
///
/// It does not keep the transaction itself, because the version of the transaction would prevent
/// dead blocks from being reclaimed.
struct RefusedTransaction: Error {
  let error: StorageError
  /// The records of its operations, one after the other.
  let records: [UInt8]
  /// Whether the commit may use the reserve.
  let freesSpace: Bool
  let durability: Durability
  /// The number of the newest transaction in the state that the closure saw.
  let seen: UInt64
}
