import LatewoodBytes
import LatewoodDevice
import LatewoodTree

/// When a store compacts its file by itself.
///
/// Where parts of the file are given back to the file system (``Store/Options/punchesHoles``), a
/// file of up to 1 GiB of live data that is overwritten at full speed takes at most 3 times its
/// live data and 32 MiB on the disk, a compaction that is under way included, and its size is at
/// most 8 times the live data and 64 MiB. It is compacted before it passes that, whatever the
/// shares below say, and writers are slowed in proportion to their bytes. Beyond these bounds goes
/// what is held: by open snapshots, by readers in other processes, by copies and backups while they
/// run, by a compaction that is paused, by ``Store/Options/wholeCheckpoints``, and by one
/// transaction that is longer than all of that.
public struct CompactionPolicy: Sendable, Equatable {
  /// Whether it does. Default: true. Without ``Store/Options/checkpointsInBackground`` nothing runs
  /// by itself.
  public var isAutomatic = true
  /// A file smaller than this is left alone, in bytes. Default: 4 MiB.
  public var minimumSize: UInt64 = 4 << 20
  /// Share of dead bytes on the disk from which on a file is compacted once nobody has written for
  /// `quietTime`; 0.05 to 0.95. Default: 0.4.
  public var deadShare = 0.4
  /// The share from which on that is not waited for. Default: 0.6.
  public var urgentDeadShare = 0.6
  /// Seconds without a commit. Default: 2.
  public var quietTime = 2.0
  /// Bytes of new file a second at most; nil for as many as the disk takes. Default: nil.
  public var bytesPerSecond: UInt64?

  public init() {}

  /// Only `Store.compact` compacts.
  public static var manual: CompactionPolicy {
    var policy = CompactionPolicy()
    policy.isAutomatic = false
    return policy
  }
}

/// How far a compaction is.
public struct CompactionProgress: Sendable, Equatable {
  /// Of the whole work, 0 to 1.
  public var fraction = 0.0
  /// Bytes of live data that are in the new file.
  public var bytesCopied: UInt64 = 0
  /// Bytes of live data when it began.
  public var bytesTotal: UInt64 = 0
  /// Bytes of the old file that will be given back.
  public var deadBytes: UInt64 = 0
  public var isPaused = false
}

/// What a compaction did.
public struct CompactionReport: Sendable, Equatable {
  /// Bytes of the file before.
  public var bytesBefore: UInt64 = 0
  /// Bytes of the new file when it took the old one's place.
  public var bytesAfter: UInt64 = 0
  /// Transactions that were committed meanwhile.
  public var transactionsMeanwhile: UInt64 = 0
  /// Longest time for which it held writers back, in microseconds.
  public var longestPause: UInt64 = 0
  /// Time it took, in microseconds.
  public var duration: UInt64 = 0

  public init() {}
}

/// What becomes of an entry when the file is compacted: see
/// ``Store/setCompactionRewriter(for:_:)``.
public enum CompactedEntry: Sendable {
  case keep
  /// Its value is this from now on.
  case replace([UInt8])
  case drop
}

extension Store {
  /// Writes the live data into a new file and puts that in the place of the old one. Reads and
  /// writes go on all the while; writers are held for the milliseconds of the last step.
  ///
  /// Snapshots that are open stay valid: they keep the old file's space until they close. The new
  /// file has a new file id, holds its data in key order, and is read back and verified before it
  /// takes the place. After a crash at any moment the file is the old one or the new one, whole. If
  /// a compaction is running already, this waits for it and returns what that did.
  ///
  /// The new file belongs to whom the old one did, and has its permissions, access control list and
  /// extended attributes (of those that are the system's own only the label of SELinux or Smack,
  /// where the system lets it be set). Where this process may not give a file that owner, or the
  /// file has a second name that would go on with the old one, the compaction is refused before it
  /// has cost anything.
  ///
  /// Takes as much more room on the disk as the live data has. O(live bytes).
  ///
  /// - Parameters:
  ///   - bytesPerSecond: of new file at most; nil for as many as the disk takes.
  ///   - progress: called now and then, on the thread that works. It may use the store; to compact,
  ///     copy, back up or close it there is `invalidRange`.
  /// - Throws: ``StoreError`` `cancelled` after ``cancelCompaction()`` or ``close()``;
  ///   `outOfSpace`, `inputOutput`, `damaged` if the old file cannot be read or the new one not be
  ///   written: then the old file goes on as if nothing had been; `permissionDenied` if the new one
  ///   cannot be given the old one's owner; `hardLinked`; `fileMoved` if the file is not at its
  ///   path any more; `readOnly`, `closed`; `invalidRange` inside the closure of a transaction, or
  ///   of another compaction.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) -> Void)? = nil
  ) throws(StoreError) -> CompactionReport {
    do throws(Fault) {
      return try engine.compact(bytesPerSecond: bytesPerSecond, progress)
    } catch { throw StoreError(error, path: engine.path) }
  }

  /// The same without blocking the caller's thread: it runs on a Dispatch queue of utility
  /// priority. Cancelling the task cancels it.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: (@Sendable (CompactionProgress) -> Void)? = nil
  ) async throws -> CompactionReport {
    let isCancelled = Guarded(false)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        engine.compactionQueue.async {
          let result = Result {
            try self.engine.compact(
              bytesPerSecond: bytesPerSecond, unless: { isCancelled.withLock { $0 } }, progress)
          }
          continuation.resume(with: result.mapError { StoreError.from($0) })
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
      engine.compaction.cancel()
    }
  }

  /// Writes the newest state into a new database file, compacted and with a file id of its own.
  /// Reads and writes go on all the while, and what is committed until it has nearly ended comes
  /// along.
  ///
  /// It appears at `path` when it is whole, verified and durable; if this fails, nothing is left
  /// there. It belongs to this process's user, who can write to it; otherwise its permissions are
  /// those of this file. Access control list and extended attributes do not come along. This is
  /// also how to save what a store shows whose file was taken away (`fileMoved`). A store that was
  /// opened to be read only can be copied too. It waits for a compaction that is running.
  ///
  /// - Parameters:
  ///   - path: where no file is yet, on any file system.
  ///   - bytesPerSecond: of new file at most; nil for as many as the disk takes.
  ///   - progress: called now and then, on the thread that works; as of `compact`.
  /// - Returns: `bytesAfter` is the size of the copy.
  /// - Throws: ``StoreError`` `alreadyExists`, `lockedByOtherProcess`; `cancelled` after
  ///   ``cancelCompaction()``; and as `compact`.
  @discardableResult
  public func copy(
    to path: String, bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) -> Void)? = nil
  ) throws(StoreError) -> CompactionReport {
    do throws(Fault) {
      return try engine.copy(to: path, bytesPerSecond: bytesPerSecond, progress)
    } catch {
      // What is damaged is what was read.
      throw StoreError(error, path: error.kind == .damaged ? engine.path : path)
    }
  }

  /// Says what becomes of the entries of a keyspace when the file is compacted or copied: a layer
  /// above can so leave out what it no longer needs.
  ///
  /// It is asked once for each entry, and once more for each put that was committed meanwhile, on
  /// the thread that works, and must not use the store. What it throws ends the compaction, and the
  /// file stays as it was.
  ///
  /// - Parameters:
  ///   - keyspace: whose entries.
  ///   - rewrite: nil: all entries are kept.
  /// - Throws: ``StoreError`` `noSuchKeyspace`, `closed`.
  public func setCompactionRewriter(
    for keyspace: Keyspace,
    _ rewrite: (@Sendable (_ key: RawSpan, _ value: RawSpan) throws -> CompactedEntry)?
  ) throws(StoreError) {
    do throws(Fault) {
      try engine.currentReader().state.check(keyspace)
    } catch { throw StoreError(error, path: engine.path) }
    let rewriter = rewrite.map { EntryRewriter(keyspace: keyspace.name, rewrite: $0) }
    // The one before goes outside of the lock: it may be the last reference to something of the
    // caller's.
    let old = engine.rewriters.withLock { rewriters in
      defer { rewriters[keyspace.id] = rewriter?.run }
      return rewriters[keyspace.id]
    }
    withExtendedLifetime(old) {}
  }

  /// Holds the running compaction, and those to come, until ``resumeCompaction()``. From any
  /// thread.
  public func pauseCompaction() { engine.compaction.setPaused(true) }

  /// Lets compactions go on.
  public func resumeCompaction() { engine.compaction.setPaused(false) }

  /// Ends the running compaction, if there is one, without a trace: whoever waits for it gets
  /// `cancelled`. From any thread.
  public func cancelCompaction() { engine.compaction.cancel() }

  /// How far the running compaction is; nil if none is running.
  public var compactionProgress: CompactionProgress? { engine.compaction.progress }
}

/// A caller's closure in the form in which the tree's copy asks it.
private struct EntryRewriter: Sendable {
  let keyspace: String
  let rewrite: @Sendable (_ key: RawSpan, _ value: RawSpan) throws -> CompactedEntry

  @Sendable func run(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(Fault) -> Rewritten {
    let outcome: CompactedEntry
    do {
      outcome = try rewrite(key.bytes, value.bytes)
    } catch {
      throw Fault(.cancelled, "the rewriter of the keyspace \(keyspace) threw: \(error)")
    }
    switch outcome {
    case .keep: return .keep
    case .replace(let bytes): return .replace(bytes)
    case .drop: return .drop
    }
  }
}
