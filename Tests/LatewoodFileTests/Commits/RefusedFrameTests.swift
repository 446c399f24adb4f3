import LatewoodBytes
import Testing

@testable import LatewoodFile

/// Commits that were refused for lack of space are never seen, regardless of the offset at which
/// the disk became full.
@Suite struct RefusedFrameTests {
  /// Makes several commits that are written together. With a region for nodes among them they are
  /// in several pieces of memory.
  private func commitTogether(to log: DatabaseFile, count: Int, around nodes: Bool) throws -> CommitPosition {
    var position = log.writer.position
    for index in 0..<count {
      _ = try log.writer.beginTransaction()
      try log.put("refused\(index)", [UInt8](repeating: 7, count: 30))
      position = try log.writer.commitTransaction()
      if nodes, index == count / 2 { _ = try log.writer.reserveNodes(length: 100) }
    }
    return position
  }

  @Test(arguments: [(1, false), (2, false), (4, false), (4, true)])
  func `wherever the disk fills up, no reader and no later writer sees a refused commit`(
    count: Int, around nodes: Bool
  ) throws {
    var space: UInt64 = 1
    while true {
      let bench = try LogBench()
      let log = try bench.open().log
      try log.commit([("kept", [1])])
      let start = log.writer.tail
      let last = try commitTogether(to: log, count: count, around: nodes)
      // With space for all of them nothing is refused.
      if start + space >= last.offset { break }
      bench.volume.plan.withLock { $0.space = start + space }
      #expect(faultKind { try log.flush(through: last, durable: false) } == .outOfSpace)
      let reader = try bench.open(readOnly: true)
      #expect(reader.state.entries == ["kept": [1]], "\(space) bytes had room")
      reader.log.close()
      // The process ends suddenly here.
      log.close()
      bench.volume.plan.withLock { $0.space = nil }
      #expect(try bench.read().entries == ["kept": [1]], "\(space) bytes had room")
      space += 9
    }
    #expect(space > 50)
  }

  /// No file system does this, but the `Device` protocol allows it.
  @Test(arguments: [1, 3])
  func `a refused commit that the device wrote anyway is removed for good`(_ count: Int) throws {
    let bench = try LogBench()
    let log = try bench.open().log
    try log.commit([("kept", [1])])
    let last = try commitTogether(to: log, count: count, around: false)
    bench.volume.plan.withLock { $0.refusesWhatItWrites = true }
    #expect(faultKind { try log.flush(through: last, durable: true) } == .outOfSpace)
    bench.volume.plan.withLock {
      $0.refusesWhatItWrites = false
      $0.syncs = 0
    }
    try log.recoverFromOutOfSpace()
    let reader = try bench.open(readOnly: true)
    #expect(reader.state.entries == ["kept": [1]])
    reader.log.close()
    // The first of several frames was refused before it was complete, so there is nothing to erase.
    #expect(
      bench.volume.plan.withLock { $0.syncs } == (count == 1 ? 1 : 0), "the zeros over it are not durable")
    log.close()
  }
}
