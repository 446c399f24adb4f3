import LatewoodBytes
import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Programs that open the store for one change and close it again, many times.
@Suite struct ShortSessionTests {
  private static let path = "db"

  private static func open(_ volume: SimulatedVolume, nodeSize: Int = 8192) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.keepsBoundsWhenClosed = true
    options.nodeSize = nodeSize
    return try Store.open(at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  private static func session(
    _ volume: SimulatedVolume, nodeSize: Int = 8192, _ body: (Store, Keyspace) throws -> Void
  ) throws {
    let store = try open(volume, nodeSize: nodeSize)
    try body(store, store.keyspace("a"))
    try store.close()
  }

  private static func key(_ number: Int) -> [UInt8] {
    // In no order, so that neighbouring numbers change leaves everywhere.
    Array("\(UInt64(number) &* 0x9E37_79B9_7F4A_7C15)".utf8)
  }

  private static func value(_ number: Int, _ length: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
  }

  private static func sizes(_ volume: SimulatedVolume) throws -> (length: UInt64, allocated: UInt64) {
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    return try (device.size(), device.allocatedSize())
  }

  private static func check(_ volume: SimulatedVolume, _ expected: [[UInt8]: [UInt8]]) throws {
    let store = try open(volume)
    let found = try store.entries(in: store.keyspace("a"))
    #expect(Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.value) }) == expected)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  /// The bounds of `CompactionPolicy`, for the space on the disk and for the length.
  private static func isWithinBounds(_ sizes: (length: UInt64, allocated: UInt64), live: UInt64) -> Bool {
    sizes.allocated <= 3 * live + 32 << 20 && sizes.length <= 8 * live + 64 << 20
  }

  @Test(.timeLimit(.minutes(10)))
  func `sessions of one put and one delete leave a file within the bounds`() throws {
    let volume = SimulatedVolume(seed: 1)
    let session = { (body: (Store, Keyspace) throws -> Void) in
      try Self.session(volume, nodeSize: 32_768, body)
    }
    var expected: [[UInt8]: [UInt8]] = [:]
    try session { store, space in
      try store.write { transaction in
        for number in 0..<20 {
          expected[Self.key(number)] = Self.value(number, 300)
          try transaction.put(Self.key(number), Self.value(number, 300), in: space)
        }
      }
    }
    var greatest: (length: UInt64, allocated: UInt64) = (0, 0)
    var appended: UInt64 = 0
    var last: UInt64 = 0
    for number in 20..<20 + Effort.count(6000, low: 1300) {
      var live: UInt64 = 0
      try session { store, space in
        try store.put(Self.key(number), Self.value(number, 60_000), in: space)
        try store.delete(Self.key(number - 20), in: space)
        live = try store.statistics().liveBytes
      }
      expected[Self.key(number)] = Self.value(number, 60_000)
      expected[Self.key(number - 20)] = nil
      let sizes = try Self.sizes(volume)
      appended += sizes.length - min(sizes.length, last)
      last = sizes.length
      greatest = (max(greatest.length, sizes.length), max(greatest.allocated, sizes.allocated))
      #expect(Self.isWithinBounds(sizes, live: live), "\(sizes) of \(live) live, session \(number)")
    }
    print("ShortSessionTests: \(appended) bytes appended, at most \(greatest)")
    #expect(appended > 70 << 20)
    try Self.check(volume, expected)
  }

  /// The bytes that a session writes, compactions included, hardly depend on the size of the file.
  @Test(.timeLimit(.minutes(10)))
  func `closing writes as little in a large file as in a small one`() throws {
    var averages: [Int] = []
    for count in [1000, 4000, 16_000] {
      let volume = SimulatedVolume(seed: 2)
      try Self.session(volume) { store, space in
        try store.write { transaction in
          for number in 0..<count {
            try transaction.put(Self.key(number), Self.value(number, 400), in: space)
          }
        }
      }
      var written: [Int] = []
      var punched = 0
      for round in 0..<Effort.count(3000, low: 650) {
        let call = volume.trace.count
        try Self.session(volume) { store, space in
          try store.put(Self.key(round % count), Self.value(round, 30_000), in: space)
          if round >= 20 { try store.put(Self.key((round - 20) % count), Self.value(round, 400), in: space) }
        }
        let calls = volume.trace[call...]
        written.append(calls.filter { $0.kind == .write }.reduce(0) { $0 + $1.length })
        punched += calls.filter { $0.kind == .punch }.reduce(0) { $0 + $1.length }
      }
      averages.append(written.reduce(0, +) / written.count)
      print("ShortSessionTests: \(count) entries,", averages[averages.count - 1], written.max() ?? 0, punched)
      // A value, and twice the nodes on the way to a leaf; apart from compactions, of which there
      // is at most one for each 64 MiB that the sessions append.
      let long = written.filter { $0 >= 128 << 10 }
      #expect(long.count <= written.reduce(0, +) / (64 << 20), "\(count) entries: \(long)")
      #expect(punched > 10 << 20, "\(count)")
    }
    #expect(averages[2] < averages[0] * 3 / 2, "\(averages)")
  }

  @Test(.timeLimit(.minutes(10)), arguments: [900, 4000])
  func `a full disk is emptied by deletes in sessions of their own`(_ length: Int) throws {
    let volume = SimulatedVolume(seed: 3)
    volume.countsBlocks = true
    volume.keepsBlocks = true
    volume.spaceLimit = 4 << 20
    var numbers: [Int] = []
    try Self.session(volume) { store, space in
      for number in 0... {
        do {
          try store.write { transaction in
            for part in 0..<20 {
              try transaction.put(Self.key(20 * number + part), Self.value(number, length), in: space)
            }
          }
        } catch let error as StoreError where error.code == .outOfSpace {
          break
        }
        numbers += 20 * number..<20 * number + 20
      }
    }
    var expected = Dictionary(
      uniqueKeysWithValues: numbers.map { (Self.key($0), Self.value($0 / 20, length)) })
    #expect(expected.count * length > 1 << 20)
    let deleted = numbers.prefix(numbers.count * 3 / 4)
    for number in deleted {
      try Self.session(volume) { store, space in try store.delete(Self.key(number), in: space) }
      expected[Self.key(number)] = nil
    }
    try Self.check(volume, expected)
    // There is space again.
    for number in 0..<deleted.count / 8 {
      try Self.session(volume) { store, space in
        try store.put(Self.key(1_000_000 + number), Self.value(number, length), in: space)
      }
      expected[Self.key(1_000_000 + number)] = Self.value(number, length)
    }
    var report = CompactionReport()
    try Self.session(volume) { store, _ in report = try store.compact() }
    #expect(!report.isInPlace)
    try Self.check(volume, expected)
  }

  @Test func `a sweep leaves what a snapshot or another process may read`() throws {
    let volume = SimulatedVolume(seed: 4)
    try Self.leaveDeadBlocks(volume)
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    let snapshot = try store.snapshot()
    try store.put("more", "1", in: space)
    try store.checkpoint()
    try Self.sweep(store)
    #expect(try store.statistics().punchedBytes == 0)
    snapshot.close()
    let reader = try Store.open(
      at: Self.path, on: volume.process(2), mode: .readOnly, options: Store.Options(), environment: .system)
    try Self.sweep(store)
    #expect(try store.statistics().punchedBytes == 0)
    #expect(try reader.verify().faults == [])
    try reader.close()
    try Self.sweep(store)
    #expect(try store.statistics().punchedBytes > 100_000)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a power cut in a sweep costs nothing`() throws {
    func swept(cut: Int?) throws -> SimulatedVolume {
      let volume = SimulatedVolume(seed: 5)
      try Self.leaveDeadBlocks(volume)
      let store = try Self.open(volume)
      if let cut { volume.inject(.powerCut, atCall: cut) }
      do { try Self.sweep(store) } catch { #expect(cut != nil) }
      return volume
    }
    let whole = try swept(cut: nil)
    let content = try Self.content(whole)
    let first = try #require(whole.trace.firstIndex { $0.kind == .punch })
    // The root slots and their syncs, then the holes.
    for call in first - 4..<min(first + 2, whole.trace.count) {
      for image in try swept(cut: call).crashImages(exhaustiveUpTo: 1, random: 4).prefix(8) {
        #expect(try Self.content(image.makeVolume()) == content, "call \(call)")
      }
    }
  }

  /// Some sessions, each of which overwrites an entry in every leaf.
  private static func leaveDeadBlocks(_ volume: SimulatedVolume) throws {
    for round in 0..<6 {
      try session(volume) { store, space in
        try store.write { transaction in
          for number in 0..<400 { try transaction.put(key(number), value(round, 300), in: space) }
        }
      }
    }
  }

  private static func sweep(_ store: Store) throws {
    try store.engine.checkpointer.withoutCheckpoints { () throws(StorageError) in
      try store.engine.reclaimer.sweep(upTo: .max)
    }
  }

  private static func content(_ volume: SimulatedVolume) throws -> [[UInt8]: [UInt8]] {
    let store = try open(volume)
    let space = try store.keyspace("a")
    let found = try store.entries(in: space).map { ($0.key, $0.value) }
    #expect(try store.verify().faults == [])
    return Dictionary(uniqueKeysWithValues: found)
  }
}
