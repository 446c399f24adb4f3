import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodTool

/// The bytes that `info` reads, and its output about files beside the database.
@Suite struct InfoCostTests {
  private func makeStore(at path: String, count: Int) throws {
    var options = Store.Options()
    options.compaction = .manual
    options.punchesHoles = false
    options.durability = .relaxed
    let store = try Store.open(at: path, options: options)
    let value = [UInt8](repeating: 7, count: 500)
    for round in 0..<2 {
      for name in ["fruit", "roots"] {
        let space = try store.keyspace(name)
        for start in stride(from: 0, to: count, by: 500) {
          try store.write { transaction in
            for number in start..<start + 500 { try transaction.put("key \(number)", value, in: space) }
          }
        }
      }
      if round == 0 { try store.checkpoint() }
    }
    try store.close()
  }

  @Test func `what it reads does not grow with the file`() throws {
    let place = try Workplace()
    var sizes: [UInt64] = []
    for count in [1000, 8000] {
      let path = place("db \(count)")
      try makeStore(at: path, count: count)
      let read = Guarded(0 as UInt64)
      var calls = FileCalls.system
      calls.read = { descriptor, target, offset throws(ErrorNumber) in
        let count = try FileCalls.system.read(descriptor, target, offset)
        read.withLock { $0 += UInt64(count) }
        return count
      }
      let facts = try FileLayoutFacts(at: path, on: FileVolume(calls: calls))
      let size = try FileVolume().open(path, .readOnly).size()
      #expect(read.withLock { $0 } < 1 << 20, "\(read.withLock { $0 }) of \(size)")
      #expect(facts.deadBytes > size / 3)
      #expect(facts.fillPercent > 30)
      #expect(facts.unsearched == nil)
      sizes.append(size)
    }
    #expect(sizes[1] > 6 * sizes[0] && sizes[1] > 16 << 20)
  }

  @Test func `it tells of what an interrupted compaction has left, until the next writer removes it`() throws
  {
    let tool = try ToolRun()
    #expect(try tool("put", "@", "apple", "red").code == .success)
    #expect(try !tool("info", "@").output.contains("left over"))
    for suffix in [".compacting", ".backing-up"] {
      let device = try FileVolume().open(tool.path + suffix, .createExclusive(permissions: 0o600))
      try [UInt8](repeating: 1, count: 5000).withUnsafeBytes { try device.write($0, at: 0) }
      device.close()
    }
    let text = try tool("info", "@").output
    #expect(text.contains("left over") && text.contains("test.latewood.compacting"), "\(text)")
    #expect(text.contains("test.latewood.backing-up") && text.contains("removes it"), "\(text)")
    let json = try tool("info", "@", "--json").output
    #expect(json.contains(#""leftovers":[{"path":""#) && json.contains(".backing-up"), "\(json)")
    // They may be in use while a process has the database open for writing.
    let lock = try FileVolume().lockForWriting(tool.path)
    #expect(try !tool("info", "@").output.contains("left over"))
    lock.unlock()
    let reader = try Store.open(at: tool.path, mode: .readOnly)
    #expect(try reader.statistics().leftovers.count == 2)
    #expect(try tool("put", "@", "apple", "green").code == .success)
    #expect(try reader.statistics().leftovers == [])
    try reader.close()
    #expect(try !tool("info", "@").output.contains("left over"))
  }
}
