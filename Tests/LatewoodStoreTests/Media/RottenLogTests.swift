import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Commits that no checkpoint has merged, and whose bytes in the file change while the store is
/// open: lost and stray writes, decay.
@Suite struct RottenLogTests {
  /// The new content of a damaged block.
  enum Content: CaseIterable {
    case zeros, ones, longNumbers, text, noise

    func bytes(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
      switch self {
      case .zeros: [UInt8](repeating: 0, count: count)
      case .ones: [UInt8](repeating: 0xFF, count: count)
      // Each byte signals that the number continues.
      case .longNumbers: [UInt8](repeating: 0x80, count: count)
      case .text: [UInt8](repeating: UInt8(ascii: "s"), count: count)
      case .noise: random.bytes(count)
      }
    }
  }

  @Test func `reads of a log with changed bytes are right or throw typed errors`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenLogTests", random.replay)
    let rotten = try RottenLog()
    #expect(rotten.readAll("before"))
    rotten.toleratedDamages = 2
    for round in 0..<120 {
      let offset = rotten.log.lowerBound + random.below(rotten.log.count)
      let mask = round % 2 == 0 ? 1 << UInt8(random.below(8)) : UInt8(1 + random.below(255))
      try rotten.volume.corrupt("db", at: offset, xor: mask)
      let context = "byte \(offset) ^ \(mask), \(random.replay)"
      rotten.readAll(context)
      try rotten.volume.corrupt("db", at: offset, xor: mask)
    }
    #expect(rotten.readAll("after, \(random.replay)"))
  }

  @Test(arguments: Content.allCases)
  func `reads of a log with foreign blocks are right or throw typed errors`(
    _ content: Content
  ) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenLogTests", random.replay)
    let rotten = try RottenLog()
    rotten.toleratedDamages = 2
    for length in [1, 8, 64, 512, rotten.log.count] {
      for _ in 0..<(length < rotten.log.count ? 8 : 1) {
        let start = rotten.log.lowerBound + random.below(rotten.log.count - length + 1)
        let restore = try rotten.overwrite(content.bytes(length, &random), at: start)
        let context = "\(content) at \(start), \(length) bytes, \(random.replay)"
        rotten.readAll(context)
        try restore()
      }
    }
    #expect(rotten.readAll("after, \(random.replay)"))
  }

  @Test(arguments: Content.allCases)
  func `transactions over a log with changed bytes succeed or throw typed errors`(
    _ content: Content
  ) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenLogTests", random.replay)
    for length in [1, 2, 8, 64, 512] {
      let rotten = try RottenLog(entries: 24)
      rotten.toleratedDamages = 1
      let start = rotten.log.lowerBound + random.below(rotten.log.count - length + 1)
      let restore = try rotten.overwrite(content.bytes(length, &random), at: start)
      let context = "\(content) at \(start), \(length) bytes, \(random.replay)"
      rotten.writeAndGiveUp(context)
      rotten.readAll(context)
      try restore()
      #expect(rotten.readAll("after \(context)"))
    }
  }

  @Test func `verification reports every changed byte of the log`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenLogTests", random.replay)
    let rotten = try RottenLog()
    #expect(try rotten.store.verify().faults == [])
    let image = try rotten.volume.liveBytes(of: "db")
    var told = 0
    for _ in 0..<150 {
      let offset = rotten.log.lowerBound + random.below(rotten.log.count)
      let mask: UInt8 = 1 << UInt8(random.below(8))
      try rotten.volume.corrupt("db", at: offset, xor: mask)
      let faults = try rotten.store.verify().faults
      try rotten.volume.corrupt("db", at: offset, xor: mask)
      // The few bytes of padding between two frames are zero.
      guard let fault = faults.first else {
        #expect(image[offset] == 0, "byte \(offset), \(random.replay)")
        continue
      }
      told += 1
      #expect(faults.count == 1, "\(faults)")
      #expect(Range(rotten.log.lowerBound...offset).contains(Int(fault.offset)), "byte \(offset): \(fault)")
    }
    #expect(told > 100)
    #expect(try rotten.store.verify().faults == [])
  }

  @Test func `a damaged record behind the wanted entries does not affect a batched scan`() throws {
    let rotten = try RottenLog(entries: 24)
    // The greatest key of both keyspaces, and so the last record of its leaf.
    let last = try #require(try rotten.find(Array("late 5".utf8)))
    try rotten.volume.corrupt("db", at: last, xor: 0xFF)
    var found: [[UInt8]] = []
    try rotten.store.held().scanBatches(rotten.space, .prefix("same ")) { batch in
      found += batch.map { Array($0.key) }
      return true
    }
    #expect(found == rotten.sorted.filter { $0.starts(with: "same ".utf8) } && found.count == 12)
    #expect(throws: StoreError.self) {
      try rotten.store.held().scanBatches(rotten.other, .all) { _ in true }
    }
  }

  @Test func `verification reports a catalog damaged in the log`() throws {
    let rotten = try RottenLog(entries: 4)
    let first = try #require(try rotten.find(Array("nlate".utf8))) - 16
    for offset in first..<first + 40 {
      for mask: UInt8 in [1, 0x80, 0xFF] {
        try rotten.volume.corrupt("db", at: offset, xor: mask)
        #expect(try rotten.store.verify().faults.count == 1, "byte \(offset) ^ \(mask)")
        try rotten.volume.corrupt("db", at: offset, xor: mask)
      }
    }
    #expect(try rotten.store.verify().faults == [])
  }

  @Test
  func `a reader verifies the log it reads, even after a later checkpoint`() throws {
    let rotten = try RottenLog(entries: 8)
    try rotten.put("read there", [UInt8](repeating: 3, count: 50))
    let offset = try #require(try rotten.find(Array("read there".utf8)))
    let reader = try Store.open(
      at: "db", on: rotten.volume.process(2), mode: .readOnly, options: .init(), environment: .system)
    try rotten.store.checkpoint()
    #expect(try reader.verify().faults == [])
    try rotten.volume.corrupt("db", at: offset, xor: 1)
    #expect(try reader.verify().faults.count == 1)
    try reader.close()
  }

  // MARK: Writes

  /// A byte of each part of a record.
  enum Part: Int, CaseIterable {
    case code = -7
    case keyLength = -6
    case valueLength = -5
    case keyspace = -1
    case key = 2
    case value = 40
  }

  /// Changes a byte of a record that is only in the log; returns its offset.
  private func spoil(_ part: Part, _ mask: UInt8, _ rotten: RottenLog) throws -> Int {
    let key = "a key that rots"
    try rotten.put(key, [UInt8](repeating: 3, count: 100))
    try rotten.put("z", [4])
    let offset = try #require(try rotten.find(Array(key.utf8))) + part.rawValue
    try rotten.volume.corrupt("db", at: offset, xor: mask)
    return offset
  }

  @Test(arguments: Part.allCases, [1, 0x80, 0xFF] as [UInt8])
  func `a checkpoint refuses a changed commit, and nothing is written after it`(
    _ part: Part, _ mask: UInt8
  ) throws {
    let rotten = try RottenLog(entries: 8)
    let (store, space) = (rotten.store, rotten.space)
    let offset = try spoil(part, mask, rotten)
    let error = refusal(.damaged) { try store.checkpoint() }
    let place = try #require(error?.offset)
    #expect(Range(offset - 200...offset).contains(Int(place)))
    let refused = refusal(.poisoned) { try store.put("more", [5], in: space) }
    #expect(refused?.offset == place)
    refusal(.poisoned) { try store.checkpoint() }
    refusal(.poisoned) { try store.compact() }
    rotten.readAll("after the checkpoint")
    try store.close()
    // Opening the file does not lead to wrong answers: it is refused, or later commits are missing.
    do {
      let again = try Store.open(
        at: "db", on: rotten.volume.process(2), mode: .readOnly, options: .init(), environment: .system)
      #expect(try again.get("z", in: again.keyspace("early")) == nil)
      try again.close()
    } catch {
      #expect(error.storeCode == .damaged)
    }
  }

  @Test(arguments: [false, true])
  func `a value damaged in the log is not merged into the tree`(_ isExtent: Bool) throws {
    let rotten = try RottenLog(entries: 8)
    let value = Array("<the value>".utf8) + [UInt8](repeating: 9, count: isExtent ? 900 : 90)
    try rotten.store.put("late", value, in: rotten.space)
    let offset = try #require(try rotten.find(value)) + 50
    try rotten.volume.corrupt("db", at: offset, xor: 4)
    refusal(.damaged) { _ = try rotten.store.get("late", in: rotten.space) }
    refusal(.damaged) { try rotten.store.forEach(in: rotten.space) { _, _ in true } }
    #expect(try rotten.store.verify().faults.count == 1)
    refusal(.damaged) { try rotten.store.checkpoint() }
    refusal(.damaged) { _ = try rotten.store.get("late", in: rotten.space) }
    try rotten.volume.corrupt("db", at: offset, xor: 4)
    #expect(try rotten.store.get("late", in: rotten.space) == value)
    #expect(try rotten.store.verify().faults == [])
    try rotten.store.close()
    let again = try Store.open(
      at: "db", on: rotten.volume, mode: .openExisting, options: .init(), environment: .system)
    #expect(try again.get("late", in: again.keyspace("early")) == value)
    try again.close()
  }

  @Test(arguments: [0, 1, 2, 3])
  func `compacting, copying, backing up or closing over a damaged log throws a typed error`(_ way: Int) throws
  {
    var random = SeededRandom(seed: SeededRandom.seed())
    print("RottenLogTests", random.replay)
    for content in Content.allCases {
      let rotten = try RottenLog(entries: 20)
      let start = rotten.log.lowerBound + random.below(rotten.log.count - 64)
      _ = try rotten.overwrite(content.bytes(64, &random), at: start)
      switch way {
      case 0: refusal(.damaged) { try rotten.store.compact() }
      case 1: refusal(.damaged) { try rotten.store.copy(to: "copy") }
      case 2: refusal(.damaged) { try rotten.store.backup(to: "backup") }
      default: refusal(.damaged) { try rotten.store.close() }
      }
      #expect(rotten.volume.liveNames.filter { !$0.hasSuffix(".lock") } == ["db"])
    }
  }

  @Test func `a transaction that meets a changed record is refused, and so are all later ones`() throws {
    let rotten = try RottenLog(entries: 8)
    let offset = try spoil(.keyLength, 0xFF, rotten)
    // This key belongs next to the damaged record.
    refusal(.damaged) { try rotten.store.put("a key that rots", [1], in: rotten.space) }
    refusal(.poisoned) { try rotten.store.put("elsewhere", [1], in: rotten.space) }
    try rotten.volume.corrupt("db", at: offset, xor: 0xFF)
    refusal(.poisoned) { try rotten.store.put("elsewhere", [1], in: rotten.space) }
    rotten.readAll("after the refusal")
    try rotten.store.close()
  }

  @Test func `a file changed through another descriptor is read without a trap`() throws {
    let directory = try StoreDirectory()
    let path = directory.store
    var options = Store.Options()
    // A cache would hold copies of the log and hide the damage.
    options.reading = .mapped
    options.checkpointsInBackground = false
    options.compaction = .manual
    let store = try Store.open(at: path, options: options)
    let space = try store.keyspace("s")
    try store.checkpoint()
    let start = try store.statistics().logEnd
    for number in 0..<200 { try store.put("number \(number)", [UInt8](repeating: 7, count: 50), in: space) }
    let end = try store.statistics().logEnd
    let device = try FileVolume().open(path, .readWrite)
    defer { device.close() }
    let noise = [UInt8](repeating: 0x80, count: 512)
    for offset in stride(from: start, to: end - 512, by: 512) {
      try noise.withUnsafeBytes { try device.write($0, at: offset) }
      for number in 0..<200 where Int(offset) % 3 == number % 3 {
        do {
          #expect(try store.get("number \(number)", in: space) == [UInt8](repeating: 7, count: 50))
        } catch { #expect(error.storeCode == .damaged) }
      }
      refusal(.damaged) { try store.forEach(in: space) { _, _ in true } }
    }
    #expect(try store.verify().faults.isEmpty == false)
    refusal(.damaged) { try store.close() }
  }

  /// Its records are then read from the file before the transaction ends.
  @Test func `a transaction notices changed bytes of operations that it has already written`() throws {
    let volume = SimulatedVolume(seed: 25)
    var options = Store.Options()
    options.reading = .mapped
    options.compaction = .manual
    options.checkpointsInBackground = false
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    let (short, long) = ([UInt8](repeating: 0xA5, count: 100), [UInt8](repeating: 0x5A, count: 9000))
    func offset(of bytes: [UInt8]) throws -> Int {
      let file = try volume.liveBytes(of: "db")
      return try #require(file.firstRange(of: bytes)).lowerBound
    }
    try store.write { transaction in
      try transaction.put("long", long, in: space)
      try transaction.put("short", short, in: space)
      let start = store.engine.file.writer.tail
      var count = 0
      while store.engine.file.writer.tail == start {
        count += 1
        try transaction.put("filler \(count)", [UInt8](repeating: 1, count: 200_000), in: space)
      }
      for (key, value) in [("short", short), ("long", long)] {
        let changed = try offset(of: value) + value.count / 2
        try volume.corrupt("db", at: changed, xor: 1)
        refusal(.damaged) { _ = try transaction.get(key, in: space) }
        refusal(.damaged) { try transaction.forEach(in: space) { _, _ in true } }
        try volume.corrupt("db", at: changed, xor: 1)
        #expect(try transaction.get(key, in: space) == value)
      }
    }
    #expect(try store.get("long", in: space) == long)
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
