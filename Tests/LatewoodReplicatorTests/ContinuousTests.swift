import LatewoodConcurrency
import LatewoodDocuments
import LatewoodReplicator
import LatewoodSimulation
import Testing

/// Continuous replications, transient failures, and cancelling.
@Suite struct ContinuousTests {
  /// Waits until a condition holds.
  private func until(_ condition: () throws -> Bool) async throws {
    while try !condition() { try await Task.sleep(for: .milliseconds(2)) }
  }

  @Test
  func `changes arrive as they are made, until the task is cancelled`() async throws {
    let (source, target) = (try Side(), try Side())
    try source.save("before", "{}")
    var setup = ReplicationSetup.test
    setup.isContinuous = true
    setup.checkpointInterval = .zero
    let run = Replication(from: source.peer, to: target.peer, setup)
    let task = Task { try await run.run() }
    try await until { try target.json("before") != nil }
    for number in 0..<5 {
      try source.save("later", #"{"n":\#(number)}"#)
      try await until { try target.json("later") == #"{"n":\#(number)}"# }
    }
    try await until { run.status.activity == .idle }
    // The checkpoint follows the last batch.
    try await until { try target.reads.localNames().count >= 2 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(run.status.activity == .stopped)
    #expect(try target.contents() == source.contents())
  }

  @Test func `a continuous replication with nothing to do is idle`() async throws {
    let (source, target) = (try Side(), try Side())
    var setup = ReplicationSetup.test
    setup.isContinuous = true
    let states = Guarded<[ReplicationStatus.Activity]>([])
    let run = Replication(from: source.peer, to: target.peer, setup) { status in
      states.withLock { if $0.last != status.activity { $0.append(status.activity) } }
    }
    let task = Task { try await run.run() }
    try await until { run.status.activity == .idle }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(states.withLock { $0 } == [.connecting, .idle, .stopped])
    #expect(try source.reads.localNames().isEmpty && target.reads.localNames().isEmpty)
  }

  @Test
  func `both directions run while both sides are edited, and settle`() async throws {
    let (left, right) = (try Side(), try Side())
    var setup = ReplicationSetup.test
    setup.isContinuous = true
    setup.parallelism = 2
    let runs = [
      Replication(from: left.peer, to: right.peer, setup),
      Replication(from: right.peer, to: left.peer, setup),
    ]
    let tasks = runs.map { run in Task { try await run.run() } }
    for number in 0..<40 {
      try left.save("left-\(number % 7)", #"{"n":\#(number)}"#)
      try right.save("right-\(number % 5)", #"{"n":\#(number)}"#)
      try left.save("both", #"{"left":\#(number)}"#)
      try right.save("both", #"{"right":\#(number)}"#)
      if number % 10 == 0 { try await Task.sleep(for: .milliseconds(3)) }
    }
    try await until { try left.contents() == right.contents() }
    for task in tasks {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    try left.expectSound()
    try right.expectSound()
  }

  @Test func `a transient error is retried with growing delays`() async throws {
    let (source, target) = (try Side(), try Side())
    for number in 0..<20 { try source.save("doc-\(number)", "{}") }
    let rest = Guarded(5)
    let failing = ObservedPeer(target.peer) { call, moment in
      guard call == .insert, moment == .before else { return }
      if rest.withLock({
        $0 -= 1
        return $0 >= 0
      }) {
        throw ReplicationError(.unreachable, "no network")
      }
    }
    let waits = Guarded<[Duration]>([])
    var setup = ReplicationSetup.test
    setup.sleep = { wait in waits.withLock { $0.append(wait) } }
    let states = Guarded<[ReplicationStatus.Activity]>([])
    let run = Replication(from: source.peer, to: failing, setup) { status in
      states.withLock { if $0.last != status.activity { $0.append(status.activity) } }
    }
    let status = try await run.run()
    #expect(status.written == 20)
    #expect(status.error == nil)
    #expect(waits.withLock { $0.count } == 5)
    for (number, wait) in waits.withLock({ $0 }).enumerated() {
      let full = Duration.milliseconds(250) * (1 << number)
      #expect(wait <= full && wait >= full / 2)
    }
    #expect(states.withLock { $0.filter { $0 == .offline }.count } == 5)
    #expect(failing.insertedRevisions.count == 20)
  }

  @Test func `a persistent error ends the replication after the last attempt`() async throws {
    let (source, target) = (try Side(), try Side())
    try source.save("doc", "{}")
    let failing = ObservedPeer(target.peer) { call, _ in
      if call == .missing { throw ReplicationError(.unavailable, "busy", retryAfter: .seconds(300)) }
    }
    var setup = ReplicationSetup.test
    setup.retries.limit = 3
    let waits = Guarded<[Duration]>([])
    setup.sleep = { wait in waits.withLock { $0.append(wait) } }
    let error = await #expect(throws: ReplicationError.self) {
      try await replicate(source.peer, failing, setup)
    }
    #expect(error?.code == .unavailable)
    #expect(waits.withLock { $0 } == Array(repeating: .seconds(300), count: 3))
    #expect(failing.count(.missing) == 4)
  }

  @Test func `wrong credentials end the replication immediately`() async throws {
    let (source, target) = (try Side(), try Side())
    let failing = ObservedPeer(target.peer) { call, _ in
      if call == .information { throw ReplicationError(.unauthorized, "401") }
    }
    let run = Replication(from: source.peer, to: failing, .test)
    let error = await #expect(throws: ReplicationError.self) { try await run.run() }
    #expect(error?.code == .unauthorized)
    #expect(run.status.error?.code == .unauthorized)
    #expect(failing.calls == [.information])
  }

  @Test func `a cut at any call leaves both sides sound, and the next run completes the work`() async throws {
    func filled() throws -> Side {
      let side = try Side()
      for number in 0..<16 { try side.save("doc-\(number)", #"{"n":\#(number)}"#) }
      try side.saveBlob("blob", [1, 2, 3])
      return side
    }
    let whole = ObservedPeer(try Side().peer)
    try await replicate(try filled().peer, whole)
    for call in 0..<whole.calls.count {
      for moment in [ObservedPeer.Moment.before, .after] {
        let (source, target) = (try filled(), try Side())
        let count = Guarded(0)
        let cut = ObservedPeer(target.peer) { _, at in
          guard at == moment else { return }
          if count.withLock({
            $0 += 1
            return $0
          }) == call + 1 {
            throw ReplicationError(.forbidden, "cut")
          }
        }
        await #expect(throws: ReplicationError.self) { try await replicate(source.peer, cut) }
        let again = ObservedPeer(target.peer)
        try await replicate(source.peer, again)
        #expect(try target.contents() == source.contents())
        // Nothing is written twice.
        #expect(try target.reads.lastSequence() == 17)
      }
    }
  }
}
