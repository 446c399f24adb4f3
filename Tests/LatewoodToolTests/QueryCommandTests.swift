import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// `latewood query`: rows, plans, and errors that show their position.
@Suite struct QueryCommandTests {
  private func filled() throws -> ToolRun {
    let tool = try ToolRun()
    for number in 0..<20 {
      try #expect(
        tool("doc", "put", "@", "d\(10 + number)", #"{"n":\#(number % 10),"t":["x"]}"#).code == .success)
    }
    return tool
  }

  @Test func `rows are printed as JSON lines, and parameters are JSON or text`() throws {
    let tool = try filled()
    let text = "SELECT meta().id, n FROM _ WHERE n IN $list AND meta().id < $end"
    let found = try tool("query", "@", text, "--param", "list=[3, 4]", "--param", "end=d20")
    #expect(found.lines == [#"{"id":"d13","n":3}"#, #"{"id":"d14","n":4}"#], "\(found.error)")
    let json = try tool("query", "@", "SELECT COUNT(*) AS n FROM _ WHERE n = 3", "--json").output
    #expect(json == #"{"collection":"_default","rows":[{"n":2}],"count":1,"read":20}"# + "\n")
    try #expect(tool("query", "@", "SELECT n FROM none").code == .no)
  }

  @Test func `a plan names the index it uses, or the index that would help`() throws {
    let tool = try filled()
    let text = "SELECT t FROM _ WHERE n = 3 AND LENGTH(t[0]) = 1 ORDER BY t[0]"
    #expect(
      try tool("query", "@", text, "--explain").lines == [
        "all documents: 20; then filtered; then sorted; an index on n would help"
      ])
    try #expect(tool("index", "create", "@", "by n", "n").code == .success)
    #expect(
      try tool("query", "@", text, "--explain").lines == [
        #"index "by n": 2 entries in 1 range; then filtered; then sorted"#
      ])
    #expect(
      try tool("query", "@", "SELECT COUNT(*) AS n FROM _ WHERE n = 3", "--json").output
        == #"{"collection":"_default","rows":[{"n":2}],"count":1,"read":0}"# + "\n")
    #expect(
      try tool("query", "@", "SELECT n FROM _ ORDER BY n DESC", "--explain").lines == [
        #"index "by n": 20 entries in 1 range"#
      ])
  }

  @Test func `an error shows its line with a caret below the position`() throws {
    let tool = try filled()
    let result = try tool("query", "@", "SELECT n\r\nFROM _\r\nWHERE n = = 3")
    #expect(result.code == .badInput && result.output.isEmpty)
    #expect(result.error.contains("line 3, column 11"))
    #expect(result.error.contains("\nWHERE n = = 3\n          ^\n"), "\(result.error)")
    let late = try tool("query", "@", "SELECT REPLACE(t[0], 'x', $long) || $long FROM _", "--param", "long=y")
    #expect(late.code == .success && late.lines.first == #"{"$1":"yy"}"#, "\(late.error)")
  }

  @Test(arguments: [
    ["query", "@"], ["query", "@", "SELECT 1 FROM _", "--param", "a"],
    ["query", "@", "SELECT 1 FROM _", "--param", "a=1", "--param", "a=2"],
    ["query", "@", "SELECT 1 FROM _", "--param", "=1"],
  ])
  func `invalid arguments are refused`(arguments: [String]) throws {
    let tool = try filled()
    let result = try tool.run(arguments)
    #expect(result.code == .usage && result.output.isEmpty, "\(result.error)")
  }

  @Test func `rows of SELECT RAW are printed as values`() throws {
    let tool = try filled()
    let text = "SELECT RAW n FROM _ ORDER BY meta().id DESC LIMIT 2"
    #expect(try tool("query", "@", text).lines == ["9", "8"])
    #expect(
      try tool("query", "@", text, "--json").output
        == #"{"collection":"_default","rows":[9,8],"count":2,"read":2}"# + "\n")
    #expect(try tool("query", "@", "SELECT VALUE t FROM _ LIMIT 1").lines == [#"["x"]"#])
  }

  @Test func `a statement without FROM has one row, and OFFSET may precede LIMIT`() throws {
    let tool = try filled()
    #expect(try tool("query", "@", "SELECT 1").lines == [#"{"$1":1}"#])
    #expect(try tool("query", "@", "SELECT RAW UPPER('a') || 'b';").lines == [#""Ab""#])
    #expect(try tool("query", "@", "SELECT COUNT(*) AS n, MAX(3) AS m").lines == [#"{"m":3,"n":1}"#])
    #expect(try tool("query", "@", "SELECT DISTINCT $a AS a", "--param", "a=[1]").lines == [#"{"a":[1]}"#])
    #expect(try tool("query", "@", "SELECT 1 AS x", "--json").output.contains(#""count":1,"read":0"#))
    #expect(try tool("query", "@", "SELECT 1", "--explain").code == .usage)
    let unknown = try tool("query", "@", "SELECT n")
    #expect(unknown.code == .badInput && unknown.error.contains("FROM is expected"), "\(unknown.error)")
    let text = "SELECT RAW meta().id FROM _ ORDER BY meta().id"
    #expect(try tool("query", "@", text + " OFFSET 3 LIMIT 2").lines == [#""d13""#, #""d14""#])
    #expect(try tool("query", "@", text + " LIMIT 2 OFFSET 3").lines == [#""d13""#, #""d14""#])
    #expect(try tool("query", "@", text + " OFFSET 18").lines == [#""d28""#, #""d29""#])
    for twice in [" LIMIT 1 LIMIT 2", " OFFSET 1 LIMIT 2 OFFSET 3"] {
      #expect(try tool("query", "@", text + twice).code == .badInput)
    }
  }

  @Test func `ids and numbers of documents are found without reading others`() throws {
    let tool = try filled()
    #expect(
      try tool("find", "@", #"{"_id":{"$in":["d11","d29"]}}"#, "--fields", "_id", "--json").output
        == #"{"collection":"_default","documents":[{"_id":"d11"},{"_id":"d29"}],"count":2,"read":2}"# + "\n")
    #expect(
      try tool("find", "@", "{}", "--sort", "_id:desc", "--limit", "1", "--fields", "_id", "--json").output
        == #"{"collection":"_default","documents":[{"_id":"d29"}],"count":1,"read":1}"# + "\n")
    #expect(try tool("find", "@", "{}", "--count").lines == ["20"])
    #expect(
      try tool("find", "@", "{}", "--count", "--json").output
        == #"{"collection":"_default","count":20,"read":0}"# + "\n")
    #expect(
      try tool("query", "@", "SELECT COUNT(*) AS n FROM _", "--json").output
        == #"{"collection":"_default","rows":[{"n":20}],"count":1,"read":0}"# + "\n")
  }
}
