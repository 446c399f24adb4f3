import LatewoodBytes
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// Dead parts of the file are released to the file system as soon as nothing needs them, and no
/// sooner.
@Suite struct PunchingTests {
  @Test func `a file that is overwritten repeatedly stays small, on a real file system`() throws {
    let directory = try StoreDirectory()
    var options = OverwrittenStore.options(threshold: 1 << 16)
    options.inlineValueLimit = 512
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    var random = SeededRandom(seed: SeededRandom.seed())
    var greatest: UInt64 = 0
    for round in 0..<30 {
      try store.write { transaction in
        for _ in 0..<4000 {
          let number = round == 0 ? random.below(1) : random.below(4000)
          try transaction.put(
            OverwrittenStore.key(number), random.bytes(random.oneIn(20) ? 3000 : 100), in: space)
        }
      }
      try store.checkpoint()
      let statistics = try store.statistics()
      #expect(statistics.punchingFailure == nil)
      if round > 3 {
        let size = statistics.allocatedSize - statistics.reservedBytes
        greatest = max(greatest, size * 100 / statistics.liveBytes)
      }
    }
    let statistics = try store.statistics()
    guard statistics.punchedBytes > 0 else { return print("PunchingTests: no holes on this file system") }
    print(
      "PunchingTests: \(statistics.fileSize) bytes, \(statistics.allocatedSize) on disk,",
      "\(statistics.liveBytes) live, at most \(greatest)%, \(random.replay)")
    #expect(greatest < 200)
    #expect(try store.verify().faults == [])
    let before = try store.entries(in: space).map(\.value)
    try store.close()
    let again = try Store.open(at: directory.store, options: options)
    #expect(try again.entries(in: again.keyspace("a")).map(\.value) == before)
    #expect(try again.verify().faults == [])
    #expect(
      try again.statistics().allocatedSize < statistics.liveBytes * 2 + statistics.reservedBytes)
  }

  /// Everything that is neither live nor in the log is released, except for parts of blocks.
  @Test func `all dead blocks are punched`() throws {
    let volume = SimulatedVolume()
    let store = try OverwrittenStore.open(volume)
    let space = try store.keyspace("a")
    var random = SeededRandom(seed: SeededRandom.seed())
    for round in 0..<60 {
      try store.write { transaction in
        for _ in 0..<random.below(300) {
          let key = OverwrittenStore.key(random.below(3000))
          if random.oneIn(5) {
            try transaction.delete(key, in: space)
          } else {
            try transaction.put(key, random.bytes(random.below(random.oneIn(6) ? 2000 : 60)), in: space)
          }
        }
        if random.oneIn(6) {
          let low = random.below(3000)
          try transaction.deleteRange(
            .between(OverwrittenStore.key(low), OverwrittenStore.key(low + random.below(900))), in: space)
        }
      }
      try store.checkpoint()
      let statistics = try store.statistics()
      // Every node and every value can share a block at each end.
      let report = try store.verify()
      let ends = (report.nodes + report.extents + 20) * 2 * 512
      #expect(statistics.allocatedSize <= statistics.liveBytes + 16384 + ends, "\(round), \(random.replay)")
      #expect(report.faults == [], "\(round), \(random.replay)")
    }
    try store.dropKeyspace(space)
    try store.checkpoint()
    let rest = try store.statistics()
    #expect(rest.allocatedSize <= rest.liveBytes + 16384 + 8 * 512, "\(random.replay)")
  }

  @Test func `a snapshot keeps its own state and everything since`() throws {
    let store = try OverwrittenStore.open(SimulatedVolume())
    try OverwrittenStore.fill(store, 1)
    let snapshot = try store.snapshot()
    for byte in 2...5 { try OverwrittenStore.fill(store, UInt8(byte)) }
    // Only the log before it may be released.
    let punched = try store.statistics().punchedBytes
    #expect(try OverwrittenStore.shows(1, snapshot, store))
    #expect(try OverwrittenStore.shows(5, store, store))
    for byte in 6...8 { try OverwrittenStore.fill(store, UInt8(byte)) }
    #expect(try store.statistics().punchedBytes == punched)
    #expect(try OverwrittenStore.shows(1, snapshot, store))
    snapshot.close()
    try store.checkpoint()
    #expect(try store.statistics().punchedBytes > punched + 200_000)
    #expect(try OverwrittenStore.shows(8, store, store))
    #expect(try store.verify().faults == [])
  }

  @Test func `a cursor of the store keeps the entries still ahead of it`() throws {
    let store = try OverwrittenStore.open(SimulatedVolume())
    try OverwrittenStore.fill(store, 1)
    let cursor = try store.cursor(in: store.keyspace("a"))
    #expect(try cursor.next())
    for byte in 2...4 { try OverwrittenStore.fill(store, UInt8(byte)) }
    var count = 1
    while try cursor.next() { count += 1 }
    #expect(count == 400)
  }

  @Test func `an open past checkpoint keeps its state`() throws {
    let store = try OverwrittenStore.open(SimulatedVolume(), whole: 3)
    for byte in 1...6 { try OverwrittenStore.fill(store, UInt8(byte)) }
    let history = try store.history()
    #expect(history.count == 3)
    let past = try history.map { try store.snapshot(asOf: $0) }
    for byte in 7...12 { try OverwrittenStore.fill(store, UInt8(byte)) }
    for (index, snapshot) in past.enumerated() {
      #expect(try OverwrittenStore.shows(UInt8(6 - index), snapshot, store))
    }
    past[2].close()
    try OverwrittenStore.fill(store, 13)
    #expect(try OverwrittenStore.shows(6, past[0], store))
    #expect(try OverwrittenStore.shows(5, past[1], store))
    let error = refusal(.notFound) { _ = try store.snapshot(asOf: history[2]) }
    #expect(error?.advice.contains("history()") == true)
    for snapshot in past { snapshot.close() }
    try OverwrittenStore.fill(store, 14)
    #expect(try store.history().count == 3)
    for checkpoint in history { refusal(.notFound) { _ = try store.snapshot(asOf: checkpoint) } }
  }

  @Test func `the history has only whole checkpoints, however the file is opened`() throws {
    let volume = SimulatedVolume()
    let store = try OverwrittenStore.open(volume, whole: 2)
    for byte in 1...5 { try OverwrittenStore.fill(store, UInt8(byte)) }
    let history = try store.history()
    #expect(history.count == 2)
    let reader = try OverwrittenStore.open(volume.process(2), .readOnly)
    #expect(try reader.history() == history)
    for (index, checkpoint) in history.enumerated() {
      #expect(try OverwrittenStore.shows(UInt8(5 - index), reader.snapshot(asOf: checkpoint), reader))
    }
    try reader.close()
    volume.kill(process: 1)
    let again = try OverwrittenStore.open(volume.process(3), whole: 50)
    #expect(try again.history() == history)
    for byte in 6...9 { try OverwrittenStore.fill(again, UInt8(byte)) }
    #expect(try again.history().count == 6)
    for (index, checkpoint) in try again.history().enumerated() {
      #expect(try OverwrittenStore.shows(UInt8(9 - index), again.snapshot(asOf: checkpoint), again))
    }
  }

  @Test func `an open reader keeps the file unpunched`() throws {
    let directory = try StoreDirectory()
    let store = try Store.open(at: directory.store, options: OverwrittenStore.options())
    for byte in 1...2 { try OverwrittenStore.fill(store, UInt8(byte), 0..<3000) }
    let punched = try store.statistics().punchedBytes
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let snapshot = try reader.snapshot()
    for byte in 3...4 {
      try OverwrittenStore.fill(store, UInt8(byte), 0..<3000)
      #expect(try OverwrittenStore.shows(2, snapshot, reader, 0..<3000))
    }
    try reader.refresh()
    #expect(try reader.history() == store.history())
    #expect(try OverwrittenStore.shows(2, snapshot, reader, 0..<3000))
    #expect(try OverwrittenStore.shows(4, reader, reader, 0..<3000))
    #expect(try store.statistics().punchedBytes == punched)
    try reader.close()
    try store.checkpoint()
    if punched > 0 { #expect(try store.statistics().punchedBytes > punched + 500_000) }
    #expect(try OverwrittenStore.shows(4, store, store, 0..<3000))
  }

  @Test func `readers can come and go while blocks are punched`() throws {
    let directory = try StoreDirectory()
    let store = try Store.open(at: directory.store, options: OverwrittenStore.options())
    try OverwrittenStore.fill(store, 1)
    let isDone = Guarded(false)
    inParallel(2) { thread in
      defer { isDone.withLock { $0 = true } }
      if thread == 0 {
        for round in 2...120 { try OverwrittenStore.fill(store, UInt8(round)) }
        return
      }
      var opened = 0
      while !isDone.withLock({ $0 }) {
        let reader = try Store.open(at: directory.store, mode: .readOnly)
        let values = try reader.entries(in: reader.keyspace("a")).flatMap { $0.value }
        if Set(values).count != 1 { throw Wrong("a reader saw a mixture") }
        if try reader.verify().faults != [] { throw Wrong("a reader saw damage") }
        try reader.close()
        Monitor.sleep(milliseconds: 5)
        opened += 1
      }
      print("PunchingTests: \(opened) readers, \(try store.statistics().punchedBytes) bytes given back")
    }
  }

  @Test func `after punching, either slot alone leads to everything, even after a power cut`() throws {
    func filled(cut: Int?) throws -> SimulatedVolume {
      let volume = SimulatedVolume()
      let store = try OverwrittenStore.open(volume.process(1))
      for byte in 1...3 { try OverwrittenStore.fill(store, UInt8(byte)) }
      if let cut { volume.inject(.powerCut, atCall: cut) }
      do { try OverwrittenStore.fill(store, 4) } catch { #expect(cut != nil) }
      volume.kill(process: 1)
      return volume
    }
    let whole = try filled(cut: nil)
    let punches = whole.trace.filter { $0.kind == .punch }
    var disks = [try whole.liveBytes(of: "db")]
    for punch in punches.suffix(8) {
      for image in try filled(cut: punch.number).crashImages(exhaustiveUpTo: 1, random: 8).prefix(20) {
        disks.append(try image.makeVolume().liveBytes(of: "db"))
      }
    }
    for (disk, slot) in disks.flatMap({ [($0, 8192), ($0, 12288)] }) {
      let copy = SimulatedVolume()
      try copy.place(disk, at: "db")
      try copy.corrupt("db", at: slot + 20, xor: 4)
      let again = try OverwrittenStore.open(copy)
      #expect(try OverwrittenStore.shows(4, again, again))
      #expect(try again.verify().faults.count == 1)
    }
  }

  @Test func `without support for holes, punching is not repeated and all checkpoints stay`() throws {
    let volume = SimulatedVolume()
    volume.supportsPunching = false
    let store = try OverwrittenStore.open(volume)
    for byte in 1...5 { try OverwrittenStore.fill(store, UInt8(byte)) }
    let syncs = volume.trace.count { $0.kind == .sync }
    try OverwrittenStore.fill(store, 6)
    #expect(volume.trace.count { $0.kind == .sync } - syncs == 1)
    #expect(try store.statistics().punchedBytes == 0)
    #expect(try store.statistics().punchingFailure == nil)
    #expect(try store.history().count >= 5)
    #expect(try OverwrittenStore.shows(6, store, store))
  }

  @Test func `a failed punch does no harm and is reported`() throws {
    func filled(failing call: Int?) throws -> (Store, SimulatedVolume) {
      let volume = SimulatedVolume()
      if let call { volume.inject(.inputOutput(after: 512), atCall: call) }
      let store = try OverwrittenStore.open(volume)
      for byte in 1...3 { try OverwrittenStore.fill(store, UInt8(byte)) }
      return (store, volume)
    }
    let punches = try filled(failing: nil).1.trace.filter { $0.kind == .punch }
    let (store, volume) = try filled(failing: #require(punches.last).number)
    #expect(volume.trace.last { $0.kind == .punch }?.fault != nil)
    #expect(try store.statistics().punchingFailure?.code == .inputOutput)
    let punched = try store.statistics().punchedBytes
    for byte in 4...6 { try OverwrittenStore.fill(store, UInt8(byte)) }
    #expect(try store.statistics().punchedBytes == punched)
    #expect(try OverwrittenStore.shows(6, store, store))
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
