import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Nodes that change after they were verified: the system drops their pages, and reads different
/// bytes when they are touched again. To simulate this, the tests write to a file that a store has
/// mapped.
@Suite struct ChangedNodeTests {
  private static let count = 320
  private static let rounds = 200
  private let directory: StoreDirectory
  private let store: Store
  private let space: Keyspace
  private let device: any Device
  private let image: [UInt8]
  private let nodes: [(offset: Int, length: Int)]

  private static func key(_ number: Int) -> [UInt8] {
    Array(String(repeating: "k", count: 60).utf8) + Array("\(1000 + number)".utf8)
      + [UInt8](repeating: 7, count: number % 9 == 0 ? 200 : 3)
  }

  private static func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 20 == 0 ? 2000 : number % 90)
  }

  init() throws {
    directory = try StoreDirectory()
    var options = Store.Options()
    options.reading = .mapped
    options.nodeSize = 1024
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.punchesHoles = false
    options.checksumLifetime = 0
    store = try Store.open(at: directory.store, options: options)
    space = try store.keyspace("s")
    let space = space
    try store.write { transaction in
      for number in 0..<Self.count {
        try transaction.put(Self.key(number), Self.value(number), in: space)
      }
    }
    try store.checkpoint()
    device = try FileVolume().open(directory.store, .readWrite)
    let image = try StoreDirectory.bytes(of: directory.store)
    self.image = image
    nodes = image.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return [] }
      return stride(from: 16_384, to: bytes.count - 64, by: 64)
        .filter { (start + $0).u64(16) == UInt64($0) && (start + $0).u32(12) <= 1 << 15 }
        .map { (offset: $0, length: Int((start + $0).u32(12))) }
    }
    try #require(nodes.count > 24, "three levels")
  }

  /// Runs all kinds of reads. Each returns a result, right or wrong, or throws an error that
  /// reports a damaged file.
  private func readAll(isWhole: Bool) throws {
    try allowingDamage(isWhole) {
      var seen = 0
      try store.forEach(in: space) { key, value in
        seen += key.byteCount > 0 && value.byteCount < 1 << 20 ? 1 : 0
        return seen < 4 * Self.count
      }
      #expect(!isWhole || seen == Self.count)
    }
    try allowingDamage(isWhole) {
      var seen = 0
      try store.forEach(in: space, reversed: true) { _, _ in
        seen += 1
        return seen < 4 * Self.count
      }
      #expect(!isWhole || seen == Self.count)
    }
    for reversed in [false, true] {
      try allowingDamage(isWhole) {
        let cursor = try store.cursor(in: space)
        var steps = 0
        var isThere = reversed ? try cursor.seekLast() : try cursor.seekFirst()
        while isThere, steps < 4 * Self.count {
          steps += 1
          _ = try cursor.key()
          _ = try cursor.value()
          isThere = reversed ? try cursor.previous() : try cursor.next()
        }
        #expect(!isWhole || steps == Self.count)
        if isThere { _ = reversed ? try cursor.next() : try cursor.previous() }
      }
    }
    for number in stride(from: 0, to: Self.count, by: 5) {
      let key = Self.key(number)
      try allowingDamage(isWhole) {
        let value = try store.get(key, in: space)
        #expect(!isWhole || value == Self.value(number))
        let isThere = try store.contains(key, in: space)
        #expect(!isWhole || isThere)
      }
      try allowingDamage(isWhole) {
        let rank = try store.rank(of: key, in: space)
        #expect(!isWhole || rank == number)
      }
      try allowingDamage(isWhole) {
        let found = try store.key(at: number, in: space)
        #expect(!isWhole || found == key)
      }
    }
    try allowingDamage(isWhole) {
      let count = try store.count(in: space)
      #expect(!isWhole || count == Self.count)
      _ = try store.count(in: space, .from(Self.key(30)))
      _ = try store.first(in: space)
      _ = try store.last(in: space)
      _ = try store.keyspaces()
    }
  }

  private func allowingDamage(_ isWhole: Bool, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as StoreError where !isWhole && [.damaged, .noSuchKeyspace].contains(error.code) {
    }
  }

  private func write(_ bytes: [UInt8], at offset: Int) throws {
    try bytes.withUnsafeBytes { try device.write($0, at: UInt64(offset)) }
  }

  @Test func `reading a node that has changed gives wrong data or an error, and never traps`() throws {
    try readAll(isWhole: true)
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for round in 0..<Self.rounds {
      let node = nodes[random.below(nodes.count)]
      // The header and the first arrays are changed more often than the rest.
      let end = round % 2 == 0 ? min(node.length, 120) : node.length
      let at = node.offset + random.below(end)
      let length = min([1, 1, 2, 16, 200][random.below(5)], node.offset + node.length - at)
      let junk = (at..<at + length).map { place -> UInt8 in
        switch round % 3 {
        case 0: image[place] ^ 1 << UInt8(random.below(8))
        case 1: UInt8(random.below(256))
        default: 0xFF
        }
      }
      try write(junk, at: at)
      try readAll(isWhole: false)
      try write(Array(image[at..<at + length]), at: at)
    }
    print("ChangedNodeTests: \(Self.rounds) changes of \(nodes.count) nodes; seed \(seed)")
    try readAll(isWhole: true)
    #expect(try store.verify().faults == [], "seed \(seed)")
    device.close()
    try store.close()
  }

  /// The keyspace number is the first part of a key that can be lost.
  @Test func `an entry whose key has become too short fails the scan`() throws {
    try readAll(isWhole: true)
    for node in nodes where image[node.offset + 9] == 0 {
      // No prefix, and a suffix length of 0 in each cell of the leaf.
      try write([0, 0], at: node.offset + 32)
      let count = Int(image[node.offset + 10]) | Int(image[node.offset + 11]) << 8
      for slot in 0..<count {
        let place = node.offset + 40 + count * 4 + slot * 2
        try write([0], at: node.offset + Int(image[place]) + Int(image[place + 1]) << 8)
      }
    }
    refusal(.damaged) { try store.forEach(in: space) { _, _ in true } }
    // To a reverse scan and to a cursor, these keys are before the range.
    try readAll(isWhole: false)
    for node in nodes {
      try write(Array(image[node.offset..<node.offset + node.length]), at: node.offset)
    }
    try readAll(isWhole: true)
    device.close()
    try store.close()
  }
}
