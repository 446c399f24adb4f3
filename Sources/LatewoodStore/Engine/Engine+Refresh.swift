import LatewoodBytes
import LatewoodFile
import LatewoodTree

extension Engine {
  /// Applies new commits of another process to a read-only store. Returns whether there were new
  /// commits.
  func refresh() throws(StorageError) -> Bool {
    try checkOpen()
    guard isReadOnly else { return false }
    // `statistics()` takes the writer lock to measure the write buffer, as in a store that writes.
    return try checkpointer.withoutCheckpoints { () throws(StorageError) in
      try head.withMaintenance { () throws(StorageError) in try applyNewCommits() }
    }
  }

  private func applyNewCommits() throws(StorageError) -> Bool {
    let file = file
    var next = head.newest
    next.number += 1
    let (active, number) = (next.active, next.number)
    let published = try versions.current().number
    var buffer: BufferWriter?
    var changesCatalog = false
    let outcome: RefreshOutcome
    do {
      outcome = try file.refresh(
        begin: {
          let writer = BufferWriter(state: active, version: number, file: $0)
          writer.reclaim(published: published) { versions.live(lookingAtMost: $0) }
          buffer = writer
        },
        apply: { (transaction, offset, record) throws(StorageError) in
          try buffer?.apply(record, at: offset)
          next.transaction = transaction
          if Catalog.isInside(record) { changesCatalog = true }
        })
    } catch {
      buffer?.abort()
      throw error
    }
    switch outcome {
    case .unchanged:
      buffer?.abort()
      return false
    case .advanced:
      next.active = buffer?.finish() ?? active
      // The other process may have dropped keyspaces, so handles must be validated again.
      if changesCatalog { next.known = ValidatedKeyspaces() }
      head.replace(with: next)
      versions.publish(next, in: file)
      return true
    case .newCheckpoint:
      buffer?.abort()
      return try startOver(in: file)
    case .replaced:
      buffer?.abort()
      let next = try file.reopened()
      return try startOver(in: next)
    }
  }

  /// Replaces the state in memory by the tree of a newer checkpoint, perhaps in another file, and
  /// the log after it.
  private func startOver(in next: DatabaseFile) throws(StorageError) -> Bool {
    var state = head.newest
    let before = state.transaction
    let report: LogRecoveryReport
    (state.active, report) = try replay(next, into: BufferLayer(), version: state.number + 1)
    state.number += 1
    state.transaction = report.lastTransaction
    state.known = ValidatedKeyspaces()
    head.replace(with: state)
    switchFile(to: next, checkpoint: report.checkpointOffset)
    let start = report.checkpoint?.replay ?? .start
    let pin = reclaimer.start(from: report.checkpointOffset, replay: start, isOwn: false)
    next.mapping.compareWithMemory(log: start.offset)
    versions.publish(state, base: report.checkpoint?.root, frozen: nil, pin: pin)
    return state.transaction != before
  }
}
