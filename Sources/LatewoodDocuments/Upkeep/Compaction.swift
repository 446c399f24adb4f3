import LatewoodStore

extension DocumentStore {
  /// Sweeps, then rewrites the file without dead data. Reads and writes continue meanwhile.
  ///
  /// Afterwards the bodies of revisions that are not current are gone, except those of unresolved
  /// conflicts.
  @discardableResult
  package func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) -> Void)? = nil
  ) throws(DocumentError) -> CompactionReport {
    let core = try openedForWriting()
    return try DocumentError.typed {
      try core.store.compact(bytesPerSecond: bytesPerSecond, progress: progress)
    }
  }

  /// Removes superseded bodies and unused blobs, so that the next compaction can free their space.
  @discardableResult
  package func sweep() throws(DocumentError) -> SweepReport { try openedForWriting().sweep() }

  /// Returns the approximate number of bytes that a sweep would free: the superseded bodies of all
  /// collections.
  package func reclaimableBytes() throws(DocumentError) -> UInt64 {
    try openedForReading().reclaimableBytes()
  }
}

extension DocumentCore {
  /// Connects compactions with the sweep. Called once, when the database is opened.
  func prepareCompactions() {
    store.setCompactionPreparation(
      reclaimable: { [weak self] in
        do throws(DocumentError) { return try self?.reclaimableBytes() ?? 0 } catch {
          // Closed or damaged: there is nothing to count, and this is not the place to report it.
          return 0
        }
      },
      prepare: { [weak self] in
        do throws(DocumentError) { _ = try self?.sweep() } catch { throw error.store ?? error }
      })
  }

  func reclaimableBytes() throws(DocumentError) -> UInt64 {
    var sum: UInt64 = 0
    try DocumentError.typed {
      try store.forEach(in: shared.withLock { $0 }.database, .prefix(CollectionState.keyPrefix)) { _, value in
        let state = try value.reading { (bytes) throws(DocumentError) in try CollectionState(bytes) }
        sum = sum &+ state.reclaimableBytes
        return true
      }
    }
    return sum
  }
}
