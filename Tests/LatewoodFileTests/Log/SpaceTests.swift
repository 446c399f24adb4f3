import LatewoodBytes
import Testing

@testable import LatewoodFile

/// A full disk: unacknowledged commits fail, and writing continues behind them once there is space.
@Suite struct SpaceTests {
  let bench: LogBench

  init() throws { bench = try LogBench() }

  private func limit(_ space: UInt64?) { bench.volume.plan.withLock { $0.space = space } }

  @Test func `a commit without space fails, and the log continues after it`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    let end = log.writer.tail
    limit(end + 100)
    _ = try log.writer.beginTransaction()
    try log.put("b", [UInt8](repeating: 2, count: 500))
    let failed = try log.writer.commitTransaction()
    #expect(faultKind { try log.flush(through: failed, durable: true) } == .outOfSpace)
    #expect(log.isOutOfSpace && !log.isPoisoned)
    #expect(faultKind { try log.flush(through: failed, durable: false) } == .outOfSpace)
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .outOfSpace)

    // Still no space: the checkpoint fails in the same way.
    try log.recoverFromOutOfSpace()
    #expect(log.needsCheckpoint && !log.isOutOfSpace)
    #expect(faultKind { try log.emptyCheckpoint() } == .outOfSpace)
    limit(nil)
    try log.recoverFromOutOfSpace()
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .unsupported)
    #expect(log.writer.tail > failed.offset)
    #expect(faultKind { try log.emptyCheckpoint(replay: .start) } == .unsupported)

    // A process that ends here leaves a torn tail.
    #expect(faultKind { try log.flush(through: failed, durable: false) } == .outOfSpace)
    try log.emptyCheckpoint()
    #expect(!log.needsCheckpoint)
    try log.commit([("c", [3])])
    #expect(faultKind { try log.flush(through: failed, durable: true) } == .outOfSpace)
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["c": [3]])
    #expect(!state.report.needsCheckpoint)
  }

  @Test func `the old state stays intact until the slot is durable`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    limit(log.writer.tail + 70)
    _ = try log.writer.beginTransaction()
    try log.put("b", [UInt8](repeating: 2, count: 500))
    let failed = try log.writer.commitTransaction()
    #expect(faultKind { try log.flush(through: failed, durable: true) } == .outOfSpace)
    limit(nil)
    try log.recoverFromOutOfSpace()
    _ = try log.writer.reserveNodes(length: 4000)
    let record = CheckpointRecord(
      root: nil, replay: log.writer.replayPosition, transaction: 1, time: 1, previousCheckpoint: 0)
    let checkpoint = try log.writer.appendCheckpoint(record)
    try log.flush(through: checkpoint.position, durable: true)
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["a": [1]])
    #expect(state.report.needsCheckpoint)
  }

  @Test(arguments: [20_000_000, 3_000_000]) func `a long transaction without space can only be aborted`(
    _ count: Int
  )
    throws
  {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    limit(log.writer.tail + 5_500_000)
    _ = try log.writer.beginTransaction()
    let kind = faultKind {
      var left = 40_000_000
      while left > 0 {
        try log.put("key\(left)", [UInt8](repeating: 1, count: min(count, 10_000_000) / 20))
        if count == 20_000_000 { try log.put("large", [UInt8](repeating: 1, count: 2_000_000)) }
        left -= count / 20
      }
    }
    #expect(kind == .outOfSpace)
    #expect(faultKind { try log.put("more", [1]) } == nil || log.isOutOfSpace)
    #expect(faultKind { _ = try log.writer.commitTransaction() } == .outOfSpace)
    limit(nil)
    try log.recoverFromOutOfSpace()
    try log.emptyCheckpoint()
    try log.commit([("b", [2])])
    log.close()
    #expect(try bench.read().entries == ["b": [2]])
  }

  /// Callers that did not wait for a sync may have seen it, so it cannot be undone.
  @Test func `a commit that was already written is synced on a full disk`() throws {
    let log = try bench.open().log
    let written = try log.commit([("a", [1])], durable: false)
    limit(log.writer.tail + 10)
    _ = try log.writer.beginTransaction()
    try log.put("b", [UInt8](repeating: 2, count: 500))
    let failed = try log.writer.commitTransaction()
    #expect(faultKind { try log.flush(through: failed, durable: false) } == .outOfSpace)
    #expect(log.syncedThrough < written.offset)
    try log.flush(through: written, durable: true)
    #expect(log.syncedThrough == written.offset)
    #expect(faultKind { try log.flush(through: failed, durable: true) } == .outOfSpace)
    log.close()
    #expect(try bench.read().entries == ["a": [1]])
  }

  /// The disk is full a second time while the slot is written that would end the first time.
  @Test func `a slot written before a second gap does not end the full-disk state`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    limit(log.writer.tail + 10)
    #expect(faultKind { try log.commit([("b", [2])]) } == .outOfSpace)
    limit(nil)
    try log.recoverFromOutOfSpace()
    let volume = bench.volume
    volume.plan.withLock {
      $0.beforeSlot = {
        volume.plan.withLock { $0.space = log.writer.tail + 10 }
        #expect(
          faultKind {
            try log.writer.appendSeal()
            try log.flush(through: log.writer.position, durable: false)
          } == .outOfSpace)
        volume.plan.withLock { $0.space = nil }
        #expect(faultKind { try log.recoverFromOutOfSpace() } == nil)
      }
    }
    try log.emptyCheckpoint()
    #expect(log.needsCheckpoint)
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .unsupported)
    try log.emptyCheckpoint()
    try log.commit([("c", [3])])
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["c": [3]])
    #expect(!state.report.needsCheckpoint)
  }

  @Test func `a value that cannot be mapped leaves the log intact`() throws {
    bench.volume.plan.withLock { $0.capacity = 16 << 20 }
    let log = try bench.open().log
    try log.commit([("a", [1])])
    _ = try log.writer.beginTransaction()
    try log.put("b", [2])
    #expect(faultKind { try log.put("large", [UInt8](repeating: 3, count: 14 << 20)) } == .outOfMemory)
    #expect(faultKind { _ = try log.writer.commitTransaction() } == .outOfMemory)
    try log.flush(through: log.writer.position, durable: false)
    try log.commit([("c", [4])])
    log.close()
    #expect(try bench.read().entries == ["a": [1], "c": [4]])
  }

  @Test func `a reader refuses a file that outgrows its address space`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    bench.volume.plan.withLock { $0.capacity = 64 << 10 }
    let reader = try bench.open(readOnly: true).log
    try log.commit([("b", [UInt8](repeating: 2, count: 100_000))])
    #expect(faultKind { _ = try reader.refresh { (_, _, _) throws(StorageError) in } } == .outOfMemory)
    reader.close()
    log.close()
    #expect(faultKind { _ = try bench.open(readOnly: true) } == .outOfMemory)
    bench.volume.plan.withLock { $0.capacity = nil }
    #expect(try bench.read().entries.count == 2)
  }

  @Test func `nodes without space affect nothing else`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    let nodes = try log.writer.reserveNodes(length: 100_000)
    limit(nodes + 5000)
    let bytes = [UInt8](repeating: 1, count: 100_000)
    #expect(
      faultKind { try bytes.withBytes { (all) throws(StorageError) in try log.writeNodes(all, at: nodes) } }
        == .outOfSpace)
    #expect(!log.isOutOfSpace)
    limit(nil)
    try log.commit([("b", [2])])
    log.close()
    #expect(try bench.read().entries.count == 2)
  }

  #if _pointerBitWidth(_64)
    @Test func `no write is started that could exceed the maximum file length`() throws {
      let log = try bench.open().log
      try log.commit([("a", [1])])
      let room = FileLayout.fileLimit - log.writer.tail - UInt64(2 * LogChunks.length)
      for (length, words) in [
        (room - 1, "16 TiB"), (room, "greatest length"), (FileLayout.fileLimit, "greatest length"),
      ] {
        let fault = #expect(throws: StorageError.self) {
          _ = try log.writer.reserveNodes(length: Int(length))
        }
        #expect(fault?.kind == .fileTooLarge && fault?.reason.contains(words) == true, "\(length)")
      }
      try log.commit([("b", [2])])
      log.close()
      #expect(try bench.read().entries.count == 2)
    }
  #endif

  @Test func `the memory of discarded commits does not grow`() {
    let chunk = LogChunks.makeChunk(isReadOnly: true)
    defer { chunk.deallocate() }
    var progress = LogProgress(open: .empty(chunk, at: FileLayout.logStart))
    var refused: [UInt64] = []
    func complete(_ length: Int) -> UInt64 {
      let start = progress.completedThrough
      let end = start + UInt64(length)
      progress.completeFrames(
        of: Segment(
          memory: chunk, offset: start, length: length, end: end, readable: end, chunk: chunk))
      return end
    }
    for _ in 0..<1000 {
      refused.append(complete(64))
      progress.fail(StorageError(.outOfSpace, "injected"))
      progress.restart(at: progress.completedThrough + 4096)
      let written = complete(128)
      progress.finishWriting(through: written, open: progress.open)
      #expect(progress.isDone(written, durable: false))
    }
    #expect(progress.discarded.count <= LogProgress.discardedLimit)
    #expect(refused.allSatisfy { !progress.isDone($0, durable: false) })
    #expect(
      refused.allSatisfy { progress.refusal(of: $0, durable: true, hasWaited: false)?.kind == .outOfSpace })
  }
}
