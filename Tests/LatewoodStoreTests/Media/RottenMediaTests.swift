import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Media that decay: bytes are read, change on the disk, and are read again.
@Suite struct RottenMediaTests {
  private static let count = 3000
  private let volume = SimulatedVolume(seed: 21)
  private let store: Store
  private let space: Keyspace

  /// The location of a value: inline in a leaf, or at the offset to which the commit wrote it.
  enum Place: CaseIterable {
    case leaf, value

    /// The length of the value of entry 1234.
    var length: Int { self == .leaf ? 60 : 900 }
  }

  init() throws {
    var options = Store.Options()
    // A cache would hold copies and hide the damage.
    options.reading = .mapped
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.punchesHoles = false
    store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    space = try store.keyspace("s")
  }

  private func value(_ number: Int, _ place: Place) -> [UInt8] {
    Array("<\(number)>".utf8) + [UInt8](repeating: UInt8(number % 200), count: place.length)
  }

  /// Creates a tree and reads all of it. Returns the offset of an entry's value in the file.
  private func fill(_ place: Place) throws -> Int {
    try store.write { transaction in
      for number in 0..<Self.count {
        try transaction.put("key \(number)", value(number, place), in: space)
      }
    }
    try store.checkpoint()
    try readAll(place)
    return try #require(try offset(of: value(1234, place)))
  }

  private func readAll(_ place: Place) throws {
    for number in 0..<Self.count {
      #expect(try store.get("key \(number)", in: space) == value(number, place))
    }
  }

  /// The last offset at which the file has these bytes. An inline value is also in the log, before
  /// its leaf.
  private func offset(of wanted: [UInt8]) throws -> Int? {
    let bytes = try volume.liveBytes(of: "db")
    var at = bytes.count - wanted.count
    while at >= 0 {
      if bytes[at] == wanted[0], bytes[at..<at + wanted.count].elementsEqual(wanted) { return at }
      at -= 1
    }
    return nil
  }

  @Test(arguments: Place.allCases)
  func `bytes that rot after they were read are not copied under a new checksum`(_ place: Place) throws {
    let offset = try fill(place)
    try volume.corrupt("db", at: offset + 20, xor: 0x10)
    refusal(.damaged) { try store.compact() }
    refusal(.damaged) { try store.copy(to: "copy") }
    refusal(.damaged) { try store.backup(to: "backup") }
    #expect(volume.liveNames.filter { !$0.hasSuffix(".lock") } == ["db"])
    #expect(try store.verify().faults.isEmpty == false)
    // Other entries are not affected, and the damaged one is back when the disk returns the right
    // bytes again.
    #expect(try store.get("key 1", in: space) == value(1, place))
    try store.put("key 1", "new", in: space)
    try volume.corrupt("db", at: offset + 20, xor: 0x10)
    #expect(try store.verify().faults == [])
    try store.compact()
    #expect(try store.get("key 1234", in: space) == value(1234, place))
    #expect(try store.get("key 1", in: space) == Array("new".utf8))
  }

  @Test func `a rewriter never receives a rotten value`() throws {
    for place in Place.allCases {
      let offset = try fill(place)
      try store.setCompactionRewriter(for: space) { _, value in value.byteCount < 1000 ? .keep : .drop }
      try volume.corrupt("db", at: offset + 20, xor: 0x10)
      refusal(.damaged) { try store.compact() }
      try volume.corrupt("db", at: offset + 20, xor: 0x10)
      try store.compact()
    }
  }

  @Test func `a checkpoint does not merge a rotten leaf under a new checksum`() throws {
    let offset = try fill(.leaf)
    try volume.corrupt("db", at: offset + 20, xor: 0x10)
    // A key whose leaf is the damaged one, which has to be written again.
    try store.put("key 12345", "near", in: space)
    refusal(.damaged) { try store.checkpoint() }
    #expect(try store.verify().faults.isEmpty == false)
    try volume.corrupt("db", at: offset + 20, xor: 0x10)
    try store.checkpoint()
    try readAll(.leaf)
    #expect(try store.get("key 12345", in: space) == Array("near".utf8))
    #expect(try store.verify().faults == [])
  }

  @Test func `log records that rot during a compaction are not taken over`() throws {
    _ = try fill(.leaf)
    let late = Array("committed meanwhile".utf8) + [UInt8](repeating: 5, count: 300)
    var isFirst = true
    refusal(.damaged) {
      try store.compact { _ in
        guard isFirst else { return }
        isFirst = false
        do {
          try store.put("late", late, in: space)
          let offset = try #require(try self.offset(of: late))
          try volume.corrupt("db", at: offset + 10, xor: 1)
        } catch { Issue.record(error) }
      }
    }
    #expect(volume.liveNames.filter { !$0.hasSuffix(".lock") } == ["db"])
    #expect(try store.verify().faults.isEmpty == false)
  }

  @Test(arguments: Place.allCases)
  func `bytes that rot after they were read are found when their checksum is compared again`(_ place: Place)
    throws
  {
    _ = try fill(place)
    let offset = try #require(try offset(of: value(1234, place)))
    try store.close()
    var options = Store.Options()
    // A cache would hold copies and hide the damage.
    options.reading = .mapped
    options.checksumLifetime = 0.02
    options.compaction = .manual
    let again = try Store.open(
      at: "db", on: volume, mode: .openExisting, options: options, environment: .system)
    let space = try again.keyspace("s")
    #expect(try again.get("key 1234", in: space) == value(1234, place))
    try volume.corrupt("db", at: offset + 20, xor: 0x10)
    let isFound = Patience.wait {
      do {
        _ = try again.get("key 1234", in: space)
        return false
      } catch {
        return error.storeCode == .damaged
      }
    }
    #expect(isFound)
    try volume.corrupt("db", at: offset + 20, xor: 0x10)
    #expect(try again.get("key 1234", in: space) == value(1234, place))
    try again.close()
  }
}
