import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Read-only stores next to a store that writes the same file of the real file system.
@Suite struct ReaderTests {
  private let directory: StoreDirectory
  private let options: Store.Options

  init() throws {
    directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = .relaxed
    options.writeBufferBudget = 65_536
    options.nodeSize = 1024
    self.options = options
  }

  @Test func `a reader sees commits and checkpoints when it refreshes, and not before`() throws {
    var options = options
    options.checkpointsInBackground = false
    let writer = try Store.open(at: directory.store, options: options)
    let space = try writer.keyspace("a")
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let seen = try reader.keyspace("a")
    for round in 0..<20 {
      try writer.write { for index in 0..<50 { try $0.put("\(round).\(index)", "v", in: space) } }
      if round % 3 == 1 { try writer.checkpoint() }
      if round % 5 == 4 { try writer.write { try $0.deleteRange(.prefix("\(round - 1)."), in: space) } }
      let before = try reader.snapshot()
      #expect(try reader.refresh())
      #expect(try reader.refresh() == false)
      #expect(try reader.count(in: seen) == writer.count(in: space))
      #expect(try before.count(in: seen) < reader.count(in: seen) || round % 5 == 4)
      #expect(reader.recovery.tornTail == nil)
    }
    #expect(try reader.verify().faults == [])
    #expect(try reader.history() == writer.history())
    try writer.close()
    try reader.refresh()
    #expect(try reader.entries(in: seen).map(\.key).count == 20 * 50 - 4 * 50)
    try reader.close()
  }

  @Test(arguments: [false, true])
  func `a reader refuses the handle of a keyspace that the writer dropped`(_ withCheckpoint: Bool) throws {
    let writer = try Store.open(at: directory.store, options: options)
    try writer.put("k", "v", in: writer.keyspace("a"))
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let seen = try reader.keyspace("a")
    #expect(try reader.get("k", in: seen) == Array("v".utf8))
    try writer.dropKeyspace(writer.keyspace("a"))
    try writer.put("k", "new", in: writer.keyspace("a"))
    if withCheckpoint { try writer.checkpoint() }
    #expect(try reader.refresh())
    refusal(.noSuchKeyspace) { _ = try reader.get("k", in: seen) }
    #expect(try reader.get("k", in: reader.keyspace("a")) == Array("new".utf8))
    #expect(try reader.verify().faults == [])
    try reader.close()
    try writer.close()
  }

  @Test func `a thousand refreshes beside a writer at full speed never fail or go backward`() throws {
    let writer = try Store.open(at: directory.store, options: options)
    let space = try writer.keyspace("a")
    try writer.put("n", "0", in: space)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let isDone = Guarded(false)
    let failure = Guarded<String?>(nil)
    let group = DispatchGroup()
    DispatchQueue(label: "writer").async(group: group) {
      do {
        var round = 0
        while !isDone.withLock({ $0 }) {
          round += 1
          try writer.write { transaction in
            try transaction.put("n", "\(round)", in: space)
            try transaction.put("key\(round % 500)", [UInt8](repeating: 1, count: round % 900), in: space)
          }
        }
      } catch { failure.withLock { $0 = "\(error)" } }
    }
    defer {
      isDone.withLock { $0 = true }
      group.wait()
      #expect(failure.withLock { $0 } == nil)
    }
    var last = 0
    try Patience.wait { try writer.get("n", in: space) != Array("0".utf8) }
    for _ in 0..<1000 {
      try reader.refresh()
      let value = try #require(try reader.get("n", in: reader.keyspace("a")))
      let number = try #require(Int(String(decoding: value, as: UTF8.self)))
      #expect(number >= last)
      last = number
    }
    #expect(last > 0)
    #expect(try reader.verify().faults == [])
    print("ReaderTests: \(last) commits, \(try reader.history().count) checkpoints during 1,000 refreshes")
    try reader.close()
  }

  @Test func `a reader that is several checkpoints behind finds no fault`() throws {
    let writer = try Store.open(at: directory.store, options: options)
    let space = try writer.keyspace("a")
    try writer.put("k", "0", in: space)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    for round in 1...3 {
      try writer.put("k", "\(round)", in: space)
      try writer.checkpoint()
    }
    #expect(try reader.verify().faults == [])
    #expect(try reader.get("k", in: reader.keyspace("a")) == Array("0".utf8))
    try reader.close()
    try writer.close()
  }

  @Test func `a reader's memory does not grow with the number of refreshes`() throws {
    var options = options
    options.checkpointsInBackground = false
    let writer = try Store.open(at: directory.store, options: options)
    let space = try writer.keyspace("a")
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    for round in 0..<3000 {
      try writer.put("k\(round % 100)", "\(round)", in: space)
      try reader.refresh()
    }
    #expect(try reader.get("k99", in: reader.keyspace("a")) == Array("2999".utf8))
    let base = try Store.open(at: directory.store, mode: .readOnly).statistics().memoryBytes
    #expect(try reader.statistics().memoryBytes <= base + (2 << 20))
    try reader.close()
    try writer.close()
  }

  @Test func `a reader's snapshot does not change with refreshes`() throws {
    let writer = try Store.open(at: directory.store, options: options)
    let space = try writer.keyspace("a")
    try writer.write { for index in 0..<300 { try $0.put("k\(index)", "old", in: space) } }
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let seen = try reader.keyspace("a")
    let old = try reader.snapshot()
    let cursor = try old.cursor(in: seen)
    #expect(try cursor.next())
    for round in 0..<5 {
      try writer.write { for index in 0..<300 { try $0.put("k\(index)", "new\(round)", in: space) } }
      try writer.checkpoint()
      try reader.refresh()
    }
    #expect(try reader.get("k7", in: seen) == Array("new4".utf8))
    #expect(try Set(old.entries(in: seen).map(\.value)) == [Array("old".utf8)])
    var count = 1
    while try cursor.next() { count += 1 }
    #expect(count == 300)
    var changes = 0
    try reader.snapshot().changes(since: old, in: seen) { _ in
      changes += 1
      return true
    }
    #expect(changes == 300)
    try writer.close()
    try reader.close()
  }

  // Another encrypted file has a key of its own, so the reader has to be opened again.
  @Test(.enabled(if: Store.Options().encryptionKey == nil))
  func `a reader of a replaced file moves to the new one, and its snapshots stay in the old`() throws {
    let writer = try Store.open(at: directory.store, options: options)
    try writer.put("k", "old", in: writer.keyspace("a"))
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    try writer.close()
    try FileVolume().rename(directory.store, to: directory.store + ".old")
    let other = try Store.open(at: directory.store, options: options)
    try other.put("k", "other", in: other.keyspace("a"))
    try other.close()
    let held = try reader.snapshot()
    for _ in 0..<2 {
      try reader.refresh()
      #expect(try reader.get("k", in: reader.keyspace("a")) == Array("other".utf8))
      #expect(try held.get("k", in: reader.keyspace("a")) == Array("old".utf8))
    }
    #expect(try reader.verify().faults == [])
    try reader.close()
  }
}
