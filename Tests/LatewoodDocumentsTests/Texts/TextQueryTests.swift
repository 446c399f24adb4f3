import LatewoodConcurrency
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import LatewoodText
import Testing

@testable import LatewoodDocuments

/// Conditions on words in requests, with and without the index, alone and with other conditions.
@Suite struct TextQueryTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("films")
    try store.createIndex("text", fullText: TextDefinition("title^2", "plot"), in: collection)
    for (number, title) in ["Blue sky", "Red sky", "Blue sea", "Green hills", "Sky"].enumerated() {
      let plot = number % 2 == 0 ? "A sky over the sea" : "Nothing"
      try store.saveJSON(
        "film \(number)", #"{"title":"\#(title)","plot":"\#(plot)","year":\#(1970 + number)}"#, in: collection
      )
    }
  }

  private func words(_ query: String, in index: String = "text") -> Predicate {
    .text(TextCondition(index: index, .query(query)))
  }

  private func selector(_ json: String) throws -> Predicate { try MangoParser.predicate(json: json) }

  private func ids(_ request: FindRequest) throws -> [String] {
    var ids: [String] = []
    try store.reads(collection).find(request) { document in
      ids.append(document.id)
      return true
    }
    return ids
  }

  private func ids(_ predicate: Predicate) throws -> [String] { try ids(FindRequest(predicate)) }

  private func shown(_ update: LiveFind<String>.Update) -> [String] {
    update.range.map { update.rows[$0].value }
  }

  private func films(_ numbers: Int...) -> [String] { numbers.map { "film \($0)" } }

  @Test func `documents with words are found by id, by the index`() throws {
    #expect(try ids(words("sky")) == films(0, 1, 2, 4))
    #expect(try ids(words("title:sky")) == films(0, 1, 4))
    #expect(try ids(words(#""blue sky" OR hills"#)) == films(0, 3))
    #expect(try ids(words("sky NOT sea")) == films(1))
    #expect(try ids(words("")) == [])
    let plan = try store.reads(collection).explain(FindRequest(words("blue")))
    #expect(plan.description == #"full-text index "text": about 2 documents"#)
  }

  @Test func `words combine with other conditions, orders, limits and negation`() throws {
    let recent = try selector(#"{"year":{"$gte":1972}}"#)
    #expect(try ids(.all([words("sky"), recent])) == films(2, 4))
    #expect(try ids(.any([words("hills"), try selector(#"{"year":1970}"#)])) == films(0, 3))
    #expect(try ids(.not(words("sky"))) == films(3))
    #expect(try ids(.all([words("blue"), words("sea")])) == films(0, 2))
    var request = FindRequest(.all([words("sky"), recent]))
    request.order = [FindRequest.Order(FieldPath("year"), isDescending: true)]
    #expect(try ids(request) == films(4, 2))
    request.skip = 1
    #expect(try ids(request) == films(2))
    request = FindRequest(words("sky"))
    (request.skip, request.limit) = (1, 2)
    #expect(try ids(request) == films(1, 2))
    try store.createIndex(
      "year", IndexDefinition([IndexDefinition.Part(FieldPath("year"))]), in: collection)
    #expect(try ids(.all([words("sky"), recent])) == films(2, 4))
    #expect(try ids(.all([words("sky"), try selector(#"{"year":1970}"#)])) == films(0))
  }

  @Test func `counts of words read no documents`() throws {
    let reads = try store.reads(collection)
    let counted = try reads.counted(FindRequest(words("sky")))
    #expect(counted.count == 4 && counted.read == 0)
    var part = FindRequest(words("sky"))
    (part.skip, part.limit) = (1, 2)
    #expect(try reads.count(part) == 2)
    let filtered = try reads.counted(FindRequest(.all([words("sky"), try selector(#"{"year":1970}"#)])))
    #expect(filtered.count == 1 && filtered.read == 4)
    #expect(try reads.count(FindRequest(.not(words("sky")))) == 1)
    try store.write { [collection, clock] in try $0.setExpiry(of: "film 0", in: collection, clock.now + 5) }
    clock.advance(9)
    #expect(try store.reads(collection).count(FindRequest(words("sky"))) == 3)
    #expect(try ids(words("sky")) == films(1, 2, 4))
  }

  @Test func `a word, a prefix, a phrase and a conjunction are counted if no document can be read`() throws {
    let records = try #require(try store.store.existingKeyspace("documents/films"))
    try store.store.write { transaction in
      for number in 0..<5 { try transaction.put("film \(number)", [0xFF], in: records) }
    }
    let reads = try store.reads(collection)
    #expect(throws: DatabaseError.self) { try reads.find(FindRequest(words("sky"))) { _ in true } }
    for (query, count) in [("sky", 4), ("se*", 3), ("sky sea", 3), (#""over the""#, 3), ("sky NOT sea", 1)] {
      let counted = try reads.counted(FindRequest(words(query)))
      #expect(counted.count == count && counted.read == 0, "\(query)")
    }
  }

  @Test func `ranked documents come best first, in parts that other conditions leave`() throws {
    var request = FindRequest(words("sky OR blue"))
    request.ranking = "text"
    let all = try ids(request)
    #expect(all.first == "film 0")
    #expect(all.sorted() == films(0, 1, 2, 4))
    (request.skip, request.limit) = (1, 2)
    #expect(try ids(request) == Array(all[1...2]))
    var some = FindRequest(.all([words("sky OR blue"), try selector(#"{"year":{"$lt":1974}}"#)]))
    some.ranking = "text"
    #expect(try ids(some) == all.filter { $0 != "film 4" })
    some.limit = 1
    #expect(try ids(some) == ["film 0"])
    #expect(try store.reads(collection).count(some) == 1)
    #expect(try store.reads(collection).explain(request).description.hasSuffix("ranked"))
    // More documents than the first part of the ranking has.
    try store.write { [collection] writer in
      for number in 100..<400 {
        let body = try JSON.fleece(
          from: #"{"title":"word\#(number % 7 == 0 ? " word" : "")","year":\#(number)}"#)
        _ = try writer.save("film \(number)", in: collection, body: body, parent: nil)
      }
    }
    var many = FindRequest(.all([words("word"), try selector(#"{"year":{"$gte":390}}"#)]))
    many.ranking = "text"
    many.limit = 3
    let best = try ids(many)
    #expect(best == ["film 392", "film 399", "film 390"])
  }

  @Test func `scores agree with the index, and are explained`() throws {
    var request = FindRequest(words("sky"))
    request.ranking = "text"
    var scores: [String: Double] = [:]
    let reads = try store.reads(collection)
    try reads.findRanked(PreparedFind(request)) { document, score, search in
      scores[document.id] = score
      let occurrences = try search.occurrences(in: document)
      #expect(occurrences.isMatch)
      return true
    }
    #expect(scores.keys.sorted() == films(0, 1, 2, 4))
    let explained = try #require(try reads.explainScore(of: "film 4", PreparedFind(request)))
    #expect(explained.score == scores["film 4"])
    #expect(explained.parts.map(\.counts) == [[1, 1]])
    #expect(try reads.explainScore(of: "film 3", PreparedFind(request)) == nil)
  }

  @Test func `an index that is being built or is missing changes no results, but ranks nothing`() throws {
    let wanted = try ids(words("sky"))
    try store.dropIndex("text", in: collection)
    refusal(.notFound) { _ = try ids(words("sky")) }
    refusal(.notFound) { _ = try store.reads(collection).count(FindRequest(words("sky"))) }
    var build = TextIndexBuild("text", try TextDefinition("title^2", "plot"), of: collection)
    build.limit = 2
    let step = build
    try store.write { writer in _ = try step.step(in: writer.batch) }
    #expect(try ids(words("sky")) == wanted)
    #expect(try store.reads(collection).count(FindRequest(words("sky"))) == 4)
    #expect(try store.reads(collection).explain(FindRequest(words("sky"))).isScan)
    var ranked = FindRequest(words("sky"))
    ranked.ranking = "text"
    refusal(.invalidParameter) { _ = try ids(ranked) }
  }

  @Test func `a malformed query is refused with its place, and a request that cannot be ranked`() throws {
    let error = refusal(.invalidParameter) { _ = try ids(words(#"sky AND "open"#)) }
    #expect(error?.offset == 8)
    refusal(.invalidParameter) { _ = try ids(words("year:sky")) }
    var request = FindRequest(.any([words("sky"), try selector(#"{"year":1970}"#)]))
    request.ranking = "text"
    refusal(.invalidParameter) { _ = try ids(request) }
    request = FindRequest()
    request.ranking = "text"
    refusal(.invalidParameter) { _ = try ids(request) }
    // The words of any text are a query.
    for text in [#"" AND ( ^"#, "*", "title:", "\u{0}", "NEAR("] {
      _ = try ids(.text(TextCondition(index: "text", .words(text, any: false, lastIsPrefix: true))))
    }
  }

  @Test func `a prepared request follows the index`() throws {
    let prepared = PreparedFind(FindRequest(words("sky")))
    #expect(try store.reads(collection).count(prepared) == 4)
    try store.dropIndex("text", in: collection)
    refusal(.notFound) { _ = try store.reads(collection).count(prepared) }
    try store.createIndex("text", fullText: TextDefinition("plot"), in: collection)
    #expect(try store.reads(collection).count(prepared) == 3)
    try store.dropIndex("text", in: collection)
    try store.createIndex("text", fullText: TextDefinition("title"), in: collection)
    var found: [String] = []
    try store.reads(collection).findIDs(prepared) { id in
      found.append(id)
      return true
    }
    #expect(found == films(0, 1, 4))
  }

  @Test func `a batch finds its own words`() throws {
    try store.write { [collection] writer in
      let body = try JSON.fleece(from: #"{"title":"New sky"}"#)
      _ = try writer.save("film 9", in: collection, body: body, parent: nil)
      #expect(try ids(words("new")) == films(9))
      #expect(try store.reads(collection).count(FindRequest(words("sky"))) == 5)
    }
  }

  @Test func `live results follow changes of words`() async throws {
    let request = FindRequest(words("sky"))
    var live = LiveFind(store, collection, request) { $0.id }
    #expect(try await live.next().map(shown) == films(0, 1, 2, 4))
    try store.saveJSON("film 1", #"{"title":"Other"}"#, in: collection)
    try store.saveJSON("film 3", #"{"title":"Some sky"}"#, in: collection)
    let update = try #require(try await live.next())
    #expect(shown(update) == films(0, 2, 3, 4))
    try store.saveJSON("film 5", #"{"title":"Nothing"}"#, in: collection)
    #expect(try await live.update() == nil)
  }

  @Test func `ranked live results move documents`() async throws {
    var request = FindRequest(words("sky"))
    (request.ranking, request.limit) = ("text", 2)
    var live = LiveFind(store, collection, request) { $0.id }
    let first = try #require(try await live.next())
    #expect(shown(first).count == 2)
    try store.saveJSON("film 7", #"{"title":"sky sky sky"}"#, in: collection)
    let update = try #require(try await live.update())
    #expect(shown(update).first == "film 7")
    let inserted = update.changes?.filter { !$0.isRemoval }.map(\.row.value)
    #expect(inserted?.first == "film 7")
    try store.saveJSON("film 8", #"{"title":"Nothing"}"#, in: collection)
    #expect(try await live.update() == nil)
  }

  @Test func `live results with scores have the scores of their state`() async throws {
    var request = FindRequest(words("sky"))
    request.ranking = "text"
    let made = Guarded<[String]>([])
    var live = LiveFind<Double>(store, collection, scored: request) { document, score in
      if score.known == nil { made.withLock { $0.append(document.id) } }
      return score.value
    }
    func wanted() throws -> [String: Double] {
      var scores: [String: Double] = [:]
      try store.reads(collection).findRanked(PreparedFind(request)) { document, score, _ in
        scores[document.id] = score
        return true
      }
      return scores
    }
    func scores(_ update: LiveFind<Double>.Update) -> [String: Double] {
      let rows = update.range.map { update.rows[$0] }
      #expect(rows.map(\.value) == rows.map(\.value).sorted(by: >))
      return Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.value) })
    }
    #expect(try await live.next().map(scores) == wanted())
    #expect(made.withLock { $0.sorted() } == films(0, 1, 2, 4))
    // Words of a document that is not found change all scores, but no document is made again.
    try store.saveJSON("film 8", #"{"title":"Nothing at all"}"#, in: collection)
    let second = try #require(try await live.update())
    #expect(try scores(second) == wanted() && second.changes?.count == 8)
    #expect(made.withLock { $0.count } == 4)
    // Other members of a found document change it alone.
    try store.saveJSON("film 4", #"{"title":"Sky","plot":"A sky over the sea","year":1}"#, in: collection)
    let third = try #require(try await live.update())
    #expect(try scores(third) == wanted())
    #expect(third.changes?.map(\.row.id) == ["film 4", "film 4"])
    #expect(made.withLock { $0.count } == 5)
    // Members without words of other documents change nothing.
    try store.saveJSON("film 8", #"{"title":"Nothing at all","year":1}"#, in: collection)
    #expect(try await live.update() == nil)
    // Another definition makes other scores, and other highlights.
    try store.dropIndex("text", in: collection)
    try store.createIndex("text", fullText: TextDefinition("title", "plot"), in: collection)
    try store.saveJSON("film 8", #"{"title":"Nothing at all","year":2}"#, in: collection)
    #expect(try await live.update().map(scores) == wanted())
    try store.dropIndex("text", in: collection)
    try store.saveJSON("film 8", #"{"title":"Nothing at all","year":3}"#, in: collection)
    await #expect(throws: DatabaseError.self) { _ = try await live.update() }
  }

  @Test func `with and without the index, random requests find the same`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let definition = try #require(SampleText.definition)
    try store.createIndex("sample", fullText: definition, in: collection)
    try store.write { [collection] writer in
      for number in 0..<80 {
        let body = try JSON.fleece(from: SampleText.json { random.below($0) })
        _ = try writer.save("text \(number)", in: collection, body: body, parent: nil)
      }
    }
    var found = 0
    for round in 0..<Effort.count(400, low: 80) {
      let query = SampleText.query { random.below($0) }
      let predicate = words(query, in: "sample")
      let reads = try store.reads(collection)
      let bound = try reads.bound(FindRequest(predicate)).predicate
      var wanted: [String] = []
      try reads.find(FindRequest()) { document in
        if try bound.matches(document) { wanted.append(document.id) }
        return true
      }
      #expect(try ids(predicate) == wanted, "\(query), round \(round); \(random.replay)")
      #expect(try reads.count(FindRequest(predicate)) == wanted.count, "\(query); \(random.replay)")
      found += wanted.count
    }
    #expect(found > 0)
  }
}
