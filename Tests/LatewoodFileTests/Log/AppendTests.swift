import LatewoodBytes
import Testing

@testable import LatewoodFile

@Suite struct AppendTests {
  let bench: LogBench

  init() throws { bench = try LogBench() }

  private func value(_ seed: Int, _ count: Int) -> [UInt8] {
    var value = [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: count)
    for at in stride(from: 0, to: count, by: 4001) { value[at] = UInt8(truncatingIfNeeded: at &* 31) }
    return value
  }

  private func read(
    _ log: DatabaseFile, at offset: UInt64
  ) throws -> (code: UInt8, key: [UInt8], value: [UInt8]) {
    let record = try log.writer.record(at: offset)
    return (
      record.code, Array(UnsafeRawBufferPointer(start: record.key, count: record.keyCount)),
      Array(UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
    )
  }

  @Test func `a record is found both in memory and in the file`() throws {
    let log = try bench.open().log
    _ = try log.writer.beginTransaction()
    let first = try log.put("first", [1, 2, 3])
    #expect(try read(log, at: first).value == [1, 2, 3])
    #expect(try read(log, at: first).key == [0, 0, 0, 1] + Array("first".utf8))
    let committed = try log.writer.commitTransaction()
    _ = try log.writer.beginTransaction()
    let second = try log.put("second", [4], asExtent: true)
    try log.flush(through: committed, durable: false)
    for _ in 0..<2 {
      #expect(try read(log, at: first).value == [1, 2, 3])
      #expect(try read(log, at: second).value == [4])
    }
    let range = try [UInt8]([0, 0, 0, 1]).withBytes { (low) throws(StorageError) in
      try [UInt8]([0, 0, 0, 2]).withBytes { (high) throws(StorageError) in
        try log.writer.deleteRange(low: low, high: high)
      }
    }
    #expect(try read(log, at: range).code == OperationCode.deleteRange)
    #expect(try read(log, at: range).value == [0, 0, 0, 2])
    try log.flush(through: log.writer.commitTransaction(), durable: true)
    _ = try log.writer.beginTransaction()
    #expect(try read(log, at: first).value == [1, 2, 3])
    #expect(try read(log, at: second).value == [4])
    log.writer.abortTransaction()
    log.close()
  }

  @Test func `a transaction larger than all chunks is written as it grows`() throws {
    let log = try bench.open().log
    try log.commit([("before", [0])])
    let number = try log.writer.beginTransaction()
    var offsets: [UInt64] = []
    for index in 0..<300 { offsets.append(try log.put("key\(index)", value(index, 100_000))) }
    // 30 MB are in flight, and one chunk was enough.
    #expect(log.writer.chunkMemory == 4 << 20)
    for index in 0..<300 { #expect(try read(log, at: offsets[index]).value == value(index, 100_000)) }
    try log.flush(through: log.writer.commitTransaction(), durable: true)
    log.close()
    let state = try bench.read()
    #expect(state.entries.count == 301)
    #expect(state.entries["key299"] == value(299, 100_000))
    #expect(state.transactions == [1, number])
    #expect(state.report.framesReplayed > 7)
  }

  @Test func `an aborted long transaction is skipped`() throws {
    let log = try bench.open().log
    let number = try log.writer.beginTransaction()
    for index in 0..<100 { try log.put("gone\(index)", value(index, 100_000)) }
    log.writer.abortTransaction()
    let next = try log.writer.beginTransaction()
    #expect(next == number + 1)
    try log.put("kept", [1])
    try log.flush(through: log.writer.commitTransaction(), durable: true)
    log.close()
    let (again, state) = try bench.open()
    #expect(state.entries == ["kept": [1]])
    #expect(again.writer.lastTransaction == next)
    again.close()
  }

  @Test func `a long transaction left unfinished by a crash is not recovered`() throws {
    var log = try bench.open().log
    let number = try log.writer.beginTransaction()
    for index in 0..<100 { try log.put("gone\(index)", value(index, 100_000)) }
    log.close()
    let (again, state) = try bench.open()
    log = again
    #expect(state.entries.isEmpty)
    #expect(!log.needsCheckpoint)
    #expect(try log.writer.beginTransaction() == number + 1)
    try log.put("kept", [1])
    try log.flush(through: log.writer.commitTransaction(), durable: true)
    log.close()
    #expect(try bench.read().entries == ["kept": [1]])
  }

  @Test(arguments: [1 << 20, (1 << 20) + 1, 5_000_003]) func `large values go straight to the file`(
    _ count: Int
  )
    throws
  {
    let log = try bench.open().log
    _ = try log.writer.beginTransaction()
    let before = try log.put("before", [1])
    let large = try log.put("large", value(5, count), asExtent: true)
    let after = try log.put("after", [2])
    #expect(try read(log, at: before).value == [1])
    #expect(try read(log, at: large).value == value(5, count))
    #expect(try read(log, at: after).value == [2])
    let position = try log.writer.commitTransaction()
    try log.flush(through: position, durable: true)
    let record = try log.writer.record(at: large)
    let place = UInt64(record.value - log.view.base)
    _ = try log.view.extent(offset: place, length: UInt64(count), checksum: record.valueChecksum)
    _ = try log.writer.beginTransaction()
    try log.put("alone", value(6, count))
    try log.flush(through: log.writer.commitTransaction(), durable: true)
    log.close()
    let longest = bench.volume.plan.withLock { $0.writes.map(\.count).max() }
    #expect(longest == 1 << 20)
    let state = try bench.read()
    #expect(state.entries.count == 4)
    #expect(state.entries["large"] == value(5, count))
    #expect(state.entries["alone"] == value(6, count))
    #expect(state.report.tornTail == nil)
  }

  @Test func `keys have length limits, and values may be empty`() throws {
    let log = try bench.open().log
    _ = try log.writer.beginTransaction()
    #expect(faultKind { try log.put("", [1]) } == .keyEmpty)
    #expect(faultKind { try log.put(String(repeating: "k", count: 16385), [1]) } == .keyTooLong)
    try log.put(String(repeating: "k", count: 16384), [])
    try log.flush(through: log.writer.commitTransaction(), durable: true)
    log.close()
    #expect(try bench.read().entries.count == 1)
  }

  @Test func `frames record how far the file is durable`() throws {
    let log = try bench.open().log
    let first = try log.commit([("a", [1])])
    let second = try log.commit([("b", [1])], durable: false)
    _ = try log.commit([("c", [1])], durable: true)
    let view = log.view
    let frames = try [UInt64(16384), first.offset, second.offset].map { offset in
      try ViewedBytes(view).frame(at: offset)?.durableThrough
    }
    #expect(frames == [16384, first.offset, first.offset])
    log.close()
  }

  @Test func `repeated seals are written once`() throws {
    var log = try bench.open().log
    try log.commit([("a", [1])])
    for _ in 0..<3 {
      try log.writer.appendSeal()
      try log.flush(through: log.writer.position, durable: false)
    }
    log.close()
    let size = try bench.size()
    log = try bench.open().log
    try log.writer.appendSeal()
    try log.flush(through: log.writer.position, durable: false)
    log.close()
    #expect(try bench.size() == size)
  }

  @Test func `a file has one writer and many readers`() throws {
    let log = try bench.open().log
    #expect(faultKind { _ = try bench.open() } == .lockedByThisProcess)
    let reader = try bench.open(readOnly: true).log
    reader.close()
    log.close()
    log.close()
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .closed)
    #expect(faultKind { try log.flush(through: CommitPosition(offset: 1 << 20), durable: true) } == .closed)
    try bench.open().log.close()
  }

  @Test func `leftovers of an interrupted creation are replaced`() throws {
    let device = try bench.volume.open("other.creating", .createExclusive(permissions: 0o600))
    device.close()
    try DatabaseFile.create(on: bench.volume, path: "other", environment: bench.environment)
    #expect(try !bench.volume.exists("other.creating"))
    let log = try DatabaseFile.open(
      on: bench.volume, path: "other", readOnly: false, environment: bench.environment)
    log.close()
  }
}
