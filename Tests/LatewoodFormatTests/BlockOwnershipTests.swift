import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile
@testable import LatewoodStore
@testable import LatewoodTree

/// Files with valid checksums in which an entry refers to bytes that belong to something else. When
/// the entry is overwritten, these bytes are not released to the file system.
@Suite struct BlockOwnershipTests {
  /// The bytes that the entry refers to.
  enum Claim: CaseIterable {
    case header, slots, headerAndFrames, beforeTheFrames
    case itsOwnLeaf, acrossALeaf, wholeFile
    case sameValue, partOfAValue, aroundAValue
    case logToReplay, frameOfTheCheckpoint
    case nextBytes, farBehind, acrossTheEnd
    case twoGigabytes, beyondEveryFile, aroundTheEndOfNumbers

    func extent(in surgery: FileSurgery) throws -> FileSurgery.Extent {
      let root = try surgery.root().reference
      let size = UInt64(surgery.bytes.count)
      let checkpoint = try #require(surgery.frames(.checkpoint).last).ownOffset
      var other = try surgery.extent(of: "other")
      switch self {
      case .header: return .init(offset: 0, length: 4096)
      case .slots: return .init(offset: 8192, length: 8192)
      case .headerAndFrames: return .init(offset: 100, length: 40_000)
      case .beforeTheFrames: return .init(offset: 16383, length: 10_000)
      case .itsOwnLeaf: return .init(offset: root.offset, length: UInt64(root.length))
      case .acrossALeaf: return .init(offset: root.offset - 700, length: UInt64(root.length) + 1000)
      case .wholeFile: return .init(offset: 16384, length: size - 16384)
      case .sameValue: return other
      case .partOfAValue: return .init(offset: other.offset + 300, length: 1900)
      case .aroundAValue:
        other.offset -= 1000
        other.length += 3000
        return other
      case .logToReplay: return .init(offset: checkpoint + 300, length: 4000)
      case .frameOfTheCheckpoint: return .init(offset: checkpoint - 1000, length: 3000)
      case .nextBytes: return .init(offset: size, length: 30_000)
      case .farBehind: return .init(offset: 300_000, length: 200_000)
      case .acrossTheEnd: return .init(offset: size - 3000, length: 500_000)
      case .twoGigabytes: return .init(offset: 16384, length: 1 << 31)
      case .beyondEveryFile: return .init(offset: 1 << 50, length: 1 << 20)
      case .aroundTheEndOfNumbers: return .init(offset: UInt64.max - 100, length: 1 << 20)
      }
    }
  }

  private static let options = {
    var options = Store.Options()
    options.durability = .synchronous
    options.checkpointsInBackground = false
    options.nodeSize = 1024
    options.inlineValueLimit = 256
    options.punchingThreshold = 1
    options.compaction = .manual
    return options
  }()

  private static func open(_ volume: SimulatedVolume, punches: Bool = true) throws -> Store {
    var options = options
    options.punchesHoles = punches
    return try Store.open(at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  private static func value(_ byte: UInt8, _ length: Int) -> [UInt8] {
    (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) ^ byte }
  }

  /// A file as a crash leaves it: a root that is a leaf, and commits after its checkpoint.
  private static func file() throws -> (surgery: FileSurgery, content: [String: [UInt8]]) {
    let volume = SimulatedVolume()
    let store = try open(volume)
    let keyspace = try store.keyspace("a")
    var content: [String: [UInt8]] = ["zz": value(0, 60)]
    for (number, key) in ["evil", "other", "third", "fourth", "fifth"].enumerated() {
      content[key] = value(UInt8(number), 2500)
    }
    try store.write { transaction in
      for (key, value) in content { try transaction.put(key, value, in: keyspace) }
    }
    try store.checkpoint()
    try store.write { transaction in
      for number in 0..<3 { try transaction.put("late\(number)", value(9, 2500), in: keyspace) }
    }
    for number in 0..<3 { content["late\(number)"] = value(9, 2500) }
    return (try FileSurgery(volume.liveBytes(of: "db")), content)
  }

  /// The keys whose values differ from `content`.
  private static func wrong(_ content: [String: [UInt8]], _ store: Store) throws -> [String] {
    let keyspace = try store.keyspace("a")
    return try content.keys.sorted().filter { try store.get($0, in: keyspace) != content[$0] }
  }

  @Test(arguments: Claim.allCases, [1, 2])
  func `overwriting an entry that refers to foreign bytes frees nothing else`(_ claim: Claim, _ sessions: Int)
    throws
  {
    var (surgery, content) = try Self.file()
    try surgery.redirect("evil", to: claim.extent(in: surgery), decoy: "zz")
    // The decoy's value holds the new cell now.
    content["zz"] = nil
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "db")
    var store = try Self.open(volume)
    var keyspace = try store.keyspace("a")
    func put(_ keys: Range<Int>, _ byte: UInt8) throws {
      for part in stride(from: keys.lowerBound, to: keys.upperBound, by: 100) {
        try store.write { transaction in
          for number in part..<min(part + 100, keys.upperBound) {
            let bytes = Self.value(byte, number % 10 == 0 ? 2000 : 150)
            content["key \(10_000 + number)"] = bytes
            try transaction.put("key \(10_000 + number)", bytes, in: keyspace)
          }
        }
      }
      try store.checkpoint()
    }
    try put(0..<1500, 1)
    if sessions > 1 {
      try store.close()
      store = try Self.open(volume)
      keyspace = try store.keyspace("a")
    }
    try store.write { transaction in try transaction.put("evil", [1], in: keyspace) }
    content["evil"] = [1]
    try store.checkpoint()
    try put(1000..<1200, 2)
    try put(1100..<1700, 3)
    var wrong = try Self.wrong(content, store)
    #expect(wrong == [])
    // The state that another process would find.
    let other = SimulatedVolume()
    try other.place(volume.liveBytes(of: "db"), at: "db")
    let found = try Self.open(other)
    wrong = try Self.wrong(content, found)
    #expect(wrong == [])
    #expect(try found.verify().faults == [])
    try store.close()
    try found.close()
  }

  @Test func `two entries that share a value can be overwritten one after the other`() throws {
    var (surgery, content) = try Self.file()
    try surgery.redirect("evil", to: surgery.extent(of: "other"), decoy: "zz")
    content["zz"] = nil
    content["evil"] = content["other"]
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "db")
    let store = try Self.open(volume)
    let keyspace = try store.keyspace("a")
    for (step, key) in ["late0", "evil", "late1", "other", "late2", "third"].enumerated() {
      try store.put(key, [UInt8(step)], in: keyspace)
      content[key] = [UInt8(step)]
      try store.checkpoint()
      let wrong = try Self.wrong(content, store)
      #expect(wrong == [], "\(key)")
    }
    #expect(try store.verify().faults == [])
    // Neither the value with two references nor any other is kept forever.
    let statistics = try store.statistics()
    #expect(statistics.punchedBytes > 4096)
    #expect(statistics.punchingFailure == nil)
  }

  @Test func `a node that is in the tree twice stays until its last reference is gone`() throws {
    let volume = SimulatedVolume()
    let first = try Self.open(volume, punches: false)
    let keyspace = try first.keyspace("a")
    try first.write { transaction in
      for number in 0..<400 {
        try transaction.put("key \(1000 + number)", Self.value(1, 100), in: keyspace)
      }
    }
    try first.checkpoint()
    try first.close()
    var surgery = try FileSurgery(volume.liveBytes(of: "db"))
    _ = try surgery.changeRoot { node in
      let children = node + NodeLayout.arrays
      (children + NodeLayout.childLength).copyMemory(from: children, byteCount: NodeLayout.childLength)
    }
    let hostile = SimulatedVolume()
    try hostile.place(surgery.bytes, at: "db")
    let store = try Self.open(hostile)
    let space = try store.keyspace("a")
    for round in 0..<4 {
      try store.put("key 1000", [UInt8(round)], in: space)
      try store.put("key 1399", [UInt8(round)], in: space)
      try store.checkpoint()
      // The wrong order of its keys stays, and so does the node itself.
      let damage = try store.verify().faults.map(\.what).filter { $0.contains("checksum") }
      #expect(damage == [])
      #expect(try store.get("key 1000", in: space) == [UInt8(round)])
    }
  }

  @Test func `a sound file from another process is freed block by block`() throws {
    var (surgery, content) = try Self.file()
    surgery.append([])
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "db")
    let store = try Self.open(volume)
    let keyspace = try store.keyspace("a")
    for round in 0..<5 {
      for key in content.keys { content[key] = Self.value(UInt8(round), 2500) }
      try store.write { transaction in
        for (key, value) in content { try transaction.put(key, value, in: keyspace) }
      }
      try store.checkpoint()
    }
    let statistics = try store.statistics()
    #expect(statistics.allocatedSize <= statistics.liveBytes + 16384 + 40 * 512)
    let wrong = try Self.wrong(content, store)
    #expect(wrong == [])
    #expect(try store.verify().faults == [])
  }

  @Test(arguments: [UInt64(16 << 20), UInt64.max - 2499])
  func `a value beyond the end of the file is a fault, even if its end overflows`(
    _ offset: UInt64
  ) throws {
    var surgery = try Self.file().surgery
    var extent = try surgery.extent(of: "evil")
    // The end of the second one has no number.
    extent.offset = offset
    try surgery.redirect("evil", to: extent, decoy: "zz")
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "db")
    let store = try Self.open(volume)
    let faults = try store.verify().faults
    #expect(faults.map(\.what) == ["a value's extent does not lie within the file"])
    #expect(faults.map(\.offset) == [offset])
    volume.kill(process: 1)
  }
}
