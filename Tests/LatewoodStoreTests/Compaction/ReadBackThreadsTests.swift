import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import Synchronization
import Testing

@testable import LatewoodStore
@testable import LatewoodTree

/// A file that is read back while it is written, by a separate thread, and at the end by two
/// threads.
@Suite struct ReadBackThreadsTests {
  private let volume = SimulatedVolume(seed: 13)
  private let file: DatabaseFile
  private let back: ReadBack

  init() throws {
    try DatabaseFile.create(on: volume, path: "db", environment: .system)
    file = try DatabaseFile.open(on: volume, path: "db", readOnly: false, environment: .system)
    _ = try file.recover { (_, _, _) throws(StorageError) in }
    back = ReadBack(file)
  }

  /// Writes a tree of some regions, as a compaction does. Returns its root.
  private func writeTree(_ didPlace: @escaping (Range<UInt64>) throws(StorageError) -> Void)
    throws(StorageError)
    -> Subtree?
  {
    let file = file
    let sink = RegionWriter(
      codec: file.header.codec, capacity: 1 << 16,
      reserve: { (length) throws(StorageError) in try file.writer.reserveNodes(length: length) },
      write: { (bytes, offset) throws(StorageError) in try file.writeNodes(bytes, at: offset) },
      didPlace: { (region) throws(StorageError) in
        try file.flush(through: file.completedThrough, durable: false)
        try didPlace(region)
      })
    let builder = TreeBuilder(
      sink: sink, source: NodeLoader(file: file.view), nodeSize: 1024, transaction: 1)
    let keys = (0..<1200).flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
    let value = [UInt8](repeating: 1, count: 200)
    let root = try keys.withStart { (keys, count) throws(StorageError) in
      try value.withStart { (value, length) throws(StorageError) in
        for start in stride(from: 0, to: count, by: 8) {
          try builder.append(PrefixedKey(keys + start, 8), inline: value, length)
        }
        return try builder.finish()
      }
    }
    try file.syncNodes()
    return root
  }

  private func regions() throws -> (root: Subtree, regions: [Range<UInt64>]) {
    var regions: [Range<UInt64>] = []
    let root = try writeTree { regions.append($0) }
    // No more than `add` takes without waiting for a separate thread that a test holds up.
    #expect((4...5).contains(regions.count))
    return (try #require(root), regions)
  }

  private func finish(_ root: Subtree?, step: () -> Void = {}) -> StorageError? {
    do throws(StorageError) {
      return try back.finish(root) { () throws(StorageError) in step() }
        ? nil : StorageError(.unsupported, "not read")
    } catch {
      return error
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `the results of two threads are combined in file order, when both are done`() throws {
    let (root, regions) = try regions()
    let steps = Atomic<Int>(0)
    let hasBegun = Atomic<Bool>(false)
    let finishing = Monitor.currentThread
    volume.beforeAccess = { access in
      guard access.kind == .readFromDisk, Monitor.currentThread != finishing else { return }
      hasBegun.store(true, ordering: .relaxed)
      // The other thread overtakes this one, and finishes long before it.
      Patience.wait { steps.load(ordering: .relaxed) > 0 }
      Monitor.sleep(milliseconds: 50)
    }
    back.start()
    for region in regions { try back.add(region) }
    Patience.wait { hasBegun.load(ordering: .relaxed) }
    #expect(finish(root) { steps.wrappingAdd(1, ordering: .relaxed) } == nil)
    let count = steps.load(ordering: .relaxed)
    #expect(count > 0)
    back.stop()
    file.close()
  }

  @Test func `a tree is not proved by nodes read under another root`() throws {
    let (root, regions) = try regions()
    for region in regions { try back.add(region) }
    var other = root
    other.reference.checksum ^= 1
    #expect(finish(other)?.kind == .damaged)
    #expect(finish(nil)?.kind == .damaged)
    #expect(finish(root) == nil)
    file.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `damage is reported as soon as the next region is added`() throws {
    let (_, regions) = try regions()
    try volume.corrupt("db", at: Int(regions[0].lowerBound) + 100, xor: 1)
    back.start()
    try back.add(regions[0])
    var told: StorageError?
    Patience.wait {
      do throws(StorageError) { try back.add(regions[1]) } catch { told = error }
      return told != nil
    }
    #expect(told?.kind == .damaged)
    back.stop()
    file.close()
  }

  @Test func `a block is read only once no more will be written to it`() throws {
    let (volume, back) = (volume, back)
    let reads = Atomic<Int>(0)
    volume.beforeAccess = { if $0.kind == .readFromDisk { reads.wrappingAdd(1, ordering: .relaxed) } }
    back.start()
    var isFirst = true
    let root = try writeTree { (region) throws(StorageError) in
      try back.add(region)
      guard isFirst else { return }
      isFirst = false
      #expect(region.upperBound % UInt64(directAlignment) != 0)
      Monitor.sleep(milliseconds: 50)
      let early = reads.load(ordering: .relaxed)
      #expect(early == 0)
    }
    #expect(finish(root) == nil)
    let all = reads.load(ordering: .relaxed)
    #expect(all > 0)
    back.stop()
    file.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `no more is read after a stop`() throws {
    let (_, regions) = try regions()
    let isReading = Atomic<Bool>(false)
    let hasRead = Atomic<Bool>(false)
    volume.beforeAccess = { _ in
      isReading.store(true, ordering: .relaxed)
      Monitor.sleep(milliseconds: 50)
      hasRead.store(true, ordering: .relaxed)
    }
    back.start()
    for region in regions.prefix(2) { try back.add(region) }
    Patience.wait { isReading.load(ordering: .relaxed) }
    back.stop()
    let isDone = hasRead.load(ordering: .relaxed)
    #expect(isDone)
    file.close()
  }
}
