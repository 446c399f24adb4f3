import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Blocks that the disk cannot read cause errors only for the entries in them.
@Suite struct UnreadableMediaTests {
  private static let count = 3000
  private let volume = SimulatedVolume(seed: 22)

  private func options(_ reading: Store.Reading) -> Store.Options {
    var options = Store.Options()
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.punchesHoles = false
    options.reading = reading
    return options
  }

  private func value(_ number: Int) -> [UInt8] {
    Array("<\(number)>".utf8) + [UInt8](repeating: UInt8(number % 200), count: number % 10 == 4 ? 900 : 60)
  }

  private func open(_ reading: Store.Reading) throws -> Store {
    try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options(reading), environment: .system)
  }

  /// Creates and closes a database, and returns the offset of an entry's value.
  private func make(_ number: Int) throws -> UInt64 {
    let store = try open(.mapped)
    let space = try store.keyspace("s")
    try store.write { transaction in
      for number in 0..<Self.count { try transaction.put("key \(number)", value(number), in: space) }
    }
    try store.close()
    let (bytes, wanted) = (try volume.liveBytes(of: "db"), value(number))
    var at = bytes.count - wanted.count
    while bytes[at] != wanted[0] || !bytes[at..<at + wanted.count].elementsEqual(wanted) { at -= 1 }
    return UInt64(at)
  }

  /// The value of 1233 is in a leaf; the value of 1234 is at the offset to which the commit wrote
  /// it.
  @Test(arguments: [1233, 1234], [Store.Reading.mapped, .buffered(cacheBytes: 1 << 20)])
  func `an unreadable block is an error only for its own entries`(
    _ number: Int, _ reading: Store.Reading
  ) throws {
    let offset = try make(number)
    let block = offset & ~511..<(offset & ~511) + 512
    // Made unreadable before the store is opened, because opening may read the block although it
    // does not need it.
    volume.makeUnreadable("db", block)
    let store = try open(reading)
    let space = try store.keyspace("s")
    for _ in 0..<2 {
      let error = refusal(.inputOutput) { _ = try store.get("key \(number)", in: space) }
      #expect(error?.offset.map { block.contains($0) } == true)
    }
    refusal(.inputOutput) { try store.forEach(in: space) { _, _ in true } }
    refusal(.inputOutput) { try store.compact() }
    refusal(.inputOutput) { try store.copy(to: "copy") }
    refusal(.inputOutput) { try store.backup(to: "backup") }
    #expect(volume.liveNames.filter { !$0.hasSuffix(".lock") } == ["db"])
    let report = try store.verify()
    #expect(report.faults.contains { block.contains($0.offset) })
    // Other entries can be read, written and checkpointed.
    #expect(try store.get("key 7", in: space) == value(7))
    try store.put("other", "1", in: space)
    try store.checkpoint()
    #expect(try store.get("other", in: space) == Array("1".utf8))
    volume.makeAllReadable()
    #expect(try store.get("key \(number)", in: space) == value(number))
    #expect(try store.verify().faults == [])
    try store.compact()
    #expect(try store.count(in: space) == Self.count + 1)
    try store.close()
  }

  @Test func `one call makes a window readable, unless one of its blocks is unreadable`() throws {
    let offset = try make(1234)
    // The values of every tenth entry are outside of leaves, where commits wrote them.
    let numbers = Array(stride(from: 4, to: Self.count, by: 10))
    for isBroken in [false, true] {
      if isBroken { volume.makeUnreadable("db", offset & ~511..<(offset & ~511) + 512) }
      let store = try open(.mapped)
      let space = try store.keyspace("s")
      let windows = Int(try store.statistics().logEnd / AddressSpace.windowLength)
      #expect(windows > 4)
      // The nodes lie behind the values, in separate windows.
      for number in 0..<Self.count where number % 10 != 4 {
        _ = try store.contains("key \(number)", in: space)
      }
      let before = volume.populatingCount
      var readAlone = 0
      for number in numbers {
        do {
          #expect(try store.get("key \(number)", in: space) == value(number))
        } catch {
          #expect(isBroken && error.storeCode == .inputOutput)
          readAlone += 1
        }
      }
      let calls = volume.populatingCount - before
      #expect(calls > 1)
      if isBroken {
        #expect((1...2).contains(readAlone))
        // 64 KiB hold at most this number of values.
        #expect(calls <= windows + 1 + 2 * 64, "\(calls) calls")
      } else {
        #expect(calls <= windows + 1, "\(calls) calls")
      }
      let again = volume.populatingCount
      for number in numbers where number % 100 == 4 {
        do { _ = try store.get("key \(number)", in: space) } catch {}
      }
      #expect(volume.populatingCount - again <= 2)
      try store.close()
    }
  }

  @Test(arguments: [Store.Reading.mapped, .buffered(cacheBytes: 1 << 20)])
  func `an unreadable log is not mistaken for one that ends`(_ reading: Store.Reading) throws {
    let store = try open(reading)
    let space = try store.keyspace("s")
    for number in 0..<50 { try store.put("key \(number)", value(number), in: space) }
    let image = try volume.durableBytes(of: "db")
    let disk = SimulatedVolume(seed: 1)
    try disk.place(image, at: "db")
    let end = try store.statistics().logEnd
    for offset in stride(from: FileLayout.logStart, to: end, by: 509) {
      let block = offset & ~511..<(offset & ~511) + 512
      disk.makeUnreadable("db", block)
      for mode in [Store.OpenMode.openExisting, .readOnly] {
        let error = refusal(.inputOutput) {
          _ = try Store.open(at: "db", on: disk, mode: mode, options: options(reading), environment: .system)
        }
        #expect(error?.offset.map { block.contains($0) } == true)
      }
      disk.makeAllReadable()
    }
    let again = try Store.open(
      at: "db", on: disk, mode: .openExisting, options: options(reading), environment: .system)
    #expect(try again.count(in: again.keyspace("s")) == 50)
    try again.close()
    try store.close()
  }
}
