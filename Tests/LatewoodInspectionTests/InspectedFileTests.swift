import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodInspection

@Suite struct InspectedFileTests {
  @Test(arguments: GoldenFiles.names) func `agrees with the store about every golden file`(name: String)
    throws
  {
    let store: Store
    do {
      store = try Store.open(at: GoldenFiles.path(name), mode: .readOnly)
    } catch let error as StoreError {
      do {
        let file = try InspectedFile(path: GoldenFiles.path(name))
        #expect(error.code == .damaged, "\(name)")
        #expect(!file.faults.isEmpty || name == "malformed-operation", "\(name)")
      } catch let fault {
        #expect(fault.kind.rawValue == error.code.rawValue)
      }
      return
    }
    let file = try InspectedFile(path: GoldenFiles.path(name))
    let statistics = try store.statistics()
    #expect(file.size == statistics.fileSize)
    #expect(file.log.lastTransaction == statistics.transaction)
    #expect((file.checkpoint?.record.transaction ?? 0) == statistics.checkpointTransaction)
    #expect((file.checkpoint?.record.root?.liveBytes ?? 0) == statistics.liveBytes)
    #expect(file.log.end.offset - file.log.start.offset == statistics.logBytes)
    #expect(file.log.transactions == UInt64(store.recovery.replayedTransactions))
    #expect(file.log.commitBytes == store.recovery.replayedBytes)
    #expect((file.log.tail == .skipped) == (store.recovery.tornTail != nil))
    #expect(try file.checkpoints().map(\.offset) == store.history().map(\.offset))
    #expect(try !file.hasWriter())
    try store.close()
  }

  @Test func `reports whether the file has a writer`() throws {
    let directory = try Directories.makeTemporary()
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    let path = directory + "/a.latewood"
    let store = try Store.open(at: path)
    try store.put("key", "value", in: store.keyspace("k"))
    let file = try InspectedFile(path: path)
    #expect(try file.hasWriter())
    #expect(file.log.transactions >= 1)
    let before = file.log.end.offset
    try store.put("key", "other", in: store.keyspace("k"))
    try file.refresh()
    #expect(file.log.end.offset > before)
    #expect(try store.verify().faults.isEmpty)
    try store.close()
    #expect(try !file.hasWriter())
  }

  @Test func `walking a tree visits as many entries as the checkpoint counts`() throws {
    for name in ["high-tree", "checkpointed", "compacted", "dropped-keyspace", "holes", "range-deletes"] {
      let file = try InspectedFile(path: GoldenFiles.path(name))
      let root = try #require(file.checkpoint?.record.root)
      var entries: UInt64 = 0
      var leaves = 0
      var walk = TreeWalk(file.units)
      try walk.run(root) { (visit) throws(StorageError) in
        #expect(visit.fault == nil, "\(name)")
        if let node = visit.node?.node, node.isLeaf {
          entries += UInt64(node.count)
          leaves += 1
        }
        return true
      }
      #expect(entries == root.entries && leaves > 0, "\(name)")
    }
  }
}
