import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodInspection

@Suite struct LiveFileTests {
  @Test func `beside a writer at full speed there is never a false fault`() throws {
    let directory = try Directories.makeTemporary()
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    let path = directory + "/file"
    var options = Store.Options()
    options.writeBufferBudget = 64 << 10
    options.punchingThreshold = 1
    options.compaction = .manual
    let store = try Store.open(at: path, options: options)
    let keyspace = try store.keyspace("busy")
    let isDone = Guarded(false)
    let failure = Guarded<String?>(nil)
    let group = DispatchGroup()
    let seed = SeededRandom.seed()
    DispatchQueue(label: "writer").async(group: group) {
      var random = SeededRandom(seed: seed)
      do {
        // Not more than an inspection can keep up with: while there is a reader, holes are not
        // punched.
        for _ in 0..<300 where !isDone.withLock({ $0 }) {
          try store.write(durability: .relaxed) { transaction in
            for _ in 0..<(1 + random.below(20)) {
              let key = Array("\(random.below(2000))".utf8)
              try transaction.put(key, random.bytes(random.below(700)), in: keyspace)
            }
          }
        }
      } catch {
        failure.withLock { $0 = "\(error)" }
      }
    }
    for _ in 0..<15 {
      let file = try InspectedFile(path: path)
      let map = try FileMap(file)
      #expect(map.faults.isEmpty, "LATEWOOD_SEED=\(seed)")
      FileMapTests.check(map, "live, LATEWOOD_SEED=\(seed)")
      #expect(try file.hasWriter())
      // The log may end in space for nodes that is not written yet, beyond the end of the file.
      let end = min(file.log.end.offset, file.size)
      let rows = try Annotator(file).rows(in: end - 300..<end)
      AnnotatorTests.check(rows, cover: end - 300..<end, "live, LATEWOOD_SEED=\(seed)")
      file.close()
    }
    isDone.withLock { $0 = true }
    group.wait()
    #expect(failure.withLock { $0 } == nil)
    #expect(try store.verify().faults == [], "LATEWOOD_SEED=\(seed)")
    try store.close()
  }
}
