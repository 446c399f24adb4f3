import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// The result of `DatabaseFile.recover`.
package struct LogRecoveryReport: Sendable, Equatable {
  /// The checkpoint that recovery started from; nil if there is none yet.
  package var checkpoint: CheckpointRecord?
  /// The offset of the checkpoint's frame; 0 if there is none.
  package var checkpointOffset: UInt64 = 0
  package var framesReplayed = 0
  package var transactionsReplayed = 0
  /// The number of bytes in commit frames.
  package var bytesReplayed: UInt64 = 0
  /// The range after the log that contains the remains of unacknowledged commits; nil if there are
  /// none.
  package var tornTail: Range<UInt64>?
  /// Whether the older slot was used because the newest one, or the checkpoint that it refers to,
  /// was not sound.
  package var usedOlderSlot = false
  /// Whether a checkpoint must be written; see `DatabaseFile.needsCheckpoint`.
  package var needsCheckpoint = false
  /// The greatest transaction number in the file.
  package var lastTransaction: UInt64 = 0
}

extension DatabaseFile {
  /// Recovers the newest state: chooses a root slot, walks the log, and passes the operations of
  /// each committed transaction to `apply` in order.
  ///
  /// `apply` is called only after the entire log was verified, and once for each record. A writer
  /// appends after the end of the log or, if there was a torn tail, past the end of the file; in
  /// the latter case `needsCheckpoint` is set.
  ///
  /// O(bytes of the log since the checkpoint). Throws `damaged` with the offset; `rolledBack` if
  /// the state does not descend from the expected one; and errors of the device.
  ///
  /// - Parameter begin: called before the first operation, with the view that contains the records.
  package func recover(
    begin: (FileView) -> Void = { _ in }, apply: ReplayAction
  ) throws(StorageError) -> LogRecoveryReport {
    let pin = device.cache?.pin()
    defer { withExtendedLifetime(pin) {} }
    // The end of the log is read twice: to find the end, and to decide where to append.
    var disk = DiskComparison(of: device, codec: header.codec)
    let found = try findNewest(&disk)
    try checkDescent(of: found)
    let size = found.size
    progress.setReadable(through: size)
    let choice = found.choice
    requireRecords(from: choice.replay.offset)
    let view = found.reader.view
    begin(view)
    // The replay starts over, because a reader calls `recover` again when there is a newer
    // checkpoint.
    var replay = LogReplay()
    try replay.apply(
      view: view, from: choice.replay.offset, to: found.reader.position.offset, apply)
    tail = LogTail(of: found.reader, replay: replay, checkpoint: choice.slot.checkpointOffset)
    slots.begin(after: choice.slot)
    writer.branch = choice.checkpoint?.record.branch ?? 0
    writer.anchors = AnchorList(of: choice.checkpoint?.record)
    // A backup that is opened for writing becomes a separate database, with its own branch.
    if !isReadOnly, found.reader.hasEnded { writer.branch = environment.random() | 1 }

    var report = LogRecoveryReport()
    report.checkpoint = choice.checkpoint?.record
    report.checkpointOffset = choice.slot.checkpointOffset
    report.framesReplayed = Int(found.reader.frames)
    report.transactionsReplayed = replay.transactions
    report.bytesReplayed = replay.bytes
    report.usedOlderSlot = choice.isOlder
    report.lastTransaction = max(choice.newestTransaction, found.reader.lastTransaction)
    if found.needsGap, !found.reader.hasEnded { report.tornTail = tail.position.offset..<size }
    if isReadOnly {
      noteCommitted(through: tail.position.offset)
    } else {
      try startAppending(after: found, lastTransaction: report.lastTransaction, &disk)
      // The process that created the file may have ended before it synced the directory.
      if !lifetime.isLockElsewhere { try volume.syncDirectory(containing: path) }
      report.needsCheckpoint = needsCheckpoint
    }
    return report
  }

  /// Throws `rolledBack` if the state does not descend from the one that the caller expects.
  ///
  /// A checkpoint has the anchors of the states before it, and is authenticated, as is all of the
  /// log after it. So a file with the anchor was written by a program that continued that state.
  /// After that, a reader that follows the file expects the newest anchor in it.
  private func checkDescent(of found: Found) throws(StorageError) {
    guard let expected else { return }
    let anchors = found.choice.checkpoint?.record.anchors ?? []
    guard anchors.contains(expected) else {
      throw expected.refusal(newest: max(found.choice.newestTransaction, found.reader.lastTransaction))
    }
    self.expected = anchors.last
  }

  /// A log that was walked without finding damage.
  struct Found {
    var choice: SlotChoice
    var reader: LogReader<ViewedBytes>
    /// The size of the file, in bytes, when the walk began.
    var size: UInt64
    /// The offset up to which slots and frames claim durability.
    var floor: UInt64
    /// Whether the log is followed by anything but preallocated zeros, or its last frame marks the
    /// end of a backup. New frames then go past the end of the file.
    var needsGap: Bool
  }

  /// Finds the newest state. A reader alongside a live writer can see a half-written frame or slot,
  /// so it retries before it reports damage.
  func findNewest(_ disk: inout DiskComparison) throws(StorageError) -> Found {
    var pause: UInt64 = 2
    while true {
      do throws(StorageError) {
        return try findOnce(&disk)
      } catch {
        guard isReadOnly, error.kind == .damaged, pause <= 64 else { throw error }
        Monitor.sleep(milliseconds: pause)
        pause *= 2
      }
    }
  }

  private func findOnce(_ disk: inout DiskComparison) throws(StorageError) -> Found {
    // The slots are read first: a checkpoint is written before the slot that refers to it, so it
    // lies below a size that is read after the slot.
    forgetCache(0..<FileLayout.logStart)
    // Since the last checkpoint that was read, the writer may have filled the space it had reserved
    // for the next one's nodes.
    try mapping.device.cache?.compare(from: tail.checkpoint)
    mapping.device.cache?.forget(from: tail.position.offset)
    // A file that this process has just created never had a failed sync.
    let mayBeFalse = !isReadOnly && !isReplacement
    let slots = try slots.read(fromDisk: mayBeFalse)
    let size = try checkedSize()
    // Below the offset that a slot calls durable, cache and disk agree.
    forgetCache(slots.reduce(FileLayout.logStart) { max($0, $1.durableThrough) }..<UInt64.max)
    let view = try view(through: size)
    let choice = try ViewedBytes(view).newest(of: slots)
    var reader = LogReader(
      view: view, from: choice.replay, lastTransaction: choice.transaction)
    try reader.finish()
    let floor = try floor(of: reader, slots: choice.durableThrough)
    if mayBeFalse { try refuseLoss(of: reader) }
    let isFollowedByZeros = try reader.isFollowedByZeros()
    var found = Found(
      choice: choice, reader: reader, size: size, floor: floor,
      needsGap: reader.hasEnded || !isFollowedByZeros)
    if mayBeFalse { try endWhereDiskEnds(&found, &disk) }
    return found
  }

  /// Ends the log before the first frame that differs between disk and mapping, because its bytes
  /// may be lost at any time.
  ///
  /// The payload of a nodes frame is not compared. Nodes have separate checksums, and are durable
  /// before a slot refers to them.
  private func endWhereDiskEnds(_ found: inout Found, _ disk: inout DiskComparison) throws(StorageError) {
    let end = found.reader.position.offset
    guard end > found.floor else { return }
    var reader = LogReader(
      view: found.reader.view, from: found.choice.replay,
      lastTransaction: found.choice.transaction)
    while reader.position.offset < end {
      let before = reader
      guard let header = try reader.next(), let frameEnd = header.end else { return }
      if frameEnd <= found.floor { continue }
      let start = header.ownOffset
      guard let proof = header.requiredEnd else { return }
      if try disk.agrees(on: start..<proof, mappedAt: reader.view.base) { continue }
      guard before.position.offset >= found.floor else {
        throw StorageError.damaged(at: start, "the disk does not have what had been made durable here")
      }
      found.reader = before
      found.needsGap = true
      return
    }
  }

  /// Drops cached bytes before a writer reads them. After a failed sync the cache can hold bytes,
  /// even a root slot, that never reached the disk.
  func forgetCache(_ range: Range<UInt64>) {
    if !isReadOnly { device.dropCache(range) }
  }

  /// Returns the checkpoint whose frame is at `offset`; nil if there is none, or it is not valid by
  /// FORMAT.md, section 7.
  ///
  /// - Parameter view: a view of this file.
  ///
  /// Throws `inputOutput` if the disk cannot read its bytes.
  package func checkpoint(
    at offset: UInt64, in view: FileView
  ) throws(StorageError) -> (record: CheckpointRecord, frame: FrameHeader)? {
    try ViewedBytes(view).checkpoint(at: offset).map { (record: $0.record, frame: $0.frame) }
  }

  // MARK: The end of the log

  /// Returns the size of the file. Throws `fileTooLarge` if it exceeds the limit of the format.
  func checkedSize() throws(StorageError) -> UInt64 {
    let size = try device.size()
    guard size <= FileLayout.fileLimit else {
      throw StorageError(.fileTooLarge, "the file is larger than the format allows", path: path)
    }
    return size
  }

  /// Returns the offset up to which the log is known to have been durable. Throws `damaged` if the
  /// walk ended before it.
  func floor(of reader: LogReader<ViewedBytes>, slots: UInt64) throws(StorageError) -> UInt64 {
    if try reader.endsInDamage(floor: slots) {
      throw StorageError.damaged(
        at: reader.position.offset, "the log is damaged here: commits that had been made durable follow")
    }
    return max(slots, reader.durableThrough)
  }

  /// Throws `damaged`, once, if the log ends before what this process was told to be durable.
  private func refuseLoss(of reader: LogReader<ViewedBytes>) throws(StorageError) {
    let end = reader.position.offset
    guard end < PromisedFloors.take(of: device, header) else { return }
    var error = StorageError.damaged(
      at: end, "the disk has lost commits here although it had confirmed that they are durable")
    error.advice =
      "Restore a backup, or open the file again to continue without them. Check the disk first."
    throw error
  }

  /// Sets `completedThrough` to the end of a log written by another process.
  func noteCommitted(through offset: UInt64) {
    progress.noteCommitted(through: offset)
  }

  /// Positions the writer at the end of the log, or past the end of the file if the space after the
  /// log cannot be used.
  private func startAppending(
    after found: Found, lastTransaction: UInt64, _ disk: inout DiskComparison
  ) throws(StorageError) {
    let continuesInPlace = found.needsGap ? false : try reclaimPreallocation(behind: found, &disk)
    guard let tail = continuesInPlace ? found.reader.position.offset : beyond(found.size) else {
      throw StorageError(.fileTooLarge, "the file has reached its greatest length", path: path)
    }
    writer.begin(
      at: tail, after: found.reader, floor: found.floor, hasGap: !continuesInPlace,
      lastTransaction: lastTransaction)
  }

  /// Punches the space that an earlier writer preallocated after the log. Returns false if appended
  /// bytes might not reach the disk there.
  ///
  /// A write to one of its blocks may have failed undetectably, because both the cache and the disk
  /// show zeros. As long as a process has such a page mapped, ext4 reports the next write to it as
  /// durable, but the page contains zeros after the next mount. Therefore these blocks are never
  /// reused: the space is punched, which drops the pages for every process, and is preallocated
  /// again when needed.
  ///
  /// Readers see zeros in this space before and after. Throws errors of the device if a second read
  /// fails, too.
  private func reclaimPreallocation(behind found: Found, _ disk: inout DiskComparison) throws(StorageError)
    -> Bool
  {
    let end = found.reader.position.offset
    let mask = device.blockLength - 1
    // The block in which the log ends stays in use. A nodes frame may reach beyond the end of the
    // file.
    let block = end & ~mask
    if end > found.floor, found.size > block, try !isWritten(block..<min(end, found.size), &disk) {
      return false
    }
    let start = (end + mask) & ~mask
    guard found.size > start else { return true }
    let (limit, overflow) = found.size.addingReportingOverflow(mask)
    if overflow { return false }
    do throws(StorageError) {
      return try device.punch(offset: start, length: (limit & ~mask) - start)
    } catch {
      // The space stays allocated and unused.
      return false
    }
  }

  /// Returns whether part of a block, which must be in the file, reached the disk. Returns false
  /// for zeros, which a failed write also leaves.
  private func isWritten(_ part: Range<UInt64>, _ disk: inout DiskComparison) throws(StorageError) -> Bool {
    if part.isEmpty { return true }
    let view = try view(through: part.upperBound)
    let pin = view.pin()
    defer { withExtendedLifetime(pin) {} }
    var hasBytes = false
    try view.eachPiece(of: part) { piece in hasBytes = hasBytes || piece.firstNonZero != nil }
    if !hasBytes { return false }
    return try disk.agrees(on: part, mappedAt: view.base)
  }

  /// Returns the start of the first block past the end of the file; nil on overflow.
  func beyond(_ size: UInt64) -> UInt64? {
    let mask = device.blockLength - 1
    let (sum, overflow) = size.addingReportingOverflow(mask)
    return overflow ? nil : sum & ~mask
  }
}

extension LogWriter {
  /// Begins to append to a log that was read.
  ///
  /// - Parameters:
  ///   - tail: the offset at which the next frame starts.
  ///   - reader: the walk that has reached the end of the log.
  ///   - floor: the offset up to which the log is known to have been durable.
  ///   - hasGap: whether `tail` follows bytes that cannot be used.
  ///   - lastTransaction: the greatest number of a transaction in the file.
  fileprivate func begin(
    at tail: UInt64, after reader: LogReader<ViewedBytes>, floor: UInt64, hasGap: Bool,
    lastTransaction: UInt64
  ) {
    log.transaction = lastTransaction
    log.begin(
      at: tail, after: reader.position.offset, floor: floor, hasGap: hasGap,
      checksum: hasGap ? 0 : reader.position.previousChecksum,
      isSeal: !hasGap && reader.lastFrame?.kind == .seal)
  }
}
