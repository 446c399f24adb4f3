import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import Testing

@testable import LatewoodFile

@Suite struct FlushTests {
  let bench: LogBench

  init() throws { bench = try LogBench() }

  /// Runs `body` on `count` threads, with the number of each, and throws the first of their errors.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let failure = Failure()
    let group = DispatchGroup()
    for thread in 0..<count {
      DispatchQueue(label: "thread \(thread)").async(group: group) {
        do { try body(thread) } catch { failure.first.withLock { $0 = $0 ?? error } }
      }
    }
    group.wait()
    if let error = failure.first.withLock({ $0 }) { throw error }
  }

  private final class Failure: Sendable {
    let first = Guarded<(any Error)?>(nil)
  }

  @Test func `threads that commit at the same time share syncs`() throws {
    let log = try bench.open().log
    bench.volume.plan.withLock { $0.syncMilliseconds = 1 }
    let writer = Monitor()
    try onThreads(8) { thread in
      for index in 0..<40 {
        let position = try writer.withLock {
          _ = try log.writer.beginTransaction()
          for part in 0..<3 {
            try log.put("\(thread)/\(index)/\(part)", [UInt8](repeating: UInt8(index), count: 50))
          }
          return try log.writer.commitTransaction()
        }
        let isDurable = index % 4 != 0
        try log.flush(through: position, durable: isDurable)
        if isDurable { #expect(log.syncedThrough >= position.offset) }
        #expect(log.view.limit >= position.offset)
      }
    }
    #expect(log.syncedThrough <= log.writer.tail)
    log.close()
    let state = try bench.read()
    #expect(state.entries.count == 8 * 40 * 3)
    #expect(state.transactions == Array(1...320))
    let syncs = bench.volume.plan.withLock { $0.syncs }
    #expect(syncs < 240)
  }

  @Test func `long transactions proceed while others are synced`() throws {
    let log = try bench.open().log
    bench.volume.plan.withLock { $0.syncMilliseconds = 5 }
    let writer = Monitor()
    try onThreads(3) { thread in
      for index in 0..<4 {
        let position = try writer.withLock {
          _ = try log.writer.beginTransaction()
          for part in 0..<70 {
            try log.put("\(thread)/\(index)/\(part)", [UInt8](repeating: UInt8(part), count: 90_000))
          }
          if index == 2 {
            try log.put("large\(thread)", [UInt8](repeating: 9, count: 1_200_000), asExtent: true)
          }
          return try log.writer.commitTransaction()
        }
        try log.flush(through: position, durable: true)
      }
    }
    #expect(log.writer.chunkMemory <= 12 << 20)
    log.close()
    let state = try bench.read()
    #expect(state.entries.count == 3 * 4 * 70 + 3)
    #expect(state.entries["2/3/69"] == [UInt8](repeating: 69, count: 90_000))
  }

  @Test func `a lone durable commit takes one write and one sync`() throws {
    let log = try bench.open().log
    bench.volume.plan.withLock {
      $0.writes = []
      $0.syncs = 0
    }
    let position = try log.commit([("a", [1])])
    let plan = bench.volume.plan.withLock { $0 }
    #expect(plan.writes == [16384..<position.offset])
    #expect(plan.syncs == 1)
    try log.flush(through: position, durable: true)
    #expect(bench.volume.plan.withLock { $0.syncs } == 1)
    log.close()
  }

  @Test func `the first failed sync ends all writing`() throws {
    let log = try bench.open().log
    let good = try log.commit([("a", [1])])
    bench.volume.plan.withLock { $0.failsSync = true }
    _ = try log.writer.beginTransaction()
    try log.put("b", [1])
    let position = try log.writer.commitTransaction()
    #expect(faultKind { try log.flush(through: position, durable: true) } == .inputOutput)
    #expect(log.isPoisoned)
    #expect(faultKind { try log.flush(through: position, durable: true) } == .poisoned)
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .poisoned)
    #expect(faultKind { _ = try log.writer.reserveNodes(length: 10) } == .poisoned)
    #expect(
      faultKind { try [1].withBytes { (one) throws(StorageError) in try log.writeNodes(one, at: 1 << 20) } }
        == .poisoned)
    try log.flush(through: good, durable: true)
    let writes = bench.volume.plan.withLock { $0.writes.count }
    log.close()
    #expect(bench.volume.plan.withLock { $0.writes.count } == writes)
    #expect(try bench.read().entries["a"] == [1])
  }

  /// The system reports a failure to only one of two overlapping syncs, so the other one cannot
  /// rely on its own success.
  @Test func `a failed sync also fails the syncs that overlap it`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    _ = try log.writer.beginTransaction()
    try log.put("b", [1])
    let position = try log.writer.commitTransaction()
    try log.flush(through: position, durable: false)
    bench.volume.plan.withLock {
      $0.syncs = 0
      $0.syncMilliseconds = 100
      $0.failsSync = true
    }
    let kinds = Guarded<[Int: StorageError.Kind?]>([:])
    let volume = bench.volume
    try onThreads(2) { thread in
      if thread == 1 {
        while volume.plan.withLock({ $0.syncs }) == 0 {}
      }
      let kind = faultKind {
        if thread == 0 { try log.syncNodes() } else { try log.flush(through: position, durable: true) }
      }
      kinds.withLock { $0[thread] = .some(kind) }
    }
    #expect(kinds.withLock { $0 } == [0: .inputOutput, 1: .inputOutput])
    #expect(volume.plan.withLock { $0.syncs } == 1)
    #expect(log.isPoisoned && log.syncedThrough < position.offset)
    log.close()
  }

  @Test func `a commit refused after a failed sync leaves the log unchanged`() throws {
    let log = try bench.open().log
    _ = try log.writer.beginTransaction()
    try log.put("a", [1])
    let good = try log.writer.commitTransaction()
    let (tail, checksum, number) = (
      log.writer.tail, log.writer.lastFrameChecksum, log.writer.lastTransaction
    )
    bench.volume.plan.withLock { $0.failsSync = true }
    _ = try log.writer.beginTransaction()
    try log.put("b", [1])
    #expect(faultKind { try log.flush(through: good, durable: true) } == .inputOutput)
    #expect(faultKind { _ = try log.writer.commitTransaction() } == .poisoned)
    #expect(log.writer.tail == tail && log.writer.lastFrameChecksum == checksum)
    #expect(log.writer.lastTransaction == number && log.writer.position == good)
    log.close()
  }

  @Test func `a failed write of a large value ends all writing`() throws {
    let log = try bench.open().log
    _ = try log.writer.beginTransaction()
    bench.volume.plan.withLock { $0.writeFailure = .inputOutput }
    #expect(faultKind { try log.put("a", [UInt8](repeating: 1, count: 2 << 20)) } == .inputOutput)
    #expect(faultKind { _ = try log.writer.commitTransaction() } == .inputOutput)
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .poisoned)
    log.close()
  }

  @Test func `a forked child writes nothing`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    let sound = try bench.bytes()
    bench.volume.plan.withLock { $0.isForked = true }
    #expect(faultKind { try log.commit([("b", [2])]) } == .lockedByOtherProcess)
    // The parent may have committed where the child believes that the log ends.
    #expect(faultKind { _ = try log.writer.reserveNodes(length: 4096) } == .lockedByOtherProcess)
    var blocks: [Range<UInt64>] = [FileLayout.logStart..<FileLayout.logStart + 4096]
    #expect(faultKind { _ = try log.punch(&blocks) { false } } != nil)
    #expect(faultKind { _ = try log.hasReaders() } == .lockedByOtherProcess)
    bench.volume.plan.withLock { $0.isForked = false }
    log.close()
    #expect(try bench.bytes() == sound)
    #expect(try bench.read().entries == ["a": [1]])
  }

  @Test func `a child forked inside a transaction writes no large value`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    _ = try log.writer.beginTransaction()
    let sound = try bench.bytes()
    bench.volume.plan.withLock { $0.isForked = true }
    let value = [UInt8](repeating: 1, count: 2 << 20)
    #expect(faultKind { try log.put("b", value) } == .lockedByOtherProcess)
    #expect(try bench.bytes() == sound)
    bench.volume.plan.withLock { $0.isForked = false }
    log.close()
    #expect(try bench.read().entries == ["a": [1]])
  }
}
