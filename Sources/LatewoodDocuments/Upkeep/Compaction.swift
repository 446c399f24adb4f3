import LatewoodStore

extension DocumentStore {
  /// Sweeps, then rewrites the file without dead data. Reads and writes continue during the
  /// compaction.
  ///
  /// Afterwards the file no longer contains bodies of revisions that are not current, except in
  /// unresolved conflicts. If `progress` throws, the file stays unchanged, except for the records
  /// that the sweep has already removed.
  ///
  /// - Throws: any error of `progress`, unchanged; ``DatabaseError``.
  @discardableResult
  package func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) throws -> Void)? = nil
  ) throws -> CompactionReport {
    let core = try openedForWriting()
    do {
      return try core.store.compact(bytesPerSecond: bytesPerSecond, progress: progress)
    } catch let error as StoreError {
      throw DatabaseError(error)
    }
  }

  /// Compacts the file without blocking the caller's thread. Otherwise the same as the blocking
  /// form.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the new file has replaced the old one. The file then stays unchanged, except for the records
  ///   that the sweep has already removed.
  @discardableResult
  package func compact(
    bytesPerSecond: UInt64? = nil, progress: (@Sendable (CompactionProgress) throws -> Void)? = nil
  ) async throws -> CompactionReport {
    let core = try openedForWriting()
    do {
      return try await core.store.compact(bytesPerSecond: bytesPerSecond, progress: progress)
    } catch let error as StoreError {
      if error.code == .cancelled, Task.isCancelled { throw CancellationError() }
      throw DatabaseError(error)
    }
  }

  /// Removes superseded bodies and unused blobs, so that the next compaction can free their space.
  @discardableResult
  package func sweep() throws(DatabaseError) -> SweepReport { try openedForWriting().sweep() }

  /// Returns the approximate number of bytes that a sweep would free: the superseded bodies of all
  /// collections.
  package func reclaimableBytes() throws(DatabaseError) -> UInt64 {
    try openedForReading().reclaimableBytes()
  }
}

extension DocumentCore {
  /// Connects compactions with the sweep. Called once, when the database is opened.
  func prepareCompactions() {
    store.setCompactionPreparation(
      reclaimable: { [weak self] in
        do throws(DatabaseError) { return try self?.reclaimableBytes() ?? 0 } catch {
          // The database is closed or damaged: count nothing. Other calls report the error.
          return 0
        }
      },
      prepare: { [weak self] in
        guard let self else { return }
        do throws(DatabaseError) {
          try sweep { () throws(DatabaseError) in
            try DatabaseError.typed { try self.store.checkCompaction() }
          }
        } catch { throw error.store ?? error }
      })
  }

  func reclaimableBytes() throws(DatabaseError) -> UInt64 {
    var sum: UInt64 = 0
    let kept = keptBodies.withLock { $0 }
    try store.visit(in: shared.database, .prefix(CollectionState.keyPrefix)) { key, value in
      let state = try value.reading { (bytes) throws(DatabaseError) in try CollectionState(bytes) }
      let name = key.withUnsafeBytes {
        String(decoding: $0.dropFirst(CollectionState.keyPrefix.utf8.count), as: UTF8.self)
      }
      sum = sum &+ state.reclaimableBytes(keeping: kept[name] ?? 0)
      return true
    }
    return sum
  }
}
