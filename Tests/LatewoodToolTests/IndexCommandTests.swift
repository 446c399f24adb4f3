import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// `latewood index`, and its effect on `find`.
@Suite struct IndexCommandTests {
  private func filled() throws -> ToolRun {
    let tool = try ToolRun()
    for number in 0..<20 {
      try #expect(
        tool("doc", "put", "@", "d\(10 + number)", #"{"n":\#(number % 10),"t":["x"]}"#).code == .success)
    }
    return tool
  }

  @Test func `an index is created, listed, used and dropped`() throws {
    let tool = try filled()
    #expect(
      try tool("find", "@", #"{"n":3}"#, "--explain").lines == [
        "all documents: 20; then filtered; an index on n would help"
      ])
    let created = try tool("index", "create", "@", "by n", "n").output
    #expect(
      created.hasPrefix("Created the index by n: 20 entries in ") && created.hasSuffix("s.\n"), "\(created)")
    let again = try tool("index", "create", "@", "by n", "n")
    #expect(again.code == .success && again.output == "The index by n already exists: 20 entries.\n")
    let partial = try tool("index", "create", "@", "few", "t[],n:desc", "--where", #"{"n":{"$gt":7}}"#)
    #expect(partial.code == .success)
    #expect(
      try tool("index", "@").lines == [
        "by n  on n  20 entries", "few  on t[], n:desc  partial  4 entries",
      ])
    #expect(try tool("find", "@", #"{"n":3}"#, "--explain").lines == ["index \"by n\": 2 entries in 1 range"])
    let json = try tool("find", "@", #"{"n":3}"#, "--fields", "_id", "--json").output
    #expect(
      json == #"{"collection":"_default","documents":[{"_id":"d13"},{"_id":"d23"}],"count":2,"read":2}"#
        + "\n")
    try #expect(tool("find", "@", #"{"n":3}"#, "--count").lines == ["2"])
    try #expect(tool("index", "drop", "@", "by n").code == .success)
    try #expect(tool("index", "drop", "@", "by n").code == .no)
    #expect(try tool("index", "list", "@").lines.count == 1)
    try tool.expectSound()
  }

  @Test func `a unique index names the documents that collide`() throws {
    let tool = try filled()
    let refused = try tool("index", "create", "@", "n", "n", "--unique")
    #expect(refused.code == .no && refused.error.contains("d20") && refused.error.contains("d10"))
    #expect(try tool("index", "@").lines.isEmpty)
  }

  @Test func `an index of an earlier release that cannot be used is listed with its problem`() throws {
    let tool = try ToolRun()
    try Repository.write(
      try Repository.read("Tests/golden-older/index-conditions.latewood"), to: tool.path)
    let lines = try tool("index", "@").lines
    #expect(lines.count == 3 && lines[1] == "plain  on n  partial  6 entries")
    #expect(lines[0].hasPrefix("again  on n  partial  not used: its condition cannot be tested"))
    #expect(try tool("index", "@", "--json").output.contains(#""ready":false,"problem":"its condition"#))
    try #expect(tool("doc", "put", "@", "new", #"{"s":"aa"}"#).code == .success)
    let refused = try tool("doc", "put", "@", "new", #"{"s":"aa"}"#, "--collection", "strict")
    #expect(refused.code != .success && refused.error.contains("unique index codes"))
    #expect(try tool("verify", "@").output.contains("the index again is not used"))
    for name in ["again", "words"] { try #expect(tool("index", "drop", "@", name).code == .success) }
    try #expect(tool("index", "drop", "@", "codes", "--collection", "strict").code == .success)
    try tool.expectSound()
  }

  @Test(arguments: [
    (["index", "create", "@", "x"], ExitCode.usage), (["index", "create", "@", "x", "a..b"], .badInput),
    (["index", "create", "@", "x", "a", "--where", "{"], .badInput), (["index", "drop", "@"], .usage),
    (["index", "list", "@", "--unique"], .usage), (["find", "@", "{}", "--explain", "--count"], .usage),
    (["index", "create", "@", "x", "a,a"], .badInput),
  ])
  func `invalid arguments are refused`(arguments: [String], code: ExitCode) throws {
    let tool = try ToolRun()
    try #expect(tool("doc", "put", "@", "a", "{}").code == .success)
    let result = try tool.run(arguments)
    #expect(result.code == code && result.output.isEmpty, "\(result.error)")
  }

  @Test func `a full-text index is created, listed, used by find, and dropped`() throws {
    let tool = try ToolRun()
    for (id, body) in [
      ("a", #"{"title":"Alien","plot":"An alien in space","year":1979}"#),
      ("b", #"{"title":"Moon","plot":"Alone in space","year":2009}"#), ("c", #"{"title":"Brazil"}"#),
    ] {
      try #expect(tool("doc", "put", "@", id, body).code == .success)
    }
    let created = try tool("index", "create", "@", "words", "title^3,plot", "--text", "--language", "english")
    #expect(created.code == .success && created.output.hasPrefix("Created the index words: 3 documents in "))
    #expect(try tool("index", "@").lines == ["words  on title^3, plot  full text  3 documents"])
    #expect(try tool("index", "@", "--json").output.contains(#""fullText":true"#))
    #expect(try tool("find", "@", "--text", "space", "--fields", "_id").lines.count == 2)
    let ranked = try tool("find", "@", "--text", "space OR aliens", "--fields", "title").lines
    #expect(ranked.first == #"{"title":"Alien"}"#)
    #expect(try tool("find", "@", #"{"year":{"$gt":2000}}"#, "--text", "space", "--count").lines == ["1"])
    #expect(try tool("find", "@", #"{"$text":"space"}"#, "--count").lines == ["2"])
    #expect(
      try tool("find", "@", "--text", "space", "--sort", "year:desc", "--fields", "title").lines[0]
        == #"{"title":"Moon"}"#)
    let rows = try tool(
      "query", "@",
      "SELECT title, SNIPPET(words) AS part FROM _ WHERE MATCH(words, 'space') ORDER BY RANK(words) DESC LIMIT 1",
      "--lines")
    #expect(rows.output.contains("[space]"), "\(rows)")
    let malformed = try tool("find", "@", "--text", "space AND")
    #expect(malformed.code == .badInput)
    #expect(malformed.error.contains("line 1, column 10: the full-text query is not valid: expected a word"))
    #expect(malformed.error.contains("space AND\n         ^\n"), "\(malformed.error)")
    let inSelector = try tool("find", "@", #"{"year":1,"$text":"space AND"}"#)
    #expect(inSelector.error.contains("not valid: expected a word at the end of the query (at byte 9 of"))
    let unknown = try tool("find", "@", "--text", "space genre:moon")
    #expect(unknown.error.contains("words does not have the field genre (at byte 6 of the query), only"))
    let inStatement = try tool("query", "@", "SELECT title FROM _ WHERE MATCH(words, 'space NEAR(')")
    #expect(inStatement.error.contains("words, 'space NEAR(')\n" + String(repeating: " ", count: 51) + "^"))
    #expect(try tool("find", "@", "--text-index", "words").code == .usage)
    #expect(try tool("index", "create", "@", "other", "title", "--text", "--unique").code == .usage)
    #expect(try tool("index", "create", "@", "other", "title", "--language", "english").code == .usage)
    #expect(try tool("index", "create", "@", "words", "title").code == .cannotOpen)
    try tool.expectSound()
    try #expect(tool("index", "drop", "@", "words").code == .success)
    #expect(try tool("find", "@", "--text", "space").code != .success)
  }

  @Test func `a full-text index is a part of sizes, of the tree, and of every copy`() throws {
    let tool = try ToolRun()
    for number in 0..<50 {
      let text = (0..<40).map { "word\((number * 7 + $0 * $0) % 90)" }.joined(separator: " ")
      try #expect(tool("doc", "put", "@", "d\(number)", #"{"text":"\#(text)"}"#).code == .success)
    }
    #expect(!(try tool("size", "@").output.contains(#/ indexes +[1-9]/#)))
    try #expect(tool("index", "create", "@", "words", "text", "--text").code == .success)
    try #expect(tool("index", "create", "@", "by text", "text:desc", "--where", "{}").code == .success)
    #expect(try tool("size", "@").output.contains(#/ indexes +[1-9]/#))
    #expect(
      try tool("info", "@").lines.suffix(3) == [
        "  _default                      50 documents",
        "    index by text  on text:desc  partial  50 entries",
        "    index words  on text  full text  50 documents",
      ])
    try #expect(tool("index", "drop", "@", "by text").code == .success)
    try #expect(tool("compact", "@").code == .success)
    #expect(try tool("inspect", "tree", "@").output.contains(#/\nwords\/_default\/1 +[1-9]/#))
    let ranked = try tool("find", "@", "--text", "word3 OR word8", "--fields", "_id").lines
    #expect(ranked.count > 5)
    for (number, command) in ["copy", "backup", "salvage"].enumerated() {
      let copy = "\(tool.path).\(number)"
      try #expect(tool(command, "@", copy).code == .success)
      #expect(try tool("index", copy).lines == ["words  on text  full text  50 documents"], "\(command)")
      #expect(try tool("find", copy, "--text", "word3 OR word8", "--fields", "_id").lines == ranked)
      try #expect(tool("verify", copy).code == .success)
    }
  }
}
