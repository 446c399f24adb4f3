import LatewoodBytes
import LatewoodDevice

/// An open database file: what the header says, the bytes through a mapping, and the log, to which
/// one writer appends.
///
/// ```
///   put, delete ...      commit                  flush
///   encode into    ->    complete the   ->   write, sync: by the first      ->  readers see it
///   a 4 MiB chunk        frame                thread that waits (GroupFlush)     through the mapping
/// ```
///
/// Invariants:
/// 1. Offsets are known when a record is encoded, and never change. A record is read in the chunk
///    until it is written, and then through the mapping: the same bytes.
/// 2. No offset is used twice. After a torn tail, or a write that failed for lack of space, the log
///    goes on past everything that may have been written, with a *previous checksum* of 0; and
///    because no walk crosses the gap, `needsCheckpoint` is set until a slot that names a
///    checkpoint beyond it is durable. Until then no transaction can begin.
/// 3. A frame's *durable through* never lies beyond such a gap until that slot is durable.
///
/// Thread safety:
/// 4. Calls marked *writer* need the store's writer lock: one thread at a time, each seeing what
///    the one before did. `create`, `open`, `recover` and `refresh` come before or instead of a
///    writer and count as one.
/// 5. `flush`, `writeNodes`, `view`, `durableThrough`, `isPoisoned`, `needsCheckpoint` and `close`
///    come from any thread.
/// 6. `writeSlot`, `writeBothSlots` and `punch` come from one thread at a time: the one that
///    checkpoints. They need no writer lock.
/// 7. What `record(at:)` returns is valid until the next call of the writer that appends or begins.
// SAFETY: by 4 to 6 every variable belongs to one thread at a time, or is guarded by the monitor in
// `group`.
package final class LogFile: @unchecked Sendable {
  /// How much is encoded in memory before it is written.
  static let chunkLength = 4 << 20
  static let chunkLimit = 3
  /// Values from this length on are written straight from the caller's memory.
  package static let largeValueLength = 1 << 20
  static let valuePieceLength = 1 << 20
  package static let nodePieceLength = 32 << 10
  /// Room that is reserved ahead of small synchronous commits.
  static let reservedLength: UInt64 = 64 << 10
  static let syncsBeforeReserving = 8
  /// Bytes of a synchronous commit from which on the room is written.
  static let leastWrittenAhead: UInt64 = 512

  package let path: String
  package let isReadOnly: Bool
  package let header: FileHeader
  package let device: any Device
  package let mapping: MappedFile
  let volume: any Volume
  let environment: Environment
  let group: GroupFlush
  /// Until this is closed; versions have it too.
  private let sharedUse: Guarded<FileUse?>
  /// The writer's place, for hot loops above; see `AppendState`.
  @usableFromInline package let append: UnsafeMutablePointer<AppendState>

  /// Of the writer: all chunks it has.
  var chunks: [UnsafeMutableRawPointer]
  /// Of the writer: why the open transaction cannot commit, if it cannot.
  var transactionFailure: Fault?
  /// Of the writer: the last frame is a seal.
  var endsInSeal = false
  /// Of the thread that checkpoints.
  var slotGeneration: UInt64 = 0
  /// Of a checkpoint frame: those before it are no longer to be read, as the newest root slot says
  /// or the next one will. 0: all can be. Of the thread that checkpoints; before that, of recovery.
  package internal(set) var oldestWholeCheckpoint: UInt64 = 0
  /// `CheckpointRecord.branch` of the checkpoints to come. Set by recovery.
  var branch: UInt64 = 0
  /// Of a reader: how far it has read.
  var replay = LogReplay()
  var replayed = ReplayPosition.start
  var lastTransactionSeen: UInt64 = 0
  var lastFrameSeen: FrameHeader?

  init(_ opened: Opened, on volume: any Volume, path: String, environment: Environment) {
    self.path = path
    self.volume = volume
    self.environment = environment
    header = opened.header
    device = opened.device
    mapping = opened.mapping
    sharedUse = Guarded(FileUse(opened.mapping, on: opened.device))
    isReadOnly = opened.fileLock == nil
    let length = opened.fileLock == nil ? 64 : LogFile.chunkLength
    let chunk = UnsafeMutableRawPointer.allocate(byteCount: length, alignment: 4096)
    chunks = [chunk]
    append = .allocate(capacity: 1)
    append.initialize(
      to: AppendState(
        base: opened.mapping.space.base, mappedThrough: opened.mapping.space.capacity,
        flushedThrough: FileLayout.logStart, memory: chunk, segmentOffset: FileLayout.logStart,
        capacity: length, seed: opened.header.seed))
    group = GroupFlush(
      device: opened.device, fileLock: opened.fileLock,
      open: LogFile.segment(memory: chunk, at: FileLayout.logStart, chunk: chunk))
  }

  deinit {
    close()
    for chunk in chunks { chunk.deallocate() }
    append.deinitialize(count: 1)
    append.deallocate()
  }

  static func segment(
    memory: UnsafeRawPointer, at offset: UInt64, chunk: UnsafeMutableRawPointer
  ) -> Segment {
    Segment(memory: memory, offset: offset, length: 0, end: offset, touchable: offset, chunk: chunk)
  }

  /// The bytes of the file, as far as they exist now. Valid as long as this object or `mapping`.
  /// From any thread.
  package var view: FileView {
    // In this order: the mapping was made before the limit was raised.
    let limit = group.locked { $0.touchableThrough }
    return view(of: mapping.space, limit: limit)
  }

  /// The first `size` bytes of the file, all of which exist. Throws `outOfMemory` if they cannot be
  /// mapped.
  func view(through size: UInt64) throws(Fault) -> FileView {
    view(of: try mapping.grown(toCover: size), limit: size)
  }

  private func view(of space: AddressSpace, limit: UInt64) -> FileView {
    FileView(
      base: space.base, verified: space.verified, seed: header.seed, limit: limit, owner: mapping)
  }

  /// Everything before this survives a power cut. From any thread.
  package var durableThrough: UInt64 { group.locked { $0.syncedThrough } }

  /// Whether a write or sync has failed, so that nothing will be written again. From any thread.
  package var isPoisoned: Bool { group.locked { $0.poison != nil } }

  /// Whether the file was found to be removed, renamed or replaced: nothing will be written again,
  /// and what was acknowledged can still be read. From any thread.
  package var isMoved: Bool { group.locked { $0.poison?.kind == .fileMoved } }

  /// Throws `poisoned`, `fileMoved` or `closed` if nothing will be written again. From any thread.
  package func checkWriting() throws(Fault) { try group.check() }

  /// Whether a checkpoint must be written, and a slot that names it, before anything can be
  /// acknowledged. From any thread.
  package var needsCheckpoint: Bool { group.locked { $0.needsCheckpoint } }

  /// Whether a write failed for lack of space, and `recoverFromOutOfSpace` has not been called
  /// since. From any thread.
  package var isOutOfSpace: Bool { group.locked { $0.shortage != nil } }

  /// Whether one of these two keeps transactions from beginning. From any thread.
  package var isInterrupted: Bool { group.locked { $0.shortage != nil || $0.needsCheckpoint } }

  /// *Writer.* Where the next frame will start.
  package var tail: UInt64 { append.pointee.tail }

  /// *Writer.* The checksum of the log's last frame; 0 where it begins.
  package var lastFrameChecksum: UInt64 { append.pointee.lastFrameChecksum }

  /// *Writer.* The end of what has been committed: what a flush needs for all of it.
  package var position: CommitPosition { CommitPosition(offset: tail) }

  /// *Writer, no transaction open.* What a checkpoint of everything committed so far says about
  /// where the log goes on.
  package var replayPosition: ReplayPosition {
    ReplayPosition(offset: tail, previousChecksum: lastFrameChecksum)
  }

  /// *Writer.* Below this offset the mapping has the log's records.
  package var flushedThrough: UInt64 { append.pointee.flushedThrough }

  /// The end of what has been committed. From any thread.
  package var committedPosition: CommitPosition { CommitPosition(offset: group.locked { $0.closedThrough }) }
  /// How far the log is in the file: what was committed or reserved since is still in memory.
  package var writtenPosition: CommitPosition { CommitPosition(offset: group.locked { $0.writtenThrough }) }

  /// *Writer.* Bytes of memory that hold what is not yet written.
  package var chunkMemory: UInt64 { UInt64(chunks.count * LogFile.chunkLength) }

  /// *Writer.* The number of the newest transaction in the log.
  package var lastTransaction: UInt64 { append.pointee.transaction }

  /// What keeps the mapping, and what is in the file from being taken away under it: for versions.
  /// From any thread.
  package var use: any AnyObject & Sendable { sharedUse.withLock { $0 } ?? mapping }

  /// Releases the locks and the file. What was not flushed is lost. Idempotent; from any thread.
  ///
  /// As long as somebody holds `use` the file stays mapped, and locked for reading.
  package func close() {
    let wasClosed = group.locked { state in
      defer {
        state.isClosed = true
        state.isStopped = true
      }
      return state.isClosed
    }
    if wasClosed { return }
    group.waitUntilIdle()
    let lock = group.locked { $0.keepsLock } ? nil : group.fileLock
    guard var last = sharedUse.withLock({ $0.take() }) else { return }
    if isKnownUniquelyReferenced(&last) {
      device.close()
      lock?.unlock()
    } else if let lock {
      // A child made by fork has nothing to give up: the locks are its parent's.
      if lock.isOwnedByThisProcess { last.leave(lock) } else { lock.unlock() }
    }
  }
}

/// The end of a commit in the file: what a flush takes to say "as far as this".
package struct CommitPosition: Sendable, Hashable, Comparable {
  package var offset: UInt64

  package init(offset: UInt64) { self.offset = offset }

  package static func < (left: CommitPosition, right: CommitPosition) -> Bool { left.offset < right.offset }
}
