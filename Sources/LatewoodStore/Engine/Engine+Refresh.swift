import LatewoodBytes
import LatewoodFile
import LatewoodTree

extension Engine {
  /// In a read-only store: applies new commits of another process. Returns whether there were any.
  func refresh() throws(Fault) -> Bool {
    try checkOpen()
    guard isReadOnly else { return false }
    checkpointing.lock()
    defer { checkpointing.unlock() }
    // `statistics()` takes this lock to measure the write buffer, as in a store that writes.
    writer.lock()
    defer { writer.unlock() }
    let log = log
    var next = head
    next.number += 1
    let buffer = BufferWriter(state: next.active, version: next.number, file: log.view)
    buffer.reclaim(published: try current().number, registry: registry)
    var changesCatalog = false
    let outcome: RefreshOutcome
    do {
      outcome = try log.refresh(
        begin: { buffer.read(from: $0) },
        apply: { (transaction, offset, record) throws(Fault) in
          try buffer.apply(record, at: offset)
          next.transaction = transaction
          if Catalog.isInside(record) { changesCatalog = true }
        })
    } catch {
      buffer.abort()
      throw error
    }
    switch outcome {
    case .unchanged:
      buffer.abort()
      return false
    case .advanced:
      next.active = buffer.finish()
      // The other process may have dropped keyspaces, so handles are looked up again.
      if changesCatalog { next.known = KnownKeyspaces() }
      head = next
      publish(next)
      return true
    case .newCheckpoint:
      buffer.abort()
      return try startOver(in: log)
    case .replaced:
      buffer.abort()
      let next = try log.reopened()
      return try startOver(in: next)
    }
  }

  /// Replaces the state in memory with the tree of a newer checkpoint, perhaps in another file, and
  /// the log after it.
  private func startOver(in next: LogFile) throws(Fault) -> Bool {
    let before = head.transaction
    let (state, report) = try replay(next, into: BufferLayer(), version: head.number + 1)
    head.number += 1
    head.active = state
    head.transaction = report.lastTransaction
    head.known = KnownKeyspaces()
    goOn(in: next, checkpoint: report.checkpointOffset)
    let hold = startPunching(
      from: report.checkpointOffset, replay: report.checkpoint?.replay ?? .start, isOwn: false)
    swap { _ in makeVersion(head, base: report.checkpoint?.root, frozen: nil, hold: hold) }
    return head.transaction != before
  }
}
