import LatewoodDevice
import LatewoodInspection
import LatewoodStore
import Testing

@testable import LatewoodTool

@Suite struct FrameFollowerTests {
  @Test func `shows each frame once, past checkpoints and compactions`() throws {
    let directory = try Directories.makeTemporary()
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    let path = directory + "/file"
    var options = Store.Options()
    options.compaction = .manual
    let store = try Store.open(at: path, options: options)
    let keyspace = try store.keyspace("k")
    var follower = try FrameFollower(path: path, from: nil, limit: .max)
    #expect(try follower.poll().isEmpty)
    for round in 0..<3 {
      try store.put("key", Array("value \(round)".utf8), in: keyspace)
      #expect(try follower.poll().map(\.frame?.kind) == [.commit])
    }
    try store.put("key", "before", in: keyspace)
    try store.checkpoint()
    try store.put("key", "after", in: keyspace)
    let steps = try follower.poll()
    #expect(steps.first?.frame?.kind == .commit && steps.last?.frame?.kind == .commit)
    #expect(steps.contains { $0.frame?.kind == .checkpoint && $0.time != nil })
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.range.upperBound == $1.range.lowerBound })
    #expect(try follower.poll().isEmpty)
    try store.compact()
    _ = try follower.poll()
    try store.put("key", "in the new file", in: keyspace)
    #expect(try follower.poll().map(\.frame?.kind) == [.commit])
    #expect(try store.verify().faults.isEmpty)
    try store.close()
  }

  @Test func `stops at the limit or the timeout`() throws {
    let run = CapturedRun([
      "frames", CapturedRun.golden("annotated"), "--follow", "--from", "16384", "--limit", "2",
    ])
    #expect(run.code == .success && run.output.split(separator: "\n").count == 3)
    #expect(
      CapturedRun(["frames", CapturedRun.golden("annotated"), "--follow", "--seconds", "0"]).code == .success)
    #expect(CapturedRun(["frames", CapturedRun.golden("annotated"), "--seconds", "0"]).code == .usage)
  }
}
