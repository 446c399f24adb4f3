import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@testable import LatewoodDocuments

/// Random histories of documents with bodies around the greatest length that is stored in records,
/// with indexes and a view, compared with the bodies that were given.
@Suite struct BodyPlaceModelTests {
  @Test(arguments: 0..<8) func `every revision keeps its body when the body is moved`(number: Int) throws {
    let seed = SeededRandom.seed() &+ UInt64(number)
    var run = try BodyPlaceRun(seed: seed)
    for _ in 0..<Effort.count(150, low: 40) { try run.step() }
    try run.finish()
  }
}

private struct BodyPlaceRun {
  private var random: SeededRandom
  private let clock = TestClock()
  private let disk: SimulatedVolume
  private var process = 1
  private let options: DocumentOptions
  private var store: DocumentStore
  private var documents: CollectionHandle
  private let view = SampleView.values()
  /// The bodies that were given to revisions, by id and revision.
  private var bodies: [String: [RevisionID: [UInt8]]] = [:]
  /// The histories of inserted revisions.
  private var histories: [String: [[RevisionID]]] = [:]
  /// Bodies that no sweep can have removed: they have belonged to a leaf since the last sweep.
  private var kept: [String: Set<RevisionID>] = [:]
  private var last = ""

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    disk = SimulatedVolume(seed: seed)
    var options = clock.options()
    options.store.checkpointsInBackground = false
    options.store.durability = .relaxed
    options.depth = 3
    self.options = options
    store = try DocumentStore.open(at: "db", on: disk.process(1), mode: .createNew, options: options)
    documents = try store.defaultCollection()
    try createIndexes()
  }

  private func createIndexes() throws {
    for (number, parts) in [["k"], ["tags[]"], ["k:desc", "v"], ["tags[]", "k"]].enumerated() {
      try store.createIndex(
        "i\(number)", IndexDefinition(parts.map { try IndexDefinition.Part(parsing: $0) }), in: documents)
    }
    try store.createIndex(
      "partial",
      IndexDefinition(
        [IndexDefinition.Part(parsing: "v")], where: MangoParser.predicate(json: #"{"k":{"$gt":3}}"#)),
      in: documents)
    try store.createIndex(
      "unique", IndexDefinition([IndexDefinition.Part(parsing: "u")], isUnique: true), in: documents)
    try store.register(view, of: documents)
    try store.catchUp(view, of: documents)
  }

  private mutating func body() throws -> [UInt8] {
    let long = String(repeating: "t", count: 1015 + random.below(8))
    let tags = (0..<random.below(5)).map { _ in
      random.oneIn(20)
        ? "\"\(long + random.pick(["", "u", "uv"]))\"" : random.pick(["1", "2", "\"a\"", "\"b\"", "null"])
    }
    let pad = random.oneIn(3) ? 0 : random.oneIn(2) ? 420 + random.below(80) : random.below(900)
    let k = random.pick(["1", "2", "3", "4", "5", "null", "\"x\"", "9007199254740993"])
    let u = random.oneIn(3) ? ",\"u\":\(random.below(6))" : ""
    let v = random.below(1000)
    return try JSON.fleece(
      from:
        #"{"k":\#(k),"v":\#(v)\#(u),"tags":[\#(tags.joined(separator: ","))],"p":"\#(String(repeating: "p", count: pad))"}"#
    )
  }

  mutating func step() throws {
    let id = "d\(random.below(8))"
    switch random.below(20) {
    case 0..<12:
      let count = 1 + random.below(3)
      let fails = random.oneIn(10)
      let before = (bodies, histories, kept)
      do {
        let collection = documents
        // Steps in one batch.
        var copy = self
        try store.write { writer in
          for _ in 0..<count {
            let id = copy.random.oneIn(2) ? id : "d\(copy.random.below(8))"
            try copy.change(writer, id, collection)
          }
          if fails { throw OnPurpose() }
        }
        self = copy
      } catch is OnPurpose {
        (bodies, histories, kept) = before
        last = "failed batch"
        _ = random.next()
      }
    case 12:
      last = "sweep"
      try store.sweep()
      try rekeep()
    case 13:
      last = "prune"
      _ = try store.prune(keeping: 1 + random.below(3))
      try rekeep()
    case 14:
      last = "depth"
      try store.setDepth(1 + random.below(4))
    case 15:
      last = "checkpoint"
      try store.store.checkpoint()
    case 16:
      last = "compact"
      try store.compact()
      try rekeep()
    case 17:
      last = "expire"
      clock.advance(UInt64(random.below(10)))
      try store.purgeExpired()
    case 18:
      last = "reopen"
      if random.oneIn(2) { try store.close() } else { disk.kill(process: process) }
      process += 1
      store = try DocumentStore.open(
        at: "db", on: disk.process(process), mode: .openExisting, options: options)
      documents = try store.defaultCollection()
      try store.register(view, of: documents)
    default:
      last = "index again"
      let name = random.pick(["i0", "i1", "i2", "i3", "partial"])
      try store.dropIndex(name, in: documents)
      try createIndexes()
    }
    try compare()
  }

  private mutating func change(
    _ writer: DocumentWriter, _ id: String, _ collection: CollectionHandle
  ) throws {
    let record = try writer.reads(collection).record(of: id)
    let leaves = record?.tree.leaves ?? []
    let live = leaves.filter { !$0.isDeleted }
    let body = try body()
    func refused(_ body: () throws -> Void) throws {
      do { try body() } catch let error as DatabaseError where error.code == .notUnique {}
    }
    switch random.below(12) {
    case 0..<4:
      last = "save \(id)"
      let parent = live.isEmpty ? nil : random.pick(live.map(\.id))
      try refused {
        let saved = try writer.save(id, in: collection, body: body, parent: parent)
        note(id, saved.revision, body)
      }
    case 4:
      last = "delete \(id)"
      guard !live.isEmpty else { return }
      let parent = random.pick(live.map(\.id))
      let saved = try writer.save(id, in: collection, body: body, parent: parent, isDeleted: true)
      note(id, saved.revision, body)
    case 5..<9:
      last = "insert \(id)"
      // From a known history, or from nothing.
      var history: [RevisionID] = []
      if let known = record?.tree.nodes, random.oneIn(2) {
        history = record?.tree.history(of: random.pick(known.map(\.id))).map(\.id) ?? []
      }
      if let known = histories[id], random.oneIn(6) { history = random.pick(known) }
      let isDeleted = random.oneIn(4)
      for _ in 0..<random.below(3) + (history.isEmpty ? 1 : 0) {
        let seed = random.bytes(9)
        history.insert(
          seed.withUnsafeBytes { RevisionID(editing: history.first, isDeleted: isDeleted, body: $0) }, at: 0)
      }
      let given = bodies[id]?[history[0]] ?? body
      let isKnown = record?.tree[history[0]] != nil
      let inserted = try writer.insert(
        id, in: collection, history: history, body: given, isDeleted: isDeleted)
      if inserted.isNew, !isKnown || record?.tree[history[0]]?.body == 0 { note(id, history[0], given) }
      histories[id, default: []].append(history)
    case 9:
      last = "purge \(id)"
      _ = try writer.purge(id, in: collection)
    case 10:
      guard !leaves.isEmpty else { return }
      let doomed = random.pick(leaves.map(\.id))
      last = "purge \(id) \(doomed)"
      _ = try writer.purge(id, in: collection, leaves: [doomed])
    default:
      last = "expiry \(id)"
      guard record.map({ $0.tree.winner?.isDeleted == false }) == true else { return }
      let time = random.oneIn(3) ? nil : clock.now + UInt64(1 + random.below(20))
      try writer.setExpiry(of: id, in: collection, time)
    }
  }

  private mutating func note(_ id: String, _ revision: RevisionID, _ body: [UInt8]) {
    bodies[id, default: [:]][revision] = body
    kept[id, default: []].insert(revision)
  }

  /// Keeps only the bodies of leaves: after a sweep, no other body is certain to exist.
  private mutating func rekeep() throws {
    kept = [:]
    let reads = try store.reads(documents)
    for id in bodies.keys {
      guard let record = try reads.record(of: id) else { continue }
      for leaf in record.tree.leaves where leaf.body != 0 { kept[id, default: []].insert(leaf.id) }
    }
  }

  private mutating func compare() throws {
    let what = "after \(last), \(random.replay)"
    let faults = try store.verify(deep: true).faults
    try #require(faults == [], "\(what)")
    let reads = try store.reads(documents)
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    var all: [String: [UInt8]] = [:]
    for id in bodies.keys {
      guard let record = try reads.record(of: id) else {
        kept[id] = nil
        continue
      }
      kept[id]?.formIntersection(record.tree.nodes.map(\.id))
      for node in record.tree.nodes where node.body != 0 {
        let body = try reads.body(of: node.id, in: record)
        let other = try snapshot.reads(documents).body(at: node.body)
        try #require(body == other, "\(what) \(id) \(node.id)")
        let mustBe = node.isLeaf || kept[id]?.contains(node.id) == true
        if body != nil || mustBe { try #require(body == bodies[id]?[node.id], "\(what) \(id) \(node.id)") }
      }
      let winner = try #require(record.tree.winner)
      let found = try #require(try reads.winner(of: id))
      try #require(found.body == (winner.body == 0 ? nil : bodies[id]?[winner.id]), "\(what) \(id)")
      if !winner.isDeleted, let body = found.body { all[id] = body }
    }
    try compareFound(all, reads, what)
    try #require(
      try store.reads(view, of: documents).shownRows() == store.recomputedRows(view, in: documents), "\(what)"
    )
  }

  private mutating func compareFound(_ all: [String: [UInt8]], _ reads: DocumentReads, _ what: String) throws
  {
    for selector in [
      #"{"k":1}"#, #"{"k":null}"#, #"{"k":"x"}"#, #"{"k":{"$gte":2,"$lt":5}}"#, #"{"k":9007199254740993}"#,
      #"{"k":9007199254740992}"#, #"{"u":3}"#, #"{"tags":{"$elemMatch":{"$eq":1}}}"#,
      #"{"k":4,"v":{"$gt":300}}"#,
      #"{"k":{"$gt":3},"v":{"$lt":600}}"#, #"{"tags":[]}"#,
    ] {
      let predicate = try MangoParser.predicate(json: selector)
      let wanted = try all.filter { id, body in
        let head = try #require(try reads.head(of: id))
        return try id.withBytes { id in
          try body.withUnsafeBytes { try predicate.matches(MatchedDocument(id, head, $0)) }
        }
      }
      for (order, isDescending) in [("", false), ("v", false), ("k", true)] {
        var request = FindRequest(predicate)
        if !order.isEmpty {
          request.order = [FindRequest.Order(FieldPath(order), isDescending: isDescending)]
        }
        var found: [String] = []
        try reads.find(request) { document in
          found.append(document.id)
          return true
        }
        try #require(found.sorted() == wanted.keys.sorted(), "\(what) \(selector) \(order)")
        if order.isEmpty { try #require(found == found.sorted(), "\(what) \(selector)") }
        try #require(try reads.count(request) == wanted.count, "\(what) \(selector) \(order)")
      }
      let inBatch = try store.write { writer in
        var found: [String] = []
        try writer.reads(documents).find(FindRequest(predicate)) { document in
          found.append(document.id)
          return true
        }
        return found
      }
      try #require(inBatch == wanted.keys.sorted(), "\(what) \(selector) in a batch")
    }
  }

  mutating func finish() throws {
    try store.sweep()
    try rekeep()
    try compare()
    try store.expectSound(random.replay)
    try store.close()
  }
}
