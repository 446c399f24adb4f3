import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodModels
import LatewoodSimulation
import LatewoodStore

/// Operations on documents, compared with a model; now and then the process is killed, or the
/// database swept, compacted or reopened.
final class DocumentsTarget: FuzzTarget {
  var longest: Int { 400 }

  func run(_ input: UnsafeRawBufferPointer) {
    do { try DocumentsRun(input).run() } catch { find("\(error)") }
  }
}

/// The run of one input.
private final class DocumentsRun {
  private var bytes: InputBytes
  private let clock = Guarded<UInt64>(1_700_000_000)
  private let disk = SimulatedVolume()
  private let options: DocumentOptions
  private var process = 1
  private var store: DocumentStore
  private var documents: CollectionHandle
  private var model = DocumentModel()

  private struct OnPurpose: Error {}

  init(_ input: UnsafeRawBufferPointer) throws {
    bytes = InputBytes(input)
    var options = DocumentOptions.ofTargets
    options.depth = 1 + bytes.below(4)
    options.format = bytes.below(2) == 0 ? .version1 : .version2
    let clock = clock
    options.environment = Environment(now: { clock.withLock { $0 } * 1_000_000 }, random: { 77 })
    self.options = options
    store = try DocumentStore.open(at: "db", on: disk.process(1), mode: .createNew, options: options)
    documents = try store.foundDefaultCollection()
  }

  func run() throws {
    var steps = 0
    while !bytes.isAtEnd, steps < 60 {
      steps += 1
      switch bytes.below(16) {
      case 0: try reopen()
      case 1: try store.sweep()
      case 2: try store.store.checkpoint()
      case 3: try store.compact()
      case 4:
        let now = clock.withLock { time in
          time += UInt64(bytes.below(8))
          return time
        }
        try store.purgeExpired()
        model.expire(through: now)
      default: try batch()
      }
    }
    try compare()
    try store.sweep()
    try reopen()
    try store.close()
  }

  private func reopen() throws {
    if bytes.below(2) == 0 { try store.close() } else { disk.kill(process: process) }
    process += 1
    store = try DocumentStore.open(at: "db", on: disk.process(process), mode: .openExisting, options: options)
    documents = try store.foundDefaultCollection()
    model.expire(through: clock.withLock { $0 })
    try compare()
    let report = try store.verify()
    if !report.isSound { find("\(report.faults) \(report.store?.faults ?? [])") }
  }

  private func batch() throws {
    var next = model
    let fails = bytes.below(8) == 7
    let count = bytes.below(6)
    do {
      try store.write { writer in
        for _ in 0...count { try step(writer, &next) }
        if fails { throw OnPurpose() }
      }
      model = next
    } catch is OnPurpose {}
  }

  private func step(_ writer: DocumentWriter, _ model: inout DocumentModel) throws {
    let code = bytes.byte()
    let id = "doc \(code >> 5)"
    let known = model.documents[id]
    switch code & 15 {
    case 0..<6: try save(writer, id, known, &model)
    case 6..<9: try delete(writer, id, known, &model)
    case 9..<11: try insert(writer, id, over: nil, &model)
    case 11: try insert(writer, id, over: known?.live.keys.max(), &model)
    case 12 where code & 16 != 0: try purgeLeaf(writer, id, known, &model)
    case 12:
      if try writer.purge(id, in: documents) != (known != nil) { find("a purge of what is not there") }
      model.purge(id)
    case 13:
      guard let known, !known.isDeleted else { return }
      let time = code & 16 == 0 ? nil : clock.withLock { $0 } + UInt64(1 + bytes.below(12))
      try writer.setExpiry(of: id, in: documents, time)
      model.documents[id]?.expiry = time
    case 14:
      let body = try body()
      try writer.putLocal(id, in: documents, body: body)
      model.local[id] = body
    default:
      if try writer.deleteLocal(id, in: documents) != (model.local[id] != nil) { find("a local document") }
      model.local[id] = nil
    }
  }

  private func body() throws -> [UInt8] {
    let code = bytes.byte()
    return try body(of: [UInt8](repeating: code, count: 1 + [0, 3, 63, 200, 2000][Int(code % 5)]))
  }

  private func body(of content: [UInt8]) throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.data(content)
    return try writer.finish()
  }

  /// The body of a deletion: the number 0.
  private static let tombstone: [UInt8] = [0, 0]

  private func save(
    _ writer: DocumentWriter, _ id: String, _ known: DocumentModel.Document?, _ model: inout DocumentModel
  ) throws {
    let body = try body()
    var parent: RevisionID?
    if let known {
      let live = known.live.keys.sorted()
      parent = live.isEmpty ? known.winner : live[bytes.below(live.count)]
    }
    let saved = try writer.save(id, in: documents, body: body, parent: parent)
    model.replace(id, parent, saved.revision, body, isDeleted: false, blob: nil)
  }

  private func delete(
    _ writer: DocumentWriter, _ id: String, _ known: DocumentModel.Document?, _ model: inout DocumentModel
  ) throws {
    guard let known, !known.isDeleted else {
      if refusal(of: id, writer) != .notFound { find("what is not there was deleted") }
      return
    }
    let live = known.live.keys.sorted()
    let parent = live[bytes.below(live.count)]
    let saved = try writer.save(id, in: documents, body: Self.tombstone, parent: parent, isDeleted: true)
    model.replace(id, parent, saved.revision, Self.tombstone, isDeleted: true, blob: nil)
  }

  private func refusal(of id: String, _ writer: DocumentWriter) -> DatabaseError.Code? {
    do {
      _ = try writer.save(id, in: documents, body: Self.tombstone, parent: nil, isDeleted: true)
      return nil
    } catch { return (error as? DatabaseError)?.code }
  }

  private func purgeLeaf(
    _ writer: DocumentWriter, _ id: String, _ known: DocumentModel.Document?, _ model: inout DocumentModel
  ) throws {
    guard var known else { return }
    let leaves = known.live.keys.sorted() + known.deleted.sorted()
    let leaf = leaves[bytes.below(leaves.count)]
    if try writer.purge(id, in: documents, leaves: [leaf]) != [leaf] { find("a leaf was not purged") }
    known.live[leaf] = nil
    known.deleted.remove(leaf)
    if leaves.count > 1 { known.sequence = model.next() }
    model.documents[id] = leaves.count > 1 ? known : nil
  }

  /// Inserts a revision of another replica, without a known parent or as a child of a leaf. Its
  /// body differs from all others, so that it is new.
  private func insert(
    _ writer: DocumentWriter, _ id: String, over leaf: RevisionID?, _ model: inout DocumentModel
  ) throws {
    let length = 1 + bytes.below(7)
    let isDeleted = bytes.below(4) == 0
    var history = leaf.map { [$0] } ?? []
    var body: [UInt8] = []
    for step in 0..<length {
      body = try self.body(of: Array("\(model.lastSequence) \(step) \(bytes.byte())".utf8))
      let revision = try body.withUnsafeBytes {
        try RevisionID(
          editing: history.first, isDeleted: step == length - 1 && isDeleted, body: $0,
          by: options.format.digestAlgorithm)
      }
      history.insert(revision, at: 0)
    }
    let inserted = try writer.insert(id, in: documents, history: history, body: body, isDeleted: isDeleted)
    if inserted.isNew { model.replace(id, leaf, history[0], body, isDeleted: isDeleted, blob: nil) }
    let again = try writer.insert(id, in: documents, history: history, body: body, isDeleted: isDeleted)
    if again.isNew { find("the same revision was new twice") }
  }

  private func compare() throws {
    if let difference = try model.difference(to: store.reads(documents)) { find(difference) }
  }
}
