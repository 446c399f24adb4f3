import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator
import LatewoodStore
import Testing

/// The sequence at which a replication continues.
@Suite struct CheckpointTests {
  private func filled(_ count: Int = 10) throws -> Side {
    let side = try Side()
    for number in 0..<count { try side.save("doc-\(number)", #"{"n":\#(number)}"#) }
    return side
  }

  private func localNames(_ side: Side) throws -> [String] { try side.reads.localNames() }

  private func forgetCheckpoints(_ side: Side) throws {
    let names = try localNames(side)
    try side.store.write { writer in
      for name in names { try writer.deleteLocal(name, in: side.collection) }
    }
  }

  @Test func `a checkpoint is written after both sides are durable, the source first`() async throws {
    let order = Guarded<[String]>([])
    func observed(_ side: Side, _ name: String) -> ObservedPeer {
      ObservedPeer(side.peer) { call, moment in
        if moment == .after { order.withLock { $0.append("\(name) \(call)") } }
      }
    }
    let (source, target) = (try filled(), try Side())
    try await replicate(observed(source, "source"), observed(target, "target"))
    let calls = order.withLock { $0 }.filter {
      $0.contains("insert") || $0.contains("ensure") || $0.contains("put")
    }
    #expect(
      Array(calls.prefix(6)) == [
        "target insert", "target insert", "target ensureDurable", "source ensureDurable",
        "source putLocalDocument", "target putLocalDocument",
      ])
  }

  @Test func `a replication that failed continues at the last checkpoint`() async throws {
    let (source, target) = (try filled(), try Side())
    var setup = ReplicationSetup.test
    setup.checkpointInterval = .zero
    let inserts = Guarded(0)
    let failing = ObservedPeer(target.peer) { call, moment in
      guard call == .insert, moment == .before else { return }
      if inserts.withLock({
        $0 += 1
        return $0
      }) == 2 {
        throw ReplicationError(.forbidden, "no more")
      }
    }
    await #expect(throws: ReplicationError.self) { try await replicate(source.peer, failing, setup) }
    #expect(try await replicate(source.peer, target.peer).compared == 3)
    #expect(try target.contents() == source.contents())
  }

  @Test func `without the checkpoint of either side everything is compared and nothing sent`() async throws {
    for losesTarget in [false, true] {
      let (source, target) = (try filled(), try Side())
      try await replicate(source.peer, target.peer)
      let side = losesTarget ? target : source
      try forgetCheckpoints(side)
      let status = try await replicate(source.peer, target.peer)
      #expect(status.compared == 10)
      #expect(status.written == 0)
      #expect(try await replicate(source.peer, target.peer).compared == 0)
    }
  }

  @Test func `a checkpoint on one side only is ignored, and the previous session counts`() async throws {
    let (source, target) = (try filled(), try Side())
    try await replicate(source.peer, target.peer)
    try source.save("later", "{}")
    let cut = ObservedPeer(target.peer) { call, moment in
      if call == .putLocalDocument { throw ReplicationError(.forbidden, "cut") }
    }
    await #expect(throws: ReplicationError.self) { try await replicate(source.peer, cut) }
    let status = try await replicate(source.peer, target.peer)
    #expect(status.compared == 1)
    #expect(status.written == 0)
  }

  @Test func `a lost answer to a checkpoint does not stop the replication`() async throws {
    let (source, target) = (try filled(), try Side())
    let lost = Guarded(1)
    let target2 = ObservedPeer(target.peer) { call, moment in
      guard call == .putLocalDocument, moment == .after else { return }
      if lost.withLock({
        $0 -= 1
        return $0 >= 0
      }) {
        throw ReplicationError(.timedOut, "lost")
      }
    }
    try await replicate(source.peer, target2)
    #expect(try await replicate(source.peer, target.peer).compared == 0)
  }

  @Test func `another filter begins at the first change`() async throws {
    let (source, target) = (try filled(), try Side())
    var setup = ReplicationSetup.test
    setup.filter.name = "even"
    setup.filter.version = 1
    setup.filter.isIncluded = { revision in revision.id.utf8.last.map { $0 % 2 == 0 } ?? false }
    #expect(try await replicate(source.peer, target.peer, setup).written == 5)
    #expect(try await replicate(source.peer, target.peer, setup).compared == 0)
    setup.filter.version = 2
    #expect(try await replicate(source.peer, target.peer, setup).compared == 10)
    #expect(try await replicate(source.peer, target.peer).written == 5)
  }

  @Test func `ids, a selector and deletions choose the replicated documents`() async throws {
    let source = try filled()
    try source.delete("doc-9")
    var setup = ReplicationSetup.test
    setup.filter.ids = ["doc-1", "doc-4", "doc-9", "none"]
    let first = try Side()
    #expect(try await replicate(source.peer, first.peer, setup).written == 3)
    setup.filter.includesDeletions = false
    let second = try Side()
    #expect(try await replicate(source.peer, second.peer, setup).written == 2)
    setup.filter = ReplicationFilter()
    setup.filter.selector = Array(#"{"n":{"$gte":7}}"#.utf8)
    let third = try Side()
    #expect(try await replicate(source.peer, third.peer, setup).written == 2)
    #expect(try third.json("doc-8") == #"{"n":8}"#)
    setup.filter.selector = Array(#"{"_id":"doc-3"}"#.utf8)
    #expect(try await replicate(source.peer, third.peer, setup).written == 1)
    setup.filter.selector = Array(#"{"n":{"$odd":7}}"#.utf8)
    let error = await #expect(throws: ReplicationError.self) {
      try await replicate(source.peer, third.peer, setup)
    }
    #expect(error?.code == .invalidParameter)
  }

  @Test func `a copy of a database continues at the checkpoint of the original`() async throws {
    let (source, original) = (try filled(), try Side())
    try await replicate(source.peer, original.peer)
    try original.store.renewIdentity()
    try source.save("later", "{}")
    let status = try await replicate(source.peer, original.peer)
    #expect(status.compared == 1)
    #expect(try await replicate(source.peer, original.peer).compared == 0)
  }

  @Test(arguments: [ReplicationError.Code.forbidden, .unauthorized])
  func `a source that refuses checkpoints is read from where the target has come`(
    code: ReplicationError.Code
  ) async throws {
    let (source, target) = (try filled(), try Side())
    let refuses = Guarded(true)
    let readOnly = ObservedPeer(source.peer, epoch: "1") { call, moment in
      guard call == .putLocalDocument, moment == .before, refuses.withLock({ $0 }) else { return }
      throw ReplicationError(code, "read-only")
    }
    #expect(try await replicate(readOnly, target.peer).written == 10)
    #expect(try localNames(source).isEmpty && !localNames(target).isEmpty)
    try source.save("later", "{}")
    #expect(try await replicate(readOnly, target.peer).compared == 1)
    // Another database with the same name gets everything compared.
    #expect(try await replicate(ObservedPeer(source.peer, epoch: "2"), target.peer).compared == 11)
    // Once the source accepts them, both sides have a checkpoint again.
    refuses.withLock { $0 = false }
    try source.save("last", "{}")
    #expect(try await replicate(readOnly, target.peer).compared == 1)
    #expect(try !localNames(source).isEmpty)
    #expect(try await replicate(source.peer, target.peer).compared == 0)
    #expect(try target.contents() == source.contents())
  }

  @Test func `without checkpoints, no local documents are written`() async throws {
    let (source, target) = (try filled(), try Side())
    var setup = ReplicationSetup.test
    setup.usesCheckpoints = false
    try await replicate(source.peer, target.peer, setup)
    #expect(try localNames(source).isEmpty && localNames(target).isEmpty)
    #expect(try await replicate(source.peer, target.peer, setup).compared == 10)
  }

  @Test func `a target that was restarted gets everything since the checkpoint again`() async throws {
    let (source, target) = (try filled(), try Side())
    let restarting = RestartingPeer(target.peer)
    let status = try await replicate(source.peer, restarting)
    #expect(status.compared == 20)
    #expect(try target.contents() == source.contents())
  }

  @Test func `a target whose epoch always changes ends the replication`() async throws {
    let (source, target) = (try filled(), try Side())
    let error = await #expect(throws: ReplicationError.self) {
      try await replicate(source.peer, RestartingPeer(target.peer, times: .max))
    }
    #expect(error?.code == .unavailable)
  }
}

/// A peer whose epoch changes between the beginning of a replication and its first checkpoint.
private final class RestartingPeer: ForwardingPeer {
  let base: CollectionPeer
  private let times: Int
  private let epoch = Guarded(0)

  init(_ base: CollectionPeer, times: Int = 1) {
    self.base = base
    self.times = times
  }

  func information() async throws -> PeerInformation {
    var facts = try await base.information()
    facts.epoch = "\(epoch.withLock { $0 })"
    return facts
  }
  func ensureDurable() async throws -> String? {
    _ = try await base.ensureDurable()
    return epoch.withLock { epoch in
      if epoch < times { epoch += 1 }
      return "\(epoch)"
    }
  }
}
