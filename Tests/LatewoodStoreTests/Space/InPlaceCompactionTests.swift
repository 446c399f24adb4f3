import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Compactions on a disk that has no space for a copy.
@Suite struct InPlaceCompactionTests {
  private static let path = "db"
  private static let entries = 600

  private static func open(_ volume: SimulatedVolume) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.nodeSize = 1024
    return try Store.open(at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  private static func key(_ number: Int) -> [UInt8] { Array("\(10_000 + number)".utf8) }

  private static func put(_ numbers: some Sequence<Int>, _ round: Int, _ length: Int, _ store: Store) throws {
    let space = try store.keyspace("a")
    try store.write(durability: .synchronous) { transaction in
      for number in numbers {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number &* 31 &+ round), count: length)
        try transaction.put(key(number), value, in: space)
      }
    }
  }

  /// Makes a store on a disk with only `room` bytes left, with fewer dead bytes than are normally
  /// given back, and with deletes that no checkpoint has merged. Also returns the contents of the
  /// store.
  private static func makeFull(room: Int) throws -> (volume: SimulatedVolume, store: Store, content: Content)
  {
    let volume = SimulatedVolume(seed: 3)
    volume.countsBlocks = true
    let store = try open(volume)
    try put(0..<entries, 0, 110, store)
    try put(stride(from: 0, to: entries, by: 50), 0, 9000, store)
    try store.checkpoint()
    try put(stride(from: 0, to: entries, by: 3), 1, 60, store)
    try put(stride(from: 0, to: entries, by: 100), 1, 9000, store)
    try store.checkpoint()
    let space = try store.keyspace("a")
    try store.write(durability: .synchronous) { transaction in
      for number in stride(from: 5, to: entries, by: 3) { try transaction.delete(key(number), in: space) }
      try transaction.deleteRange(.between(key(300), key(400)), in: space)
    }
    volume.spaceLimit = Int(try store.statistics().allocatedSize) + room
    return (volume, store, try store.content())
  }

  private static func check(_ store: Store, _ content: Content, _ label: String) throws {
    if try store.content() != content { Issue.record("other content: \(label)") }
    let space = try store.keyspace("a")
    #expect(try store.count(in: space) == content["a"]?.count ?? 0, "\(label)")
    #expect(try store.verify().faults == [], "\(label)")
  }

  @Test(arguments: [100, 4000, 100_000])
  func `a compaction without space for a copy punches dead blocks, and puts fit again`(_ room: Int) throws {
    let (volume, store, before) = try Self.makeFull(room: room)
    let report = try store.compact()
    #expect(report.isInPlace)
    #expect(report.bytesAfter + 50_000 < report.bytesBefore)
    try Self.check(store, before, "compacted")
    try Self.put(1..<2, 2, 30_000, store)
    let content = try store.content()
    try store.close()
    let again = try Self.open(volume)
    try Self.check(again, content, "again")
    try again.close()
  }

  @Test func `a compaction that can free nothing fails, and the store stays usable`() throws {
    let (volume, store, content) = try Self.makeFull(room: 0)
    volume.supportsPunching = false
    #expect { try store.compact() } throws: { ($0 as? StoreError)?.code == .outOfSpace }
    try Self.check(store, content, "refused")
    volume.spaceLimit = nil
    #expect(try !store.compact().isInPlace)
    try Self.check(store, content, "compacted")
    try store.close()
  }

  @Test func `a power cut while dead blocks are punched in place keeps every commit`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    var points = 0
    var offset = 0
    while true {
      let (volume, store, content) = try Self.makeFull(room: 100_000)
      let call = volume.callCount + offset
      offset += 1
      volume.inject(.powerCut, atCall: call)
      do { try store.compact() } catch {
        if !volume.isCrashed { Issue.record("\(error) without a cause at call \(call)") }
      }
      let isCut = volume.isCrashed
      let images = volume.crashImages(seed: random.next(), random: 8)
      for position in CrashRun.sample(images.count, 3, &random) {
        let label = "call \(call), image \(position): \(images[position]); \(random.replay)"
        do {
          let after = try images[position].makeVolume()
          let store = try Self.open(after)
          try Self.check(store, content, "opened: \(label)")
          try store.checkpoint()
          try Self.check(store, content, "checkpoint: \(label)")
          after.crash()
        } catch {
          Issue.record("\(error): \(label)")
        }
        points += 1
      }
      if !isCut { break }
    }
    print("InPlaceCompactionTests: \(points) points; seed \(seed)")
    #expect(points > 30)
  }
}
