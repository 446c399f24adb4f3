import LatewoodBytes
import Synchronization
import Testing

@testable import LatewoodFile

@Suite struct RecoveryTests {
  let bench: LogBench

  init() throws { bench = try LogBench() }

  @Test func `a new file is empty and sound`() throws {
    let state = try bench.read()
    #expect(state.entries.isEmpty)
    #expect(state.report == LogRecoveryReport())
    #expect(try bench.size() == 16384)
  }

  @Test func `committed transactions are replayed in order`() throws {
    let log = try bench.open().log
    for number in 1...20 {
      try log.commit([("key\(number % 7)", [UInt8(number)]), ("last", [UInt8(number)])])
    }
    log.close()
    let state = try bench.read()
    #expect(state.transactions == Array(1...20))
    #expect(state.entries["last"] == [20])
    #expect(state.entries.count == 8)
    #expect(state.report.tornTail == nil)
    #expect(state.report.lastTransaction == 20)
  }

  @Test func `appending continues after reopening`() throws {
    for number in 1...5 {
      let (log, state) = try bench.open()
      #expect(state.entries.count == number - 1)
      try log.commit([("key\(number)", [1])])
      try log.writer.appendSeal()
      try log.flush(through: log.writer.position, durable: false)
      log.close()
    }
    #expect(try bench.read().report.framesReplayed == 10)
  }

  @Test func `an aborted or empty transaction leaves no trace`() throws {
    let log = try bench.open().log
    #expect(try log.writer.beginTransaction() == 1)
    try log.put("gone", [1])
    log.writer.abortTransaction()
    #expect(try log.writer.beginTransaction() == 1)
    #expect(try log.writer.commitTransaction().offset == 16384)
    try log.commit([("kept", [2])])
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["kept": [2]])
    #expect(state.transactions == [1])
  }

  @Test func `a torn tail is skipped, and its offsets are not reused`() throws {
    var log = try bench.open().log
    try log.commit([("durable", [1])])
    let end = Int(log.writer.tail)
    try log.commit([("torn", [UInt8](repeating: 7, count: 100))], durable: false)
    log.close()
    let size = try bench.size()
    try bench.flip(byte: end + 80, bit: 3)

    let (writer, state) = try bench.open()
    log = writer
    #expect(state.entries == ["durable": [1]])
    #expect(state.report.tornTail == UInt64(end)..<size)
    #expect(state.report.needsCheckpoint)
    // Not in the block that may be missing on the disk.
    #expect(log.writer.tail == log.beyond(size))
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .unsupported)
    // A reader that replays from before the tail would not get past it.
    #expect(faultKind { try log.emptyCheckpoint(replay: .start) } == .unsupported)
    try log.emptyCheckpoint()
    #expect(!log.needsCheckpoint)
    try log.commit([("after", [2])])
    log.close()
    let after = try bench.read()
    #expect(after.entries == ["after": [2]])
    #expect(after.report.tornTail == nil)
    #expect(!after.report.needsCheckpoint)
  }

  @Test func `a torn tail is still recognized after a crash before the new slot`() throws {
    var log = try bench.open().log
    try log.commit([("durable", [1])])
    let end = Int(log.writer.tail)
    try log.commit([("torn", [7])], durable: false)
    log.close()
    try bench.flip(byte: end + 60, bit: 0)
    log = try bench.open().log
    // Everything but the slot.
    let record = CheckpointRecord(
      root: nil, replay: log.writer.replayPosition, transaction: 1, time: 1, previousCheckpoint: 0)
    _ = try log.writer.reserveNodes(length: 100)
    let checkpoint = try log.writer.appendCheckpoint(record)
    try log.flush(through: checkpoint.position, durable: true)
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["durable": [1]])
    #expect(state.report.needsCheckpoint)
  }

  @Test func `damage below the durable floor is an error with its offset`() throws {
    let log = try bench.open().log
    var ends: [UInt64] = []
    for number in 1...4 { ends.append(try log.commit([("key\(number)", [1])]).offset) }
    log.close()
    try bench.flip(byte: Int(ends[1]) + 60, bit: 0)
    do {
      _ = try bench.read()
      Issue.record("the damage was not noticed")
    } catch {
      let fault = try #require(error as? StorageError)
      #expect(fault.kind == .damaged)
      #expect(fault.offset == ends[1])
    }
    // A reader reports the same after a retry.
    #expect(faultKind { _ = try bench.open(readOnly: true) } == .damaged)
  }

  @Test func `a reader looks again before it reports damage`() throws {
    let log = try bench.open().log
    var ends: [UInt64] = []
    for number in 1...4 { ends.append(try log.commit([("key\(number)", [1])]).offset) }
    // As if another process were still writing the third frame although the fourth already exists.
    let at = Int(ends[1]) + 60
    let sound = try bench.bytes()[at]
    try bench.patch([sound ^ 1], at: at)
    let bench = bench
    // Opening reads the size at most once, and so does each attempt.
    let asked = Atomic<Int>(0)
    bench.volume.plan.withLock {
      $0.beforeSize = {
        guard asked.wrappingAdd(1, ordering: .relaxed).newValue == 4 else { return }
        do { try bench.patch([sound], at: at) } catch { Issue.record(error) }
      }
    }
    let (reader, state) = try bench.open(readOnly: true)
    #expect(state.entries.count == 4)
    let looks = asked.load(ordering: .relaxed)
    #expect(looks >= 4)
    bench.volume.plan.withLock { $0.beforeSize = nil }
    reader.close()
    log.close()
  }

  @Test func `the older slot is used when the newer one is torn`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    try log.emptyCheckpoint(replay: .start)
    try log.commit([("b", [2])])
    try log.emptyCheckpoint(replay: .start)
    try log.commit([("c", [3])])
    log.close()
    let generation = log.slots.generation
    #expect(generation == 3)
    try bench.flip(byte: Int(FileLayout.slotOffset(1)) + 20, bit: 1)
    let (next, state) = try bench.open()
    #expect(state.entries.count == 3)
    #expect(state.report.usedOlderSlot)
    try next.emptyCheckpoint(replay: .start)
    #expect(next.slots.generation == 3)
    next.close()
    #expect(try !bench.read().report.usedOlderSlot)
    try bench.flip(byte: Int(FileLayout.slotOffset(0)) + 20, bit: 1)
    try bench.flip(byte: Int(FileLayout.slotOffset(1)) + 20, bit: 1)
    #expect(faultKind { _ = try bench.read() } == .damaged)
  }

  @Test func `only commits after a checkpoint's replay position are replayed`() throws {
    let log = try bench.open().log
    try log.commit([("before", [1])])
    let replay = log.writer.replayPosition
    let nodes = try log.writer.reserveNodes(length: 1000)
    #expect(nodes % 64 == 0)
    try log.commit([("meanwhile", [2])])
    try [UInt8](repeating: 0xAB, count: 1000).withBytes { (bytes) throws(StorageError) in
      try log.writeNodes(bytes, at: nodes)
    }
    try log.emptyCheckpoint(replay: replay)
    try log.commit([("after", [3])])
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["meanwhile": [2], "after": [3]])
    #expect(state.report.framesReplayed == 4)
    let there = try bench.bytes()[Int(nodes)..<Int(nodes) + 1000]
    #expect(there.allSatisfy { $0 == 0xAB })
  }

  @Test(arguments: [1, 40])
  func `opening reads one frame, however many frames of nodes the checkpoint has`(nodes: Int) throws {
    let log = try bench.open().log
    try log.commit([("before", [1])])
    let replay = log.writer.replayPosition
    for _ in 0..<nodes { _ = try log.writer.reserveNodes(length: 1000) }
    try log.writer.appendSeal()
    let checkpoint = try log.emptyCheckpoint(replay: replay)
    #expect(checkpoint.record.replay.offset == checkpoint.offset)
    log.close()
    let state = try bench.read()
    #expect(state.report.framesReplayed == 1)
    #expect(state.report.bytesReplayed == 0)
    // The log continues after it.
    let next = try bench.open().log
    try next.commit([("after", [2])])
    next.close()
    #expect(try bench.read().entries == ["after": [2]])
  }

  @Test(arguments: 0...2) func `moving the replay position skips no commit`(place: Int) throws {
    let log = try bench.open().log
    try log.commit([("before", [1])])
    let replay = log.writer.replayPosition
    // Right at the replay position, between the nodes, right before the checkpoint.
    for part in 0...2 {
      if part == place { try log.commit([("meanwhile", [2])]) }
      if part < 2 { _ = try log.writer.reserveNodes(length: 1000) }
    }
    let checkpoint = try log.emptyCheckpoint(replay: replay)
    #expect(checkpoint.record.replay == replay)
    log.close()
    let state = try bench.read()
    #expect(state.entries == ["meanwhile": [2]])
    #expect(state.report.framesReplayed == 4)
  }

  @Test func `commits of an earlier writer are not skipped`() throws {
    var log = try bench.open().log
    let replay = log.writer.replayPosition
    try log.commit([("earlier", [1])])
    log.close()
    log = try bench.open().log
    #expect(try log.emptyCheckpoint(replay: replay).record.replay == replay)
    log.close()
    #expect(try bench.read().entries == ["earlier": [1]])
  }

  @Test func `a long value written beside the frames counts as a commit`() throws {
    let log = try bench.open().log
    let replay = log.writer.replayPosition
    try log.commit([("long", [UInt8](repeating: 3, count: 5 << 20))])
    _ = try log.writer.reserveNodes(length: 1000)
    #expect(try log.emptyCheckpoint(replay: replay).record.replay == replay)
    log.close()
    #expect(try bench.read().entries["long"]?.count == 5 << 20)
  }

  @Test func `space reserved for nodes that were never written is a sound end of the file`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    _ = try log.writer.reserveNodes(length: 1 << 20)
    try log.flush(through: log.writer.position, durable: true)
    log.close()
    let (next, state) = try bench.open()
    #expect(state.report.tornTail == nil)
    try next.commit([("b", [2])])
    next.close()
    #expect(try bench.read().entries.count == 2)
  }

  @Test func `a reader catches up, and notices a new checkpoint`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    var (reader, state) = try bench.open(readOnly: true)
    let take: ReplayAction = { (transaction, _, record) throws(StorageError) in
      state.apply(transaction, record)
    }
    #expect(try reader.refresh(apply: take) == .unchanged)
    try log.commit([("b", [2])])
    #expect(try reader.refresh(apply: take) == .advanced)
    #expect(state.entries.count == 2)
    try log.emptyCheckpoint()
    #expect(try reader.refresh(apply: take) == .newCheckpoint)
    reader.close()
    (reader, state) = try bench.open(readOnly: true)
    #expect(state.entries.isEmpty)
    reader.close()
    log.close()
  }

  @Test func `a file that appears while waiting for its lock is not replaced`() throws {
    let memory = bench.volume.memory
    let content: [UInt8] = [1, 2, 3]
    let make: @Sendable () throws -> Void = {
      let device = try memory.open("other", .createExclusive(permissions: 0o600))
      defer { device.close() }
      try content.withBytes { (bytes) throws(StorageError) in try device.write(bytes, at: 0) }
    }
    bench.volume.plan.withLock { $0.beforeLock = { #expect(throws: Never.self) { try make() } } }
    #expect(
      faultKind { try DatabaseFile.create(on: bench.volume, path: "other", environment: bench.environment) }
        == .alreadyExists)
    #expect(try memory.open("other", .readOnly).size() == 3)
  }

  @Test func `the lock passes to the file that replaces the old one`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    let next = try log.createReplacement()
    _ = try next.recover { (_, _, _) throws(StorageError) in }
    try next.commit([("a", [1])])
    try next.replace(log)
    log.close()
    #expect(faultKind { _ = try bench.open() } == .lockedByThisProcess)
    try next.commit([("b", [2])])
    next.close()
    #expect(try bench.read().entries == ["a": [1], "b": [2]])
  }

  @Test func `a refreshing reader does not mistake damage for the end`() throws {
    let log = try bench.open().log
    try log.commit([("a", [1])])
    let reader = try bench.open(readOnly: true).log
    let start = Int(log.writer.tail)
    for key in ["b", "c"] { try log.commit([(key, [UInt8](repeating: 2, count: 50))]) }
    try bench.flip(byte: start + 70, bit: 1)
    #expect(faultKind { _ = try reader.refresh { (_, _, _) throws(StorageError) in } } == .damaged)
    reader.close()
    // A verification that runs next to the writer does not accept it, either.
    let report = try log.verify(through: log.writer.tail)
    #expect(report.faults.map(\.offset) == [UInt64(start)])
    log.close()
  }

  @Test func `no blocks are punched under a reader`() throws {
    let log = try bench.open().log
    try log.commit([("a", [UInt8](repeating: 1, count: 20_000))])
    let reader = try bench.open(readOnly: true).log
    var blocks: [Range<UInt64>] = [20480..<24576]
    #expect(try log.punch(&blocks) { false } == .busy)
    #expect(blocks == [20480..<24576])
    reader.close()
    log.close()
    #expect(try bench.read().entries.count == 1)
  }
}
