import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodFile

/// Files left by random runs, each with the listing of a plain model.
///
/// `LATEWOOD_RANDOM_FILES_DIR` is a directory to leave them in for another reader
/// (Tests/format-check.sh), `LATEWOOD_RANDOM_FILES` is their number, and `LATEWOOD_SEED` the first
/// seed. Without a directory, a few are made in memory and read back here.
@Suite struct RandomFileTests {
  private static func number(_ name: String, _ fallback: Int) -> Int {
    CurrentProcess.environmentVariable(name).flatMap { Int($0) } ?? fallback
  }

  @Test func `random files read like their model`() throws {
    let directory = CurrentProcess.environmentVariable("LATEWOOD_RANDOM_FILES_DIR")
    let seed = SeededRandom.seed(directory == nil ? nil : 1)
    for index in 0..<Self.number("LATEWOOD_RANDOM_FILES", directory == nil ? 3 : 20) {
      var run = try RandomRun(seed: seed &+ UInt64(index), isLong: directory != nil && index == 0)
      let (bytes, listing) = try run.run()
      let volume: any Volume = directory == nil ? MemoryVolume() : FileVolume()
      let path = "\(directory ?? "random")/\(index).latewood"
      try Repository.write(bytes, to: path, on: volume)
      if let directory {
        try Repository.write(Array(listing.utf8), to: "\(directory)/\(index).expected.jsonl")
      }
      let store = try Store.open(
        at: path, on: volume, mode: .readOnly, options: Store.Options(), environment: .system)
      let isSame = try store.listing() == listing
      #expect(isSame, "LATEWOOD_SEED=\(seed &+ UInt64(index))")
      #expect(try store.verify().faults == [], "LATEWOOD_SEED=\(seed &+ UInt64(index))")
      try store.close()
    }
  }
}

/// One random run: transactions of all kinds, some aborted, checkpoints, clean and unclean ends,
/// and a tail at the end.
private struct RandomRun {
  private var random: SeededRandom
  private let store: ModelledStore
  private let isLong: Bool
  private let stems: [[UInt8]]
  private let names = ["a", "b", "keyspace with a longer name", "日本語"]

  init(seed: UInt64, isLong: Bool) throws {
    random = SeededRandom(seed: seed)
    var options = Store.Options()
    options.nodeSize = 1024 << random.below(6)
    options.inlineValueLimit = 64 << random.below(5)
    // With holes in them.
    options.punchingThreshold = 1
    store = try ModelledStore(options, seed: random.next())
    self.isLong = isLong
    var stems: [[UInt8]] = [[]]
    for _ in 0..<6 { stems.append(random.pick(stems) + random.bytes(1 + random.below(40))) }
    self.stems = stems
  }

  mutating func run() throws -> (bytes: [UInt8], listing: String) {
    for _ in 0..<(5 + random.below(60)) { try step() }
    if isLong { try longTransactions() }
    return try end()
  }

  private mutating func step() throws {
    switch random.below(20) {
    case 0: try store.checkpoint()
    case 1: try store.reopen()
    case 2:
      // The remains of a write that was never acknowledged because of a power cut.
      let tail = random.bytes(1 + random.below(300))
      try store.reopen { $0 += tail }
    case 3: try store.abort(operations())
    case 5: try store.compact()
    case 4: try store.commit(.drop(random.pick(names)))
    default: try store.commit(operations())
    }
  }

  private mutating func operations() -> [Operation] { (0...random.below(60)).map { _ in operation() } }

  private mutating func operation() -> Operation {
    let name = random.pick(names)
    switch random.below(30) {
    case 0: return .deleteRange(name, key(), key())
    case 1..<6: return .delete(name, key())
    default: return .put(name, key(), value())
    }
  }

  /// A random key, often a previous one.
  private mutating func key() -> [UInt8] {
    if random.oneIn(400) { return random.bytes(16384) }
    let key = random.pick(stems) + (0..<random.below(3)).map { _ in UInt8(random.pick([0, 1, 127, 255])) }
    return key.isEmpty ? [0] : key
  }

  private mutating func value() -> [UInt8] {
    switch random.below(100) {
    case 0: random.bytes(random.below(40_000))
    case 1..<10: random.bytes(random.below(3000))
    case 10..<14: random.bytes(510 + random.below(4))
    default: random.bytes(random.below(60))
    }
  }

  /// Makes transactions that are too large for memory and have several frames. One is aborted after
  /// some of them are written.
  private mutating func longTransactions() throws {
    func large(_ random: inout SeededRandom) -> [Operation] {
      (0..<100).map { .put("a", [UInt8($0), 7], random.bytes(60_000)) }
    }
    try store.abort(large(&random))
    try store.commit(operations())
    try store.commit(large(&random))
    try store.commit((0..<95).map { .delete("a", [$0, 7]) } + [.put("b", [1], random.bytes(2 << 20))])
  }

  private mutating func end() throws -> (bytes: [UInt8], listing: String) {
    let kept = store.model.listing
    switch random.below(5) {
    case 0:
      try store.close()
      return (try store.bytes(), kept)
    case 1:
      // Preallocated space.
      return (try store.bytes() + [UInt8](repeating: 0, count: random.below(10_000)), kept)
    case 2:
      // The last transaction has lost its end.
      try store.commit(.put("a", "last", "lost"))
      var file = try FileSurgery(store.bytes())
      file.cut(at: file.bytes.count - 8 - random.below(40))
      return (file.bytes, kept)
    default: return (try store.bytes(), kept)
    }
  }
}
