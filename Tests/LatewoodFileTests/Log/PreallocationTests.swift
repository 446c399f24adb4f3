import LatewoodBytes
import Testing

@testable import LatewoodFile

/// Space that is filled with zeros ahead of durable commits.
@Suite struct PreallocationTests {
  let bench: LogBench

  init() throws { bench = try LogBench() }

  /// Makes commits of about `length` bytes. Returns the number of bytes written beyond the end of
  /// the log by each.
  private func ahead(
    _ log: DatabaseFile, of other: LogBench? = nil, commits: Int, length: Int, durable: Bool = true
  ) throws -> [UInt64] {
    let bench = other ?? bench
    return try (0..<commits).map { number in
      let before = bench.volume.plan.withLock { $0.writes.count }
      try log.commit([("key \(number)", [UInt8](repeating: 1, count: length))], durable: durable)
      let written = bench.volume.plan.withLock { $0.writes[before...].map(\.upperBound).max() ?? 0 }
      return written > log.writer.tail ? written - log.writer.tail : 0
    }
  }

  @Test(arguments: [900, 100]) func `short commits find new blocks already filled with zeros`(
    _ length: Int
  ) throws {
    let log = try bench.open().log
    let written = try ahead(log, commits: 1500, length: length)
    let made = written.filter { $0 > 0 }
    // The length doubles each time, up to 512 KiB; 1,500 commits of some 960 bytes reach the fifth.
    let lengths: [UInt64] = [64 << 10, 128 << 10, 256 << 10, 512 << 10, 512 << 10]
    #expect(made.count == (length == 900 ? 5 : 3))
    #expect(zip(made, lengths).allSatisfy { ($1 - 2000...$1).contains($0) }, "\(made)")
    #expect(written.prefix(8).allSatisfy { $0 == 0 })
    // Except for the first few, no commit lies beyond the bytes written before it.
    let writes = bench.volume.plan.withLock { $0.writes }
    var zeroed: UInt64 = 0
    var beyond = 0
    for write in writes where write.lowerBound >= FileLayout.logStart {
      if write.count > 60_000 {
        zeroed = write.upperBound
      } else if write.upperBound > zeroed {
        beyond += 1
      }
    }
    #expect(beyond <= 16)
    log.close()
    #expect(try bench.read().entries.count == 1500)
  }

  @Test func `long commits, which would gain nothing, write no zeros ahead`() throws {
    let log = try bench.open().log
    #expect(try ahead(log, commits: 200, length: 40_000).allSatisfy { $0 == 0 })
    log.close()
    #expect(try bench.read().entries.count == 200)
  }

  @Test func `unsynced commits write no zeros ahead`() throws {
    let log = try bench.open().log
    _ = try ahead(log, commits: 20, length: 900)
    let written = try ahead(log, commits: 500, length: 900, durable: false)
    #expect(written.filter { $0 > 0 }.count <= 1)
    log.close()
    #expect(try bench.read().entries.count == 500)
  }

  @Test func `a reserved region is not overwritten with zeros`() throws {
    let log = try bench.open().log
    var regions: [(offset: UInt64, bytes: [UInt8])] = []
    for number in 0..<200 {
      // Some transactions that write zeros ahead begin after a region whose nodes were written but
      // whose frame was not.
      if number % 50 != 1 {
        let bytes = [UInt8](repeating: UInt8(number + 1), count: 4000)
        let offset = try log.writer.reserveNodes(length: bytes.count)
        try bytes.withBytes { bytes throws(StorageError) in try log.writeNodes(bytes, at: offset) }
        regions.append((offset, bytes))
      }
      _ = try ahead(log, commits: 1, length: number % 50 == 0 ? 1_500_000 : 900)
    }
    let file = try bench.bytes()
    for region in regions {
      #expect(Array(file[Int(region.offset)..<Int(region.offset) + 4000]) == region.bytes)
    }
    log.close()
    #expect(try bench.read().entries.count == 1)
  }

  @Test func `a disk without space to preallocate still takes the commit`() throws {
    let log = try bench.open().log
    _ = try ahead(log, commits: 12, length: 900)
    let end = log.writer.tail
    // Zeros are written ahead now and then. There is space for more commits, but not for the zeros.
    bench.volume.plan.withLock { $0.space = end + 70_000 }
    var kept = 0
    while kept < 100, faultKind({ _ = try ahead(log, commits: 1, length: 900) }) == nil { kept += 1 }
    #expect((60...80).contains(kept))
    #expect(log.isOutOfSpace && !log.isPoisoned)
    log.close()
    #expect(try !bench.read().entries.isEmpty)
  }

  @Test func `a failure to write zeros ahead ends all writing`() throws {
    // The same commits in another file show which commit is the first to write zeros ahead.
    let other = try LogBench()
    let first = try #require(
      ahead(other.open().log, of: other, commits: 200, length: 900).firstIndex { $0 > 0 })
    let log = try bench.open().log
    #expect(try ahead(log, commits: first, length: 900).allSatisfy { $0 == 0 })
    bench.volume.plan.withLock { $0.writeFailure = .inputOutput }
    #expect(faultKind { _ = try ahead(log, commits: 1, length: 900) } == .inputOutput)
    #expect(log.isPoisoned)
    #expect(faultKind { _ = try ahead(log, commits: 1, length: 900) } == .poisoned)
  }
}
