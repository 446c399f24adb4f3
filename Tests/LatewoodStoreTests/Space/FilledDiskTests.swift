import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// On a disk without any space left, deleting frees space.
@Suite struct FilledDiskTests {
  private static let path = "db"

  /// The form of the values in a store.
  struct Shape: Sendable, CustomTestStringConvertible {
    var valueLength: Int
    /// The number of entries in one transaction.
    var batch: Int
    var testDescription: String { "\(valueLength) bytes, \(batch) in a batch" }
  }

  private static let shapes = [
    Shape(valueLength: 10, batch: 200), Shape(valueLength: 100, batch: 1),
    Shape(valueLength: 1000, batch: 10),
    Shape(valueLength: 9000, batch: 3), Shape(valueLength: 200_000, batch: 1),
    Shape(valueLength: 1_048_575, batch: 1), Shape(valueLength: 1_048_576, batch: 1),
  ]

  private static func open(_ volume: SimulatedVolume, checkpoints: Bool = false) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = checkpoints
    return try Store.open(at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  /// A disk that many small entries fill, or some large ones.
  private static func disk(for shape: Shape) -> SimulatedVolume {
    disk(shape.valueLength > 1000 ? 8 << 20 : Effort.count(8, low: 4) << 20)
  }

  private static func disk(_ length: Int = 8 << 20) -> SimulatedVolume {
    let volume = SimulatedVolume(seed: 5)
    volume.countsBlocks = true
    volume.keepsBlocks = true
    volume.spaceLimit = length
    return volume
  }

  private static func key(_ number: Int) -> [UInt8] {
    // In no order, so that deletes of neighbouring numbers change leaves everywhere.
    Array("\(UInt64(number) &* 0x9E37_79B9_7F4A_7C15)".utf8)
  }
  private static func value(_ number: Int, _ shape: Shape) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: shape.valueLength)
  }

  private static func put(_ numbers: Range<Int>, _ shape: Shape, _ store: Store) throws {
    let space = try store.keyspace("a")
    try store.write(durability: .synchronous) { transaction in
      for number in numbers { try transaction.put(key(number), value(number, shape), in: space) }
    }
  }

  /// Puts batches until two in a row are refused, and returns the numbers of the entries that are
  /// there. The store may find more space after the first.
  private static func fill(_ store: Store, _ shape: Shape, from first: Int = 0) throws -> [Int] {
    var numbers: [Int] = []
    var number = first
    var refusals = 0
    while refusals < 2 {
      do {
        try put(number..<number + shape.batch, shape, store)
        numbers += number..<number + shape.batch
        refusals = 0
      } catch let error as StoreError where error.code == .outOfSpace {
        refusals += 1
      }
      number += shape.batch
    }
    return numbers
  }

  /// Deletes every second entry, some in each transaction, and returns the others.
  private static func deleteHalf(_ numbers: [Int], _ store: Store, inOne: Bool = false) throws -> [Int] {
    let space = try store.keyspace("a")
    let gone = numbers.indices.filter { $0 % 2 == 0 }.map { numbers[$0] }
    let count = inOne ? gone.count : max(1, gone.count / 200)
    for start in stride(from: 0, to: gone.count, by: count) {
      try store.write(durability: .synchronous) { transaction in
        for number in gone[start..<min(start + count, gone.count)] {
          try transaction.delete(key(number), in: space)
        }
      }
    }
    return numbers.indices.filter { $0 % 2 == 1 }.map { numbers[$0] }
  }

  /// Puts a part of as many entries as there were before half of them were deleted, each in a
  /// separate transaction. A put may be refused, after which the store looks for space.
  private static func put(aPart part: Int, of count: Int, _ shape: Shape, _ store: Store) throws -> [Int] {
    let numbers = 10_000_000..<10_000_000 + count / part
    for number in numbers {
      do {
        try put(number..<number + 1, shape, store)
      } catch let error as StoreError where error.code == .outOfSpace {
        try put(number..<number + 1, shape, store)
      }
    }
    return Array(numbers)
  }

  private static func check(_ store: Store, _ numbers: some Sequence<Int>, _ shape: Shape) throws {
    let space = try store.keyspace("a")
    var count = 0
    for number in numbers {
      #expect(try store.get(key(number), in: space) == value(number, shape), "\(number)")
      count += 1
    }
    #expect(try store.count(in: space) == count)
    #expect(try store.verify().faults == [])
  }

  @Test(arguments: shapes, [false, true])
  func `a disk filled by puts is freed by deleting`(_ shape: Shape, _ checkpoints: Bool) throws {
    let volume = Self.disk(for: shape)
    let store = try Self.open(volume, checkpoints: checkpoints)
    let all = try Self.fill(store, shape)
    try Self.check(store, all, shape)
    var left = try Self.deleteHalf(all, store)
    try Self.check(store, left, shape)
    left += try Self.put(aPart: 4, of: all.count, shape, store)
    try Self.check(store, left, shape)
    try store.close()
    let again = try Self.open(volume)
    try Self.check(again, left, shape)
    try again.close()
  }

  @Test(arguments: shapes)
  func `a disk that others fill is freed by deleting, from the first delete`(_ shape: Shape) throws {
    let volume = Self.disk(64 << 20)
    let store = try Self.open(volume)
    let length = Effort.count(2 << 20, low: 1 << 20)
    let all = Array(0..<max(length / (shape.valueLength * shape.batch), 4) * shape.batch)
    for number in stride(from: 0, to: all.count, by: shape.batch) {
      try Self.put(number..<number + shape.batch, shape, store)
    }
    volume.spaceLimit = Int(try store.statistics().allocatedSize)
    var left = try Self.deleteHalf(all, store)
    try Self.check(store, left, shape)
    left += try Self.put(aPart: 4, of: all.count, shape, store)
    try Self.check(store, left, shape)
    try store.close()
  }

  /// A reader keeps the deleted entries and does not announce its end: refused puts have to check
  /// again.
  @Test(arguments: shapes[1...3])
  func `puts find the space that a reader kept, once it ends`(_ shape: Shape) throws {
    let volume = Self.disk(for: shape)
    let store = try Self.open(volume)
    let all = try Self.fill(store, shape)
    var left = all
    do {
      let snapshot = try store.snapshot()
      left = try Self.deleteHalf(all, store)
      // Puts are refused sooner or later, because the snapshot keeps everything.
      left += try Self.fill(store, shape, from: 20_000_000)
      #expect(try snapshot.count(in: try store.keyspace("a")) == all.count)
    }
    left += try Self.put(aPart: 16, of: all.count, shape, store)
    try Self.check(store, left, shape)
    try store.close()
  }

  @Test(arguments: shapes)
  func `one transaction that deletes half of everything frees a full disk`(_ shape: Shape) throws {
    let volume = Self.disk(for: shape)
    let store = try Self.open(volume)
    let all = try Self.fill(store, shape)
    var left = try Self.deleteHalf(all, store, inOne: true)
    left += try Self.put(aPart: 4, of: all.count, shape, store)
    try Self.check(store, left, shape)
    try store.close()
  }

  @Test(arguments: shapes)
  func `a store opened on a full disk can be emptied and filled again`(_ shape: Shape) throws {
    let volume = Self.disk(for: shape)
    let first = try Self.open(volume)
    let all = try Self.fill(first, shape)
    try first.close()
    volume.spaceLimit = Int(try Self.allocated(volume))
    for round in 1...3 {
      let store = try Self.open(volume)
      let space = try store.keyspace("a")
      try store.write(durability: .synchronous) { try $0.deleteRange(in: space) }
      #expect(try store.count(in: space) == 0)
      let more = try Self.fill(store, shape, from: 1_000_000 * round)
      #expect(more.count * 3 > all.count, "round \(round)")
      try Self.check(store, more, shape)
      try store.close()
    }
  }

  @Test func `a checkpoint without enough space releases the blocks it has written`() throws {
    let volume = Self.disk()
    volume.keepsBlocks = false
    let shape = Shape(valueLength: 200, batch: 12_000)
    let store = try Self.open(volume)
    try Self.put(0..<shape.batch, shape, store)
    let before = try store.statistics().allocatedSize
    // More than one region of nodes, and less than the tree.
    volume.spaceLimit = Int(before) + 3 << 19
    for _ in 0..<3 {
      #expect(throws: StoreError.self) { try store.checkpoint() }
      let now = try store.statistics().allocatedSize
      // The simulated disk counts the rest of a region that was not written.
      #expect(now < before + 1 << 20, "\(now) after \(before)")
    }
    volume.spaceLimit = nil
    try store.checkpoint()
    try Self.check(store, 0..<shape.batch, shape)
    try store.close()
  }

  private static func allocated(_ volume: SimulatedVolume) throws -> UInt64 {
    let device = try volume.open(path, .readOnly)
    defer { device.close() }
    return try device.allocatedSize()
  }
}
