import LatewoodBytes
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// A write buffer over existing keys, and the same in a dictionary.
private final class CountedBuffer {
  static let keys = 6000

  /// An entry, and whether its key exists below the buffer.
  struct Entry {
    var isDelete: Bool
    var existsBelow: Bool
  }

  struct Model {
    var entries: [Int: Entry] = [:]

    func change(_ range: Range<Int>) -> Int {
      var total = 0
      for (number, entry) in entries where range.contains(number) {
        total += (entry.isDelete ? 0 : 1) - (entry.existsBelow ? 1 : 0)
      }
      return total
    }
  }

  let log = RecordLog()
  var tree = BufferTree()
  var model = Model()
  /// Keys in a deleted range: no older entries exist below theirs.
  var deleted: Set<Int> = []
  var lookups = 0
  var version: UInt64 = 0

  static func key(_ number: Int) -> [UInt8] { Array("key \(100_000 + number)".utf8) }
  static func number(_ key: UnsafeRawPointer, _ count: Int) -> Int {
    UnsafeRawBufferPointer(start: key, count: count).dropFirst(4).reduce(0) { $0 * 10 + Int($1) - 48 }
      - 100_000
  }
  /// Whether a key exists below the buffer.
  static func isThere(_ number: Int) -> Bool { number % 3 != 0 }

  func begin() {
    version += 1
    tree.begin(version: version)
  }

  func write(_ number: Int, isDelete: Bool, isKnown: Bool) throws {
    let existsBelow =
      model.entries[number]?.existsBelow ?? (Self.isThere(number) && !deleted.contains(number))
    let key = Self.key(number)
    var reference = log.append(key, isDelete: isDelete)
    // For a key with an entry, the writer knows the entry, but not whether the key exists below.
    let existed = model.entries[number].map { !$0.isDelete } ?? existsBelow
    if isKnown { reference.existsBelow = existed }
    try key.withUnsafeBytes { try tree.insert($0.baseAddress!, $0.count, reference, log.space) }
    model.entries[number] = Entry(isDelete: isDelete, existsBelow: existsBelow)
  }

  func removeRange(_ range: Range<Int>) throws {
    let (low, high) = (Self.key(range.lowerBound), Self.key(range.upperBound))
    try low.withUnsafeBytes { low in
      try high.withUnsafeBytes { high in
        try tree.removeRange(
          from: KeyPointer(start: low.baseAddress!, count: low.count),
          below: KeyPointer(start: high.baseAddress!, count: high.count), log.space)
      }
    }
    for number in range {
      model.entries[number] = nil
      deleted.insert(number)
    }
  }

  func change(
    _ range: Range<Int>, _ root: UnsafeMutableRawPointer?, deleted: Set<Int>? = nil
  ) throws -> Int {
    guard let root else { return 0 }
    let (low, high) = (Self.key(range.lowerBound), Self.key(range.upperBound))
    let hidden = deleted ?? self.deleted
    var asked = 0
    let space = log.space
    let change = try low.withStart { (low, lowCount) throws(StorageError) in
      try high.withStart { (high, highCount) throws(StorageError) in
        try BufferNode(root).change(
          from: KeyPointer(start: low, count: lowCount), below: KeyPointer(start: high, count: highCount),
          space
        ) { key, count in
          asked += 1
          let number = Self.number(key, count)
          return Self.isThere(number) && !hidden.contains(number)
        }
      }
    }
    lookups += asked
    return change
  }

  /// The keys of a version, read with a cursor.
  func numbers(_ root: UnsafeMutableRawPointer?) throws -> [Int] {
    var cursor = BufferCursor(root: root, space: log.space)
    let low = Self.key(0)
    try low.withUnsafeBytes { try cursor.seek($0.baseAddress!, $0.count) }
    var numbers: [Int] = []
    while cursor.isValid {
      numbers.append(Self.number(cursor.key, cursor.keyCount))
      try cursor.next()
    }
    return numbers
  }
}

@Suite struct BufferCountingTests {
  private typealias Kept = (root: UnsafeMutableRawPointer?, model: CountedBuffer.Model, deleted: Set<Int>)

  private func range(_ random: inout SeededRandom, longest: Int = CountedBuffer.keys) -> Range<Int> {
    let low = random.below(CountedBuffer.keys)
    return low..<min(low + 1 + random.below(longest), CountedBuffer.keys)
  }

  @Test(arguments: 0..<4)
  func `the change in the count of any range matches its entries, in every version`(
    _ run: Int
  ) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let buffer = CountedBuffer()
    var reclaim = BufferReclaim()
    var kept: (state: Kept, version: UInt64)?
    for round in 0..<150 {
      if round % 5 == 0 {
        let live = (kept.map { [$0.version] } ?? []) + [buffer.version]
        buffer.tree.reclaim(&reclaim, published: buffer.version, live: live)
      }
      let before = (buffer.tree.root, buffer.tree.entries, buffer.model, buffer.deleted)
      buffer.begin()
      let start = random.below(CountedBuffer.keys)
      let isSequential = random.oneIn(4)
      for step in 0..<(1 + random.below(200)) {
        let number = isSequential ? (start + step) % CountedBuffer.keys : random.below(CountedBuffer.keys)
        try buffer.write(number, isDelete: random.oneIn(3), isKnown: run % 2 == 0 && random.oneIn(2))
        if random.oneIn(60) { try buffer.removeRange(range(&random, longest: random.oneIn(5) ? 3000 : 100)) }
        if random.oneIn(40) {
          let range = range(&random)
          let change = try buffer.change(range, buffer.tree.root)
          #expect(change == buffer.model.change(range), "\(random.replay)")
        }
      }
      #expect(buffer.tree.entries == buffer.model.entries.count, "\(random.replay)")
      if random.oneIn(6) {
        buffer.tree.abort(to: before.0, entries: before.1)
        (buffer.model, buffer.deleted) = (before.2, before.3)
        buffer.version -= 1
      }
      if round % 40 == 10 { kept = ((buffer.tree.root, buffer.model, buffer.deleted), buffer.version) }
      if round % 40 == 38 { kept = nil }
      let states = [(buffer.tree.root, buffer.model, buffer.deleted)] + (kept.map { [$0.state] } ?? [])
      for state: Kept in states {
        if round % 10 == 0 {
          #expect(try buffer.numbers(state.root) == state.model.entries.keys.sorted(), "\(random.replay)")
        }
        for _ in 0..<random.below(4) {
          let range = range(&random, longest: random.oneIn(2) ? 50 : CountedBuffer.keys)
          let change = try buffer.change(range, state.root, deleted: state.deleted)
          #expect(change == state.model.change(range), "\(range) \(random.replay)")
        }
      }
    }
  }

  @Test func `a key is looked up once, and only if its writer did not know whether it exists`() throws {
    let buffer = CountedBuffer()
    let all = 0..<CountedBuffer.keys
    buffer.begin()
    for number in 0..<2000 {
      try buffer.write(number * 3 % CountedBuffer.keys, isDelete: false, isKnown: false)
    }
    #expect(try buffer.change(all, buffer.tree.root) == buffer.model.change(all))
    #expect(buffer.lookups == 2000)
    // Deletes parts of the range in the same version, and all of it in the next one.
    #expect(try buffer.change(100..<200, buffer.tree.root) == buffer.model.change(100..<200))
    buffer.begin()
    #expect(try buffer.change(all, buffer.tree.root) == buffer.model.change(all))
    #expect(buffer.lookups == 2000)
    // A new key, then a known key, and a key that already has an entry.
    try buffer.write(1, isDelete: true, isKnown: false)
    #expect(try buffer.change(all, buffer.tree.root) == buffer.model.change(all))
    #expect(buffer.lookups == 2001)
    buffer.begin()
    try buffer.write(4, isDelete: true, isKnown: true)
    try buffer.write(3, isDelete: true, isKnown: false)
    #expect(try buffer.change(all, buffer.tree.root) == buffer.model.change(all))
    #expect(buffer.lookups == 2001)
  }

  @Test func `counting a range looks up nothing outside its leaves`() throws {
    let buffer = CountedBuffer()
    buffer.begin()
    for number in 0..<CountedBuffer.keys { try buffer.write(number, isDelete: true, isKnown: false) }
    #expect(try buffer.change(1000..<1010, buffer.tree.root) == buffer.model.change(1000..<1010))
    // At most the leaves in which the range begins and ends.
    #expect(buffer.lookups >= 10 && buffer.lookups <= 2 * BufferNode.leafCapacity)
  }

  @Test func `the nodes of a range that is deleted repeatedly are reused`() throws {
    let buffer = CountedBuffer()
    var reclaim = BufferReclaim()
    var lengths: [Int] = []
    for _ in 0..<20 {
      buffer.begin()
      for number in 0..<CountedBuffer.keys { try buffer.write(number, isDelete: false, isKnown: true) }
      buffer.begin()
      try buffer.removeRange(0..<CountedBuffer.keys)
      #expect(buffer.tree.root == nil && buffer.tree.entries == 0)
      buffer.tree.reclaim(&reclaim, published: buffer.version, live: [buffer.version])
      lengths.append(buffer.tree.slab.length)
    }
    #expect(lengths[1] == lengths[19])
  }
}
