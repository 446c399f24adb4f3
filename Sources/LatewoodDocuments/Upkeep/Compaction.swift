import LatewoodStore

extension DocumentStore {
  /// Sweeps, and writes the file anew without what is dead. Reads and writes go on meanwhile.
  ///
  /// Afterwards the bodies of revisions that are not current are gone, those of unresolved
  /// conflicts excepted.
  @discardableResult
  package func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) -> Void)? = nil
  ) throws(DocumentError) -> CompactionReport {
    let core = try openedForWriting()
    do { return try core.store.compact(bytesPerSecond: bytesPerSecond, progress: progress) } catch {
      throw DocumentError(error)
    }
  }

  /// Takes away superseded bodies and unused blobs, so that the next compaction gives their space
  /// back.
  @discardableResult
  package func sweep() throws(DocumentError) -> SweepReport { try openedForWriting().sweep() }

  /// Bytes that a sweep would free, about: superseded bodies of all collections.
  package func reclaimableBytes() throws(DocumentError) -> UInt64 {
    try openedForReading().reclaimableBytes()
  }
}

extension DocumentCore {
  /// The one place where compactions learn of the sweep. Called once, when the database is opened.
  func prepareCompactions() {
    store.setCompactionPreparation(
      reclaimable: { [weak self] in
        do throws(DocumentError) { return try self?.reclaimableBytes() ?? 0 } catch {
          // Closed, or damaged: nothing to count on, and not the place to say so.
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
