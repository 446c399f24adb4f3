import Foundation
import Latewood
import LatewoodConcurrency
import LatewoodReplication
import LatewoodReplicator
import Testing

/// The public replicator, between collections.
@Suite struct ReplicatorTests {
  // MARK: One-shot

  @Test func `a push and a pull transfer in one direction each`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("anna", ["city": "Porto"])
    try await sides.there.put("otto", ["city": "Lisboa"])
    let pushed = try await sides.replicator(.push).run()
    #expect(pushed.pushed.revisions == 1 && pushed.pulled == Replicator.Progress())
    #expect(pushed.pushed.bytes > 0 && pushed.pushed.remaining == 0 && pushed.failures == [])
    #expect(try sides.there.count == 2)
    #expect(try sides.here.count == 1)
    let pulled = try await sides.replicator(.pull).run()
    #expect(pulled.pulled.revisions == 1 && pulled.pushed == Replicator.Progress())
    #expect(try await sides.here.contents == sides.there.contents)
  }

  @Test func `both directions exchange edits, deletions and conflicts in one run`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("shared", ["at": 0])
    try await sides.here.put("gone")
    try await sides.replicator(.both).run()
    try await sides.here.put("shared", ["at": "here"])
    try await sides.there.put("shared", ["at": "there"])
    try await sides.there.delete("gone")
    try await sides.here.put("mine")
    let summary = try await sides.replicator(.both).run()
    #expect(summary.pulled.revisions == 2 && summary.pushed.revisions == 2)
    #expect(try await sides.here.contents == sides.there.contents)
    #expect(try await sides.here.document("shared")?.hasConflicts == true)
    #expect(try await sides.here.document("gone") == nil)
    let again = try await sides.replicator(.both).run()
    #expect(again.pulled.revisions == 0 && again.pushed.revisions == 0)
  }

  @Test func `several collections replicate in one call`() async throws {
    let (here, there) = (try Database.inMemory(), try Database.inMemory())
    let names = ["people", "photos", "films"]
    for name in names { try await here[name].put("in \(name)") }
    let pairs = try names.map { (try here[$0], Replicator.Endpoint.collection(try there[$0])) }
    let summary = try await Replicator(pairs, direction: .push).run()
    #expect(summary.pushed.revisions == 3)
    for name in names { #expect(try await there[name].documentIDs() == ["in \(name)"]) }
  }

  // MARK: Continuous

  @Test
  func `a continuous replicator transfers edits of both sides until it is stopped`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("before")
    let replicator = try sides.replicator(.both, .continuous)
    replicator.start()
    replicator.start()
    try await until { try await sides.there.contains("before") }
    try await sides.here.put("from here", ["n": 1])
    try await sides.there.put("from there", ["n": 2])
    try await until { try await sides.here.contents == sides.there.contents }
    try await until { replicator.status.activity == .idle }
    await replicator.stop()
    #expect(replicator.status.activity == .stopped && replicator.status.error == nil)
    try await sides.here.put("after")
    #expect(try await !sides.there.contains("after"))
    // It can be started again.
    replicator.start()
    try await until { try await sides.there.contains("after") }
    await replicator.stop()
    await replicator.stop()
  }

  @Test
  func `an unreachable side is offline until it returns, and nothing is lost`() async throws {
    let sides = try TwoSides()
    let isDown = Guarded(true)
    let replicator = try sides.replicator(.continuous) {
      if isDown.withLock({ $0 }) { throw ReplicationError(.unreachable, "the cable is out") }
    }
    try await sides.here.put("anna")
    replicator.start()
    for await status in replicator.statuses where status.activity == .offline {
      #expect(status.error?.code == .unreachable)
      break
    }
    isDown.withLock { $0 = false }
    try await until { try await sides.there.contains("anna") }
    try await until { replicator.status.activity == .idle && replicator.status.error == nil }
    await replicator.stop()
  }

  @Test func `a start right after the end of a run is not lost`() async throws {
    let sides = try TwoSides()
    let replicator = try sides.replicator(.push)
    for number in 0..<300 {
      try await sides.here.put("doc-\(number)")
      let statuses = replicator.statuses
      replicator.start()
      // The sequence ends a moment before the run does.
      for await _ in statuses {}
      #expect(try await sides.there.contains("doc-\(number)"))
    }
    let continuous = try sides.replicator(.push, .continuous)
    continuous.start()
    for number in 0..<30 {
      let statuses = continuous.statuses
      let stopping = Task { await continuous.stop() }
      for await _ in statuses {}
      continuous.start()
      // This sequence is of the run that has just been started.
      let next = continuous.statuses
      await stopping.value
      var isRunning = false
      for await status in next where status.activity != .stopped {
        isRunning = true
        break
      }
      #expect(isRunning)
      try await sides.here.put("next-\(number)")
      try await until { try await sides.there.contains("next-\(number)") }
    }
    await continuous.stop()
  }

  @Test func `a replicator that is released stops`() async throws {
    let sides = try TwoSides()
    var replicator: Replicator? = try sides.replicator(.push, .continuous)
    replicator?.start()
    let statuses = try #require(replicator?.statuses)
    replicator = nil
    var last: Replicator.Status?
    for await status in statuses { last = status }
    #expect(last?.activity == .stopped)
  }

  // MARK: Progress

  @Test func `statuses lead from connecting over busy to idle and stopped`()
    async throws
  {
    let sides = try TwoSides()
    for number in 0..<50 { try await sides.here.put("doc-\(number)") }
    let replicator = try sides.replicator(.push, .continuous) { $0.batchSize = 10 }
    let statuses = replicator.statuses
    replicator.start()
    var last: Replicator.Status?
    for await status in statuses {
      #expect(status.pushed.revisions >= last?.pushed.revisions ?? 0)
      if status.activity == .idle, last?.activity != .idle {
        #expect(status.pushed.revisions == 50 && status.pushed.remaining == 0)
        Task { await replicator.stop() }
      }
      last = status
    }
    #expect(last?.activity == .stopped)
  }

  @MainActor @Test func `an observed replicator shows the status`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("anna")
    let replicator = try sides.replicator(.push)
    let observed = ObservedReplicator(replicator)
    #expect(observed.status.activity == .stopped)
    try await replicator.run()
    while observed.status.pushed.revisions != 1 { await Task.yield() }
    while observed.status.activity != .stopped { await Task.yield() }
  }

  @Test
  func `a refused revision is reported by its id, and tried again after an edit`()
    async throws
  {
    let sides = try TwoSides()
    try await sides.here.put("good")
    try await sides.here.put("bad")
    let refused = Guarded<Set<String>>(["bad"])
    let endpoint = Replicator.Endpoint.peer {
      HookedPeer(sides.there, refuses: { id in refused.withLock { $0.contains(id) } })
    }
    let replicator = try Replicator(sides.here, with: endpoint, direction: .push)
    let failures = replicator.failures
    let summary = try await replicator.run()
    #expect(summary.pushed.revisions == 1 && summary.pushed.refused == 1)
    let failure = try #require(summary.failures.first)
    #expect(failure.id == "bad" && failure.kind == .forbidden && failure.direction == .push)
    #expect(failure.collection == "people" && failure.message == "no" && !failure.isRetried)
    #expect(failure.revisionID == (try await sides.here.document("bad"))?.revisionID)
    var reported: [Replicator.DocumentFailure] = []
    for await failure in failures { reported.append(failure) }
    #expect(reported == [failure])
    refused.withLock { $0 = [] }
    #expect(try await replicator.run().pushed.compared == 0)
    try await sides.here.put("bad", ["n": 2])
    #expect(try await replicator.run().pushed.revisions == 1)
    #expect(try await sides.there.contains("bad"))
  }

  // MARK: Interruptions

  @Test
  func `cancelling in the middle keeps what has arrived, and a run completes it`()
    async throws
  {
    let sides = try TwoSides()
    for number in 0..<40 { try await sides.here.put("doc-\(number)") }
    let inserts = Guarded(0)
    let task = Guarded<Task<Replicator.Summary, any Error>?>(nil)
    let replicator = try sides.replicator(.oneShot) {
      $0.batchSize = 10
    } beforeInsert: {
      let count = inserts.withLock { count in
        count += 1
        return count
      }
      if count == 3 { task.withLock { $0?.cancel() } }
    }
    task.withLock { $0 = Task { try await replicator.run() } }
    let running = try #require(task.withLock { $0 })
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(replicator.status.activity == .stopped)
    let arrived = try sides.there.count
    #expect(arrived >= 20 && arrived < 40)
    let rest = try await replicator.run()
    #expect(rest.pushed.revisions == 40 - arrived)
    #expect(try await sides.here.contents == sides.there.contents)
  }

  @Test func `a batch of the source does not arrive as a whole`() async throws {
    let sides = try TwoSides()
    try await sides.here.database.inBatch {
      try sides.here.save(MutableDocument(id: "debit"))
      try sides.here.save(MutableDocument(id: "credit"))
    }
    let inserts = Guarded(0)
    let replicator = try sides.replicator {
      $0.batchSize = 1
    } beforeInsert: {
      let count = inserts.withLock { count in
        count += 1
        return count
      }
      if count > 1 { throw ReplicationError(.forbidden, "no more") }
    }
    await #expect(throws: ReplicationError.self) { try await replicator.run() }
    #expect(replicator.status.error?.code == .forbidden)
    #expect(try sides.there.count == 1)
  }

  @Test func `a one-shot run gives up after its attempts`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("anna")
    let attempts = Guarded(0)
    let replicator = try sides.replicator {
      $0.retryLimit = 3
    } beforeInsert: {
      attempts.withLock { $0 += 1 }
      throw ReplicationError(.unreachable, "the cable is out")
    }
    let error = await #expect(throws: ReplicationError.self) { try await replicator.run() }
    #expect(error?.code == .unreachable && error?.recoverySuggestion?.isEmpty == false)
    #expect(attempts.withLock { $0 } == 4)
  }

  @Test func `a copy of a prebuilt database pulls only what is new`() async throws {
    try await withDirectory { directory in
      let server = try Database.inMemory()
      let films = try server["films"]
      for number in 0..<30 { try await films.put("film-\(number)") }
      let prebuilt = directory.appending(path: "prebuilt.latewood")
      let original = try await Database.open(at: prebuilt)
      let first = try Replicator(try original["films"], with: .collection(films), direction: .pull)
      #expect(try await first.run().pulled.compared == 30)
      try await original.close()
      let path = directory.appending(path: "app.latewood")
      try await Database.copy(from: prebuilt, to: path)
      try await films.put("film-new")
      let app = try await Database.open(at: path)
      let summary = try await Replicator(
        try app["films"], with: .collection(films), direction: .pull
      ).run()
      #expect(summary.pulled.compared == 1 && summary.pulled.revisions == 1)
      #expect(try await app["films"].contents == films.contents)
      try await app.close()
    }
  }
}
