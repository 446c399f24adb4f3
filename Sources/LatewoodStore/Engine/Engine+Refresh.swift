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
    let before = head.newest
    let (active, report) = try replay(next, into: BufferLayer(), version: before.number + 1)
    var state = FileState(next, recovered: active, report)
    state.head.number = before.number + 1
    adopt(state)
    return state.head.transaction != before.transaction
  }
}
