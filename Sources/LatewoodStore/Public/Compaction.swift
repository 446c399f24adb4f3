import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree

/// The settings for automatic compactions of a store's file.
///
/// Where dead space is returned to the file system (``Store/Options/punchesHoles``), a file of up
/// to 100 MiB of live data that is overwritten at full speed takes at most 3 times its live data
/// plus 32 MiB on the disk, including a running compaction, and its size is at most 8 times the
/// live data plus 64 MiB. It is compacted before it exceeds these bounds, regardless of the
/// fractions below, and writers are slowed down in proportion to their bytes. With more live data,
/// or on a busy machine, a checkpoint during the compaction can add the live data once more. The
/// bounds do not include space that is kept by open snapshots, by readers in other processes, by
/// running copies and backups, by a paused compaction, by ``Store/Options/wholeCheckpoints``, or by
/// a single transaction longer than the bounds.
///
/// They also hold for any number of short sessions: ``Store/close()`` reclaims the dead blocks that
/// earlier sessions have left once they are one and a half times the live data plus 16 MiB, without
/// writing anything but the two root slots, and compacts a file of up to 128 MiB of live data that
/// would exceed its bounds otherwise.
public struct CompactionPolicy: Sendable, Equatable {
  /// Whether the file is compacted automatically. Has no effect without
  /// ``Store/Options/checkpointsInBackground``. Default: true.
  public var isAutomatic = true
  /// The minimum size of a file to compact, in bytes. Default: 4 MiB.
  public var minimumSize: UInt64 = 4 << 20
  /// The dead fraction of the bytes on the disk at which a file is compacted after a `quietTime`
  /// without commits; 0.05 to 0.95. Default: 0.4.
  public var deadShare = 0.4
  /// The dead fraction at which a file is compacted without waiting for `quietTime`. Default: 0.6.
  public var urgentDeadShare = 0.6
  /// The time without a commit, in seconds, before a compaction that is not urgent. Default: 2.
  public var quietTime = 2.0
  /// The maximum number of bytes to write per second; nil for no limit. Default: nil.
  public var bytesPerSecond: UInt64?

  /// Creates the default policy.
  public init() {}

  /// A policy without automatic compactions: the file is compacted only by `Store.compact`.
  public static var manual: CompactionPolicy {
    var policy = CompactionPolicy()
    policy.isAutomatic = false
    return policy
  }
}

/// The progress of a compaction.
public struct CompactionProgress: Sendable, Equatable {
  /// The completed fraction of the work, 0 to 1.
  public var fraction = 0.0
  /// The number of bytes of live data already in the new file.
  public var bytesCopied: UInt64 = 0
  /// The number of bytes of live data at the beginning.
  public var bytesTotal: UInt64 = 0
  /// The number of bytes of the old file that will be removed.
  public var deadBytes: UInt64 = 0
  /// Whether it is paused by ``Store/pauseCompaction()``.
  public var isPaused = false
}

/// The result of a compaction or copy.
public struct CompactionReport: Sendable, Equatable {
  /// The size of the file before, in bytes.
  public var bytesBefore: UInt64 = 0
  /// The size of the new file when it replaced the old one, in bytes.
  public var bytesAfter: UInt64 = 0
  /// The number of transactions committed during the compaction.
  public var transactionsMeanwhile: UInt64 = 0
  /// The longest time for which writers had to wait, in microseconds.
  public var longestPause: UInt64 = 0
  /// The duration, in microseconds.
  public var duration: UInt64 = 0
  /// Whether the compaction had no space for a new file and instead returned dead blocks of the old
  /// one to the file system. `bytesBefore` and `bytesAfter` are then the sizes on the disk; the
  /// length of the file does not change.
  public var isInPlace = false

  /// Creates the report of a compaction that has not done anything.
  public init() {}
}

/// The decision about an entry when the file is compacted: see
/// ``Store/setCompactionRewriter(for:_:)``.
public enum CompactedEntry: Sendable {
  /// Keep the entry unchanged.
  case keep
  /// Keep the entry with a new value.
  case replace([UInt8])
  /// Leave the entry out of the new file.
  case drop
}

extension Store {
  /// Writes the live data into a new file, which then replaces the old one. Reads and writes
  /// continue during the compaction; writers wait only for the milliseconds of the last step.
  ///
  /// Open snapshots stay valid and keep the old file's space until they close. The new file has a
  /// new file id, has its data in key order, and is read back and verified before it replaces the
  /// old one. After a crash at any moment the file is the complete old one or the complete new one.
  /// If a compaction is already running, this waits for it and returns its report.
  ///
  /// The new file has the owner, permissions, access control list and extended attributes of the
  /// old one (among the system's own attributes, only the label of SELinux or Smack, where it can
  /// be set). If this process may not give a file that owner, or if the file has a second name,
  /// which would keep the old file, the compaction fails immediately.
  ///
  /// Temporarily needs additional space on the disk for a copy of the live data. If there is not
  /// enough, it instead returns dead blocks of the file to the file system, if that supports it:
  /// see ``CompactionReport/isInPlace``. Blocks that an open snapshot or a reader in another
  /// process may need are not returned. O(live bytes).
  ///
  /// - Parameters:
  ///   - bytesPerSecond: the maximum number of bytes to write per second; nil for no limit.
  ///   - progress: called regularly, on the compacting thread. It may use the store, but `compact`,
  ///     `copy`, `backup` and `close` throw `invalidRange` there. If it throws, the compaction is
  ///     cancelled, which leaves the file unchanged and removes the new one. Only an error thrown
  ///     by its last call, with the fraction 1, is too late.
  /// - Throws: any error of `progress`, unchanged; ``StoreError`` `cancelled` after
  ///   ``cancelCompaction()`` or ``close()``; `outOfSpace` if dead blocks could not be returned
  ///   either; `inputOutput`, `damaged` if the old file cannot be read or the new one cannot be
  ///   written: the old file then stays in use; `permissionDenied` if the new one cannot be given
  ///   the old one's owner; `hardLinked`; `fileMoved` if the file is no longer at its path;
  ///   `readOnly`, `closed`; `invalidRange` inside the closure of a transaction, or of another
  ///   compaction.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) throws -> Void)? = nil
  ) throws -> CompactionReport {
    try CompactionRequest().run(in: engine, bytesPerSecond: bytesPerSecond, progress)
  }

  /// Compacts the file without blocking the caller's thread, on a Dispatch queue of utility
  /// priority. Otherwise the same as the blocking form.
  ///
  /// Cancelling the task cancels the compaction, at its next step. If the task is only waiting for
  /// a compaction that another caller began, that compaction continues.
  ///
  /// - Throws: as the blocking form; `cancelled` also if the task is cancelled.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: (@Sendable (CompactionProgress) throws -> Void)? = nil
  ) async throws -> CompactionReport {
    let request = CompactionRequest()
    return try await withTaskCancellationHandler {
      // Do not use the queue of automatic compactions, where a cancelled request would wait for
      // their end.
      try await DispatchQueue.global(qos: .utility).perform {
        try request.run(in: self.engine, bytesPerSecond: bytesPerSecond, progress)
      }
    } onCancel: {
      request.cancel(in: engine)
    }
  }

  /// Writes the newest state into a new database file, compacted and with its own file id. Reads
  /// and writes continue during the copy, and nearly everything committed until its end is also
  /// copied.
  ///
  /// The copy appears at `path` when it is complete, verified and durable; if this fails, no file
  /// is left there. It belongs to this process's user, who can write to it; otherwise its
  /// permissions are those of this file. The access control list and extended attributes are not
  /// copied. A copy can also save the data of a store whose file was moved away (`fileMoved`). A
  /// read-only store can be copied too. A copy waits for a running compaction.
  ///
  /// A copy of an encrypted store opens with the key that opened this file, and has the same key of
  /// the file. So whoever can open one of the two can read the other one, too, even if
  /// ``changeEncryptionKey(to:renewingFileKey:)`` gives it another key or password later. Before
  /// you give a copy to somebody else, call that on the copy with `renewingFileKey`, which
  /// encrypts it with a file key of its own. A read-only store that was opened before a change of
  /// the key makes copies that open with the old key.
  ///
  /// - Parameters:
  ///   - path: the path of a new file, on any file system.
  ///   - bytesPerSecond: the maximum number of bytes to write per second; nil for no limit.
  ///   - progress: called regularly, on the calling thread; otherwise as for `compact`.
  /// - Returns: a report, in which `bytesAfter` is the size of the copy.
  /// - Throws: ``StoreError`` `alreadyExists`, `lockedByOtherProcess`; `cancelled` after
  ///   ``cancelCompaction()``; and as `compact`.
  @discardableResult
  public func copy(
    to path: String, bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) -> Void)? = nil
  ) throws -> CompactionReport {
    do throws(StorageError) {
      return try engine.copy(to: path, bytesPerSecond: bytesPerSecond, progress)
    } catch {
      // Damage is in the source file.
      throw StoreError(error, path: error.kind == .damaged ? engine.path : path)
    }
  }

  /// Sets a closure that decides about each entry of a keyspace when the file is compacted or
  /// copied, so that a layer above can drop entries that it no longer needs.
  ///
  /// The closure is called once for each entry, and once more for each put committed during the
  /// compaction, on the compacting thread. Transactions wait while it decides about the last of
  /// these puts. It must not use the store. If it throws, the compaction ends, and the file stays
  /// unchanged.
  ///
  /// - Parameters:
  ///   - keyspace: the keyspace of the entries.
  ///   - rewrite: returns the decision about an entry; nil to keep all entries.
  /// - Throws: ``StoreError`` `noSuchKeyspace`, `closed`.
  public func setCompactionRewriter(
    for keyspace: Keyspace,
    _ rewrite: (@Sendable (_ key: RawSpan, _ value: RawSpan) throws -> CompactedEntry)?
  ) throws {
    try read { (state) throws(StorageError) in try state.check(keyspace) }
    let rewriter = rewrite.map { EntryRewriter(keyspace: keyspace.name, rewrite: $0) }
    engine.hooks.setRewriter(rewriter?.run, forKeyspace: keyspace.id)
  }

  /// Pauses the running compaction, and later ones, until ``resumeCompaction()``. From any thread.
  public func pauseCompaction() { engine.setCompactionPaused(true) }

  /// Lets paused compactions continue.
  public func resumeCompaction() { engine.setCompactionPaused(false) }

  /// Cancels the running compaction, if there is one. It leaves no files behind, and throws
  /// `cancelled` in callers that wait for it. From any thread.
  public func cancelCompaction() { engine.compaction.cancel() }

  /// The progress of the running compaction; nil if none is running.
  public var compactionProgress: CompactionProgress? { engine.compaction.progress }
}

/// Adapts a caller's closure to the rewriter of the tree's copy.
private struct EntryRewriter: Sendable {
  let keyspace: String
  let rewrite: @Sendable (_ key: RawSpan, _ value: RawSpan) throws -> CompactedEntry

  @Sendable func run(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(StorageError) -> Rewritten {
    let outcome: CompactedEntry
    do {
      outcome = try rewrite(key.bytes, value.bytes)
    } catch {
      throw StorageError(.cancelled, "the rewriter of the keyspace \(keyspace) threw: \(error)")
    }
    switch outcome {
    case .keep: return .keep
    case .replace(let bytes): return .replace(bytes)
    case .drop: return .drop
    }
  }
}
