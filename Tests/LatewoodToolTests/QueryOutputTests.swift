import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodTool

/// The forms in which `latewood query` prints rows.
@Suite struct QueryOutputTests {
  private func filled() throws -> ToolRun {
    let tool = try ToolRun()
    let documents = [
      #"{"year":1979,"title":"Alien","cast":["Weaver"],"note":null}"#,
      #"{"year":2009,"title":"Up, \"up\"\nand away","rating":8.25}"#, #"{"title":"Brazil","":1}"#,
    ]
    for (number, text) in documents.enumerated() {
      try #expect(tool("doc", "put", "@", "d\(number)", text).code == .success)
    }
    return tool
  }

  /// Returns the lines that a query prints on a terminal.
  private func shown(_ tool: ToolRun, _ arguments: String..., width: Int = 80) -> [String] {
    let console = Console(
      input: ByteInput(descriptor: -1), output: Output(), error: Output(), isTerminal: true, width: width)
    let line = ["query", tool.path] + arguments
    #expect(LatewoodCommand.run(line.map { Array($0.utf8) }, on: console) == .success)
    return String(decoding: console.output.take(), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func `a terminal shows a table with the columns in the order of SELECT`() throws {
    let tool = try filled()
    let lines = shown(tool, "SELECT year, title, cast, note FROM _ ORDER BY meta().id")
    #expect(
      lines.dropLast() == [
        "year  title              cast        note",
        "1979  Alien              [\"Weaver\"]  null",
        "2009  Up, \"up\" and away              ", "      Brazil                         ",
      ])
    #expect(lines.last?.hasPrefix("3 rows in ") == true, "\(lines)")
    #expect(shown(tool, "SELECT title FROM _ WHERE year = 1")[0].hasPrefix("0 rows in "))
    #expect(shown(tool, "SELECT RAW year FROM _ LIMIT 1").first == "value")
    #expect(shown(tool, "SELECT 1").prefix(2) == ["$1", "1"])
    // A narrow terminal shows the beginning of each row.
    let narrow = shown(tool, "SELECT title, cast, year FROM _", width: 40)
    #expect(narrow.allSatisfy { DisplayWidth.of($0) <= 40 })
  }

  @Test func `a star becomes the columns of all members`() throws {
    let tool = try filled()
    let lines = shown(tool, "SELECT * FROM _ ORDER BY meta().id")
    #expect(lines[0].split(separator: " ") == ["cast", "note", "rating", "title", "year"])
    #expect(lines[1].contains("Alien") && lines.count == 5)
    let spread = shown(tool, "SELECT meta().id, f.*, 7 AS last FROM _ AS f ORDER BY meta().id")
    #expect(spread[0].split(separator: " ") == ["id", "cast", "note", "rating", "title", "year", "last"])
    // Members that appear late have no column, and the table tells.
    for number in 0..<120 { _ = try tool("doc", "put", "@", "e\(100 + number)", #"{"late\#(number)":1}"#) }
    let long = shown(tool, "SELECT * FROM _ ORDER BY meta().id")
    #expect(long.last == "Later rows have more members than there are columns: --lines prints them.")
  }

  @Test func `CSV has a header, all members, and quotes where they are needed`() throws {
    let tool = try filled()
    #expect(
      try tool("query", "@", "SELECT year, title, note FROM _ ORDER BY meta().id", "--csv").output
        == "year,title,note\n1979,Alien,\n2009,\"Up, \"\"up\"\"\nand away\",\n,Brazil,\n")
    #expect(
      try tool("query", "@", "SELECT * FROM _ ORDER BY meta().id", "--csv").output
        == "\"\",cast,note,rating,title,year\n,\"[\"\"Weaver\"\"]\",,,Alien,1979\n"
        + ",,,8.25,\"Up, \"\"up\"\"\nand away\",2009\n1,,,,Brazil,\n")
    #expect(try tool("query", "@", "SELECT RAW '' FROM _ LIMIT 1", "--csv").output == "value\n\"\"\n")
    // It can be imported again.
    let text = try tool("query", "@", "SELECT year, title FROM _ ORDER BY meta().id", "--csv").output
    try CapturedRun.write(Array(text.utf8), to: "\(tool.directory)/again.csv")
    try #expect(tool("import", "@", "\(tool.directory)/again.csv", "--collection", "again").code == .success)
    #expect(
      try tool("query", "@", "SELECT year FROM again WHERE title LIKE 'Up%'").lines == [#"{"year":2009}"#])
  }

  @Test func `lines, pretty and JSON are the same on a terminal`() throws {
    let tool = try filled()
    let text = "SELECT title, year FROM _ LIMIT 1"
    #expect(shown(tool, text, "--lines") == [#"{"title":"Alien","year":1979}"#])
    #expect(shown(tool, text, "--compact") == [#"{"title":"Alien","year":1979}"#])
    #expect(shown(tool, text, "--pretty").first == "{")
    #expect(shown(tool, text, "--json").joined().contains(#""count""#))
    #expect(try tool("query", "@", text).lines == [#"{"title":"Alien","year":1979}"#])
    for pair in [
      ["--csv", "--lines"], ["--json", "--csv"], ["--json", "--lines"], ["--csv", "--pretty"],
      ["--csv", "--compact"], ["--csv", "--explain"], ["--lines", "--pretty"],
    ] {
      let result = try tool.run(["query", "@", text] + pair)
      #expect(result.code == .usage && result.error.contains("do not go together"), "\(pair)")
    }
  }

  @Test func `CSV doubles a quote before a combining mark`() throws {
    let tool = try ToolRun()
    try #expect(tool("doc", "put", "@", "a", #"{"t":"\"\u0301"}"#).code == .success)
    let output = try tool("query", "@", "SELECT t FROM _", "--csv").output
    #expect(Array(output.utf8) == Array("t\n\"\"\"\u{301}\"\n".utf8), "\(output)")
  }

  @Test func `a table shows text with any characters as text`() throws {
    let tool = try ToolRun()
    let texts = [
      "a\u{200C}b", "\u{1F468}\u{200D}\u{1F469}", #"a\u{AD}b"#, #"a\r\nb\rc\td"#, "0x10c", #"a\u{1B}[31mb"#,
    ]
    for (number, text) in texts.enumerated() {
      let json = text.replacing("\\u{AD}", with: "\\u00ad").replacing("\\u{1B}", with: "\\u001b")
      try #expect(tool("doc", "put", "@", "d\(number)", #"{"t":"\#(json)"}"#).code == .success)
    }
    #expect(
      shown(tool, "SELECT t FROM _ ORDER BY meta().id").dropLast() == [
        "t", "a\u{200C}b", "\u{1F468}\u{200D}\u{1F469}", #"a\u00adb"#, "a b c d", "0x10c", #"a\u001b[31mb"#,
      ])
  }

  @Test func `a cell keeps no more of a long text than a row shows`() {
    let long = ValueText.shown(text: Array(String(repeating: "é", count: 1 << 20).utf8), in: 80)
    #expect(DisplayWidth.of(long) == 80 && long.hasSuffix("é…"))
    for count in 78...330 {
      let text = String(repeating: "x", count: count % 4) + String(repeating: "名", count: count)
      #expect(!ValueText.shown(text: Array(text.utf8), in: 80).contains("\u{FFFD}"))
    }
  }

  @Test func `a pager that cannot be run is reported`() throws {
    let place = try Workplace()
    let lines = (0..<200).map { #"{"n":\#($0)}"# }
    try Repository.write(Array(lines.joined(separator: "\n").utf8), to: place("rows.json"))
    try #require(BuiltTool.run(["import", place("db"), place("rows.json")]).code == .success)
    for pager in ["/nothing/here", place("rows.json")] {
      let session = try TerminalSession(
        ["query", place("db"), "SELECT n FROM _"], environment: ["NO_COLOR": "1", "PAGER": pager])
      #expect(try session.wait() == ExitCode.inputOutput.rawValue)
      #expect(session.all.rows.contains { $0.contains("Set PAGER to") }, "\(session.all.rows)")
    }
  }

  @Test func `an error among the rows is reported after the pager has ended`() throws {
    let place = try Workplace()
    let padding = String(repeating: "x", count: 300)
    let lines = (0..<3000).map { #"{"n":\#($0),"text":"\#(padding) row \#($0)."}"# }
    try Repository.write(Array(lines.joined(separator: "\n").utf8), to: place("rows.json"))
    try #require(BuiltTool.run(["import", place("db"), place("rows.json")]).code == .success)
    try #require(BuiltTool.run(["compact", place("db")]).code == .success)
    var bytes = try CapturedRun.read(place("db"))
    let mark = Array(" row 2500.".utf8)
    let found = bytes.indices.first { bytes[$0...].starts(with: mark) }
    bytes[try #require(found)] ^= 1
    try CapturedRun.write(bytes, to: place("db"))
    let session = try TerminalSession(
      ["query", place("db"), "SELECT text, n FROM _"],
      environment: ["NO_COLOR": "1", "PAGER": "tail -n 1; echo the pager ended"])
    #expect(try session.wait() == ExitCode.damaged.rawValue)
    let rows = session.all.rows
    let end = try #require(rows.firstIndex { $0.contains("the pager ended") }, "\(rows)")
    let report = try #require(rows.firstIndex { $0.hasPrefix("latewood: ") }, "\(rows)")
    #expect(end < report, "\(rows)")
  }

  @Test func `rows that do not fit on the screen go through the pager, and only these`() throws {
    let place = try Workplace()
    let lines = (0..<200).map { #"{"n":\#($0),"text":"\#(String(repeating: "x", count: 30))"}"# }
    try Repository.write(Array(lines.joined(separator: "\n").utf8), to: place("rows.json"))
    try #require(BuiltTool.run(["import", place("db"), place("rows.json")]).code == .success)
    func rows(_ text: String, pager: String?, columns: Int = 80) throws -> [String] {
      var environment: [String: String?] = ["NO_COLOR": "1"]
      environment["PAGER"] = .some(pager)
      let session = try TerminalSession(
        ["query", place("db"), text], columns: columns, environment: environment)
      #expect(try session.wait() == 0)
      return session.all.rows
    }
    let long = try rows("SELECT n FROM _ ORDER BY n", pager: "sed 's/^/paged: /'")
    #expect(long.first == "paged: n" && long.contains("paged: 199"), "\(long)")
    #expect(long.contains { $0.hasPrefix("paged: 200 rows in") })
    let short = try rows("SELECT n FROM _ ORDER BY n LIMIT 3", pager: "sed 's/^/paged: /'")
    #expect(short.prefix(4) == ["n", "0", "1", "2"], "\(short)")
    let wide = try rows(
      "SELECT text, text AS more FROM _ LIMIT 1", pager: "sed 's/^/paged: /'", columns: 50)
    #expect(wide.first?.hasPrefix("paged: text") == true, "\(wide)")
    for pager in ["", "cat"] {
      #expect(try rows("SELECT n FROM _ ORDER BY n", pager: pager).contains("199"))
    }
    // A user who leaves early ends the query without an error.
    #expect(try rows("SELECT n FROM _ ORDER BY n", pager: "head -n 2").prefix(2) == ["n", "0"])
  }
}
