import LatewoodFleece
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Ranges, ranks and groups of views: answers recorded from CouchDB, and features that CouchDB
/// lacks.
@Suite struct ViewQueryTests {
  /// A recorded query.
  private struct Recorded {
    let members: [String: FleeceElement]
    let query: [String: FleeceElement]

    init(_ json: Substring) throws {
      members = try Self.members(FleeceBody(try JSON.fleece(from: String(json))).root)
      query = try Self.members(#require(members["query"]))
    }

    static func members(_ element: FleeceElement) throws -> [String: FleeceElement] {
      Dictionary(
        uniqueKeysWithValues: try #require(try element.members()).map { ($0.key, $0.value) })
    }

    func number(_ name: String) throws -> Int? {
      guard case .integer(let number)? = try query[name]?.number() else { return nil }
      return Int(number)
    }

    func end(_ name: String) throws -> ViewRange.End? {
      guard let element = query[name] else { return nil }
      let id = try query[name + "_docid"]?.string()
      return ViewRange.End(
        try element.withValue { value in Result { () throws(DatabaseError) in try ViewRowKey(value) } }.get(),
        id: id)
    }

    func range() throws -> ViewRange {
      var range = ViewRange()
      range.start = try end("startkey")
      range.end = try end("endkey")
      range.includesEnd = try query["inclusive_end"]?.boolean() ?? true
      range.isDescending = try query["descending"]?.boolean() ?? false
      if let key = try end("key") { (range.start, range.end) = (key, key) }
      return range
    }

    func ranges() throws -> [ViewRange] {
      guard let keys = query["keys"] else { return [try range()] }
      return try (0..<(keys.count() ?? 0)).map { index in
        let element = try #require(try keys.element(at: index))
        let key = try element.withValue { value in
          Result { () throws(DatabaseError) in ViewRange.End(try ViewRowKey(value)) }
        }.get()
        var range = ViewRange()
        (range.start, range.end) = (key, key)
        return range
      }
    }

    /// The level of groups: `.some(nil)` for whole keys.
    func level() throws -> Int?? {
      if let level = try number("group_level") { return .some(level) }
      return try query["group"]?.boolean() == true ? .some(nil) : .none
    }
  }

  private func text(_ element: FleeceElement?) throws -> String {
    guard let element else { return "null" }
    var writer = FleeceWriter()
    try element.write(to: &writer)
    return try LatewoodDocumentsTests.text(try writer.finish())
  }

  private func shown(_ stats: ViewStatistics, _ reduction: StoredReduction) throws -> String {
    func number(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
    guard reduction == .stats else { return number(stats.sum) }
    return
      #"{"count":\#(stats.count),"max":\#(number(stats.max ?? 0)),"min":\#(number(stats.min ?? 0)),"#
      + #""sum":\#(number(stats.sum)),"sumsqr":\#(number(stats.sumOfSquares))}"#
  }

  /// - Returns: the rows of a query as `[id, key, value]`, or `key value` of reduced ones.
  private func answer(_ recorded: Recorded, _ reads: ViewReads, _ reduction: StoredReduction) throws
    -> [String]
  {
    if reduction == .none {
      var rows: [String] = []
      for range in try recorded.ranges() {
        rows += try reads.shownRows(
          in: range, skip: recorded.number("skip") ?? 0, limit: recorded.number("limit") ?? .max
        ).map { #"["\#($0.id)",\#($0.key),\#($0.value)]"# }
      }
      return rows
    }
    let range = try recorded.range()
    guard let level = try recorded.level() else {
      return ["null \(try shown(reads.stats(in: range), reduction))"]
    }
    var rows: [String] = []
    try reads.forEachGroup(in: range, level: level) { group in
      let value =
        reduction == .count ? "\(try reads.count(of: group))" : try shown(reads.stats(of: group), reduction)
      rows.append("\(try LatewoodDocumentsTests.text(group.key)) \(value)")
      return true
    }
    return rows
  }

  @Test(arguments: [false, true])
  func `views answer as CouchDB does`(isBuiltFirst: Bool) throws {
    let store = try DocumentStore.inMemory(options: TestClock().options())
    let documents = try store.defaultCollection()
    let views: [String: ViewDefinition] = [
      "k": SampleView.values("k"), "s": SampleView.values("s", .stats), "c": SampleView.values("c", .count),
      "su": SampleView.values("su", .sum),
    ]
    for view in views.values {
      try store.register(view, of: documents)
      if isBuiltFirst { _ = try store.reads(view, of: documents) }
    }
    var queries = 0
    for line in try TextFile.lines("couchdb-views.txt") {
      if line.first == "D" {
        let json = line.dropFirst(2)
        let id = try #require(
          try Recorded.members(FleeceBody(try JSON.fleece(from: String(json))).root)["_id"]?.string())
        try store.saveJSON(id, String(json), in: documents)
        continue
      }
      queries += 1
      let recorded = try Recorded(line.dropFirst(2))
      let name = try recorded.members["view"]?.string() ?? ""
      let view = try #require(views[name])
      let reads = try store.reads(view, of: documents)
      guard case .integer(200)? = try recorded.members["status"]?.number() else {
        refusal(.invalidParameter) { _ = try answer(recorded, reads, view.reduction) }
        continue
      }
      let rows = try #require(recorded.members["rows"])
      var wanted: [String] = []
      for index in 0..<(try rows.count() ?? 0) {
        let row = try #require(try rows.element(at: index))
        wanted.append(
          view.reduction == .none
            ? try text(row) : "\(try text(row.element(for: "key"))) \(try text(row.element(for: "value")))")
      }
      #expect(try answer(recorded, reads, view.reduction) == wanted, "\(line.prefix(200))")
      if case .integer(let offset)? = try recorded.members["offset"]?.number(), recorded.query["keys"] == nil
      {
        #expect(
          try reads.offset(of: recorded.range()) + (recorded.number("skip") ?? 0) == Int(offset),
          "\(line.prefix(200))")
        #expect(try reads.count() == 200)
      }
    }
    #expect(queries == 49)
    #expect(try store.verify(deep: true).faults == [])
  }

  @Test func `a prefix matches the start of a text or an array`() throws {
    let store = try DocumentStore.inMemory(options: TestClock().options())
    let documents = try store.defaultCollection()
    let view = SampleView.values()
    try store.register(view, of: documents)
    for (number, key) in [#""a""#, #""ab""#, #""b""#, #"["a"]"#, #"["a",1]"#, #"["ab"]"#, "1"].enumerated() {
      try store.saveJSON("doc \(number)", #"{"k":\#(key)}"#, in: documents)
    }
    let reads = try store.reads(view, of: documents)
    func keys(_ prefix: String, descending: Bool = false, from start: String? = nil) throws -> [String] {
      var range = ViewRange()
      range.prefix = try SampleView.key(prefix)
      range.isDescending = descending
      range.start = try start.map { ViewRange.End(try SampleView.key($0)) }
      let rows = try reads.shownRows(in: range).map(\.key)
      #expect(try reads.count(in: range) == rows.count)
      return rows
    }
    #expect(try keys(#""a""#) == [#""a""#, #""ab""#])
    #expect(try keys(#""""#) == [#""a""#, #""ab""#, #""b""#])
    #expect(try keys(#"["a"]"#, descending: true) == [#"["a",1]"#, #"["a"]"#])
    #expect(try keys("[]") == [#"["a"]"#, #"["a",1]"#, #"["ab"]"#])
    #expect(try keys(#""a""#, from: #""aa""#) == [#""ab""#])
    #expect(try keys(#""a""#, descending: true, from: #""aa""#) == [#""a""#])
    refusal(.invalidParameter) { _ = try keys("1") }
  }

  @Test func `every skip and limit agrees with the full list`() throws {
    let store = try DocumentStore.inMemory(options: TestClock().options())
    let documents = try store.defaultCollection()
    let view = SampleView.values()
    try store.register(view, of: documents)
    for number in 0..<40 { try store.saveJSON("doc \(number)", #"{"k":\#(number % 7)}"#, in: documents) }
    try store.write { writer in
      for number in stride(from: 0, to: 40, by: 9) {
        // Expired, and not purged yet.
        try writer.setExpiry(of: "doc \(number)", in: documents, 1)
      }
    }
    let reads = try store.reads(view, of: documents)
    for isDescending in [false, true] {
      var range = ViewRange()
      range.isDescending = isDescending
      range.start = ViewRange.End(try SampleView.key(isDescending ? "5" : "1"))
      range.end = ViewRange.End(try SampleView.key(isDescending ? "1" : "5"))
      let all = try reads.shownRows(in: range)
      #expect(try reads.count(in: range) == all.count)
      for skip in 0...all.count + 1 {
        #expect(try reads.shownRows(in: range, skip: skip, limit: 3) == Array(all.dropFirst(skip).prefix(3)))
      }
    }
  }
}
