import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// The file after a failed sync or write and the end of the process, opened by another process with
/// the same cache.
@Suite struct FailedSyncTests {
  private static let path = "db"
  private let volume = SimulatedVolume(seed: 5)

  private static func options() -> Store.Options {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    return options
  }

  private static func open(_ volume: any Volume) throws -> Store {
    try Store.open(
      at: path, on: volume, mode: .openOrCreate, options: options(), environment: .system)
  }

  /// A store of process 1 with one durable entry.
  private func filled() throws -> (Store, Keyspace) {
    let store = try Self.open(volume.process(1))
    let space = try store.keyspace("a")
    try store.put("kept", [UInt8](repeating: 1, count: 3000), in: space)
    return (store, space)
  }

  /// A store of process 2, after the end of process 1.
  private func reopened() throws -> (Store, Keyspace) {
    volume.kill(process: 1)
    let store = try Self.open(volume.process(2))
    return (store, try #require(try store.existingKeyspace("a")))
  }

  @Test(arguments: [false, true])
  func `cached bytes of a failed sync are not built upon, dropped or not`(_ isPinned: Bool) throws {
    let (store, space) = try filled()
    volume.pinsCache = isPinned
    volume.inject(.inputOutput(), atCall: volume.callCount + 1)
    refusal(.inputOutput) { try store.put("lost", [UInt8](repeating: 2, count: 3000), in: space) }
    refusal(.poisoned) { try store.put("later", "1", in: space) }
    let (again, there) = try reopened()
    // Without the cache there are zeros, as in preallocated space.
    #expect((again.recovery.tornTail != nil) == isPinned)
    #expect(try again.get("lost", in: there) == nil)
    try again.put("next", [UInt8](repeating: 3, count: 3000), in: there)
    // After a power cut only the disk counts.
    let disk = SimulatedVolume(seed: 1)
    try disk.place(volume.durableBytes(of: Self.path), at: Self.path)
    let last = try Self.open(disk.process(1))
    let found = try #require(try last.existingKeyspace("a"))
    #expect(try last.entries(in: found).map { String(decoding: $0.key, as: UTF8.self) } == ["kept", "next"])
    #expect(try last.verify().faults == [])
    try last.close()
  }

  /// When the sync fails, either the commit has reached the disk but the zeros written ahead have
  /// not, or only the start of the commit has, followed by zeros both in the cache and on the disk.
  @Test(arguments: [true, false], [(4096, 7), (1024, 0)])
  func `commits acknowledged after a failed sync are on the disk`(
    _ canPunch: Bool, _ fault: (reached: Int, byte: UInt8)
  ) throws {
    // Enough puts for space to be reserved, written ahead and used up.
    let puts = 30
    for call in 0... {
      let volume = SimulatedVolume(seed: UInt64(call))
      volume.pinsCache = true
      volume.supportsPunching = canPunch
      var kept = 0
      var durable: [UInt8] = []
      func put(_ count: Int, _ process: Int) throws {
        let store = try Self.open(volume.process(process))
        let space = try store.keyspace("a")
        for number in kept..<kept + count {
          try store.put("key \(number)", [UInt8](repeating: fault.byte, count: 2500), in: space)
          kept = number + 1
        }
        // Before it is closed, which would merge the log into a tree.
        durable = try volume.durableBytes(of: Self.path)
      }
      volume.inject(.inputOutput(after: fault.reached), atCall: call)
      do { try put(puts, 1) } catch is StoreError {}
      let isOver = volume.callCount <= call
      volume.kill(process: 1)
      volume.clearFaults()
      try put(puts, 2)
      // After a power cut only the disk counts.
      let disk = SimulatedVolume(seed: 1)
      try disk.place(durable, at: Self.path)
      let last = try Self.open(disk.process(1))
      let found = try #require(try last.existingKeyspace("a"))
      for number in 0..<kept {
        let value = try last.get("key \(number)", in: found)
        #expect(value?.last == fault.byte, "key \(number) of \(kept), after a fault of call \(call)")
      }
      #expect(try last.verify().faults == [])
      try last.close()
      if isOver { break }
    }
  }

  @Test func `a sync that fails for lack of space ends all writing, and is not a full-disk error`() throws {
    let (store, space) = try filled()
    volume.inject(.outOfSpace(), atCall: volume.callCount + 1)
    refusal(.inputOutput) { try store.put("lost", "1", in: space) }
    refusal(.poisoned) { try store.put("later", "1", in: space) }
    let (again, there) = try reopened()
    #expect(try again.count(in: there) == 1)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `a file with a torn tail on a full disk can be read, and written once there is space`() throws {
    let (store, space) = try filled()
    volume.inject(.inputOutput(after: 700), atCall: volume.callCount)
    refusal(.inputOutput) { try store.put("torn", [UInt8](repeating: 2, count: 3000), in: space) }
    volume.spaceLimit = try volume.liveBytes(of: Self.path).count
    let (again, there) = try reopened()
    #expect(again.recovery.tornTail != nil)
    #expect(try again.count(in: there) == 1)
    refusal(.outOfSpace) { try again.put("more", "1", in: there) }
    #expect(try again.verify().faults == [])
    volume.spaceLimit = nil
    try again.put("more", "1", in: there)
    #expect(try again.count(in: there) == 2)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `a commit refused for lack of space does not return when the process ends`() throws {
    let (store, space) = try filled()
    // The whole write arrives in the file, but is refused.
    volume.inject(.outOfSpace(after: 1 << 20), atCall: volume.callCount)
    refusal(.outOfSpace) { try store.put("refused", [UInt8](repeating: 2, count: 3000), in: space) }
    let (again, there) = try reopened()
    #expect(try again.get("refused", in: there) == nil)
    #expect(try again.count(in: there) == 1)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `without uncached reads, the cached bytes of a failed sync are dropped`() throws {
    volume.supportsReadsFromDisk = false
    let (store, space) = try filled()
    volume.inject(.inputOutput(), atCall: volume.callCount + 1)
    refusal(.inputOutput) { try store.put("lost", [UInt8](repeating: 2, count: 3000), in: space) }
    let (again, there) = try reopened()
    #expect(try again.get("lost", in: there) == nil)
    #expect(try again.count(in: there) == 1)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  /// The next slot would overwrite the only slot on the disk.
  @Test(arguments: [true, false])
  func `a root slot that a failed sync left in the cache is not used`(_ readsPastCache: Bool) throws {
    /// Refuses a commit for lack of space, so that the checkpoint before the next one syncs its
    /// slot.
    func refuse(on volume: SimulatedVolume) throws -> (Store, Keyspace) {
      volume.supportsReadsFromDisk = readsPastCache
      let store = try Self.open(volume.process(1))
      let space = try store.keyspace("a")
      try store.put("kept", "1", in: space)
      volume.inject(.outOfSpace(), atCall: volume.callCount)
      refusal(.outOfSpace) { try store.put("refused", "1", in: space) }
      return (store, space)
    }
    let twin = SimulatedVolume(seed: 5)
    let (sound, fruit) = try refuse(on: twin)
    let before = twin.callCount
    try sound.put("later", "1", in: fruit)
    let calls = twin.trace.dropFirst(before)
    let slot = try #require(calls.first { $0.kind == .write && $0.offset < 16384 })
    let sync = try #require(calls.first { $0.kind == .sync && $0.number > slot.number })
    let (store, space) = try refuse(on: volume)
    volume.inject(.inputOutput(), atCall: sync.number)
    refusal(.inputOutput) { try store.put("later", "1", in: space) }
    let (again, there) = try reopened()
    #expect(again.recovery.checkpointTransaction == 0)
    #expect(try again.count(in: there) == 1)
    try again.put("last", "1", in: there)
    #expect(try again.verify().faults == [])
    try again.close()
    try sound.close()
  }

  @Test func `a file whose creator ended before its name was durable is made durable on opening`() throws {
    let twin = SimulatedVolume(seed: 5)
    try Self.open(twin).close()
    let call = try #require(twin.trace.first { $0.kind == .syncDirectory })
    volume.inject(.inputOutput(), atCall: call.number)
    refusal(.inputOutput) { _ = try Self.open(volume.process(1)) }
    try #require(volume.liveNames == [Self.path])
    volume.kill(process: 1)
    let store = try Self.open(volume.process(2))
    try store.put("kept", "1", in: store.keyspace("a"))
    volume.kill(process: 2)
    for image in volume.crashImages(random: 4) {
      #expect(try image.makeVolume().liveNames == [Self.path], "\(image)")
    }
  }
}
