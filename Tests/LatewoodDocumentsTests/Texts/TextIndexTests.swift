import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import LatewoodText
import Testing

@testable import LatewoodDocuments

/// Full-text indexes, compared with their documents.
@Suite struct TextIndexTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("films")
  }

  private func create(_ fields: String..., options: TextOptions = TextOptions()) throws {
    let definition = try TextDefinition(
      fields.map { try TextDefinition.Field(parsing: $0) }, options)
    try store.createIndex("text", fullText: definition, in: collection)
  }

  @discardableResult
  private func save(_ id: String, _ json: String) throws -> SavedRevision {
    try store.saveJSON(id, json, in: collection)
  }

  private func ids(_ query: String) throws -> [String] {
    try store.reads(collection).ids(in: "text", with: query)
  }

  private func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try store.verify(deep: true).faults == [], sourceLocation: sourceLocation)
  }

  @Test func `an index has the words of documents that exist and of later ones`() throws {
    try save("a", #"{"title":"Alien","plot":"A crew in space"}"#)
    try save("b", #"{"title":"Brazil","plot":"A clerk dreams"}"#)
    try create("title", "plot")
    #expect(try ids("a") == ["a", "b"])
    #expect(try ids("SPACE") == ["a"])
    #expect(try ids("title:space") == [])
    try save("c", #"{"title":"Space","year":5}"#)
    #expect(try ids("title:space") == ["c"])
    #expect(try ids("space") == ["a", "c"])
    let list = try store.reads(collection).textIndexList()
    #expect(list.map(\.count) == [3])
    #expect(list.map(\.fields) == [["title", "plot"]])
    #expect(list.allSatisfy { $0.isReady && $0.problem == nil })
    try expectSound()
  }

  @Test func `every change of the current revision changes the words`() throws {
    try create("text")
    let first = try save("a", #"{"text":"one"}"#)
    try save("b", #"{"text":"two"}"#)
    let second = try save("a", #"{"text":"three"}"#)
    #expect(try ids("one OR two OR three") == ["a", "b"])
    #expect(try ids("one") == [])
    // Another branch wins, and loses again.
    let far = RevisionID(generation: 9, digest: first.revision.digest)
    let body = try JSON.fleece(from: #"{"text":"four"}"#)
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [far], body: body)
    }
    #expect(try ids("four") == ["a"])
    #expect(try ids("three") == [])
    try store.write { [collection] writer in _ = try writer.purge("a", in: collection, leaves: [far]) }
    #expect(try ids("three") == ["a"])
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [far], body: body)
      _ = try writer.resolveConflicts(
        of: "a", in: collection, keeping: second.revision, merged: nil, tombstone: JSON.fleece(from: "{}"))
    }
    #expect(try ids("three") == ["a"])
    try expectSound()
    try store.write { [collection, clock] writer in
      _ = try writer.purge("b", in: collection)
      try writer.setExpiry(of: "a", in: collection, clock.now + 5)
    }
    #expect(try ids("two") == [])
    clock.advance(9)
    try store.purgeExpired()
    #expect(try ids("three") == [])
    try save("c", #"{"text":"five"}"#)
    try store.deleteJSON("c", in: collection)
    #expect(try ids("five") == [])
    try save("c", #"{"text":"six"}"#)
    #expect(try ids("six") == ["c"])
    try expectSound()
  }

  @Test func `only strings at the paths of the fields are texts`() throws {
    try create("tags[]", "parts[].text", "deep[].inner[]", "plain")
    try save("a", #"{"tags":["red","blue sky",5,null,["no"]],"plain":["no"]}"#)
    try save("b", #"{"tags":"no","parts":[{"text":"green"},{"text":{"x":"no"}},{"other":"no"},"no"]}"#)
    try save("c", #"{"deep":[{"inner":["one","two"]},{"inner":"no"},{"inner":["three"]}],"plain":"yes"}"#)
    #expect(try ids("no") == [])
    #expect(try ids("blue") == ["a"])
    #expect(try ids("parts[].text:green") == ["b"])
    #expect(try ids("one AND three AND yes") == ["c"])
    // Texts of a list are not neighbours.
    #expect(try ids(#""red blue""#) == [])
    #expect(try ids(#""blue sky""#) == ["a"])
    try expectSound()
  }

  @Test func `language, folding and stop words belong to the definition`() throws {
    let options = TextOptions(language: .english, folding: .letterCase, stopWords: ["the"])
    try create("text", options: options)
    try save("a", #"{"text":"The searches, é"}"#)
    #expect(try ids("searching") == ["a"])
    #expect(try ids("e") == [])
    #expect(try ids("é") == ["a"])
    #expect(try ids("the") == [])
    try expectSound()
    let kept = try store.reads(collection).textIndexList()[0].definition
    #expect(kept == (try TextDefinition("text", options: options)))
  }

  @Test func `a build continues after its steps, and changes in between count`() throws {
    for number in 0..<10 { try save("doc \(number)", #"{"text":"old n\#(number)"}"#) }
    var build = TextIndexBuild("text", try TextDefinition("text"), of: collection)
    build.limit = 4
    let step = build
    try store.write { writer in
      let progress = try step.step(in: writer.batch)
      #expect(progress.completed == 4 && progress.total == 10 && !progress.isReady)
    }
    // A document before and one after the end of the step, and a new one on either side.
    for id in ["doc 1", "doc 8", "doc 00", "doc 99"] { try save(id, #"{"text":"new"}"#) }
    try store.deleteJSON("doc 2", in: collection)
    try store.deleteJSON("doc 7", in: collection)
    #expect(try store.reads(collection).textIndexList().map(\.isReady) == [false])
    #expect(try ids("new") == ["doc 00", "doc 1"])
    try expectSound()
    try store.createIndex("text", fullText: TextDefinition("text"), in: collection)
    #expect(try ids("new") == ["doc 00", "doc 1", "doc 8", "doc 99"])
    #expect(try ids("old").count == 6)
    #expect(try store.reads(collection).textIndexList().map(\.isReady) == [true])
    try expectSound()
  }

  @Test func `a build merges its segments in steps, between which documents change`() throws {
    for number in 0..<40 { try save("doc \(number)", #"{"text":"common n\#(number) m\#(number % 7)"}"#) }
    var build = TextIndexBuild("text", try TextDefinition("text"), of: collection)
    (build.limit, build.segmentLimit, build.mergeLength) = (8, 6, 150)
    var expected = Set((0..<40).map { "doc \($0)" })
    var states: [TextIndexRecord.Progress] = []
    while states.last != .complete {
      let (step, count) = (build, states.count)
      try store.write { writer in
        let progress = try step.step(in: writer.batch)
        #expect(progress.completed <= progress.total && progress.total >= 40)
      }
      let record = try #require(try store.reads(collection).indexes().texts.first?.record)
      states.append(record.progress)
      try expectSound()
      if record.progress == .complete { break }
      #expect(try store.reads(collection).textIndexList().map(\.isReady) == [false])
      // The build has to become faster than the changes at some time.
      try #require(count < 300)
      if count >= 30 { continue }
      try store.write { _ in
        try save("doc \(count % 40)", #"{"text":"common later\#(count)"}"#)
        try save("extra \(count)", #"{"text":"common later\#(count)"}"#)
        try store.deleteJSON("doc \((count + 20) % 40)", in: collection)
      }
      expected.insert("doc \(count % 40)")
      expected.insert("extra \(count)")
      expected.remove("doc \((count + 20) % 40)")
      try expectSound()
    }
    // Merges take several steps, in which no documents are added.
    var pauses = 0
    for (before, after) in zip(states, states.dropFirst()) where before == after && before != .merging {
      pauses += 1
    }
    #expect(pauses > 2)
    #expect(Set(try ids("common")) == expected)
  }

  @Test func `a build ends although others change more documents than it merges`() throws {
    for number in 10..<50 { try save("doc \(number)", #"{"text":"old"}"#) }
    var build = TextIndexBuild("text", try TextDefinition("text"), of: collection)
    (build.limit, build.segmentLimit) = (4, 3)
    var (isReady, count) = (false, 0)
    while !isReady {
      let step = build
      isReady = try store.write { writer in try step.step(in: writer.batch).isReady }
      // Ten steps add documents. Each merge is followed by one of them, or is the last.
      try #require(count < 25)
      count += 1
      for number in 10..<15 { try save("doc \(number)", #"{"text":"new\#(count)"}"#) }
    }
    #expect(try ids("old").count == 35)
    try expectSound()
  }

  @Test func `a build that is cancelled during its merge leaves no index`() throws {
    for number in 0..<9000 { try save("doc \(number)", "{}") }
    try save("a", #"{"text":"one"}"#)
    try save("z", #"{"text":"two"}"#)
    var steps = 0
    #expect(throws: OnPurpose.self) {
      try store.createIndex("text", fullText: TextDefinition("text"), in: collection) { progress in
        steps += 1
        if progress.completed == progress.total { throw OnPurpose() }
      }
    }
    #expect(steps == 2)
    #expect(try store.reads(collection).textIndexList() == [])
  }

  @Test func `a build that is cancelled leaves no index`() throws {
    for number in 0..<5 { try save("doc \(number)", #"{"text":"word"}"#) }
    #expect(throws: OnPurpose.self) {
      try store.createIndex("text", fullText: TextDefinition("text"), in: collection) { _ in
        throw OnPurpose()
      } check: {
      }
    }
    #expect(throws: OnPurpose.self) {
      try store.createIndex(
        "text", fullText: TextDefinition("text"), in: collection, check: { throw OnPurpose() })
    }
    #expect(try store.reads(collection).textIndexList() == [])
    #expect(try !store.dropIndex("text", in: collection))
    try expectSound()
  }

  @Test func `a batch sees its own changes of words, and undoes them if it fails`() throws {
    try create("text")
    try save("a", #"{"text":"one"}"#)
    do {
      try store.write { writer in
        try save("b", #"{"text":"one two"}"#)
        #expect(try ids("one") == ["a", "b"])
        try save("a", #"{"text":"three"}"#)
        #expect(try ids("one") == ["b"])
        try save("a", #"{"text":"two"}"#)
        #expect(try ids("two") == ["a", "b"])
        throw OnPurpose()
      }
    } catch is OnPurpose {}
    #expect(try ids("one") == ["a"])
    #expect(try ids("two OR three") == [])
    try expectSound()
  }

  @Test func `no two indexes have the same name`() throws {
    try create("text")
    let other = try IndexDefinition([IndexDefinition.Part(FieldPath("text"))])
    refusal(.conflict) { try store.createIndex("text", other, in: collection) }
    refusal(.conflict) { try create("text", "title") }
    try store.createIndex("plain", other, in: collection)
    refusal(.conflict) {
      try store.createIndex("plain", fullText: TextDefinition("text"), in: collection)
    }
    refusal(.invalidParameter) {
      try store.createIndex("", fullText: TextDefinition("text"), in: collection)
    }
    try create("text")
    #expect(try store.dropIndex("text", in: collection))
    #expect(try !store.dropIndex("text", in: collection))
    #expect(try store.reads(collection).textIndexList() == [])
    try store.createIndex("text", other, in: collection)
    try expectSound()
  }

  @Test func `dropping an index or its collection leaves nothing`() throws {
    let before = try store.store.keyspaces().count
    try create("text")
    try save("a", #"{"text":"one"}"#)
    #expect(try store.store.keyspaces().count == before + 1)
    try store.dropIndex("text", in: collection)
    #expect(try store.store.keyspaces().count == before)
    try create("text")
    #expect(try store.dropCollection("films"))
    #expect(try !store.store.keyspaces().contains { $0.name.hasPrefix("words/") })
    try expectSound()
  }

  @Test func `an index of another version of Unicode is built anew`() throws {
    try create("text")
    try save("a", #"{"text":"one"}"#)
    let spaces = try collection.spaces
    let key = TextIndexRecord.key("text", of: "films")
    let record = try #require(
      try TextIndexRecord.stored("text", of: "films", in: spaces.database, store.store))
    let old = TextIndexRecord(
      record.definition, TextIndexRecord.Rules(unicode: "9.0.0", stemmers: 0), number: record.number,
      .complete)
    func age() throws { try store.store.write { try $0.put(key, old.encoded(), in: spaces.database) } }
    try age()
    let reopened = try store.createCollection("films")
    #expect(reopened === collection)
    try expectSound()
    // A change empties it, because the words of the old text are not known.
    try save("b", #"{"text":"two"}"#)
    let list = try store.reads(collection).textIndexList()
    #expect(list.map(\.isReady) == [false])
    try expectSound()
    try create("text")
    #expect(try ids("one OR two") == ["a", "b"])
    #expect(try store.reads(collection).textIndexList().map(\.isReady) == [true])
    try expectSound()
  }

  @Test func `an unreadable old body empties the index instead of preventing a save`() throws {
    try create("text")
    let long = String(repeating: "long ", count: 400)
    try save("a", #"{"text":"\#(long)"}"#)
    try save("b", #"{"text":"two"}"#)
    let spaces = try collection.spaces
    try store.store.write { transaction in
      var keys: [[UInt8]] = []
      try transaction.forEach(in: spaces.bodies) { key, _ in
        keys.append(key.withUnsafeBytes { Array($0) })
        return true
      }
      for key in keys { try transaction.put(key, [1, 2, 3], in: spaces.bodies) }
    }
    try save("a", #"{"text":"short"}"#)
    #expect(try store.reads(collection).textIndexList().map(\.isReady) == [false])
    try create("text")
    #expect(try ids("short OR two OR long") == ["a", "b"])
  }

  @Test func `a damaged index is emptied instead of preventing a save`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for number in 0..<150 { try save("doc \(number)", #"{"text":"common n\#(number)"}"#) }
    try create("text")
    var emptied = 0
    for round in 0..<Effort.count(60, low: 25) {
      for number in 145..<155 { try save("doc \(number)", #"{"text":"later\#(round) n\#(number)"}"#) }
      let index = try #require(try store.reads(collection).indexes().texts.first)
      let entries = try store.store.entries(in: index.words).map { $0.key }
      // Entries that every save reads, or any.
      let key =
        round % 2 == 0
        ? Array(["s", "r", "i"][round / 2 % 3].utf8) : entries[random.below(entries.count)]
      let keys = entries.filter { $0.starts(with: key) }
      try store.store.write { transaction in
        for key in keys { try transaction.put(key, [0xFF], in: index.words) }
      }
      try save("doc \(random.below(170))", #"{"text":"round\#(round)"}"#)
      if try store.reads(collection).indexes().texts.first?.isReady == false { emptied += 1 }
      try store.dropIndex("text", in: collection)
      try create("text")
      #expect(try ids("round\(round)").count == 1, "\(random.replay)")
    }
    #expect(emptied >= 9)
    try expectSound()
  }

  @Test func `a batch whose query meets a damaged index can still be committed`() throws {
    try create("text")
    for number in 0..<15 { try save("doc \(number)", #"{"text":"common n\#(number)"}"#) }
    // The next change merges the segments, and reads them for that.
    let index = try #require(try store.reads(collection).indexes().texts.first)
    let segments = try store.store.entries(in: index.words).map { $0.key }.filter {
      $0.first == UInt8(ascii: "r") && $0.count > 1
    }
    #expect(segments.count == 15)
    try store.store.write { transaction in
      for key in segments { try transaction.put(key, [0xFF], in: index.words) }
    }
    try store.write { _ in
      try save("doc 3", #"{"text":"new"}"#)
      #expect(throws: (any Error).self) { try ids("new") }
    }
    #expect(try store.reads(collection).textIndexList().map(\.isReady) == [false])
    try create("text")
    #expect(try ids("new") == ["doc 3"])
    try expectSound()
  }

  @Test func `other weights leave the words of an index`() throws {
    try save("a", #"{"title":"one","text":"two"}"#)
    try save("b", #"{"title":"two","text":"one"}"#)
    try create("title", "text")
    func best() throws -> [String] {
      var request = FindRequest(.text(TextCondition(index: "text", .query("one"))))
      request.ranking = "text"
      var found: [String] = []
      try store.reads(collection).find(request) { document in
        found.append(document.id)
        return true
      }
      return found
    }
    #expect(try best() == ["a", "b"])
    let words = try store.reads(collection).indexes().texts.first?.words
    for (title, text, found) in [("title", "text^5", ["b", "a"]), ("title^9.5", "text^5", ["a", "b"])] {
      try create(title, text)
      #expect(try best() == found)
      #expect(try store.reads(collection).indexes().texts.first?.words == words)
    }
    #expect(try store.reads(collection).textIndexList().map(\.weights) == [[9.5, 5]])
    #expect(throws: DatabaseError.self) { try create("text", "title") }
    try expectSound()
  }

  @Test func `verification finds words that are missing, and words of no document`() throws {
    for number in 0..<12 { try save("doc \(number)", #"{"text":"common n\#(number)"}"#) }
    try create("text")
    for number in 10..<20 { try save("doc \(number)", #"{"text":"common n\#(number) new"}"#) }
    let index = try #require(try store.reads(collection).indexes().texts.first)
    let entries = try store.store.entries(in: index.words).map { ($0.key, $0.value) }
    for (key, value) in entries {
      try store.store.write { try $0.delete(key, in: index.words) }
      #expect(try store.verify(deep: true).faults != [], "without \(key)")
      try store.store.write { try $0.put(key, value, in: index.words) }
    }
    try expectSound()
    let stray: [(key: String, value: [UInt8])] = [("ttrunk", [2, 1, 0]), ("n\u{1}c", Array("doc".utf8))]
    for (key, value) in stray {
      try store.store.write { try $0.put(Array(key.utf8), value, in: index.words) }
      #expect(try store.verify(deep: true).faults != [], "\(key)")
      try store.store.write { try $0.delete(Array(key.utf8), in: index.words) }
    }
    try expectSound()
  }

  @Test func `hostile texts are indexed and found`() throws {
    try create("text")
    let word = String(repeating: "x", count: Effort.count(1 << 20, low: 1 << 17))
    let many = (0..<Effort.count(100_000, low: 5000)).map { "w\($0)" }.joined(separator: " ")
    let texts = [
      word, many, "", "\u{0}\u{1}\u{7F}", "\u{301}\u{301}", "\u{FEFF}\u{200D}\u{202E}", "a\u{0}b",
      String(repeating: "日", count: Effort.count(20_000, low: 2000)),
      String(repeating: "\u{300}", count: 5000),
    ]
    for (number, text) in texts.enumerated() {
      var writer = FleeceWriter()
      try writer.beginDictionary()
      try writer.key("text")
      try writer.string(text)
      try writer.endDictionary()
      let body = try writer.finish()
      try store.write { [collection] in
        _ = try $0.save("doc \(number)", in: collection, body: body, parent: nil)
      }
    }
    #expect(try ids("x*") == ["doc 0"])
    #expect(try ids("w4321") == ["doc 1"])
    #expect(try ids("日日日") == ["doc 7"])
    try expectExcerpts(of: ["x*", "w4321 OR w7", "日日日", "a b", "\"w1 w2\"", "\u{301}", "\u{0}"])
    try expectSound()
    for number in texts.indices { try store.deleteJSON("doc \(number)", in: collection) }
    try expectSound()
    #expect(try store.reads(collection).textIndexList().map(\.count) == [0])
  }

  /// Expects that snippets and highlights of all documents are parts of their texts.
  private func expectExcerpts(of queries: [String]) throws {
    let reads = try store.reads(collection)
    for query in queries {
      var request = FindRequest(.text(TextCondition(index: "text", .query(query))))
      request.ranking = "text"
      var highlighted = 0
      let search = try TextSearch(.query(query), in: "text", TextDefinition("text"))
      try reads.find(FindRequest()) { document in
        let snippet = try search.snippet(of: document, field: nil, wordCount: 8)
        for part in try search.highlights(in: document, field: 0) {
          let excerpts = [
            (part.text, part.highlights), (snippet?.text ?? "", snippet?.excerpt.highlights ?? []),
          ]
          for (text, highlights) in excerpts {
            let bytes = Array(text.utf8)
            #expect(highlights.allSatisfy { String(validating: bytes[$0], as: UTF8.self) != nil })
            highlighted += highlights.count
          }
        }
        guard let snippet else { return true }
        let marked = snippet.excerpt.marked(in: snippet.text, "", "", dots: "")
        #expect(Array(marked.utf8) == Array(Array(snippet.text.utf8)[snippet.excerpt.range]))
        return true
      }
      var found = 0
      try reads.findRanked(PreparedFind(request)) { _, _, _ in
        found += 1
        return true
      }
      #expect((found > 0) == (highlighted > 0), "\(query)")
    }
  }
}
