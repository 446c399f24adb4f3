import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

extension Engine {
  func sync() throws(Fault) {
    try checkOpen()
    if isReadOnly { return }
    try log.flush(through: log.committedPosition, durable: true)
  }

  func requestCheckpoint() throws(Fault) {
    try checkOpen()
    if isReadOnly { throw Fault(.readOnly, "the store was opened to be read only") }
    if let fault = backgroundFailure.withLock({ fault in
      defer { fault = nil }
      return fault
    }), fault.kind != .outOfSpace {
      throw fault
    }
    try checkpoint(isForced: false)
  }

  func statistics() throws(Fault) -> Statistics {
    let version = try current()
    var result = Statistics()
    result.fileSize = try log.device.size()
    result.allocatedSize = try log.device.allocatedSize()
    result.liveBytes = version.base?.liveBytes ?? 0
    result.entries = version.base?.entries ?? 0
    result.treeHeight = version.base.map { Int($0.level) + 1 } ?? 0
    let checkpoint = try newestCheckpoint()
    result.checkpointTransaction = checkpoint?.transaction ?? 0
    result.logBytes = log.end &- (checkpoint?.replayOffset ?? FileLayout.firstFrame)
    let used = result.liveBytes + result.logBytes + FileLayout.firstFrame
    result.deadBytes = result.fileSize > used ? result.fileSize - used : 0
    result.pendingEntries = version.active.entries + (version.frozen?.entries ?? 0)
    result.pendingRanges = version.active.ranges.intervals.count + (version.frozen?.ranges.intervals.count ?? 0)
    result.transaction = version.transaction
    result.isCheckpointing = version.frozen != nil
    (result.openSnapshots, result.oldestSnapshot) = snapshots.summary
    result.durableThrough = log.durableThrough
    writer.lock()
    result.memoryBytes =
      UInt64(version.active.layer.memoryLength + (version.frozen?.layer.memoryLength ?? 0)) + log.chunkMemory
    writer.unlock()
    result.fileID = log.header.fileID.hexadecimal
    result.formatVersion = log.header.version
    result.created = log.header.created
    return result
  }

  private func newestCheckpoint() throws(Fault) -> CheckpointRecord? {
    let offset = lastCheckpoint.load(ordering: .relaxed)
    return offset == 0 ? nil : try log.checkpoint(at: offset)
  }

  func history() throws(Fault) -> [Checkpoint] {
    try checkOpen()
    var result: [Checkpoint] = []
    var offset = lastCheckpoint.load(ordering: .relaxed)
    while offset != 0 {
      let record = try log.checkpoint(at: offset)
      result.append(
        Checkpoint(
          offset: offset, transaction: record.transaction, time: record.time,
          entries: record.root?.entries ?? 0, liveBytes: record.root?.liveBytes ?? 0))
      // Going back only, so that a hostile file cannot send us in circles.
      guard record.previousCheckpoint < offset else {
        throw Fault.damaged(at: offset, "a checkpoint names one after itself as the one before")
      }
      offset = record.previousCheckpoint
    }
    return result
  }

  func version(asOf checkpoint: Checkpoint) throws(Fault) -> Version {
    let dropCount = try current().dropCount
    let record = try log.checkpoint(at: checkpoint.offset)
    guard record.transaction == checkpoint.transaction else {
      throw Fault.damaged(at: checkpoint.offset, "the checkpoint there is of another transaction")
    }
    return Version(
      // It shows no buffer, so no number needs to keep any node.
      number: try current().number, transaction: record.transaction, base: record.root, active: BufferState(),
      frozen: nil, dropCount: dropCount, file: log.view, space: space, registry: registry)
  }

  func verify(_ progress: ((VerifyProgress) -> Void)?) throws(Fault) -> VerifyReport {
    let version = try current()
    var report = VerifyReport()
    report.transaction = version.transaction
    let logStart = try newestCheckpoint()?.replayOffset ?? FileLayout.firstFrame
    let logEnd = log.end
    let total = (version.base?.liveBytes ?? 0) + (logEnd > logStart ? logEnd - logStart : 0)
    let tree = version.verifyBase { checked in
      progress?(VerifyProgress(bytesChecked: checked, bytesTotal: total))
    }
    report.nodes = tree.nodes
    report.entries = tree.entries
    report.extents = tree.extents
    report.bytesChecked = tree.bytes
    report.faults = tree.faults.map { VerifyFault(offset: $0.offset ?? 0, what: $0.reason) }
    let frames = try log.verify()
    report.frames = frames.count
    report.bytesChecked += frames.bytes
    report.faults += frames.faults.map { VerifyFault(offset: $0.offset ?? 0, what: $0.reason) }
    report.faults.sort { $0.offset < $1.offset }
    progress?(VerifyProgress(bytesChecked: total, bytesTotal: total))
    withExtendedLifetime(version) {}
    return report
  }
}
