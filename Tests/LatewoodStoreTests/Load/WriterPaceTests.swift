import Dispatch
import LatewoodDevice
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// The waits imposed on writers when checkpoints or a compaction do not keep up with them.
@Suite struct WriterPaceTests {
  @Test func `the price of a byte rises with the backlog, up to a limit`() {
    func price(_ bytes: UInt64) -> Double { Backlog(bytes: bytes, free: 1000, headroom: 400).price }
    #expect([0, 999, 1000].map(price) == [0, 0, 0])
    #expect(price(1200) == 10)
    let prices = (1000...1500).map { price(UInt64($0)) }
    #expect(prices == prices.sorted())
    #expect(price(1001) > 0)
    #expect([1400, 1401, .max].map(price) == Array(repeating: Backlog.highestPrice, count: 3))
    #expect(Backlog(bytes: 2, free: 1, headroom: 0).price == Backlog.highestPrice)
  }

  @Test(arguments: [1, 100, 4096, 1 << 20, 64 << 20])
  func `writers wait in proportion to their bytes, for transactions of any length`(length: UInt64) {
    let pace = WriterDebt()
    #expect(!pace.isOwed)
    var now: UInt64 = 1_000_000
    let start = now
    var written: UInt64 = 0
    while written < 64 << 20 {
      pace.charge(length, at: now)
      written += length
      // Each wait lasts exactly as long as requested, and a debt of less than a millisecond is
      // left.
      now += pace.wait(price: 20, at: now)
      if length == 1, written > 1 << 20 { break }
    }
    let due = Double(written) * 20
    #expect(due - 1_000_001...due ~= Double(now - start))
  }

  @Test func `a debt is paid at the current price, and forgiven when there is no backlog`() {
    let pace = WriterDebt()
    pace.charge(1_000_000, at: 0)
    #expect(pace.wait(price: 1000, at: 0) == 1_000_000_000)
    // The writer has paid half of its debt when the price drops.
    #expect(pace.wait(price: 1000, at: 500_000_000) == 500_000_000)
    #expect(pace.wait(price: 10, at: 500_000_000) == 5_000_000)
    #expect(pace.isOwed)
    #expect(pace.wait(price: 0, at: 500_000_000) == 0)
    #expect(!pace.isOwed)
    #expect(pace.wait(price: 1000, at: 600_000_000) == 0)
  }

  @Test func `a compaction that is paused or close behind does not slow writers`() throws {
    let store = try Store.inMemory()
    let engine = store.engine
    #expect(engine.pacer.compactionPrice == 0)
    engine.pacer.didLog(1 << 40)
    #expect(engine.pacer.compactionPrice == 0)
    let free = WritePacer.leastThreshold
    engine.pacer.lag.begin(at: 0, live: 0, divisor: 8, least: free, isBounded: false)
    for (behind, isBehind) in [(0, false), (free, false), (free + 1, true), (1 << 40, true)] {
      engine.pacer.lag.follow(to: engine.pacer.committedBytes - behind)
      store.pauseCompaction()
      #expect(engine.pacer.compactionPrice == 0)
      store.resumeCompaction()
      #expect((engine.pacer.compactionPrice > 0) == isBehind, "\(behind)")
    }
    engine.pacer.lag.end()
    #expect(engine.pacer.compactionPrice == 0)
    try store.close()
  }

  @Test func `a writer may run further ahead as more is copied, and less with each round`() {
    let lag = CompactionLag()
    let short = CompactionRun.shortTail
    var behind: Backlog? { lag.backlogs(at: 1).first }
    #expect(behind == nil)
    lag.begin(at: 0, live: 1000 << 20, divisor: 8, least: 8 << 20, isBounded: false)
    #expect(lag.backlogs(at: 0) == [])
    #expect(behind == Backlog(bytes: 1, free: 125 << 20, headroom: 125 << 20))
    lag.allow(copied: 800)
    #expect(behind == Backlog(bytes: 1, free: 125 << 20 + 100, headroom: 125 << 20))
    lag.allow(rounds: 3)
    #expect(behind == Backlog(bytes: 1, free: 125 << 17, headroom: 125 << 17))
    lag.allow(copied: 800, rounds: 63)
    #expect(behind == Backlog(bytes: 1, free: short, headroom: short))
    lag.begin(at: 0, live: 1 << 20, divisor: 8, least: 8 << 20, isBounded: false)
    #expect(behind == Backlog(bytes: 1, free: 8 << 20, headroom: 8 << 20))
    lag.end()
    #expect(behind == nil)
  }

  @Test func `a bounded compaction also counts the bytes it has already followed`() {
    let lag = CompactionLag()
    for isBounded in [false, true] {
      lag.begin(at: 100, live: 0, divisor: 32, least: 3 << 20, isBounded: isBounded)
      lag.allow(copied: 32_000)
      lag.allow(rounds: 4)
      lag.follow(to: 20 << 20)
      #expect(lag.price(at: 20 << 20) == (isBounded ? Backlog.highestPrice : 0))
      #expect(lag.price(at: 3 << 20 + 1100) == 0)
      #expect((lag.price(at: 3 << 20 + 1101) > 0) == isBounded)
    }
  }

  /// The ways in which a writer that owes days of waiting is released immediately.
  enum Release: CaseIterable {
    case checkpoint, reclaim, compaction, pause
  }

  @Test(arguments: Release.allCases)
  func `a writer waits only while there is a backlog, however much it owes`(release: Release) throws {
    let pacer = WritePacer(Store.Options(), DiskSpace())
    switch release {
    case .checkpoint, .reclaim: #expect(pacer.awaitCheckpoint())
    case .compaction, .pause:
      pacer.lag.begin(at: 0, live: 0, divisor: 8, least: 1 << 20, isBounded: false)
    }
    for _ in 0..<2 { pacer.didLog(1 << 40) }
    if release == .reclaim { pacer.didFreeze() }
    #expect(pacer.isOwed)
    #expect(pacer.price == Backlog.highestPrice)
    let group = DispatchGroup()
    DispatchQueue(label: "writer").async(group: group) { pacer.slowDown() }
    Patience.wait { pacer.hasWaiters }
    switch release {
    case .checkpoint: pacer.endCheckpoint()
    case .reclaim: pacer.didReclaim()
    case .compaction:
      pacer.lag.end()
      pacer.wake()
    case .pause:
      pacer.lag.setPaused(true)
      pacer.wake()
    }
    try #require(group.wait(timeout: .now() + .seconds(120)) == .success)
    #expect(!pacer.isOwed)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a compaction's closure may wait for a thread that writes beyond the limit`() throws {
    let directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = .relaxed
    options.compaction = .manual
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    try store.put("key", "value", in: space)
    var isFirst = true
    try store.compact { _ in
      guard isFirst else { return }
      isFirst = false
      inParallel(1) { _ in
        for number in 0..<17 { try store.put("\(number)", [UInt8](repeating: 1, count: 1 << 20), in: space) }
        try store.put("last", "value", in: space)
      }
    }
    #expect(try store.count(in: space) == 19)
    try store.close()
  }
}
