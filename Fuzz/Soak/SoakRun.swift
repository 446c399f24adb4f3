import LatewoodBytes
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodStore
import Synchronization

/// Runs all work in parallel on one database, at full speed, for a given time.
///
/// ```
/// writers     batches of documents, blobs, deletions, documents that expire;
///             the batch number determines the model
/// readers     single documents, checked against batches acknowledged before and begun after;
///             whole states; the feed
/// texts       documents with a full-text index, checked like the others
/// holders     a snapshot, kept for up to two minutes, checked completely before and after
/// compactor   explicit compactions beside automatic ones; occasionally a sweep and a verification
/// ```
///
/// Thread safety: threads share the database, the counters and the first failure, which ends the
/// run.
final class SoakRun: Sendable {
  struct Failure: Error, CustomStringConvertible { var description: String }

  static let writers = 2
  static let readers = 2
  static let holders = 3

  let path: String
  let seed: UInt64
  private let database: DocumentStore
  private let collections: [CollectionHandle]
  private let brief: CollectionHandle
  private let texts: SoakTexts
  private let isOver = Atomic<Bool>(false)
  private let running = Atomic<Int>(0)
  private let failure = Guarded<String?>(nil)
  /// The last batch that each writer has begun, and the last batch that was acknowledged.
  private let begun = Guarded([Int](repeating: 0, count: writers))
  private let acknowledged = Guarded([Int](repeating: 0, count: writers))
  let counts = Guarded(SoakCounts())

  init(path: String, seed: UInt64) throws {
    self.path = path
    self.seed = seed
    var options = DocumentOptions()
    // Bodies are not Fleece.
    options.format = .version1
    options.store.writeBufferBudget = 4 << 20
    options.store.compaction.minimumSize = 16 << 20
    options.store.durability = .relaxed
    let database = try DocumentStore.open(at: path, mode: .createNew, options: options)
    self.database = database
    collections = try (0..<Self.writers).map { try database.createCollection(SoakWorkload.collection($0)) }
    brief = try database.createCollection(SoakWorkload.brief)
    texts = try SoakTexts(database)
  }

  // MARK: Control

  func start() {
    for number in 0..<Self.writers { run("writer \(number)") { try self.write(number) } }
    run("texts") { while self.goesOn { try self.texts.write() } }
    for number in 0..<Self.readers { run("reader \(number)") { try self.read(number) } }
    for number in 0..<Self.holders { run("holder \(number)") { try self.hold(number) } }
    run("compactor") { try self.compact() }
  }

  private func run(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
    running.add(1, ordering: .acquiringAndReleasing)
    BackgroundThread.run { [self] in
      do {
        try body()
      } catch {
        failure.withLock { $0 = $0 ?? "\(name): \(error)" }
        isOver.store(true, ordering: .releasing)
      }
      running.subtract(1, ordering: .acquiringAndReleasing)
    }
  }

  var hasFailed: Bool { failure.withLock { $0 != nil } }

  /// Ends all threads and checks the result, both before and after reopening.
  func finish() throws {
    isOver.store(true, ordering: .releasing)
    while running.load(ordering: .acquiring) > 0 { Monitor.sleep(milliseconds: 20) }
    if let failure = failure.withLock({ $0 }) { throw Failure(description: failure) }
    try checkWhole(database.snapshot(), deeply: true)
    try checkExpired()
    try verify()
    // Without any pins, all dead data is released: the size is limited by the live data.
    _ = try database.compact()
    try database.close()
    let again = try DocumentStore.open(at: path, mode: .openExisting)
    let reopened = try (0..<Self.writers).map { try again.createCollection(SoakWorkload.collection($0)) }
    try checkWhole(again.snapshot(), of: reopened)
    for number in 0..<Self.writers {
      let last = try last(of: reopened[number], again.snapshot())
      guard last == acknowledged.withLock({ $0[number] }) else {
        throw Failure(description: "after a close writer \(number) is at batch \(last)")
      }
    }
    try again.close()
  }

  /// Sleeps, but not beyond the end of the run.
  private func rest(milliseconds: UInt64) {
    var rest = milliseconds
    while rest > 0, !isOver.load(ordering: .acquiring) {
      Monitor.sleep(milliseconds: min(rest, 50))
      rest -= min(rest, 50)
    }
  }

  private var goesOn: Bool { !isOver.load(ordering: .acquiring) }

  // MARK: Threads

  private func write(_ number: Int) throws {
    let workload = SoakWorkload(writer: number)
    let collection = collections[number]
    var random = SoakRandom(seed ^ UInt64(number))
    while goesOn {
      let batch = acknowledged.withLock { $0[number] } + 1
      begun.withLock { $0[number] = batch }
      let handle = SoakWorkload.hasBlob(batch) ? try database.putBlob(SoakWorkload.blob(batch)) : nil
      try database.write(durability: random.below(50) == 0 ? .synchronous : .relaxed) { writer in
        for place in 0..<SoakWorkload.places {
          let slot = SoakWorkload.slot(batch, place)
          try writer.save(
            SoakWorkload.id(slot), in: collection, body: workload.body(batch, slot), parent: nil,
            blobs: place == 0 ? handle.map { [$0.digest] } ?? [] : [], policy: .lastWriteWins)
        }
        if let slot = SoakWorkload.deleted(batch),
          try writer.reads(collection).head(of: SoakWorkload.id(slot)).map({ !$0.isDeleted }) ?? false
        {
          try writer.save(
            SoakWorkload.id(slot), in: collection, body: [], parent: nil, isDeleted: true,
            policy: .lastWriteWins)
        }
        if batch % SoakWorkload.briefEvery == 0 {
          let id = "\(number) \(batch)"
          try writer.save(id, in: brief, body: workload.body(batch, 0), parent: nil)
          let now = Environment.system.now() / 1_000_000
          try writer.setExpiry(of: id, in: brief, now + UInt64(random.below(4)))
        }
        try writer.putLocal(SoakWorkload.counter, in: collection, body: Array("\(batch)".utf8))
      }
      acknowledged.withLock { $0[number] = batch }
      counts.withLock {
        $0.batches += 1
        if handle != nil { $0.blobs += 1 }
      }
    }
  }

  private func read(_ number: Int) throws {
    var random = SoakRandom(seed &+ 77 &+ UInt64(number))
    var feeds = [UInt64](repeating: 0, count: Self.writers)
    while goesOn {
      let writer = random.below(Self.writers)
      switch random.below(400) {
      case 0: try checkWhole(database.snapshot(), deeply: false)
      case 1..<5:
        let reads = try database.reads(collections[writer])
        var (last, rest) = (feeds[writer], 500)
        try reads.forEachChange(since: last) { entry in
          guard entry.sequence > last else { throw Failure(description: "the feed goes back") }
          (last, rest) = (entry.sequence, rest - 1)
          return rest > 0
        }
        feeds[writer] = last
      default: try checkOne(writer, random.below(SoakWorkload.slots))
      }
      counts.withLock { $0.reads += 1 }
    }
  }

  private func hold(_ number: Int) throws {
    var random = SoakRandom(seed &+ 177 &+ UInt64(number))
    while goesOn {
      let snapshot = try database.snapshot()
      try checkWhole(snapshot, deeply: true)
      rest(milliseconds: UInt64(random.below(random.below(4) == 0 ? 120_000 : 5000)))
      try checkWhole(snapshot, deeply: true)
      snapshot.close()
      counts.withLock { $0.snapshots += 1 }
    }
  }

  private func compact() throws {
    var random = SoakRandom(seed &+ 277)
    while goesOn {
      rest(milliseconds: UInt64(random.below(20_000)))
      switch random.below(4) {
      case 0: _ = try database.sweep()
      case 1: try verify()
      default: _ = try database.compact()
      }
      counts.withLock { $0.upkeep += 1 }
    }
  }

  // MARK: Comparison with the model

  private func verify() throws {
    let report = try database.verify()
    guard report.isSound else { throw Failure(description: "a verification found \(report)") }
  }

  private func last(of collection: CollectionHandle, _ snapshot: DocumentSnapshot) throws -> Int {
    let text = try snapshot.reads(collection).local(SoakWorkload.counter)
    return text.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
  }

  /// Checks that a document is not older than the last batch that was acknowledged before the read,
  /// nor newer than the last that had begun after it.
  private func checkOne(_ writer: Int, _ slot: Int) throws {
    let before = acknowledged.withLock { $0[writer] }
    let body = try database.reads(collections[writer]).document(SoakWorkload.id(slot))
      .flatMap { $0.head.isDeleted ? nil : $0.body }
    let after = begun.withLock { $0[writer] }
    for batch in before...after {
      let author = SoakWorkload.author(of: slot, after: batch)
      let expected = author.flatMap {
        $0.isDeletion ? nil : SoakWorkload(writer: writer).body($0.batch, slot)
      }
      if body == expected { return }
    }
    let found = body.flatMap { SoakWorkload.batch(ofBody: $0) }
    throw Failure(
      description:
        "document \(slot) of writer \(writer) is of batch \(found ?? 0) between the batches \(before) and \(after)"
    )
  }

  /// Checks all documents of all writers, by the numbers of the last batches in this state.
  private func checkWhole(
    _ snapshot: DocumentSnapshot, of others: [CollectionHandle]? = nil, deeply: Bool = false
  ) throws {
    for (writer, collection) in (others ?? collections).enumerated() {
      let last = try last(of: collection, snapshot)
      let reads = try snapshot.reads(collection)
      let expected = SoakWorkload.documents(after: last)
      guard try reads.totals().documents == expected.count else {
        throw Failure(
          description:
            "\(try reads.totals().documents) documents in place of \(expected.count) after batch \(last)")
      }
      for (slot, batch) in expected {
        guard let (head, body) = try reads.document(SoakWorkload.id(slot)), !head.isDeleted,
          body == SoakWorkload(writer: writer).body(batch, slot)
        else { throw Failure(description: "document \(slot) is not what batch \(batch) made it") }
      }
      if deeply { try checkBlobs(expected) }
    }
    if others == nil { try texts.check(snapshot) }
    counts.withLock { $0.states += 1 }
  }

  /// Checks that all documents of the collection expire within seconds.
  private func checkExpired() throws {
    for _ in 0..<300 {
      if try database.reads(brief).totals().documents == 0 { return }
      Monitor.sleep(milliseconds: 100)
    }
    throw Failure(description: "documents that expired are still there")
  }

  /// Checks blobs: blobs of an earlier state may have been swept, but a blob that is found is
  /// complete.
  private func checkBlobs(_ documents: [Int: Int]) throws {
    for (slot, batch) in documents
    where SoakWorkload.hasBlob(batch) && SoakWorkload.slot(batch, 0) == slot && batch % 3 == 0 {
      let content = SoakWorkload.blob(batch)
      guard let handle = try database.blob(try database.putBlob(content).digest) else { continue }
      guard try handle.read() == content else { throw Failure(description: "the blob of batch \(batch)") }
    }
  }
}

/// The counts of operations.
struct SoakCounts: Sendable {
  var batches = 0
  var reads = 0
  var states = 0
  var snapshots = 0
  var blobs = 0
  /// The number of compactions, sweeps and verifications.
  var upkeep = 0
}

struct SoakRandom {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func below(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(truncatingIfNeeded: (state >> 33) % UInt64(bound))
  }
}
