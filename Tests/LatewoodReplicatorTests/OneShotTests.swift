import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator
import Testing

/// One-shot replications between two collections.
@Suite struct OneShotTests {
  @Test func `documents, conflicts and deletions arrive with the same revisions`() async throws {
    let (source, target) = (try Side(), try Side())
    for number in 0..<20 { try source.save("doc-\(number)", #"{"n":\#(number)}"#) }
    let first = try source.save("conflict", #"{"a":1}"#)
    try source.save("conflict", #"{"a":2}"#, over: first)
    try source.branch("conflict", #"{"a":3}"#, from: first)
    try source.delete("doc-3")
    try source.save("_design/app", #"{"views":{}}"#)
    let status = try await replicate(source.peer, target.peer)
    #expect(try target.contents() == source.contents())
    #expect(status.written == 23)
    #expect(status.failures == 0)
    #expect(status.activity == .stopped)
    try target.expectSound()
  }

  @Test func `documents whose ids Unicode considers equal stay apart`() async throws {
    let (source, target, some) = (try Side(), try Side(), try Side())
    let ids = ["caf\u{E9}", "cafe\u{301}", "_design/a", "_design/\u{301}a"]
    for (number, id) in ids.enumerated() { try source.save(id, #"{"n":\#(number)}"#) }
    #expect(try await replicate(source.peer, target.peer).written == ids.count)
    for (number, id) in ids.enumerated() { #expect(try target.json(id) == #"{"n":\#(number)}"#, "\(id)") }
    try target.expectSound()

    var setup = ReplicationSetup.test
    setup.filter.ids = [ids[1]]
    #expect(try await replicate(source.peer, some.peer, setup).written == 1)
    #expect(try some.json(ids[1]) == #"{"n":1}"#)
  }

  @Test func `a second run transfers and writes nothing`() async throws {
    let (source, target) = (try Side(), try Side())
    for number in 0..<20 { try source.save("doc-\(number)", #"{"n":\#(number)}"#) }
    try await replicate(source.peer, target.peer)
    let (from, to) = (ObservedPeer(source.peer), ObservedPeer(target.peer))
    let status = try await replicate(from, to)
    #expect(status.written == 0)
    #expect(from.calls == [.information, .localDocument, .changes, .next])
    #expect(to.calls == [.information, .localDocument])
  }

  @Test func `a later run compares only new changes`() async throws {
    let (source, target) = (try Side(), try Side())
    for number in 0..<30 { try source.save("doc-\(number)", #"{"n":\#(number)}"#) }
    try await replicate(source.peer, target.peer)
    try source.save("doc-7", #"{"n":"new"}"#)
    try source.save("more", "{}")
    let status = try await replicate(source.peer, target.peer)
    #expect(status.compared == 2)
    #expect(status.written == 2)
    #expect(try target.contents() == source.contents())
  }

  @Test func `two directions settle, and both sides show the same winner`() async throws {
    let (left, right) = (try Side(), try Side())
    let base = try left.save("shared", #"{"at":0}"#)
    try await replicate(left.peer, right.peer)
    try left.save("shared", #"{"at":"left"}"#, over: base)
    try right.save("shared", #"{"at":"right"}"#, over: base)
    try right.save("mine", "{}")
    try await replicate(left.peer, right.peer)
    try await replicate(right.peer, left.peer)
    #expect(try left.contents() == right.contents())
    let record = try #require(try left.reads.record(of: "shared"))
    #expect(record.tree.leaves.count == 2)
    #expect(try left.json("shared") == right.json("shared"))
    let settled = (try await replicate(left.peer, right.peer), try await replicate(right.peer, left.peer))
    #expect(settled.0.written == 0 && settled.1.written == 0)
  }

  @Test(arguments: 1...4) func `any number of parallel batches transfers the same`(count: Int) async throws {
    let (source, target) = (try Side(), try Side())
    for number in 0..<100 { try source.save("doc-\(number % 60)", #"{"n":\#(number)}"#) }
    var setup = ReplicationSetup.test
    setup.parallelism = count
    let status = try await replicate(source.peer, target.peer, setup)
    #expect(status.written == 60)
    #expect(try target.contents() == source.contents())
    #expect(try await replicate(source.peer, target.peer, setup).compared == 0)
  }

  @Test func `batches of any size transfer everything`() async throws {
    let source = try Side()
    for number in 0..<14 { try source.save("doc-\(number)", #"{"n":\#(number)}"#) }
    for size in [1, 6, 7, 8, 13, 14, 15] {
      let target = try Side()
      var setup = ReplicationSetup.test
      setup.batchSize = size
      try await replicate(source.peer, target.peer, setup)
      #expect(try target.contents() == source.contents())
    }
  }

  @Test func `an id that the target cannot have is reported, and does not block the others`() async throws {
    let (source, target) = (try Side(), try Side())
    try source.save("good", "{}")
    // This layer is below the checks of ids.
    try source.save("_odd", "{}")
    try source.save("later", "{}")
    let failures = Guarded<[ReplicationFailure]>([])
    let run = Replication(from: source.peer, to: target.peer, .test) { _ in
    } onFailure: { failure in
      failures.withLock { $0.append(failure) }
    }
    let status = try await run.run()
    #expect(status.failures == 1)
    #expect(failures.withLock { $0.map(\.id) } == ["_odd"])
    #expect(failures.withLock { $0.map(\.reason.kind) } == [.unacceptable])
    #expect(try await replicate(source.peer, target.peer).compared == 0)
    // A new edit is tried again.
    try source.save("_odd", #"{"n":2}"#)
    #expect(try await replicate(source.peer, target.peer).failures == 1)
  }
}
