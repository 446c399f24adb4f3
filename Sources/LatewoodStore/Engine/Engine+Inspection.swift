import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

extension Engine {
  func statistics() throws(StorageError) -> Statistics {
    let file = file
    let version = try versions.current()
    var result = Statistics()
    result.fileSize = try file.device.size()
    result.allocatedSize = try file.device.allocatedSize()
    result.liveBytes = version.base?.liveBytes ?? 0
    result.entries = version.base?.entries ?? 0
    result.treeHeight = version.base.map { Int($0.level) + 1 } ?? 0
    let checkpoint = try newestCheckpoint()
    result.checkpointTransaction = checkpoint?.transaction ?? 0
    result.logEnd = file.completedThrough.offset
    result.logBytes = file.completedThrough.offset &- (checkpoint?.replay.offset ?? FileLayout.logStart)
    // The numbers in the file are untrusted.
    let overhead = result.logBytes &+ FileLayout.logStart
    let rest = result.fileSize - min(result.fileSize, overhead)
    result.deadBytes = rest - min(rest, result.liveBytes)
    result.pendingEntries = version.active.entries + (version.frozen?.entries ?? 0)
    result.pendingRanges = version.active.ranges.count + (version.frozen?.ranges.count ?? 0)
    result.transaction = version.transaction
    result.isCheckpointing = version.frozen != nil
    (result.openSnapshots, result.oldestSnapshot) = snapshots.summary
    result.checkpointFailure = checkpointer.failure.map { StoreError($0, path: path) }
    let attempts = schedule.failedAttempts
    result.compactionFailure = attempts.failure.map { StoreError($0, path: path) }
    result.failedCompactions = attempts.count
    result.durableThrough = file.syncedThrough
    let measure = {
      result.memoryBytes =
        UInt64(version.active.layer.memoryLength + (version.frozen?.layer.memoryLength ?? 0))
        + file.writer.chunkMemory
      result.reservedBytes = file.writer.reservedLength
    }
    if head.isInTransaction { measure() } else { head.withMaintenance(measure) }
    if let length = file.device.cache?.length {
      result.isMapped = false
      result.cachedBytes = UInt64(length.cached + length.kept)
    }
    result.fileID = Self.hexadecimal(file.header.fileID)
    result.formatVersion = FileHeader.formatVersion
    result.created = file.header.created
    result.punchedBytes = reclaimer.reclaimedBytes
    result.punchingFailure = reclaimer.failure.map { StoreError($0, path: path) }
    result.leftovers = try file.leftovers()
    // The version keeps the newest checkpoint in the file.
    withExtendedLifetime(version) {}
    return result
  }

  /// Returns the bytes of a file id in hexadecimal, in their order in the file.
  private static func hexadecimal(_ id: (first: UInt64, last: UInt64)) -> String {
    [id.first, id.last].map { half in
      let digits = String(half.byteSwapped, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  func newestCheckpoint() throws(StorageError) -> CheckpointRecord? {
    let (file, offset) = currentFile.fileAndCheckpoint
    return offset == 0 ? nil : try record(at: offset, in: file)
  }

  private func record(at offset: UInt64, in file: DatabaseFile) throws(StorageError) -> CheckpointRecord {
    guard let (record, _) = try file.checkpoint(at: offset, in: file.view) else {
      throw StorageError.damaged(at: offset, "the checkpoint at this offset is not sound")
    }
    return record
  }

  func history() throws(StorageError) -> [Checkpoint] {
    // The version keeps the newest checkpoint in the file; older ones may be reclaimed at any time.
    let version = try versions.current()
    defer { withExtendedLifetime(version) {} }
    var result: [Checkpoint] = []
    let (file, newest) = currentFile.fileAndCheckpoint
    let oldest = reclaimer.oldestWhole
    var offset = newest
    if offset == 0 { return result }
    var record = try record(at: offset, in: file)
    while true {
      var checkpoint = Checkpoint(
        offset: offset, transaction: record.transaction, time: record.time,
        entries: record.root?.entries ?? 0, liveBytes: record.root?.liveBytes ?? 0,
        isCompaction: record.isCompaction, fileID: file.header.fileID.first)
      let previous = record.previousCheckpoint
      if previous < oldest {
        result.append(checkpoint)
        return result
      }
      // Backwards only, so that a hostile file cannot cause a loop. A lost checkpoint does not hide
      // the newer ones.
      let found = previous < offset ? try file.checkpoint(at: previous, in: file.view)?.record : nil
      checkpoint.isOlderLost = previous != 0 && found == nil
      result.append(checkpoint)
      guard let found else { return result }
      (offset, record) = (previous, found)
    }
  }

  private static let whichCheckpoints = "Use one of the checkpoints that history() returns now."

  func version(asOf checkpoint: Checkpoint) throws(StorageError) -> Version {
    try checkOpen()
    let file = file
    guard checkpoint.fileID == file.header.fileID.first else {
      throw StorageError(
        .notFound, "the checkpoint was in a file that has been compacted or copied since",
        advice: Self.whichCheckpoints)
    }
    guard let pin = reclaimer.pin(checkpoint: checkpoint.offset) else {
      throw StorageError(
        .notFound, "the checkpoint is incomplete: part of its space has been reclaimed",
        offset: checkpoint.offset, advice: Self.whichCheckpoints)
    }
    let record = try record(at: checkpoint.offset, in: file)
    guard record.transaction == checkpoint.transaction else {
      throw StorageError.damaged(at: checkpoint.offset, "there is a checkpoint of another transaction")
    }
    return Version(of: record, in: file, pin: pin)
  }

  func verify(_ progress: ((VerifyProgress) -> Void)?) throws(StorageError) -> VerifyReport {
    let file = file
    let version = try versions.current()
    defer { withExtendedLifetime(version) {} }
    // A reader may not know the newest checkpoint yet; it then needs more of the log.
    return try VerifyReport(
      of: version, in: file, log: try newestCheckpoint()?.replay.offset ?? FileLayout.logStart,
      after: isReadOnly ? reclaimer.replay : nil, progress)
  }
}

extension VerifyReport {
  /// Verifies a state, and the file that it is in.
  ///
  /// - Parameters:
  ///   - logStart: the start of the log after the newest checkpoint.
  ///   - known: the position from which to verify the log; nil for the newest checkpoint.
  ///   - isTreeVerified: whether the nodes and extents of the newest checkpoint have already been
  ///     verified.
  init(
    of version: Version, in file: DatabaseFile, log logStart: UInt64, after known: ReplayPosition? = nil,
    isTreeVerified: Bool = false, _ progress: ((VerifyProgress) -> Void)?
  ) throws(StorageError) {
    transaction = version.transaction
    // Do not use the committed position: it includes space just reserved by a checkpoint, whose
    // frame header may not have been written.
    let logEnd = file.writtenThrough.offset
    let logLength = logEnd > logStart ? logEnd - logStart : 0
    // `liveBytes` is untrusted and may exceed any file.
    let total = logLength + min(version.base?.liveBytes ?? 0, file.view.limit)
    if !isTreeVerified {
      let tree = version.verifyBase { checked in
        progress?(VerifyProgress(bytesChecked: checked, bytesTotal: total))
      }
      nodes = tree.nodes
      entries = tree.entries
      extents = tree.extents
      bytesChecked = tree.bytes
      faults = tree.faults.map { VerifyFault(offset: $0.offset ?? 0, what: $0.reason, kind: $0.kind) }
    }
    let frames = try file.verify(from: known, through: logEnd)
    // Entries that are not in a checkpoint are read from the log, so it must be intact.
    if frames.isLogIntact { checkCatalog(of: version) }
    self.frames = frames.frames
    bytesChecked += frames.bytes
    tornTail = frames.tornTail.map { TornTail(range: $0.range, isDamage: $0.isDamage) }
    faults += frames.faults.map { VerifyFault(offset: $0.offset ?? 0, what: $0.reason, kind: $0.kind) }
    faults.sort { $0.offset < $1.offset }
    faults.removeLast(max(0, faults.count - VerifyReport.faultLimit))
    progress?(VerifyProgress(bytesChecked: total, bytesTotal: total))
  }

  private mutating func checkCatalog(of version: Version) {
    let catalog = CatalogVerify.run(version)
    faults += catalog.faults
    // Damage in the tree has usually been reported already.
    if let damage = catalog.damage, !faults.contains(where: { $0.offset == damage.offset }) {
      faults.append(VerifyFault(offset: damage.offset ?? 0, what: damage.reason, kind: damage.kind))
    }
  }
}
