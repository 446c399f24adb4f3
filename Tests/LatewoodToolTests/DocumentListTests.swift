import LatewoodFleece
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// `latewood doc list`, and the layout of documents in JSON.
@Suite struct DocumentListTests {
  private func filled() throws -> ToolRun {
    let tool = try ToolRun()
    for (id, body) in [
      ("b-1", #"{"title":"Up","year":2009}"#), ("a-1", #"{"title":"Alien","in":{"city":"Porto"}}"#),
      ("b-2", #"{"title":"a\tb\\c\n","year":[1,null]}"#), ("c", #"{"n":0}"#), ("gone", "{}"),
    ] {
      try #expect(tool("doc", "put", "@", id, body).code == .success)
    }
    try #expect(tool("doc", "delete", "@", "gone").code == .success)
    return tool
  }

  private func ids(_ result: ToolRun.Result) -> [String] {
    result.lines.map { String($0.split(separator: "\t", omittingEmptySubsequences: false)[0]) }
  }

  @Test func `a pipe gets all documents in id order, with tabs between the cells`() throws {
    let tool = try filled()
    let all = try tool("doc", "list", "@")
    #expect(all.code == .success && all.error.isEmpty)
    #expect(ids(all) == ["a-1", "b-1", "b-2", "c"])
    let cells = all.lines[1].split(separator: "\t", omittingEmptySubsequences: false)
    #expect(cells.count == 4 && cells[1].hasPrefix("1-") && cells[2].isEmpty)
    #expect(cells[3] == #"{"title":"Up","year":2009}"#)
    let fields = try tool("doc", "list", "@", "_default", "--fields", "title,year,in.city")
    #expect(
      fields.lines == [
        "a-1\tAlien\t\tPorto", "b-1\tUp\t2009\t", #"b-2"# + "\ta\\tb\\\\c\\n\t[1,null]\t", "c\t\t\t",
      ])
  }

  @Test func `a page starts after an id, even one without a document`() throws {
    let tool = try filled()
    try #expect(ids(tool("doc", "list", "@", "--limit", "2")) == ["a-1", "b-1"])
    try #expect(ids(tool("doc", "list", "@", "--limit", "2", "--start-after", "b-1")) == ["b-2", "c"])
    try #expect(ids(tool("doc", "list", "@", "--start-after", "b-11")) == ["b-2", "c"])
    try #expect(ids(tool("doc", "list", "@", "--prefix", "b-")) == ["b-1", "b-2"])
    try #expect(ids(tool("doc", "list", "@", "--prefix", "b-", "--start-after", "a")) == ["b-1", "b-2"])
    try #expect(ids(tool("doc", "list", "@", "--prefix", "b-", "--start-after", "b-1")) == ["b-2"])
    for last in ["b-2", "c", "z"] {
      let none = try tool("doc", "list", "@", "--prefix", "b-", "--start-after", last)
      #expect(none.code == .success && none.output.isEmpty && none.error.contains("in this range"))
    }
    try #expect(tool("doc", "list", "@", "--limit", "0").output.isEmpty)
  }

  @Test func `JSON contains the start of the next page, until the last one`() throws {
    let tool = try filled()
    let first = try tool("doc", "list", "@", "--json", "--limit", "3", "--fields", "year").output
    #expect(first.hasPrefix(#"{"collection":"_default","documents":[{"id":"a-1","revision":"1-"#))
    #expect(first.contains(#""sequence":2,"conflict":false,"document":{}}"#))
    #expect(first.hasSuffix(#""document":{"year":[1,null]}}],"count":3,"next":"b-2"}"# + "\n"))
    let rest = try tool("doc", "list", "@", "--json", "--start-after", "b-2").output
    #expect(rest.hasSuffix(#""document":{"n":0}}],"count":1,"next":null}"# + "\n"))
  }

  @Test func `the latest changes are listed first, page by page`() throws {
    let tool = try filled()
    try #expect(tool("doc", "put", "@", "b-1", "{}", "--force").code == .success)
    try #expect(ids(tool("doc", "list", "@", "--by-sequence")) == ["b-1", "c", "b-2", "a-1"])
    let page = try tool("doc", "list", "@", "--by-sequence", "--limit", "2", "--json").output
    #expect(page.hasSuffix(#""count":2,"next":4}"# + "\n"), "\(page)")
    try #expect(ids(tool("doc", "list", "@", "--by-sequence", "--before", "4")) == ["b-2", "a-1"])
    try #expect(ids(tool("doc", "list", "@", "--by-sequence", "--prefix", "b")) == ["b-1", "b-2"])
    for none in ["0", "1"] {
      try #expect(tool("doc", "list", "@", "--by-sequence", "--before", none).output.isEmpty)
    }
  }

  @Test func `with --conflicts, only documents in conflict are listed`() throws {
    let tool = try filled()
    try #expect(tool("doc", "list", "@", "--conflicts").output.isEmpty)
    try tool.makeConflict("b-3")
    for order in [[], ["--by-sequence"]] {
      let found = try tool.run(["doc", "list", "@", "--conflicts"] + order)
      #expect(ids(found) == ["b-3"] && found.output.contains("\tconflict\t"))
      #expect(try tool.run(["doc", "list", "@", "--conflicts", "--prefix", "a"] + order).output.isEmpty)
    }
  }

  @Test(
    arguments: [
      (["doc", "list"], ExitCode.usage, "DATABASE is missing"),
      (["doc", "list", "@", "a", "b"], .usage, "latewood doc list DATABASE [COLLECTION]"),
      (["doc", "list", "@", "_default", "--collection", "_default"], .usage, "twice"),
      (["doc", "list", "@", "_x"], .usage, "starts with _"),
      (["doc", "list", "@", "films"], .no, "latewood collections"),
      (["doc", "list", "@", "--by-sequence", "--start-after", "a"], .usage, "--before SEQUENCE"),
      (["doc", "list", "@", "--before", "3"], .usage, "--by-sequence"),
      (["doc", "list", "@", "--fields", "a,,b"], .usage, "a name is empty"),
      (["doc", "list", "@", "--revision", "1-"], .usage, "doc get"),
      (["doc", "list", "@", "--pretty", "--compact"], .usage, "do not go together"),
      (["doc", "get", "@"], .usage, "ID is missing"),
      (["doc", "get", "@", "c", "--prefix", "c"], .usage, "doc list"),
    ] as [([String], ExitCode, String)])
  func `invalid uses of list and get are refused with advice`(
    arguments: [String], code: ExitCode, text: String
  ) throws {
    let result = try filled().run(arguments)
    #expect(result.code == code && result.error.contains(text), "\(result.error)")
    #expect(result.output.isEmpty)
  }

  @Test func `a terminal shows one screenful in columns, and how to continue`() throws {
    let tool = try ToolRun()
    let lines = (10..<35).map { #"{"id":"it's \#($0)","title":"\#($0)"}"# }.joined(separator: "\n")
    try CapturedRun.write(Array(lines.utf8), to: "\(tool.directory)/lines")
    try #expect(
      tool("import", "@", "\(tool.directory)/lines", "--documents", "--id", "id").code == .success)
    func screen(_ options: String...) throws -> (rows: [String], error: String) {
      let console = Console(
        input: ByteInput(descriptor: -1), output: Output(), error: Output(), isTerminal: true, width: 60)
      let line = ["doc", "list", tool.path] + options
      #expect(LatewoodCommand.run(line.map { Array($0.utf8) }, on: console) == .success)
      let text = String(decoding: console.output.take(), as: UTF8.self)
      return (
        text.split(separator: "\n").map(String.init), String(decoding: console.error.take(), as: UTF8.self)
      )
    }
    let first = try screen("--fields", "title")
    #expect(first.rows.count == 21 && first.rows[0] == "id       title" && first.rows[20] == "it's 29  29")
    #expect(first.error == #"5 more: continue with --start-after 'it'\''s 29'."# + "\n")
    let rest = try screen("--start-after", "it's 29")
    #expect(rest.rows.count == 6 && rest.error.isEmpty)
    #expect(rest.rows.allSatisfy { DisplayWidth.of($0) <= 60 })
    #expect(try screen("--by-sequence", "--limit", "1").error == "More: continue with --before 25.\n")
  }

  @Test func `documents are compact, and indented on request`() throws {
    let tool = try filled()
    let compact = #"{"in":{"city":"Porto"},"title":"Alien"}"# + "\n"
    let pretty = """
      {
        "in": {
          "city": "Porto"
        },
        "title": "Alien"
      }

      """
    #expect(try tool("doc", "get", "@", "a-1").output == compact)
    #expect(try tool("doc", "get", "@", "a-1", "--compact").output == compact)
    #expect(try tool("doc", "get", "@", "a-1", "--pretty").output == pretty)
    #expect(try tool("find", "@", #"{"n":0}"#, "--fields", "n", "--pretty").output == "{\n  \"n\": 0\n}\n")
    #expect(try tool("query", "@", "SELECT n FROM _ WHERE n=0", "--pretty").output == "{\n  \"n\": 0\n}\n")
    let list = try tool("doc", "list", "@", "--prefix", "c", "--json", "--pretty").output
    #expect(list.hasSuffix("      }\n    }\n  ],\n  \"count\": 1,\n  \"next\": null\n}\n"), "\(list)")
    let plain = try tool("doc", "list", "@", "--prefix", "c", "--json").output
    #expect(JSON.compact(Array(list.utf8)) == Array(plain.dropLast().utf8))
  }

  @Test func `colours change nothing else of a document`() throws {
    let colours = try #require(Style(isColoured: true).jsonColours)
    for text in [
      "{}", "[]", "null", "-1.5e+30", #""\"\\""#,
      #"{"a":[],"b":{},"c":[1,[2,{"d":"e,:{}[]"}]],"f":null,"g":[true]}"#,
    ] {
      let fleece = try JSON.fleece(from: text)
      let plain = try JSON.text(of: fleece, .readable())
      #expect(JSON.compact(plain) == Array(text.utf8))
      #expect(try plain == JSON.text(of: fleece, .indented))
      let coloured = try JSON.text(of: fleece, .readable(colours))
      #expect(Screen(coloured).rows == Screen(plain).rows)
      #expect(coloured.contains(0x1B) == text.contains { "\"n".contains($0) })
    }
  }

  @Test func `commands for entries point to the command for documents`() throws {
    let tool = try filled()
    for (line, advice) in [
      (["put", "@", "k", "v"], "latewood doc put"), (["delete", "@", "k"], "latewood doc delete"),
      (["list", "@"], "latewood doc list"), (["get", "@", "k"], "latewood doc get"),
    ] {
      let result = try tool.run(line)
      #expect(result.code != .success && result.error.contains(advice), "\(result.error)")
    }
  }
}
