import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece

/// The checkpoints of a session: finds the sequence to start after, and writes the sequence that
/// has been reached.
struct Checkpointer {
  private let source: any ReplicationPeer
  private let target: any ReplicationPeer
  private let setup: ReplicationSetup
  private let id: ReplicationID
  /// The epochs of both sides at the beginning.
  private let sourceEpoch, targetEpoch: String?
  private var sides = Sides()
  /// Whether the source has refused a checkpoint, so that only the target stores one.
  private var isSourceReadOnly = false
  private var session: CheckpointLog.Session
  /// The revisions of this session that the target has refused, at most `RemoteKnowledge.limit`.
  private var refused: [DocumentRevisions] = []
  /// The sequence in the checkpoint that both sides have.
  private(set) var written: PeerSequence
  private var lastWrite: UInt64
  /// The sides that may be copied, and do not yet contain the id of this replication.
  private var untold: [any ReplicationPeer]

  private struct Sides {
    var source: Side?
    var target: Side?
  }

  /// The last checkpoint that was read from a side or written to it.
  private struct Side {
    var revision: String?
    var log: CheckpointLog?
  }

  /// The sequence up to which everything has been transferred.
  var place: PeerSequence { session.recordedSequence }

  /// Reads the checkpoints of both sides.
  static func begin(
    _ source: any ReplicationPeer, _ target: any ReplicationPeer, _ setup: ReplicationSetup
  ) async throws -> Checkpointer {
    let (sourceFacts, targetFacts) = (try await source.information(), try await target.information())
    source.begin(with: targetFacts)
    target.begin(with: sourceFacts)
    let id: ReplicationID
    do throws(FleeceError) {
      id = try ReplicationID(source: sourceFacts, target: targetFacts, setup.filter)
    } catch {
      throw ReplicationError(.invalidParameter, "the selector of the replication is wrong: \(error.reason)")
    }
    var sides = Sides()
    var start = PeerSequence.start
    if setup.usesCheckpoints {
      sides.source = try await side(source, id.text)
      sides.target = try await side(target, id.text)
      if let log = sides.target?.log, log.readOnlySource == sourceFacts.epoch ?? "" {
        start = log.sequence
      } else if let common = CheckpointLog.commonPlace(sides.source?.log, sides.target?.log) {
        start = common
      } else if let earlier = try await placeOfOriginal(id, sourceFacts, targetFacts, source, target) {
        start = earlier
      }
    }
    return Checkpointer(
      source, target, setup, id, sourceFacts.epoch, targetFacts.epoch, sides, start,
      [(sourceFacts, source), (targetFacts, target)].filter { $0.0.lineage != nil }.map(\.1))
  }

  private init(
    _ source: any ReplicationPeer, _ target: any ReplicationPeer, _ setup: ReplicationSetup,
    _ id: ReplicationID, _ sourceEpoch: String?, _ targetEpoch: String?, _ sides: Sides,
    _ start: PeerSequence,
    _ untold: [any ReplicationPeer]
  ) {
    self.source = source
    self.target = target
    self.setup = setup
    self.id = id
    self.sourceEpoch = sourceEpoch
    self.targetEpoch = targetEpoch
    self.sides = sides
    let random = setup.environment.random
    let sessionID = Self.hexadecimal(random()) + Self.hexadecimal(random())
    let now = setup.environment.now()
    session = CheckpointLog.Session(
      id: sessionID, start: now / 1_000_000, end: now / 1_000_000, startSequence: start,
      recordedSequence: start)
    written = start
    lastWrite = now
    self.untold = untold
  }

  private static func side(_ peer: any ReplicationPeer, _ id: String) async throws -> Side {
    let document = try await peer.localDocument(id)
    return Side(revision: document?.revision, log: document.flatMap { CheckpointLog($0.body) })
  }

  /// Records a sequence that has been reached.
  mutating func reached(_ place: PeerSequence, _ batch: BatchOutcome) {
    session.recordedSequence = place
    session.counts.add(batch.counts)
    refused += batch.refused.prefix(max(0, RemoteKnowledge.limit - refused.count))
  }

  /// Writes the checkpoint if the last one is old enough.
  mutating func writeIfDue() async throws {
    let now = setup.environment.now()
    let interval = setup.checkpointInterval.components
    let microseconds =
      UInt64(clamping: interval.seconds) &* 1_000_000
      &+ UInt64(clamping: interval.attoseconds / 1_000_000_000_000)
    guard now >= lastWrite, now - lastWrite >= microseconds else { return }
    try await write()
  }

  /// Writes the checkpoint, unless both sides have it.
  ///
  /// - Throws: ``ReplicationError`` `unavailable` if a side has lost writes that were not durable.
  ///   The next session then begins at the last checkpoint.
  mutating func write() async throws {
    guard session.recordedSequence != written else { return }
    // Even without checkpoints, everything is durable when a replication ends.
    try Self.check(try await target.ensureDurable(), targetEpoch, "target")
    guard setup.usesCheckpoints else { return }
    session.end = setup.environment.now() / 1_000_000
    try await writeToSource()
    let epoch = sourceEpoch ?? ""
    sides.target = try await put(sides.target, target, readOnlySource: isSourceReadOnly ? epoch : nil)
    try await tellCopies()
    if !isSourceReadOnly { try await source.acknowledge(through: session.recordedSequence, refused: refused) }
    written = session.recordedSequence
    lastWrite = setup.environment.now()
  }

  /// Writes the checkpoint of the source, unless the source refuses writes.
  private mutating func writeToSource() async throws {
    do {
      try Self.check(try await source.ensureDurable(), sourceEpoch, "source")
      sides.source = try await put(sides.source, source)
      isSourceReadOnly = false
    } catch let error as ReplicationError where error.refusesWrites {
      isSourceReadOnly = true
    }
  }

  private static func check(_ epoch: String?, _ expected: String?, _ side: String) throws {
    guard let epoch, let expected, epoch != expected else { return }
    throw ReplicationError(.unavailable, "the \(side) has been restarted, and may have lost documents")
  }

  private func put(
    _ side: Side?, _ peer: any ReplicationPeer, readOnlySource: String? = nil
  ) async throws -> Side {
    var side = side ?? Side()
    // A conflict: the answer to an earlier attempt was lost, or another replication has this id.
    for isLast in [false, true] {
      let log = CheckpointLog.log(after: side.log, session, readOnlySource: readOnlySource)
      do {
        side.revision = try await peer.putLocalDocument(
          id.text, body: try log.encoded(), revision: side.revision)
        side.log = log
        return side
      } catch let error as ReplicationError where error.code == .conflict && !isLast {
        side = try await Self.side(peer, id.text)
      }
    }
    return side
  }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

// MARK: - Copies

/// A copy of a prebuilt database continues at the sequence of the original. The copy has another
/// identity, but shares the lineage, which leads to the checkpoint of the original.
extension Checkpointer {
  private static let member = "replication_id"

  /// The name of the local document that contains the id of the latest replication of a lineage.
  private static func pointer(_ lineage: String) -> String { "lineage-" + lineage }

  /// Returns the sequence that the original of a copied side has reached; nil if none is found.
  private static func placeOfOriginal(
    _ id: ReplicationID, _ sourceFacts: PeerInformation, _ targetFacts: PeerInformation,
    _ source: any ReplicationPeer, _ target: any ReplicationPeer
  ) async throws -> PeerSequence? {
    guard let lineage = id.lineage else { return nil }
    let owners = [(sourceFacts, source), (targetFacts, target)].filter { $0.0.lineage != nil }
    for (_, owner) in owners {
      guard let document = try await owner.localDocument(pointer(lineage)) else { continue }
      let original: String?
      do throws(FleeceError) {
        original = try FleeceBody(document.body).root.element(for: member)?.string()
      } catch {
        continue
      }
      guard let original, original != id.text else { continue }
      let logs = (try await side(source, original).log, try await side(target, original).log)
      if let place = CheckpointLog.commonPlace(logs.0, logs.1) { return place }
    }
    return nil
  }

  /// Stores the id of this replication where a copy finds it.
  private mutating func tellCopies() async throws {
    guard let lineage = id.lineage else { return }
    let name = Self.pointer(lineage)
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key(Self.member)
    try writer.string(id.text)
    try writer.endDictionary()
    let body = try writer.finish()
    for peer in untold {
      let old = try await peer.localDocument(name)
      if old?.body == body { continue }
      do {
        _ = try await peer.putLocalDocument(name, body: body, revision: old?.revision)
      } catch let error as ReplicationError
        where error.code == .conflict || isSourceReadOnly && error.refusesWrites
      {
        // Another replication of this lineage has noted its own, or the source is read-only.
      }
    }
    untold = []
  }
}

extension ReplicationError {
  /// Whether the peer can be read, but not written.
  fileprivate var refusesWrites: Bool {
    code == .forbidden || code == .unauthorized || database?.code == .notWritable
  }
}

/// The result of a batch.
struct BatchOutcome {
  var counts = CheckpointLog.Counts()
  /// The revisions that the target has refused.
  var refused: [DocumentRevisions] = []

  mutating func add(_ other: BatchOutcome) {
    counts.add(other.counts)
    refused += other.refused
  }
}

extension CheckpointLog.Counts {
  fileprivate mutating func add(_ other: CheckpointLog.Counts) {
    checked += other.checked
    missing += other.missing
    read += other.read
    written += other.written
    failures += other.failures
  }
}
