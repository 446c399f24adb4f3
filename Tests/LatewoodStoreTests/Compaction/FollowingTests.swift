import LatewoodSimulation
import LatewoodTree
import Testing

@testable import LatewoodStore

/// What is committed while a compaction runs.
@Suite struct FollowingTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  @Test func `memory does not grow with the commits that are followed`() throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.compaction = .manual
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.put("apple", "0", in: fruit)
    var commits: UInt64 = 0
    let report = try store.compact { _ in
      guard commits == 0 else { return }
      do {
        while commits < 20_000 {
          commits += 1
          try store.put("apple", "\(commits)", in: fruit)
        }
      } catch { Issue.record(error) }
    }
    #expect(report.transactionsMeanwhile == commits)
    #expect(store.engine.head.active.layer.memoryLength <= 1 << 20)
    #expect(try store.get("apple", in: fruit) == Array("\(commits)".utf8))
    #expect(try store.verify().isSound)
  }
}
