import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// A compaction on a disk that silently loses a write.
@Suite struct ReadBackTests {
  /// The way in which the new file is read back.
  enum Way: CaseIterable {
    /// Past the cache, following the thread that writes the file.
    case behind
    /// Without reads past the cache: everything at the end.
    case atTheEnd
    /// After so many commits during the compaction that the tree is no longer the copied one.
    case withCheckpoints
  }

  private let volume = SimulatedVolume(seed: 3)
  private var options = Store.Options()

  init() {
    options.compaction = .manual
    options.durability = .relaxed
    options.writeBufferBudget = 65_536
    options.nodeSize = 1024
  }

  private func filledStore(_ way: Way) throws -> (Store, Keyspace) {
    volume.supportsReadsFromDisk = way != .atTheEnd
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    let fruit = try store.keyspace("fruit")
    try store.write { transaction in
      for number in 0..<6000 {
        let length = number % 2000 == 0 ? 5000 : number == 1001 ? 1_200_000 : 200
        try transaction.put(
          "key \(number)", [UInt8](repeating: UInt8(number % 251) | 1, count: length), in: fruit)
      }
    }
    try store.checkpoint()
    return (store, fruit)
  }

  private func compact(_ store: Store, _ fruit: Keyspace, _ way: Way) throws {
    var isFirst = true
    try store.compact { _ in
      guard isFirst, way == .withCheckpoints else { return }
      isFirst = false
      do {
        for number in 0..<150 { try store.put("key \(number)", [UInt8](repeating: 7, count: 900), in: fruit) }
      } catch { Issue.record(error) }
    }
  }

  /// Checks the content that a power cut would leave.
  private func checkDisk(_ content: [String: [[UInt8]: [UInt8]]], _ comment: Comment) throws {
    let disk = SimulatedVolume()
    try disk.place(volume.durableBytes(of: "db"), at: "db")
    let store = try Store.open(at: "db", on: disk, mode: .readOnly, options: options, environment: .system)
    #expect(try store.content() == content, comment)
    #expect(try store.verify().isSound, comment)
    try store.close()
  }

  @Test(arguments: Way.allCases)
  func `a write that reached only the cache fails the compaction, and the old file stays`(_ way: Way) throws {
    let (store, fruit) = try filledStore(way)
    if way == .withCheckpoints { try compact(store, fruit, way) }
    let content = try store.content()
    let stride = way == .withCheckpoints ? Effort.count(9, low: 18) : Effort.count(1, low: 3)
    var (refused, call) = (0, 0)
    while true {
      let first = volume.callCount
      volume.inject(.lost, atCall: first + call)
      let succeeded: Bool
      do {
        try compact(store, fruit, way)
        succeeded = true
      } catch {
        succeeded = false
        refused += 1
        #expect(error.storeCode == .damaged, "\(error)")
      }
      volume.clearFaults()
      #expect(try store.content() == content)
      #expect(volume.liveNames == ["db"])
      let calls = volume.trace.dropFirst(first)
      guard let lost = calls.first(where: { $0.fault == .lost }) else { break }
      if succeeded {
        // The lost bytes were written again, or the new file does not need them.
        let isOfNewFile = lost.kind == .write && lost.path.hasPrefix("db.compacting")
        #expect(!isOfNewFile || lost.length < 4096 || lost.offset < 16384, "\(lost)")
        try store.sync()
        if isOfNewFile { try checkDisk(content, "\(lost)") }
        // A commit that exists only in the cache does not concern the compaction: begin again with
        // an intact file.
        if lost.path == "db" { try compact(store, fruit, way) }
      }
      call += stride
    }
    print("ReadBackTests: \(way), \(refused) of \(call) calls refused")
    // With commits during the compaction, at most every ninth call is tried, and most of those
    // calls do not concern the new file.
    #expect(refused >= (way == .withCheckpoints ? 1 : 10 / stride))
    #expect(try store.verify().isSound)
    try store.close()
  }

  @Test func `failing reads fail the compaction`() throws {
    let (store, fruit) = try filledStore(.behind)
    let content = try store.content()
    var failures = 0
    for read in 0..<4 {
      // A single failing read may be one of the read-ahead thread, which ignores it.
      let first = volume.readCount + read
      for number in first..<first + 16 { volume.failRead(number) }
      do { try compact(store, fruit, .behind) } catch {
        #expect(error.storeCode == .inputOutput, "\(error)")
        failures += 1
      }
      volume.clearFaults()
      #expect(try store.content() == content)
    }
    #expect(failures == 4)
    try store.close()
  }

  /// Without nodes to read back, the lack of reads past the cache has not been noticed yet.
  @Test func `commits that reached only the cache fail the compaction of an empty store`() throws {
    func compact(on volume: SimulatedVolume) throws -> [String: [[UInt8]: [UInt8]]] {
      volume.supportsReadsFromDisk = false
      let store = try Store.open(
        at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
      var isFirst = true
      let result = Result {
        try store.compact { _ in
          guard isFirst else { return }
          isFirst = false
          do {
            try store.put("key", [UInt8](repeating: 1, count: 9000), in: store.keyspace("fruit"))
          } catch { Issue.record(error) }
        }
      }
      let content = try store.content()
      try store.close()
      _ = try result.get()
      return content
    }
    let content = try compact(on: volume)
    let writes = volume.trace.filter {
      $0.kind == .write && $0.path == "db.compacting" && $0.offset >= 16384 && $0.length >= 4096
    }
    var refused = 0
    for write in writes {
      let volume = SimulatedVolume(seed: 3)
      volume.inject(.lost, atCall: write.number)
      do {
        #expect(try compact(on: volume) == content, "\(write)")
      } catch {
        #expect(error.storeCode == .damaged, "\(error)")
        refused += 1
      }
    }
    #expect(refused > 0, "\(writes)")
  }
}
