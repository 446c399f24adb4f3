import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Synchronization
import Testing

@testable import LatewoodStore

/// The bounds of a file that is overwritten at full speed: at most 3 times the live data plus 32
/// MiB on the disk, and a size of at most 8 times the live data plus 64 MiB.
@Suite(.serialized) struct BoundedFileTests {
  struct Load: Sendable, CustomTestStringConvertible {
    var keys: Int
    var length: Int
    var batch = 1
    /// The number of bytes of values to write.
    var total = 80 << 20
    var durability = Durability.relaxed
    var testDescription: String {
      "\(keys) values of \(length) bytes, \(batch) to a transaction, \(durability)"
    }
  }

  private static let loads = [
    Load(keys: 4000, length: 100, batch: 500, total: 16 << 20),
    Load(keys: 1500, length: 800, batch: 100, total: 60 << 20),
    Load(keys: 10, length: 100 << 10),
    Load(keys: 4, length: 1 << 20),
    Load(keys: 4, length: 1 << 20, durability: .synchronous),
    Load(keys: 3, length: 16 << 20, total: 256 << 20),
  ]

  @Test(arguments: loads) func `a file that is overwritten at full speed stays within its bounds`(
    _ load: Load
  )
    throws
  {
    let directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = load.durability
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    var random = SeededRandom(seed: SeededRandom.seed())
    for number in 0..<load.keys {
      try store.put("key \(number)", [UInt8](repeating: 0, count: load.length), in: space)
    }
    try store.checkpoint()
    let live = try store.statistics().liveBytes
    let isOver = Atomic<Bool>(false)
    let greatest = Guarded((apparent: UInt64(0), allocated: UInt64(0)))
    let rounds = load.total / load.length / load.batch
    let choices = (0..<rounds).map { _ in (0..<load.batch).map { _ in random.below(load.keys) } }
    inParallel(2) { thread in
      guard thread == 0 else {
        while !isOver.load(ordering: .relaxed) {
          let size = try directory.occupied()
          greatest.withLock {
            $0 = (max($0.apparent, size.apparent), max($0.allocated, size.allocated))
          }
          Monitor.sleep(milliseconds: 1)
        }
        return
      }
      defer { isOver.store(true, ordering: .relaxed) }
      for (round, numbers) in choices.enumerated() {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: load.length)
        try store.write { for number in numbers { try $0.put("key \(number)", value, in: space) } }
      }
    }
    let found = greatest.withLock { $0 }
    #expect(found.allocated <= 3 * live + 32 << 20, "\(random.replay)")
    #expect(found.apparent <= 8 * live + 64 << 20, "\(random.replay)")
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
