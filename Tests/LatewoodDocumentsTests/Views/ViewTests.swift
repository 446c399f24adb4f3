import LatewoodConcurrency
import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@testable import LatewoodDocuments

/// Views, compared with their documents.
@Suite struct ViewTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("things")
  }

  private func keys(_ view: ViewDefinition) throws -> [String] {
    try store.shownRows(view, in: collection).map { "\($0.id) \($0.key)" }
  }

  private func registered(_ view: ViewDefinition) throws -> ViewDefinition {
    try store.register(view, of: collection)
    return view
  }

  private func behind() throws -> UInt64? { try store.reads(collection).viewList().first?.behind }

  @Test func `a view has rows for documents saved before and after it was created`() throws {
    try store.saveJSON("a", #"{"k":2,"v":"x"}"#, in: collection)
    try store.saveJSON("b", #"{"v":1}"#, in: collection)
    let view = try registered(SampleView.values())
    #expect(
      try store.shownRows(view, in: collection) == [ShownRow(id: "a", key: "2", value: #""x""#)])
    try store.saveJSON("c", #"{"k":null}"#, in: collection)
    try store.saveJSON("b", #"{"k":[1,{"a":true,"b":-0.5}],"v":7}"#, in: collection)
    #expect(try behind() == 0)
    #expect(
      try store.shownRows(view, in: collection) == [
        ShownRow(id: "c", key: "null", value: "null"), ShownRow(id: "a", key: "2", value: #""x""#),
        ShownRow(id: "b", key: #"[1,{"a":true,"b":-0.5}]"#, value: "7"),
      ])
  }

  @Test func `every change of the current revision updates its rows`() throws {
    let view = try registered(SampleView.tags())
    let first = try store.saveJSON("a", #"{"tags":["x","y","x"]}"#, in: collection)
    #expect(try keys(view) == [#"a ["x",1]"#, #"a ["x",1]"#, #"a ["y",1]"#])
    try store.saveJSON("a", #"{"tags":["y","z"]}"#, in: collection)
    #expect(try behind() == 0)
    #expect(try keys(view) == [#"a ["y",1]"#, #"a ["z",1]"#])
    // Another branch wins and is then removed again.
    let far = RevisionID(generation: 9, digest: first.revision.digest)
    let body = try JSON.fleece(from: #"{"tags":["far"]}"#)
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [far], body: body)
    }
    #expect(try keys(view) == [#"a ["far",1]"#])
    // A losing revision changes no rows, and the view stays caught up.
    let near = RevisionID(generation: 1, digest: far.digest)
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [near], body: body)
      _ = try writer.purge("a", in: collection, leaves: [far])
    }
    #expect(try behind() == 0)
    #expect(try keys(view) == [#"a ["y",1]"#, #"a ["z",1]"#])
    try store.deleteJSON("a", in: collection)
    #expect(try keys(view).contains(#"a ["y",1]"#) == false)
    try store.saveJSON("b", #"{"tags":["b"]}"#, in: collection)
    try store.write { [collection, clock] writer in
      try writer.setExpiry(of: "b", in: collection, clock.now + 5)
    }
    #expect(try keys(view).contains(#"b ["b",1]"#))
    clock.advance(9)
    // Expired but not purged: neither returned nor counted.
    let reads = try store.reads(view, of: collection)
    #expect(try reads.count() == (try reads.shownRows().count))
    #expect(try !keys(view).contains(#"b ["b",1]"#))
    try store.purgeExpired()
    #expect(try !keys(view).contains(#"b ["b",1]"#))
    try store.write { [collection] writer in _ = try writer.purge("a", in: collection) }
    #expect(try keys(view) == [])
    #expect(try behind() == 0)
  }

  @Test func `a branch that wins again after a deletion has its rows again`() throws {
    let view = try registered(SampleView.tags())
    let first = try store.saveJSON("a", #"{"tags":["x"]}"#, in: collection)
    let rival = RevisionID(
      generation: 1, digest: RevisionID(generation: 9, digest: first.revision.digest).digest)
    #expect(rival == first.revision)
    let tombstone = try JSON.fleece(from: "{}")
    let other = try JSON.fleece(from: #"{"tags":["other"]}"#)
    let branch = RevisionID(
      editing: nil, isDeleted: false, body: UnsafeRawBufferPointer(start: nil, count: 0))
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [branch], body: other)
      _ = try writer.save(
        "a", in: collection, body: tombstone, parent: first.revision, isDeleted: true)
    }
    #expect(try keys(view) == [#"a ["other",1]"#])
  }

  @Test func `a new version has new rows, and the old ones are gone`() throws {
    try store.saveJSON("a", #"{"tags":["x"]}"#, in: collection)
    let first = try registered(SampleView.tags(version: 1))
    #expect(try keys(first) == [#"a ["x",1]"#])
    let second = try registered(SampleView.tags(version: 2))
    refusal(.conflict) { _ = try store.reads(first, of: collection) }
    #expect(try keys(second) == [#"a ["x",2]"#])
    let spaces = try store.store.keyspaces().map(\.name).filter {
      $0.hasPrefix("rows/") || $0.hasPrefix("emitted/")
    }
    #expect(
      spaces == ["emitted/things/2", "rows/things/2"] || spaces == ["rows/things/2", "emitted/things/2"])
    #expect(try store.reads(collection).viewList().map(\.version) == [2])
  }

  @Test func `a failing map or an invalid key affects only its own document`() throws {
    let view = try registered(
      ViewDefinition("bad", version: 1) { document, emitter in
        let body = try #require(try document.body.dictionary())
        emitter.emit(try body.value(for: "k"))
        var writer = FleeceWriter()
        switch try body.value(for: "how")?.string() {
        case "throw": throw MapFailure()
        case "nan":
          // No writer encodes a number like this: as a double, and as a pointer back to it.
          let bytes: [UInt8] = [0x28, 0, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F, 0x80, 0x05]
          return try FleeceBody(bytes).withRoot { key throws(FleeceError) in emitter.emit(key) }
        case "long": try writer.string(String(repeating: "x", count: StoredRow.keyLimit))
        default: return
        }
        try FleeceBody(written: try writer.finish()).withRoot { key throws(FleeceError) in emitter.emit(key) }
      })
    for (id, how) in [("a", "throw"), ("b", "nan"), ("c", "long"), ("d", "fine"), ("e", "fine")] {
      try store.saveJSON(id, #"{"k":"\#(id)","how":"\#(how)"}"#, in: collection)
    }
    #expect(try keys(view) == [#"d "d""#, #"e "e""#])
    var reads = try store.reads(view, of: collection)
    #expect(reads.failureCount == 3)
    let failures = try reads.failures()
    #expect(failures.map(\.id) == ["a", "b", "c"])
    #expect(failures[0].reason == "the map has failed")
    #expect(failures[1].reason.contains("NaN"))
    #expect(failures[2].reason.contains("8192"))
    try store.saveJSON("a", #"{"k":"a"}"#, in: collection)
    try store.write { [collection] writer in _ = try writer.purge("b", in: collection) }
    try store.deleteJSON("c", in: collection)
    reads = try store.reads(view, of: collection)
    #expect(try (reads.failureCount, reads.failures().count) == (0, 0))
    #expect(try keys(view) == [#"a "a""#, #"d "d""#, #"e "e""#])
  }

  @Test(arguments: [StoredRow.keyLimit - 1, StoredRow.keyLimit, StoredRow.keyLimit + 1])
  func `keys are accepted up to the limit`(length: Int) throws {
    let view = try registered(SampleView.values())
    // The tag and the two bytes at the end of a text.
    let text = String(repeating: "x", count: length - 3)
    try store.saveJSON("a", #"{"k":"\#(text)"}"#, in: collection)
    #expect(try keys(view).count == (length <= StoredRow.keyLimit ? 1 : 0))
  }

  @Test func `a sum accepts only numbers`() throws {
    let view = try registered(SampleView.values("sum", version: 1, .sum))
    try store.saveJSON("a", #"{"k":1,"v":2.5}"#, in: collection)
    try store.saveJSON("b", #"{"k":1,"v":"3"}"#, in: collection)
    try store.saveJSON("c", #"{"k":1}"#, in: collection)
    try store.saveJSON("d", #"{"k":2,"v":-1}"#, in: collection)
    let reads = try store.reads(view, of: collection)
    #expect(try reads.stats().sum == 1.5)
    #expect(try reads.failures().map(\.id) == ["b", "c"])
  }

  @Test func `a writer without the view leaves it behind, and still removes purged rows`() throws {
    let directory = try TemporaryDirectory()
    let view = SampleView.values()
    func reopened(_ body: (DocumentStore, CollectionHandle) throws -> Void) throws {
      let store = try DocumentStore.open(at: directory.database, options: clock.options())
      try body(store, try store.defaultCollection())
      try store.close()
    }
    try reopened { store, documents in
      for number in 0..<5 { try store.saveJSON("doc \(number)", #"{"k":\#(number)}"#, in: documents) }
      try store.register(view, of: documents)
      #expect(try store.shownRows(view, in: documents).count == 5)
    }
    try reopened { store, documents in
      try store.saveJSON("doc 1", #"{"k":11}"#, in: documents)
      try store.saveJSON("doc 9", #"{"k":9}"#, in: documents)
      try store.deleteJSON("doc 2", in: documents)
      try store.write { _ = try $0.purge("doc 3", in: documents) }
      #expect(try store.reads(documents).viewList().map(\.rows) == [4])
      #expect(try store.reads(documents).viewList().first?.behind == 3)
      #expect(try store.verify(deep: true).faults == [])
      refusal(.notFound) { _ = try store.reads(view, of: documents) }
      let reader = try DocumentStore.open(at: directory.database, mode: .readOnly)
      try reader.register(view, of: documents)
      refusal(.notWritable) { _ = try reader.reads(view, of: documents) }
      try reader.close()
    }
    try reopened { store, documents in
      try store.register(view, of: documents)
      #expect(
        try store.shownRows(view, in: documents).map { "\($0.id) \($0.key)" }
          == ["doc 0 0", "doc 4 4", "doc 9 9", "doc 1 11"])
    }
  }

  @Test func `a view is brought up to date in steps, and continues where it stopped`() throws {
    try store.write { [collection] writer in
      for number in 0..<25 {
        _ = try writer.save(
          "doc \(number)", in: collection, body: JSON.fleece(from: #"{"k":\#(number)}"#), parent: nil)
      }
    }
    let view = try registered(SampleView.values())
    func step() throws -> UInt64 {
      try store.write { [collection] in
        var build = ViewBuild(view, of: collection)
        build.limit = 10
        return try build.step(in: $0.batch).behind
      }
    }
    #expect(try step() == 15)
    #expect(try store.verify(deep: true).faults == [])
    // The changes lie before and behind the position that the build has reached; neither document
    // is mapped twice.
    try store.saveJSON("doc 3", #"{"k":103}"#, in: collection)
    try store.saveJSON("doc 20", #"{"k":120}"#, in: collection)
    #expect(try behind() == 17)
    try store.write { [collection] writer in _ = try writer.purge("doc 1", in: collection) }
    #expect(try step() == 7)
    #expect(try step() == 0)
    #expect(try store.shownRows(view, in: collection) == (try store.recomputedRows(view, in: collection)))
    #expect(try keys(view).count == 24)
  }

  @Test func `a batch sees the rows of its changes, and a failed batch leaves none`() throws {
    let view = try registered(SampleView.values())
    try store.saveJSON("a", #"{"k":1}"#, in: collection)
    #expect(throws: OnPurpose.self) {
      try store.write { [store, collection] writer in
        try store.saveJSON("b", #"{"k":2}"#, in: collection)
        #expect(try store.reads(view, of: collection).shownRows().map(\.id) == ["a", "b"])
        try store.saveJSON("c", #"{"k":0}"#, in: collection)
        #expect(try store.reads(view, of: collection).shownRows().map(\.id) == ["c", "a", "b"])
        throw OnPurpose()
      }
    }
    #expect(try keys(view) == ["a 1"])
    try store.write { [store, collection] writer in
      try store.saveJSON("b", #"{"k":0}"#, in: collection)
      #expect(try store.reads(view, of: collection).count() == 2)
    }
    #expect(try behind() == 0)
    #expect(try keys(view) == ["b 0", "a 1"])
  }

  @Test func `a map cannot change the database`() throws {
    let (store, collection) = (store, collection)
    let view = try registered(
      ViewDefinition("writes", version: 1) { document, emitter in
        try store.saveJSON("other", "{}", in: collection)
      })
    _ = try store.reads(view, of: collection)
    try store.saveJSON("a", "{}", in: collection)
    #expect(try store.reads(view, of: collection).failures().map(\.id) == ["a"])
    #expect(try store.reads(collection).head(of: "other") == nil)
  }

  @Test func `a map that reads its own view fails without recursion`() throws {
    let (store, collection) = (store, collection)
    let read = Guarded<ViewDefinition?>(nil)
    let view = try registered(
      ViewDefinition("reads", version: 1) { document, emitter in
        if let view = read.withLock({ $0 }) { _ = try store.reads(view, of: collection) }
        emitter.emit(nil)
      })
    read.withLock { $0 = view }
    try store.saveJSON("a", "{}", in: collection)
    #expect(try store.reads(view, of: collection).failures().map(\.id) == ["a"])
    try store.saveJSON("b", "{}", in: collection)
    #expect(try store.reads(view, of: collection).failures().map(\.id) == ["a", "b"])
    read.withLock { $0 = nil }
  }

  @Test func `a view is dropped with its rows, and with its collection`() throws {
    func spaces() throws -> Int {
      try store.store.keyspaces().count { $0.name.hasPrefix("rows/") || $0.name.hasPrefix("emitted/") }
    }
    let (one, two) = (try registered(SampleView.values("one")), try registered(SampleView.tags("two")))
    try store.saveJSON("a", #"{"k":1,"tags":["x"]}"#, in: collection)
    #expect(try keys(one).count + keys(two).count == 2)
    #expect(try spaces() == 4)
    #expect(try store.dropView("one", of: collection))
    #expect(try !store.dropView("one", of: collection))
    #expect(try spaces() == 2)
    refusal(.notFound) { _ = try store.reads(one, of: collection) }
    try store.saveJSON("a", #"{"tags":["x","y"]}"#, in: collection)
    #expect(try keys(two).count == 2)
    _ = try registered(one)
    #expect(try keys(one) == [])
    #expect(try store.dropCollection("things"))
    #expect(try spaces() == 0)
    #expect(try store.verify(deep: true).faults == [])
  }

  @Test func `only collections with views are closed to programs without view support`() throws {
    func format() throws -> UInt8? {
      let database = try #require(try store.store.existingKeyspace("database"))
      return try store.store.get(CollectionState.key("things"), in: database)?.first
    }
    #expect(try format() == 1)
    let view = try registered(SampleView.values())
    _ = try store.reads(view, of: collection)
    #expect(try format() == 2)
    try store.dropView("values", of: collection)
    #expect(try format() == 1)
  }

  @Test func `verification finds missing, extra and wrong rows`() throws {
    let view = try registered(SampleView.values())
    try store.saveJSON("a", #"{"k":1,"v":2}"#, in: collection)
    try store.saveJSON("b", #"{"k":2}"#, in: collection)
    try store.saveJSON("c", #"{"fails":2}"#, in: collection)
    #expect(try keys(view).count == 2)
    let rows = try #require(try store.store.existingKeyspace("rows/things/1"))
    let emitted = try #require(try store.store.existingKeyspace("emitted/things/1"))
    let row = try #require(try store.store.first(in: rows))
    let list = try #require(try store.store.first(in: emitted))
    func faults(_ change: @escaping (Transaction) throws -> Void) throws -> Int {
      let before = (
        try store.store.entries(in: rows).map { $0 }, try store.store.entries(in: emitted).map { $0 }
      )
      try store.store.write { try change($0) }
      let count = try store.verify(deep: true).faults.count
      // Damage ends in errors, not in traps.
      do { _ = try store.reads(view, of: collection).shownRows() } catch {}
      do { _ = try store.reads(view, of: collection).failures() } catch {}
      try store.store.write { transaction in
        try transaction.deleteRange(.all, in: rows)
        try transaction.deleteRange(.all, in: emitted)
        for entry in before.0 { try transaction.put(entry.key, entry.value, in: rows) }
        for entry in before.1 { try transaction.put(entry.key, entry.value, in: emitted) }
      }
      #expect(try store.verify(deep: true).faults == [])
      return count
    }
    #expect(try faults { try $0.delete(row.key, in: rows) } == 1)
    #expect(try faults { try $0.put(row.key + [0], row.value, in: rows) } == 1)
    #expect(try faults { try $0.put(row.key, [1], in: rows) } == 2)
    #expect(try faults { try $0.put(row.key, [], in: rows) } == 2)
    #expect(try faults { try $0.put(row.key, [0xFF], in: rows) } == 2)
    #expect(try faults { try $0.delete(list.key, in: emitted) } == 1)
    #expect(try faults { try $0.put(list.key, [7], in: emitted) } == 2)
    #expect(try faults { try $0.put("gone", list.value, in: emitted) } == 2)
    #expect(try faults { try $0.put("a", [1], in: emitted) } == 2)
    for length in 0..<list.value.count {
      #expect(try faults { try $0.put(list.key, list.value.prefix(length), in: emitted) } > 0)
    }
  }

  @Test func `rows of a document with a damaged list are found and replaced`() throws {
    let view = try registered(SampleView.tags())
    try store.saveJSON("a", #"{"tags":["x","y"]}"#, in: collection)
    try store.saveJSON("xa", #"{"tags":["x"]}"#, in: collection)
    _ = try keys(view)
    let emitted = try #require(try store.store.existingKeyspace("emitted/things/1"))
    try store.store.write { try $0.put("a", [9], in: emitted) }
    try store.saveJSON("a", #"{"tags":["z"]}"#, in: collection)
    #expect(try keys(view) == [#"xa ["x",1]"#, #"a ["z",1]"#])
  }
}
