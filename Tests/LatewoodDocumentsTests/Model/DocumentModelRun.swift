import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// One random run: a database on a simulated disk, compared with a model.
final class DocumentModelRun {
  var random: SeededRandom
  let clock = TestClock()
  let disk: SimulatedVolume
  var process = 1
  var store: DocumentStore
  var documents: CollectionHandle
  var model = DocumentModel()
  var operations = 0
  var reopenings = 0
  private let options: DocumentOptions
  private var handles: [BlobHandle] = []

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    disk = SimulatedVolume(seed: seed)
    var options = clock.options()
    options.store.checkpointsInBackground = false
    options.store.writeBufferBudget = 65536
    options.store.durability = .relaxed
    options.depth = 4
    options.format = random.pick(DocumentFormat.allCases)
    self.options = options
    store = try DocumentStore.open(at: "db", on: disk.process(1), mode: .createNew, options: options)
    documents = try store.defaultCollection()
  }

  func run(operations wanted: Int) throws {
    while operations < wanted {
      switch random.below(100) {
      case 0..<80: try batch()
      case 80..<84: try reopen()
      case 84..<88: try store.sweep()
      case 88..<90: try store.store.checkpoint()
      case 90: try store.compact()
      case 91..<94: try expire()
      case 94..<97: handles = try random.oneIn(2) ? [] : [store.putBlob(content())]
      default: try compare()
      }
    }
    try compare()
    handles = []
    try store.sweep()
    try store.expectSound(random.replay)
    let wanted = Set(model.documents.values.flatMap(\.blobs.values))
    #expect(try store.verify().blobs == wanted.count, "\(random.replay)")
    try store.close()
  }

  /// Returns a random body of about the given length: Fleece, or any bytes where that is possible.
  private func body(_ length: Int) throws -> [UInt8] {
    if options.format == .version1 { return random.bytes(length) }
    var writer = FleeceWriter()
    try writer.data(random.bytes(max(2, length - 5)))
    return try writer.finish()
  }

  private func content() -> [UInt8] {
    [UInt8](repeating: UInt8(random.below(6)), count: 1 + random.below(4) * 700)
  }

  private func batch() throws {
    var next = model
    let fails = random.oneIn(8)
    do {
      try store.write { writer in
        for _ in 0...random.below(20) {
          operations += 1
          try step(writer, &next)
        }
        if fails { throw OnPurpose() }
      }
      model = next
    } catch is OnPurpose {}
  }

  private func step(_ writer: DocumentWriter, _ model: inout DocumentModel) throws {
    let id = "doc \(random.below(40))"
    let known = model.documents[id]
    switch random.below(20) {
    case 0..<9: try save(writer, id, known, &model)
    case 9..<12: try delete(writer, id, known, &model)
    case 12..<15: try insert(writer, id, known, &model)
    case 15:
      #expect(try writer.purge(id, in: documents) == (known != nil), "\(random.replay)")
      model.purge(id)
    case 16:
      guard let leaf = known?.winner, (known?.live.count ?? 0) + (known?.deleted.count ?? 0) == 1 else {
        return
      }
      #expect(try writer.purge(id, in: documents, leaves: [leaf]) == [leaf], "\(random.replay)")
      model.purge(id)
    case 17:
      guard let known, !known.isDeleted else { return }
      let time = random.oneIn(3) ? nil : clock.now + UInt64(1 + random.below(20))
      try writer.setExpiry(of: id, in: documents, time)
      model.documents[id]?.expiry = time
    case 18:
      let body = random.bytes(random.below(40))
      try writer.putLocal(id, in: documents, body: body)
      model.local[id] = body
    default:
      #expect(try writer.deleteLocal(id, in: documents) == (model.local[id] != nil), "\(random.replay)")
      model.local[id] = nil
    }
  }

  private func save(
    _ writer: DocumentWriter, _ id: String, _ known: DocumentModel.Document?, _ model: inout DocumentModel
  ) throws {
    // A few around the greatest length of a body that is stored in the record.
    let length =
      random.oneIn(4)
      ? DocumentRecord.bodyLimit - 1 + random.below(3) : 8 + random.below(random.oneIn(4) ? 3000 : 60)
    let body = try body(length)
    let handle = handles.first
    let parent = known.flatMap { known in
      known.isDeleted ? known.winner : random.pick(known.live.keys.sorted())
    }
    if let known, !known.isDeleted, random.oneIn(6) {
      refusal(.conflict) { try writer.save(id, in: documents, body: body, parent: nil) }
      return
    }
    let saved = try writer.save(
      id, in: documents, body: body, parent: known?.isDeleted == true && random.oneIn(2) ? nil : parent,
      blobs: handle.map { [$0.digest] } ?? [])
    model.replace(id, parent, saved.revision, body, isDeleted: false, blob: handle?.digest)
    #expect(saved.isNew && saved.sequence == model.lastSequence, "\(random.replay)")
  }

  private func delete(
    _ writer: DocumentWriter, _ id: String, _ known: DocumentModel.Document?, _ model: inout DocumentModel
  ) throws {
    guard let known, !known.isDeleted else {
      refusal(.notFound) { try writer.save(id, in: documents, body: [], parent: nil, isDeleted: true) }
      return
    }
    let parent = random.pick(known.live.keys.sorted())
    let saved = try writer.save(id, in: documents, body: [0, 0], parent: parent, isDeleted: true)
    model.replace(id, parent, saved.revision, [0, 0], isDeleted: true, blob: nil)
  }

  /// Inserts a branch of another replica, without a common ancestor.
  private func insert(
    _ writer: DocumentWriter, _ id: String, _ known: DocumentModel.Document?, _ model: inout DocumentModel
  ) throws {
    let length = 1 + random.below(4)
    var history: [RevisionID] = []
    var body: [UInt8] = []
    let isDeleted = random.oneIn(4)
    for step in 0..<length {
      body = try self.body(12)
      let id = try body.withUnsafeBytes {
        try RevisionID(
          editing: history.first, isDeleted: step == length - 1 && isDeleted, body: $0,
          by: options.format.digestAlgorithm)
      }
      history.insert(id, at: 0)
    }
    for _ in 0...random.below(2) {
      let isFirst = try writer.insert(id, in: documents, history: history, body: body, isDeleted: isDeleted)
        .isNew
      if isFirst { model.replace(id, nil, history[0], body, isDeleted: isDeleted, blob: nil) }
    }
  }

  private func expire() throws {
    clock.advance(UInt64(random.below(10)))
    try store.purgeExpired()
    model.expire(through: clock.now)
  }

  private func reopen() throws {
    reopenings += 1
    handles = []
    if random.oneIn(2) { try store.close() } else { disk.kill(process: process) }
    process += 1
    store = try DocumentStore.open(at: "db", on: disk.process(process), mode: .openExisting, options: options)
    documents = try store.defaultCollection()
    model.expire(through: clock.now)
    try compare()
    try store.expectSound(random.replay)
  }

  private func compare() throws {
    let reads = try store.reads(documents)
    for (id, document) in model.documents {
      let head = try #require(try reads.head(of: id), "\(id) \(random.replay)")
      let record = try #require(try reads.record(of: id))
      #expect(head == DocumentRecord.Head(record) && head.winner == document.winner, "\(random.replay)")
      #expect(head.isDeleted == document.isDeleted && head.sequence == document.sequence, "\(random.replay)")
      #expect(
        head.expiry == document.expiry && head.hasConflicts == (document.live.count > 1), "\(random.replay)")
      let winner = try reads.winner(of: id)
      #expect(winner?.head == head, "\(random.replay)")
      if !head.isDeleted {
        #expect(winner?.body == document.live[head.winner], "\(random.replay)")
        #expect(try reads.document(id)?.body == winner?.body, "\(random.replay)")
      }
      let leaves = record.tree.leaves
      #expect(Set(leaves.map(\.id)) == document.deleted.union(document.live.keys), "\(random.replay)")
      for leaf in leaves where !leaf.isDeleted {
        #expect(try reads.body(at: leaf.body) == document.live[leaf.id], "\(random.replay)")
      }
    }
    var all = AllDocumentsQuery()
    all.includesDeleted = true
    #expect(try reads.count(all) == model.documents.count, "\(random.replay)")
    #expect(try reads.count() == model.documents.values.count { !$0.isDeleted }, "\(random.replay)")
    var listed = 0
    try reads.forEachWholeDocument { id, head, body in
      listed += 1
      #expect(body == model.documents[id]?.live[head.winner], "\(random.replay)")
      return true
    }
    #expect(try listed == reads.count(), "\(random.replay)")
    var conflicts = AllDocumentsQuery()
    conflicts.onlyConflicts = true
    #expect(
      try reads.count(conflicts) == model.documents.values.count { $0.live.count > 1 }, "\(random.replay)")
    let feed = model.documents.map { ($1.sequence, $0) }.sorted { $0.0 < $1.0 }
    #expect(try reads.changes().map(\.id) == feed.map(\.1), "\(random.replay)")
    #expect(try reads.lastSequence() == model.lastSequence, "\(random.replay)")
    #expect(try reads.localNames() == model.local.keys.sorted(), "\(random.replay)")
    for (name, body) in model.local { #expect(try reads.local(name) == body, "\(random.replay)") }
  }
}

extension DocumentRecord.Head {
  fileprivate init?(_ record: DocumentRecord) {
    let bytes = record.encoded()
    guard let head = try? bytes.withUnsafeBytes({ try DocumentRecord.Head($0) }) else { return nil }
    self = head
  }
}
