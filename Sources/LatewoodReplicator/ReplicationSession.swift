import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece

/// One session of a replication: see ``Replication``.
struct ReplicationSession {
  private let source: any ReplicationPeer
  private let target: any ReplicationPeer
  private let setup: ReplicationSetup
  private let reporter: Reporter

  init(
    _ source: any ReplicationPeer, _ target: any ReplicationPeer, _ setup: ReplicationSetup,
    _ reporter: Reporter
  ) {
    self.source = source
    self.target = target
    self.setup = setup
    self.reporter = reporter
  }

  /// Runs to the end of the feed. A continuous feed does not end.
  func run() async throws {
    reporter.update { $0.activity = .connecting }
    var checkpointer = try await Checkpointer.begin(source, target, setup)
    var request = ChangesRequest(since: checkpointer.place)
    request.isContinuous = setup.isContinuous
    request.ids = setup.filter.ids
    request.selector = setup.filter.selector
    let feed = try await source.changes(request)
    defer { feed.close() }
    try await withTaskCancellationHandler {
      try await pass(over: feed, &checkpointer)
    } onCancel: {
      feed.close()
    }
    try Task.checkCancellation()
    try await checkpointer.write()
    reporter.update { [written = checkpointer.written] in
      $0.keptPlace = written
      $0.pending = 0
      $0.error = nil
    }
  }

  private func writeIfDue(_ checkpointer: inout Checkpointer) async throws {
    try await checkpointer.writeIfDue()
    reporter.update { [written = checkpointer.written] in $0.keptPlace = written }
  }

  /// Transfers the changes of a feed. Several batches are transferred at the same time. The
  /// sequence reached is the end of the last batch for which all earlier batches have also ended.
  private func pass(over feed: any ChangeFeed, _ checkpointer: inout Checkpointer) async throws {
    var order = BatchOrder()
    try await withThrowingTaskGroup(of: (Int, BatchOutcome).self) { group in
      func finishOne() async throws {
        guard let (number, outcome) = try await group.next() else { return }
        if let place = order.ended(number, outcome) {
          checkpointer.reached(place.sequence, place.outcome)
          try await writeIfDue(&checkpointer)
        }
      }
      while let page = try await feed.next(limit: setup.batchSize) {
        let number = order.begin(page.last)
        reporter.update {
          if !page.changes.isEmpty || page.pending ?? 0 > 0 { $0.activity = .busy }
          $0.pending = page.pending
          $0.error = nil
        }
        group.addTask { [self] in (number, try await transfer(page.changes)) }
        if order.count >= setup.parallelism { try await finishOne() }
        if setup.isContinuous, page.pending ?? 0 == 0 {
          while order.count > 0 { try await finishOne() }
          reporter.update { $0.activity = .idle }
          try await writeIfDue(&checkpointer)
        }
      }
      while order.count > 0 { try await finishOne() }
    }
  }

  /// Transfers the revisions in some changes that the target lacks.
  private func transfer(_ changes: [PeerChange]) async throws -> BatchOutcome {
    var outcome = BatchOutcome()
    let asked = DocumentRevisions.merged(
      changes.filter { setup.filter.includesDeletions || !$0.isDeleted })
    outcome.counts.checked = asked.reduce(0) { $0 + $1.revisions.count }
    if !asked.isEmpty {
      let missing = try await target.missing(asked)
      outcome.counts.missing = missing.reduce(0) { $0 + $1.missing.count }
      if !missing.isEmpty {
        let requests = missing.map {
          RevisionRequest($0.id, revisions: $0.missing, ancestors: $0.possibleAncestors)
        }
        try await send(try await fetch(requests, &outcome), &outcome)
      }
    }
    reporter.update { $0.compared += changes.count }
    return outcome
  }

  private func fetch(
    _ requests: [RevisionRequest], _ outcome: inout BatchOutcome
  ) async throws -> [PeerRevision] {
    let found = try await source.revisions(requests)
    outcome.counts.read += found.count
    return found.filter { revision in
      (setup.filter.includesDeletions || !revision.isDeleted) && setup.filter.isIncluded?(revision) != false
    }
  }

  private func send(_ revisions: [PeerRevision], _ outcome: inout BatchOutcome) async throws {
    if revisions.isEmpty { return }
    let lacking = try await insert(revisions, &outcome)
    if lacking.isEmpty { return }
    // The target does not have the attachments of the stubs: send all contents.
    let requests = lacking.map { RevisionRequest($0.id, revisions: [$0.history[0]]) }
    let whole = try await fetch(requests.merged(), &outcome)
    for revision in try await insert(whole, &outcome) {
      fail(revision, .init(.failed, "an attachment is missing on both sides"), &outcome)
    }
  }

  /// Inserts revisions into the target, and records the outcomes.
  ///
  /// - Returns: the revisions that were not inserted because a stub names an unknown attachment.
  private func insert(
    _ revisions: [PeerRevision], _ batch: inout BatchOutcome
  ) async throws -> [PeerRevision] {
    if revisions.isEmpty { return [] }
    let outcomes = try await target.insert(revisions)
    guard outcomes.count == revisions.count else {
      throw ReplicationError(
        .unexpectedAnswer, "the target answered for \(outcomes.count) of \(revisions.count) revisions")
    }
    var lacking: [PeerRevision] = []
    var (written, bytes) = (0, UInt64(0))
    for (revision, outcome) in zip(revisions, outcomes) {
      switch outcome {
      case .stored:
        written += 1
        bytes += revision.byteCount
      case .lacksAttachment: lacking.append(revision)
      case .refused(let refusal): fail(revision, refusal, &batch)
      }
    }
    batch.counts.written += written
    reporter.update { [written, bytes] in
      $0.written += written
      $0.bytes += bytes
    }
    return lacking
  }

  private func fail(
    _ revision: PeerRevision, _ reason: InsertOutcome.Refusal, _ outcome: inout BatchOutcome
  ) {
    outcome.counts.failures += 1
    outcome.refused.append(DocumentRevisions(revision.id, [revision.history[0]]))
    reporter.update { $0.failures += 1 }
    reporter.report(ReplicationFailure(id: revision.id, revision: revision.history[0], reason: reason))
  }
}

extension PeerRevision {
  /// The number of bytes of the body, and of the attachments that are sent with it.
  fileprivate var byteCount: UInt64 {
    attachments.reduce(UInt64(body.count)) { $1.content == nil ? $0 : $0 + ($1.length ?? 0) }
  }
}

extension DocumentRevisions {
  /// Returns the leaves of changes, each document once.
  fileprivate static func merged(_ changes: [PeerChange]) -> [DocumentRevisions] {
    var list: [DocumentRevisions] = []
    list.reserveCapacity(changes.count)
    var places: [TextKey: Int] = [:]
    for change in changes where !change.leaves.isEmpty {
      let id = TextKey(change.id)
      if let place = places[id] {
        let known = list[place].revisions
        list[place].revisions += change.leaves.filter { !known.contains($0) }
      } else {
        places[id] = list.count
        list.append(DocumentRevisions(change.id, change.leaves))
      }
    }
    return list
  }
}

extension [RevisionRequest] {
  /// Returns the requests with each document once.
  fileprivate func merged() -> [RevisionRequest] {
    var list: [RevisionRequest] = []
    for request in self {
      if let place = list.firstIndex(where: { TextKey($0.id) == TextKey(request.id) }) {
        list[place].revisions += request.revisions
      } else {
        list.append(request)
      }
    }
    return list
  }
}

/// The batches in progress, in the order of the feed.
private struct BatchOrder {
  private struct Batch {
    var last: PeerSequence
    var outcome: BatchOutcome?
  }

  private var batches: [Batch] = []
  private var first = 0

  /// The number of batches that have not ended, or that follow an unfinished batch.
  var count: Int { batches.count }

  mutating func begin(_ last: PeerSequence) -> Int {
    batches.append(Batch(last: last))
    return first + batches.count - 1
  }

  /// Returns the new sequence, and the outcomes of all batches up to it that were not reported
  /// before; nil if an earlier batch has not ended.
  mutating func ended(
    _ number: Int, _ outcome: BatchOutcome
  ) -> (sequence: PeerSequence, outcome: BatchOutcome)? {
    batches[number - first].outcome = outcome
    var total = BatchOutcome()
    var place: PeerSequence?
    while let batch = batches.first, let outcome = batch.outcome {
      total.add(outcome)
      place = batch.last
      batches.removeFirst()
      first += 1
    }
    return place.map { ($0, total) }
  }
}
