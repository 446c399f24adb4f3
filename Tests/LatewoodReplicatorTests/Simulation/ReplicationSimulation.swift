import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator
import LatewoodSimulation
import LatewoodStore
import Testing

/// One schedule of edits, replications, faults and crashes among a few databases.
///
/// Everything depends on the seed: the replications run one after the other, each with one batch at
/// a time, and edits and crashes happen between its requests.
final class ReplicationSimulation: Sendable {
  private struct State {
    var random: SeededRandom
    var edits = 0
    var log: [String] = []
  }

  private let hosts: [SimulatedHost]
  /// The pairs of hosts that replicate, in both directions.
  private let links: [(Int, Int)]
  private let network: SimulatedNetwork
  private let state: Guarded<State>
  /// Whether documents are purged: then the last replications begin at the first change, because
  /// purges do not replicate.
  private let purges: Bool
  let label: String

  init(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let label = random.replay
    self.label = label
    let count = 2 + random.below(4)
    var hosts: [SimulatedHost] = []
    for number in 0..<count { hosts.append(try SimulatedHost("host-\(number)", seed: random.next())) }
    self.hosts = hosts
    switch random.below(3) {
    case 0: links = (1..<count).map { ($0 - 1, $0) }
    case 1: links = (1..<count).map { (0, $0) }
    default: links = (0..<count).map { ($0, ($0 + 1) % count) }
    }
    purges = random.oneIn(4)
    network = SimulatedNetwork(seed: random.next())
    state = Guarded(State(random: random))
  }

  func run() async throws {
    let steps = 6 + random { $0.below(10) }
    network.setBetween { [weak self] in
      guard let self, random({ $0.oneIn(12) }) else { return }
      if random({ $0.oneIn(6) }) { crashOne() } else { editOne() }
    }
    for _ in 0..<steps {
      for _ in 0..<random({ $0.below(4) }) { editOne() }
      network.faultRate = random { $0.oneIn(2) ? 0 : 4 + $0.below(30) }
      let (from, to) = random { random in
        let link = random.pick(links)
        return random.oneIn(2) ? link : (link.1, link.0)
      }
      try await replicate(hosts[from], hosts[to], isLast: false)
      for host in hosts where host.isCrashed {
        note("\(host.name) starts again")
        try host.restart()
      }
    }
    try await settle()
    for host in hosts { host.discard() }
  }

  /// Replicates everything everywhere, without faults, and compares the databases.
  private func settle() async throws {
    network.faultRate = 0
    network.setBetween {}
    for _ in 0..<hosts.count {
      for (left, right) in links {
        try await replicate(hosts[left], hosts[right], isLast: true)
        try await replicate(hosts[right], hosts[left], isLast: true)
      }
    }
    let expected = try hosts[0].side.contents()
    for host in hosts {
      let contents = try host.side.contents()
      if contents != expected {
        let log = state.withLock { $0.log }.joined(separator: "\n")
        Issue.record("\(host.name) differs: \(label)\n\(log)\n\(expected)\n\(contents)")
      }
    }
    if let host = hosts.last { try host.side.expectSound(label) }
  }

  private func replicate(_ source: SimulatedHost, _ target: SimulatedHost, isLast: Bool) async throws {
    note("\(source.name) -> \(target.name)")
    var setup = ReplicationSetup.test
    setup.batchSize = 1 + random { $0.below(5) }
    setup.usesCheckpoints = !(isLast && purges)
    setup.environment = Environment(
      now: { 1_700_000_000_000_000 }, random: { [weak self] in self?.random { $0.next() } ?? 0 })
    let run = Replication(from: distant(source), to: distant(target), setup)
    do {
      let status = try await run.run()
      note("  \(status.written) written of \(status.compared)")
    } catch {
      note("  \(error)")
      let isExpected =
        (error as? ReplicationError)?.isTransient == true || source.isCrashed || target.isCrashed
      if isLast || !isExpected { Issue.record("\(error): \(label)") }
    }
  }

  private func distant(_ host: SimulatedHost) -> DistantPeer {
    let side = host.side
    return DistantPeer(peer: side.peer, reads: { try side.reads }, network: network, label: label)
  }

  private func random<R>(_ body: (inout SeededRandom) throws -> R) rethrows -> R {
    try state.withLock { try body(&$0.random) }
  }

  private func note(_ text: String) { state.withLock { $0.log.append(text) } }

  private func crashOne() {
    let host = random { $0.pick(hosts) }
    note("  \(host.name) loses power")
    host.crash()
  }

  // MARK: Edits

  private func editOne() {
    let host = random { $0.pick(hosts) }
    if host.isCrashed { return }
    let side = host.side
    do {
      try edit(side, host.name)
    } catch {
      if !host.isCrashed { Issue.record("\(error): \(label)") }
    }
  }

  private func edit(_ side: Side, _ name: String) throws {
    let number = state.withLock { state in
      state.edits += 1
      return state.edits
    }
    let id = "doc-\(random { $0.below(5) })"
    let body = #"{"edit":\#(number)}"#
    let kind = random { $0.below(12) }
    let record = try side.reads.record(of: id)
    note("  edit \(number) of kind \(kind) of \(id) at \(name)")
    switch kind {
    case 0, 1:
      guard let record, let winner = record.tree.winner, !winner.isDeleted else { return }
      try side.delete(id)
    case 2, 3:
      guard let record else { break }
      let parent = random { $0.pick(record.tree.nodes) }
      try side.branch(id, body, from: parent.id)
      return
    case 4, 5:
      try side.saveBlob(id, random { $0.bytes($0.below(40)) } + [UInt8(truncatingIfNeeded: number)])
      return
    case 6 where purges:
      _ = try side.store.write(durability: .relaxed) { try $0.purge(id, in: side.collection) }
      return
    case 7:
      try side.store.sync()
      return
    case 8:
      try side.store.sweep()
      return
    default: break
    }
    try side.save(id, body)
  }
}

/// Random schedules, after which all databases have the same contents.
@Suite struct ReplicationSimulationTests {
  @Test func `after any schedule all databases have the same leaves and attachments`() async throws {
    let seed = SeededRandom.seed()
    let count = Effort.count(1000, low: 100)
    for number in 0..<count {
      try await ReplicationSimulation(seed: seed &+ UInt64(number)).run()
    }
    print("ReplicationSimulationTests: \(count) schedules from seed \(seed)")
  }
}
