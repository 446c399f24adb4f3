import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// Power failures at every call of a script of batches. After each, the database opens with a state
/// from the last that was acknowledged as durable up to the one in progress, and indexes and
/// documents agree.
@Suite struct DocumentCrashTests {
  static let imagesPerCall = Effort.count(64, low: 10)

  @Test func `after a power cut at any call, documents and indexes agree`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let volume = SimulatedVolume()
    let whole = DocumentCrashScript()
    try whole.run(on: volume)
    let calls = volume.callCount
    var points = 0
    for call in 0...calls {
      let run = DocumentCrashScript()
      let volume = SimulatedVolume()
      volume.inject(.powerCut, atCall: call)
      do { try run.run(on: volume) } catch {
        if !volume.isCrashed { Issue.record("\(error) without a cause at call \(call)") }
      }
      #expect(volume.isCrashed == (call < calls))
      let images = volume.crashImages(seed: random.next(), random: Self.imagesPerCall)
      var chosen: Set<Int> = [0, images.count - 1]
      while chosen.count < min(images.count, Self.imagesPerCall) { chosen.insert(random.below(images.count)) }
      for number in chosen.sorted() {
        let image = images[number]
        let label = "call \(call), image \(number): \(image); \(random.replay)"
        try check(image, run, whole, label, goesOn: points % 4 == 0)
        points += 1
      }
    }
    print("DocumentCrashTests: \(calls) calls, \(points) points; seed \(seed)")
  }

  private func check(
    _ image: CrashImage, _ run: DocumentCrashScript, _ whole: DocumentCrashScript, _ label: String,
    goesOn: Bool
  ) throws {
    let volume = try image.makeVolume()
    do {
      let store = try DocumentCrashScript.open(volume)
      let state = try DocumentCrashScript.state(of: store)
      // The batch in progress may have been committed although it was not acknowledged.
      let allowed = whole.states[run.durable...min(run.states.count, whole.states.count - 1)]
      if !allowed.contains(state) {
        let place = whole.states.firstIndex(of: state).map { "state \($0)" } ?? "no state at all"
        Issue.record("\(place) where \(run.durable) is durable and \(run.states.count) in flight: \(label)")
      }
      let report = try store.verify()
      if !report.isSound { Issue.record("\(report.faults) \(report.store?.faults ?? []): \(label)") }
      if goesOn {
        try store.save("after", "the crash")
        try store.sweep()
        let report = try store.verify()
        if !report.isSound { Issue.record("\(report.faults) after going on: \(label)") }
        #expect(try store.body("after") == "the crash", "\(label)")
      }
      // The store is not closed, because that would take longer than everything else.
      volume.crash()
    } catch {
      Issue.record("\(error): \(label)")
    }
  }
}

/// Batches that use every operation of a batch. They are the same each time, down to the revisions.
final class DocumentCrashScript {
  struct State: Equatable {
    /// The documents with the body of their winner, in the order of the feed.
    var documents: [[UInt8]] = []
    var sequences: [UInt64] = []
    var local: [String] = []
    var expiring: [String] = []
    var conflicts = 0
    var collections: [String] = []
  }

  /// The states after each acknowledged step, beginning with the empty database.
  private(set) var states = [State()]
  /// The index of the newest state that no power failure can undo.
  private(set) var durable = 0

  static func open(_ volume: any Volume) throws -> DocumentStore {
    var options = TestClock().options()
    options.store.checkpointsInBackground = false
    options.store.nodeSize = 1024
    options.store.inlineValueLimit = 64
    options.store.writeBufferBudget = 65536
    options.depth = 2
    return try DocumentStore.open(at: "db", on: volume, mode: .openOrCreate, options: options)
  }

  static func state(of store: DocumentStore) throws -> State {
    let reads = try store.reads(store.defaultCollection())
    var state = State()
    for entry in try reads.changes() {
      let body = try reads.head(of: entry.id).flatMap { try reads.body(at: $0.body) } ?? []
      state.documents.append(bytes("\(entry.id) \(entry.revision) ") + body)
      state.sequences.append(entry.sequence)
    }
    state.local = try reads.localNames()
    state.expiring = try reads.expiring(before: .max, limit: .max).map { "\($0.id) \($0.seconds)" }
    var conflicts = AllDocumentsQuery()
    conflicts.onlyConflicts = true
    state.conflicts = try reads.count(conflicts)
    state.collections = try store.collectionNames()
    return state
  }

  func run(on volume: any Volume) throws {
    let store = try Self.open(volume)
    states = [try Self.state(of: store)]
    let documents = try store.defaultCollection()
    for step in steps(documents) {
      let isDurable = try step(store)
      states.append(try Self.state(of: store))
      if isDurable { durable = states.count - 1 }
    }
    try store.close()
  }

  private func steps(_ documents: CollectionHandle) -> [(DocumentStore) throws -> Bool] {
    let other = bytes("theirs").withUnsafeBytes { RevisionID(editing: nil, isDeleted: false, body: $0) }
    let long = [UInt8](repeating: 9, count: 3000)
    func batch(
      _ durability: Durability = .synchronous, _ body: @escaping (DocumentWriter) throws -> Void
    ) -> (DocumentStore) throws -> Bool {
      { store in
        try store.write(durability: durability) { try body($0) }
        return durability == .synchronous
      }
    }
    func edit(_ writer: DocumentWriter, _ id: String, _ body: [UInt8], deletes: Bool = false) throws {
      let parent = try writer.reads(documents).head(of: id)?.winner
      try writer.save(id, in: documents, body: body, parent: parent, isDeleted: deletes)
    }
    return [
      batch { for number in 0..<8 { try edit($0, "\(number)", bytes("first \(number)")) } },
      batch { for number in 0..<4 { try edit($0, "\(number)", long) } },
      batch(.relaxed) { try $0.insert("5", in: documents, history: [other], body: bytes("theirs")) },
      { store in
        let blob = try store.putBlob([UInt8](repeating: 3, count: 5000))
        try store.write {
          try $0.save("blob", in: documents, body: [1], parent: nil, blobs: [blob.digest])
        }
        return true
      },
      batch { try edit($0, "1", [0], deletes: true) },
      { store in
        try store.sweep()
        return false
      },
      batch { writer in
        try writer.setExpiry(of: "2", in: documents, 1_800_000_000)
        try writer.putLocal("checkpoint", in: documents, body: long)
        try writer.purge("7", in: documents)
      },
      { store in
        try store.store.checkpoint()
        return true
      },
      batch(.relaxed) { writer in
        for number in 0..<6 where number != 1 { try edit(writer, "\(number)", bytes("last \(number)")) }
        try edit(writer, "blob", bytes("no blob"))
      },
      batch { try $0.resolveConflicts(of: "5", in: documents, merged: bytes("merged"), tombstone: [0]) },
      { store in
        _ = try store.createCollection("other")
        return true
      },
      { store in
        try store.compact()
        return true
      },
      { store in
        try store.dropCollection("other")
        return true
      },
      batch { try edit($0, "1", bytes("again")) },
    ]
  }
}
