import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

/// The new file of a compaction or copy, while it is written: a copied tree, and the transactions
/// that have been committed to the old file since, under the same numbers.
///
/// ```
/// startLog    the first checkpoint, of the copied tree
/// begin       opens a transaction; merges the write buffer into the tree first if it is full
/// put, delete, apply ...
/// commit
/// ```
///
/// Its `state` is complete whenever no transaction is open. Nobody reads the file, so there are no
/// versions, locks or queues, and space is not reclaimed: dead space of merges is left to the store
/// that adopts the file. After a failure it is unusable.
///
/// Thread safety: one thread at a time.
final class CompactedFile {
  private(set) var state: FileState
  private let options: Store.Options
  private let environment: Environment
  private var file: DatabaseFile { state.file }
  /// The write buffer of the open transaction.
  private var buffer: BufferWriter?

  /// - Parameter file: an empty file.
  init(
    _ file: DatabaseFile, _ options: Store.Options, _ environment: Environment
  ) throws(StorageError) {
    self.options = options
    self.environment = environment
    file.mapping.setProofLifetime(seconds: options.checksumLifetime)
    _ = try file.recover(apply: { (_, _, _) in })
    state = FileState(file: file, isOwn: true)
  }

  // MARK: Checkpoints

  /// Writes the first checkpoint. Both root slots refer to it, because the log before it does not
  /// contain the entries of its tree.
  func startLog(after root: Subtree?, transaction: UInt64) throws(StorageError) {
    state.head.transaction = transaction
    try file.flush(through: file.writer.position, durable: false)
    try writeCheckpoint(of: root, replay: file.writer.replayPosition, isCompaction: true, slots: 2)
  }

  /// Merges the write buffer into the tree.
  private func merge() throws(StorageError) {
    let (file, replay) = (file, file.writer.replayPosition)
    try file.flush(through: file.writer.position, durable: false)
    // A damaged operation must not get a new checksum.
    try file.verifyFrames(from: state.replay, to: replay.offset)
    let reading = file.view.pin()
    defer { withExtendedLifetime(reading) {} }
    var dead = DeadSpace()
    let root = try BufferMerge.run(
      state.head.active, into: state.base, file: file.view, nodeSize: options.nodeSize,
      transaction: state.head.transaction, leaving: &dead,
      reserve: { (length) throws(StorageError) in try file.writer.reserveNodes(length: length) },
      write: { (bytes, offset) throws(StorageError) in try file.writeNodes(bytes, at: offset) })
    try writeCheckpoint(of: root, replay: replay, isCompaction: false, slots: 1)
    state.head.active = BufferState()
    // The dead ranges of this merge are not kept: the store finds them by counting references.
    state.isOwn = false
    file.requireRecords(from: replay.offset)
  }

  private func writeCheckpoint(
    of root: Subtree?, replay: ReplayPosition, isCompaction: Bool, slots: Int
  ) throws(StorageError) {
    try file.syncNodes()
    let checkpoint = try file.writer.appendCheckpoint(
      CheckpointRecord(
        root: root, replay: replay, transaction: state.head.transaction, time: environment.now(),
        previousCheckpoint: state.checkpoint, isCompaction: isCompaction))
    for _ in 0..<slots { try file.writeSlot(naming: checkpoint) }
    state.checkpoint = checkpoint.offset
    state.base = root
    state.replay = checkpoint.record.replay
    state.head.number += 1
    state.pendingBytes = 0
  }

  // MARK: Transactions

  func begin(_ number: UInt64) throws(StorageError) {
    // Fewer checkpoints than in the store: each tree but the last would soon be dead, and its space
    // is not reclaimed here.
    if state.pendingBytes >= 4 * UInt64(options.writeBufferBudget) { try merge() }
    file.writer.continueTransactions(after: number - 1)
    _ = try file.writer.beginTransaction()
    state.head.transaction = number
    let before = state.head.number
    state.head.number += 1
    let buffer = BufferWriter(state: state.head.active, version: state.head.number, appendingTo: file)
    // The only state that is still needed is the one in which this transaction begins.
    buffer.reclaim(published: before) { _ in [before] }
    self.buffer = buffer
  }

  /// Applies an operation, encoded in memory or in the log of another file.
  func apply(_ record: LogRecord) throws(StorageError) {
    switch record.code {
    case OperationCode.delete: try delete(record)
    case OperationCode.deleteRange:
      let offset = try file.writer.deleteRange(
        low: UnsafeRawBufferPointer(start: record.key, count: record.keyCount),
        high: UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
      try buffer?.deleteRange(file.writer.record(at: offset), at: offset)
    default: try put(record, UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
    }
  }

  /// Puts another value for the key of a record.
  func put(_ record: LogRecord, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    let key = UnsafeRawBufferPointer(start: record.key, count: record.keyCount)
    let offset = try file.writer.put(
      .full(key), value, asExtent: value.count > options.inlineValueLimit)
    try buffer?.set(file.writer.record(at: offset), at: offset)
  }

  /// Deletes the key of a record.
  func delete(_ record: LogRecord) throws(StorageError) {
    let key = UnsafeRawBufferPointer(start: record.key, count: record.keyCount)
    let offset = try file.writer.delete(.full(key))
    try buffer?.set(file.writer.record(at: offset), at: offset)
  }

  /// Commits the open transaction, without a flush.
  func commit() throws(StorageError) {
    guard let buffer else { return }
    self.buffer = nil
    _ = try file.writer.commitTransaction()
    state.head.active = buffer.finish()
    state.pendingBytes += file.writer.transactionLength
  }

  // MARK: Verifying

  /// The state as readers will see it.
  var version: Version {
    Version(
      number: state.head.number, transaction: state.head.transaction, base: state.base,
      active: state.head.active, frozen: nil, known: state.head.known, file: file.view, mapping: file.pin)
  }
}
