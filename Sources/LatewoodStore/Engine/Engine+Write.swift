import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

extension Engine {
  /// Runs a transaction: the closure under the writer lock, then the flush, then everybody may see it.
  ///
  /// One that changes nothing, or throws, may have found what another thread has committed and not published yet: its caller acts on that,
  /// so that a read after it must see it too.
  func write<R>(_ durability: Durability, _ body: (Transaction) throws -> R) throws -> R {
    let transaction: Transaction
    let result: R
    var isSettled = false
    var thrown: Transaction?
    do {
      try lockForTransaction()
      defer { unlockTransaction() }
      transaction = try Transaction(engine: self)
      do {
        result = try body(transaction)
        if let fault = transaction.failure { throw fault }
      } catch {
        transaction.leave()
        checkpointIfDue()
        if (try? hasPublishedHead()) == false {
          finishing.wrappingAdd(1, ordering: .relaxed)
          thrown = transaction
        }
        throw error
      }
      if transaction.hasOperations {
        try transaction.commit()
      } else {
        transaction.leave()
        isSettled = try hasPublishedHead() && durability == .relaxed
      }
      if !isSettled { finishing.wrappingAdd(1, ordering: .relaxed) }
    } catch {
      // Why the closure threw is what its caller wants to know, whatever else fails now.
      if let thrown { try? finish(thrown, .relaxed) }
      throw (error as? Fault).map { StoreError($0, path: path) } ?? error
    }
    do {
      if !isSettled { try finish(transaction, durability) }
    } catch {
      throw StoreError(error, path: path)
    }
    return result
  }

  /// Whether readers see the newest state. Under the writer lock. Throws if they never will, because writing has ended.
  private func hasPublishedHead() throws(Fault) -> Bool {
    if let version = published.withLock({ $0 }), version.number >= head.number { return true }
    try log.checkWriting()
    return false
  }

  /// Waits until a commit, or what a transaction found, is where its durability wants it, then publishes it.
  private func finish(_ transaction: Transaction, _ durability: Durability) throws(Fault) {
    let (committed, position) = (transaction.committed, transaction.position)
    do {
      defer { finishing.wrappingSubtract(1, ordering: .releasing) }
      try transaction.log.flush(through: position, durable: durability == .synchronous)
      publish(committed)
    } catch {
      if error.kind == .outOfSpace {
        writer.lock()
        defer { writer.unlock() }
        // A failure that ends all writing is told first.
        try rollBackUnwritten()
      }
      throw error
    }
    writebackLater(transaction.log, through: position.offset)
    if durability == .synchronous { sealLater() }
    checkpointIfDue()
    considerCompaction(at: position.offset)
  }

  /// Has the system write what it caches before somebody has to wait for it: 8 MiB at a time, on a thread of its own, since the call
  /// blocks when the disk is busy. (Sequential fills of 116 MB with the sync at their end: 4.1 to 4.5 million a second.)
  private func writebackLater(_ log: LogFile, through end: UInt64) {
    let start = writebackThrough.load(ordering: .relaxed)
    guard end > start, end - start >= 8 << 20, options.checkpointsInBackground,
      writebackThrough.compareExchange(expected: start, desired: end, ordering: .relaxed).exchanged
    else { return }
    writebackQueue.async { log.device.startWriteback(offset: start, length: end - start) }
  }

  /// After a full disk: what was committed in memory and could not be written is taken back. Under the writer lock.
  ///
  /// Throws `inputOutput` if the disk fails in another way now, which ends all writing.
  func rollBackUnwritten() throws(Fault) {
    guard log.isOutOfSpace else { return }
    waitForFinishing()
    guard let version = published.withLock({ $0 }) else { return }
    if head.number > version.number {
      // Nodes that the lost transactions made stay in the slab until the next checkpoint lets go of it.
      version.active.layer.forget(after: version.number, keeping: version.active)
      head.active = version.active
      head.transaction = version.transaction
      head.dropCount = version.dropCount
    }
    do throws(Fault) {
      try log.recoverFromOutOfSpace()
    } catch {
      // The log refuses from here on, with a fault of its own that says why; but nobody has been told of this one.
      if error.kind == .inputOutput { throw error }
    }
  }

  /// Returns when every commit has been published or has failed: what is in the file and not yet published must not be taken back.
  /// Under the writer lock, after a failure that no flush outlasts.
  private func waitForFinishing() {
    checkpointEnded.lock()
    defer { checkpointEnded.unlock() }
    while finishing.load(ordering: .acquiring) > 0 { _ = checkpointEnded.wait(milliseconds: 1) }
  }

  /// After a full disk, before anything is tried again. Not while this thread has the writer lock; in a transaction it does nothing.
  func takeBackUnwritten() throws(Fault) {
    guard log.isOutOfSpace, !isInTransaction else { return }
    writer.lock()
    defer { writer.unlock() }
    try rollBackUnwritten()
  }

  /// After a torn tail or a full disk nothing may be acknowledged before a checkpoint lies beyond what was left behind. False if the
  /// log refuses to go on; it says why when a transaction begins.
  private func restoreLog() throws(Fault) -> Bool {
    guard log.isInterrupted else { return true }
    try takeBackUnwritten()
    if log.isOutOfSpace { return false }
    if log.needsCheckpoint { try checkpoint(isForced: true) }
    return true
  }

  private func lockForTransaction() throws(Fault) {
    if isReadOnly { throw Fault(.readOnly, "the store was opened to be read only") }
    try refuseInsideTransaction("a transaction was begun")
    while true {
      let isRestored = try restoreLog()
      slowDown()
      letServicesPass()
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

  /// A checkpoint wants the lock for some microseconds, and an unfair lock might never give it one.
  private func letServicesPass() {
    while servicesWaiting.load(ordering: .relaxed) > 0 {
      checkpointEnded.lock()
      if servicesWaiting.load(ordering: .relaxed) > 0 { _ = checkpointEnded.wait(milliseconds: 1) }
      checkpointEnded.unlock()
    }
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

  private func unlockTransaction() {
    writingThread.store(0, ordering: .relaxed)
    writer.unlock()
  }
}
