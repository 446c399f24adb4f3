import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import Testing

@testable import LatewoodDocuments

/// Results that are kept up to date, compared with running the request again.
@Suite struct LiveFindTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("things")
  }

  private func request(
    _ selector: String, sort: [String] = [], skip: Int = 0, limit: Int = .max
  ) throws -> FindRequest {
    var request = FindRequest(try MangoParser.predicate(json: selector))
    request.order = try sort.map {
      let part = try IndexDefinition.Part(parsing: $0)
      return FindRequest.Order(part.path, isDescending: part.isDescending)
    }
    (request.skip, request.limit) = (skip, limit)
    return request
  }

  private func live(_ request: FindRequest, _ made: Counter = Counter()) -> LiveFind<String> {
    LiveFind(store, collection, request) { document in
      made.add()
      return document.id + " " + String(decoding: try JSON.text(of: document.bytes), as: UTF8.self)
    }
  }

  /// Counts the values that are made.
  private final class Counter: Sendable {
    private let count = Guarded(0)
    func add() { count.withLock { $0 += 1 } }
    func take() -> Int {
      count.withLock { count in
        defer { count = 0 }
        return count
      }
    }
  }

  private func save(_ id: String, _ json: String) throws {
    try store.write { [collection] writer in
      let parent = try writer.reads(collection).head(of: id)?.winner
      _ = try writer.save(id, in: collection, body: JSON.fleece(from: json), parent: parent)
    }
  }

  /// Writes on this thread, which it blocks, even in an asynchronous test.
  private func write(_ body: (DocumentWriter) throws -> Void) throws { try store.write { try body($0) } }

  private func values(_ update: LiveFind<String>.Update) -> [String] {
    update.range.map { update.rows[$0].value }
  }

  private func rerun(_ request: FindRequest, _ reads: DocumentReads) throws -> [String] {
    var found: [String] = []
    try reads.find(request) { document in
      found.append(document.id + " " + String(decoding: try JSON.text(of: document.bytes), as: UTF8.self))
      return true
    }
    return found
  }

  // MARK: Random commits

  private static let values = ["0", "1", "2", "3", "4", "null", "\"x\"", "[1,2]"]

  private func commit(_ random: inout SeededRandom) throws {
    let count = random.oneIn(40) ? 200 : 1 + random.below(3)
    let steps = (0..<count).map { _ in
      (id: "\(random.below(120))", kind: random.below(12), a: random.pick(Self.values), b: random.below(50))
    }
    try store.write { [collection, now = clock.now] writer in
      for (id, kind, a, b) in steps {
        let head = try writer.reads(collection).head(of: id)
        let body = try JSON.fleece(from: #"{"a":\#(a),"b":\#(b)}"#)
        switch kind {
        case 0: _ = try writer.purge(id, in: collection)
        case 1, 2:
          guard let head, !head.isDeleted else { continue }
          _ = try writer.save(
            id, in: collection, body: JSON.fleece(from: "{}"), parent: head.winner, isDeleted: true)
        case 3 where head.map { !$0.isDeleted } == true:
          try writer.setExpiry(of: id, in: collection, now + UInt64(b))
        case 4:
          // A revision from another replica, which usually loses to those that were saved here.
          let revision = try RevisionID("1-\(String(repeating: "0", count: 30))\(10 + b)")
          _ = try writer.insert(id, in: collection, history: [revision], body: body)
        default: _ = try writer.save(id, in: collection, body: body, parent: head?.winner)
        }
      }
    }
  }

  /// `LATEWOOD_LIVE_COMMITS` sets the number of commits. 500 take two or three seconds in a debug
  /// build.
  @Test func `after random commits, every result equals a new run of its request`() async throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let commits = CurrentProcess.environmentVariable("LATEWOOD_LIVE_COMMITS").flatMap { Int($0) } ?? 500
    for fields in [["a", "b"], ["b:desc"], ["a[]"]] {
      let parts = try fields.map { try IndexDefinition.Part(parsing: $0) }
      try store.createIndex(fields.joined(), IndexDefinition(parts), in: collection)
    }
    let requests = try [
      request("{}"), request(#"{"a":1}"#), request(#"{"a":{"$gte":1}}"#, sort: ["b:desc"]),
      request("{}", sort: ["a", "b"], limit: 5),
      request(#"{"b":{"$lt":40}}"#, sort: ["b:desc"], skip: 3, limit: 10),
      request(#"{"a":{"$elemMatch":{"$eq":1}}}"#, limit: 3), request("{}", sort: ["b"], skip: 20),
      request(#"{"_id":{"$gt":"5"}}"#, limit: 0), request(#"{"b":7}"#, sort: ["a:desc"], skip: 1, limit: 2),
    ]
    var lives = requests.map { live($0) }
    var shown: [[String]] = []
    for index in lives.indices { shown.append(values(try #require(try await lives[index].next()))) }
    for number in 0..<commits {
      if random.oneIn(8) { clock.advance(UInt64(random.below(6))) }
      if random.oneIn(30) { try store.purgeExpired() }
      try commit(&random)
      // Some results skip commits and then receive several of them together.
      for index in lives.indices where random.oneIn(10) || number == commits - 1 {
        let update = try await lives[index].update()
        let expected = try rerun(requests[index], store.reads(collection))
        if let update {
          let changes = try #require(update.changes)
          #expect(!changes.isEmpty)
          shown[index] = applied(changes, to: shown[index])
          #expect(shown[index] == values(update), "\(number) \(index) \(random.replay)")
        }
        if shown[index] != expected {
          Issue.record("after commit \(number) request \(index) differs: \(random.replay)")
          return
        }
      }
    }
  }

  private func applied(_ changes: [LiveFind<String>.Change], to list: [String]) -> [String] {
    var list = list
    for change in changes.filter(\.isRemoval).sorted(by: { $0.offset > $1.offset }) {
      list.remove(at: change.offset)
    }
    for change in changes.filter({ !$0.isRemoval }).sorted(by: { $0.offset < $1.offset }) {
      list.insert(change.row.value, at: change.offset)
    }
    return list
  }

  @Test func `every update is a single state, even while others commit`() async throws {
    // Each commit moves one unit between two documents. Sometimes it purges one before saving it.
    // The sum stays the same.
    let names = (0..<10).map { "doc \($0)" }
    for name in names { try save(name, #"{"n":100}"#) }
    let (store, collection) = (store, collection)
    let isDone = Guarded(false)
    DispatchQueue.global().async {
      var random = SeededRandom(seed: 1)
      var amounts = [Int](repeating: 100, count: 10)
      do {
        for _ in 0..<400 {
          let (from, to) = (random.below(10), random.below(10))
          amounts[from] -= 1
          amounts[to] += 1
          try store.write { writer in
            for index in Set([from, to]) {
              let head = try writer.reads(collection).head(of: names[index])
              var parent = head?.winner
              if random.oneIn(4) {
                _ = try writer.purge(names[index], in: collection)
                parent = nil
              }
              _ = try writer.save(
                names[index], in: collection, body: JSON.fleece(from: #"{"n":\#(amounts[index])}"#),
                parent: parent)
            }
          }
        }
        isDone.withLock { $0 = true }
        try store.write { writer in
          _ = try writer.save("end", in: collection, body: JSON.fleece(from: #"{"n":0}"#), parent: nil)
        }
      } catch { Issue.record(error) }
    }
    var live = LiveFind<(String, Int)>(store, collection, try request("{}", sort: ["n"])) { document in
      let number = try document.body.dictionary()?.value(for: "n")?.number()
      guard case .integer(let amount)? = number else { return (document.id, 0) }
      return (document.id, Int(amount))
    }
    while let update = try await live.next() {
      let found = update.range.map { update.rows[$0].value }
      #expect(found.reduce(0) { $0 + $1.1 } == 1000)
      if found.contains(where: { $0.0 == "end" }) { break }
    }
    #expect(isDone.withLock { $0 })
  }

  @Test func `an update waits until every commit in its state has been announced`() async throws {
    let request = try request("{}")
    var all = live(request)
    _ = try await all.next()
    try save("announced", "{}")
    // Announcements wait until earlier batches have made theirs, and this earlier batch has not
    // ended.
    let hub = try store.opened().hub
    let ticket = hub.takeTicket()
    try save("waiting", "{}")
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(200)) { hub.deliver(ticket, []) }
    let update = try #require(try await all.update())
    #expect(try values(update) == rerun(request, store.reads(collection)))
    #expect(update.changes?.count == 2)
  }

  // MARK: Documents read

  @Test func `only written documents are examined`() async throws {
    try write { writer in
      for number in 0..<1000 {
        _ = try writer.save(
          "doc \(1000 + number)", in: collection, body: JSON.fleece(from: #"{"n":\#(number)}"#), parent: nil)
      }
    }
    let made = Counter()
    var all = live(try request(#"{"n":{"$gte":100}}"#, sort: ["n:desc"]), made)
    _ = try await all.next()
    #expect(made.take() == 900)
    try save("doc 1500", #"{"n":7777}"#)
    try save("doc 1001", #"{"n":2}"#)
    let update = try #require(try await all.update())
    #expect(made.take() == 1 && update.rows.count == 900)
    #expect(update.changes?.map(\.offset) == [499, 0] && update.changes?.map(\.isRemoval) == [true, false])
    // The document is not in the result before or after the change.
    try save("doc 1002", #"{"n":3}"#)
    #expect(try await all.update() == nil && made.take() == 0)
    // A revision that loses changes nothing.
    let loser = try RevisionID("1-00")
    try write { writer in
      _ = try writer.insert("doc 1600", in: collection, history: [loser], body: JSON.fleece(from: "{}"))
    }
    #expect(try await all.update() == nil && made.take() == 0)
  }

  @Test func `a window is refilled from the index when its reserve is used up`() async throws {
    try write { writer in
      for number in 0..<1000 {
        _ = try writer.save(
          "doc \(1000 + number)", in: collection, body: JSON.fleece(from: #"{"n":\#(number)}"#), parent: nil)
      }
    }
    try store.createIndex("n", IndexDefinition([.init(FieldPath("n"))]), in: collection)
    let made = Counter()
    var first = live(try request("{}", sort: ["n"], limit: 10), made)
    _ = try await first.next()
    // 16 rows are held in reserve.
    #expect(made.take() == 26)
    for number in 0..<17 {
      try write { writer in _ = try writer.purge("doc \(1000 + number)", in: collection) }
      let update = try #require(try await first.update())
      #expect(values(update).first?.hasPrefix("doc \(1001 + number) ") == true && update.range.count == 10)
      #expect(update.changes?.count == 2)
      #expect(made.take() == (number == 16 ? 17 : 0), "\(number)")
    }
    // A change after the window causes no update.
    try save("doc 1900", #"{"n":901}"#)
    #expect(try await first.update() == nil && made.take() == 0)
  }

  // MARK: Endings

  @Test func `a live find ends with its task, and throws when its collection or database is gone`()
    async throws
  {
    let (store, collection) = (store, collection)
    let request = try request("{}")
    let waiting = Task {
      var live = LiveFind(store, collection, request) { $0.id }
      _ = try await live.next()
      return try await live.next() == nil
    }
    waiting.cancel()
    #expect(try await waiting.value)
    var dropped = live(request)
    _ = try await dropped.next()
    try store.dropCollection("things")
    let error = await #expect(throws: DatabaseError.self) { try await dropped.next() }
    #expect(error?.code == .notFound)
    let other = try store.createCollection("other")
    var closed = LiveFind(store, other, request) { $0.id }
    _ = try await closed.next()
    try store.close()
    let end = await #expect(throws: DatabaseError.self) { try await closed.next() }
    #expect(end?.code == .notOpen)
  }

  @Test func `ids that are equal in Unicode are two documents`() async throws {
    var all = live(try request("{}"))
    _ = try await all.next()
    try save("\u{e9}", "{}")
    try save("e\u{301}", "{}")
    var update = try #require(try await all.update())
    #expect(update.rows.count == 2)
    try write { writer in _ = try writer.purge("\u{e9}", in: collection) }
    update = try #require(try await all.update())
    #expect(values(update) == ["e\u{301} {}"])
  }

  @Test func `too many changes to remember cause a complete reread`() async throws {
    let made = Counter()
    var all = live(try request("{}"), made)
    try save("first", "{}")
    _ = try await all.next()
    #expect(made.take() == 1)
    try write { writer in
      for number in 0...PendingChanges.limit {
        _ = try writer.save("doc \(number)", in: collection, body: JSON.fleece(from: "{}"), parent: nil)
      }
    }
    let update = try #require(try await all.update())
    #expect(
      update.rows.count == PendingChanges.limit + 2 && update.changes?.count == PendingChanges.limit + 1)
    #expect(made.take() == PendingChanges.limit + 1)
  }
}
