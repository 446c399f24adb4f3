import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile
@testable import LatewoodStore
@testable import LatewoodTree

/// The cost of one keyspace, one snapshot or one open store does not depend on how many others
/// there are or were.
@Suite struct ManyOfAKindTests {
  private var options: Store.Options {
    var options = Store.Options()
    options.durability = .relaxed
    options.checkpointsInBackground = false
    return options
  }

  @Test(arguments: [100, 1000, 4000])
  func `a keyspace that is created or dropped takes memory for its own handle alone`(_ count: Int) throws {
    let store = try Store.inMemory(options: options)
    var words: Set<Int> = []
    for number in 0..<count {
      let space = try store.keyspace("space \(number)")
      try store.put("k", "v", in: space)
      words.insert(try store.engine.versions.current().known.length)
    }
    for number in 0..<count / 10 { try store.dropKeyspace(store.keyspace("space \(number)")) }
    words.insert(try store.engine.versions.current().known.length)
    #expect(words == [64])
    #expect(try store.keyspaces().count == count - count / 10)
    try store.close()
  }

  @Test(arguments: [10, 300, 3000])
  func `a commit looks at the open snapshots only as often as it replaces nodes`(_ count: Int) throws {
    let store = try Store.inMemory(options: options)
    let space = try store.keyspace("s")
    var snapshots: [Snapshot] = []
    for number in 0..<count {
      try store.put("\(number)", "v", in: space)
      snapshots.append(try store.snapshot())
    }
    let layer = store.engine.head.newest.active.layer
    let before = layer.reclaim.visits
    let commits = 3000
    for number in 0..<commits { try store.put("\(number % count)", "w", in: space) }
    // A commit replaces a leaf and its branches.
    #expect(layer.reclaim.visits - before <= 12 * commits)
    #expect(store.engine.versions.liveNumbers.count == count + 1)
    for (number, snapshot) in snapshots.enumerated() {
      #expect(try snapshot.get("\(number)", in: space) == Array("v".utf8))
      if number + 1 < count { #expect(try snapshot.get("\(number + 1)", in: space) == nil) }
      snapshot.close()
    }
    #expect(store.engine.versions.liveNumbers.count == 1)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a store that was closed leaves no timer behind`() throws {
    let directory = try StoreDirectory()
    weak var timer: DelayedCall?
    do {
      let store = try Store.open(at: directory.store, options: options)
      let space = try store.keyspace("s")
      try store.put("k", "v", in: space)
      try store.checkpoint()
      #expect(try store.get("k", in: space) == Array("v".utf8))
      timer = store.engine.file.mapping.forgetting.withLock { $0 }
      #expect(timer != nil, "checksums that were verified are forgotten after some time")
      try store.close()
    }
    #expect(timer == nil)
  }

  @Test func `a file that a compaction has replaced leaves no timer behind`() throws {
    let directory = try StoreDirectory()
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("s")
    try store.put("k", "v", in: space)
    try store.checkpoint()
    #expect(try store.get("k", in: space) == Array("v".utf8))
    weak let timer = store.engine.file.mapping.forgetting.withLock { $0 }
    #expect(timer != nil)
    try store.compact()
    #expect(Patience.wait { timer == nil })
    try store.close()
  }
}
