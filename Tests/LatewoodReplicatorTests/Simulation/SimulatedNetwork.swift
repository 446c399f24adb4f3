import LatewoodConcurrency
import LatewoodDocuments
import LatewoodReplicator
import LatewoodSimulation
import Testing

/// A network that loses requests and answers, repeats requests, and cuts bodies short. An action
/// set by `setBetween` runs before each request.
final class SimulatedNetwork: Sendable {
  private struct State {
    var random: SeededRandom
    /// One in how many calls has a fault; 0 for none.
    var faultRate = 0
  }

  enum Fate { case arrives, requestLost, answerLost, repeated }

  private let state: Guarded<State>
  /// Called before each request.
  private let between: Guarded<@Sendable () -> Void> = Guarded({})

  init(seed: UInt64) { state = Guarded(State(random: SeededRandom(seed: seed))) }

  var faultRate: Int {
    get { state.withLock { $0.faultRate } }
    set { state.withLock { $0.faultRate = newValue } }
  }

  func setBetween(_ action: @escaping @Sendable () -> Void) { between.withLock { $0 = action } }

  func fate() -> Fate {
    let action = between.withLock { $0 }
    action()
    return state.withLock { state in
      guard state.faultRate > 0, state.random.oneIn(state.faultRate) else { return .arrives }
      return state.random.pick([.requestLost, .answerLost, .repeated])
    }
  }

  func cutsBody() -> Bool {
    state.withLock { $0.faultRate > 0 && $0.random.oneIn($0.faultRate) }
  }

  func pass<R>(_ body: () async throws -> R) async throws -> R {
    switch fate() {
    case .arrives: return try await body()
    case .requestLost: throw ReplicationError(.unreachable, "the request was lost")
    case .answerLost:
      _ = try await body()
      throw ReplicationError(.timedOut, "the answer was lost")
    case .repeated:
      _ = try await body()
      return try await body()
    }
  }
}

/// A peer at the other end of a simulated network. It checks that it is not sent a revision that it
/// had when it was asked for what is missing. (Two databases that delete the same revision make
/// equal ones, so it may have got the revision since.)
struct DistantPeer: ReplicationPeer {
  let peer: CollectionPeer
  let reads: @Sendable () throws -> DocumentReads
  let network: SimulatedNetwork
  let label: String
  private let had = Guarded<Set<String>>([])

  init(
    peer: CollectionPeer, reads: @escaping @Sendable () throws -> DocumentReads, network: SimulatedNetwork,
    label: String
  ) {
    self.peer = peer
    self.reads = reads
    self.network = network
    self.label = label
  }

  private func note(_ revision: RevisionID, of id: String, isThere: Bool) {
    had.withLock { had in
      if isThere { had.insert("\(id) \(revision)") } else { had.remove("\(id) \(revision)") }
    }
  }

  func information() async throws -> PeerInformation {
    try await network.pass { try await peer.information() }
  }
  func changes(_ request: ChangesRequest) async throws -> any ChangeFeed {
    DistantFeed(feed: try await network.pass { try await peer.changes(request) }, network: network)
  }
  func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions] {
    try await network.pass {
      for document in asked {
        let tree = try reads().record(of: document.id)?.tree
        for revision in document.revisions {
          note(revision, of: document.id, isThere: tree?[revision]?.body ?? 0 != 0)
        }
      }
      return try await peer.missing(asked)
    }
  }
  func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision] {
    var found = try await network.pass { try await peer.revisions(requests) }
    for place in found.indices {
      for number in found[place].attachments.indices {
        guard let content = found[place].attachments[number].content else { continue }
        found[place].attachments[number].content = DistantContent(content: content, network: network)
      }
    }
    return found
  }
  func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    for revision in revisions {
      let name = "\(revision.id) \(revision.history[0])"
      #expect(!had.withLock { $0.contains(name) }, "\(name) was sent although it was there: \(label)")
    }
    return try await network.pass {
      let outcomes = try await peer.insert(revisions)
      for (revision, outcome) in zip(revisions, outcomes) where outcome == .stored {
        note(revision.history[0], of: revision.id, isThere: true)
      }
      return outcomes
    }
  }
  func ensureDurable() async throws -> String? { try await network.pass { try await peer.ensureDurable() } }
  func localDocument(_ id: String) async throws -> LocalDocument? {
    try await network.pass { try await peer.localDocument(id) }
  }
  func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String {
    try await network.pass { try await peer.putLocalDocument(id, body: body, revision: revision) }
  }
}

private struct DistantFeed: ChangeFeed {
  let feed: any ChangeFeed
  let network: SimulatedNetwork

  func next(limit: Int) async throws -> ChangesPage? {
    switch network.fate() {
    case .arrives, .repeated: return try await feed.next(limit: limit)
    case .requestLost, .answerLost: throw ReplicationError(.unreachable, "the feed was cut")
    }
  }
  func close() { feed.close() }
}

private struct DistantContent: AttachmentContent {
  let content: any AttachmentContent
  let network: SimulatedNetwork

  func open() async throws -> any AttachmentReader {
    DistantReader(reader: try await content.open(), network: network)
  }
}

private struct DistantReader: AttachmentReader {
  let reader: any AttachmentReader
  let network: SimulatedNetwork

  func next() async throws -> [UInt8]? {
    if network.cutsBody() { throw ReplicationError(.unreachable, "the body was cut") }
    return try await reader.next()
  }
  func close() { reader.close() }
}
