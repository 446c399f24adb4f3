import LatewoodDevice
import Testing

@testable import LatewoodTool

/// `latewood import` of CSV: separators, and the types of columns.
@Suite struct CSVColumnTests {
  private func imported(
    _ text: String, _ options: [String] = [], name: String = "source.csv"
  ) throws -> (tool: ToolRun, result: ToolRun.Result) {
    let tool = try ToolRun()
    try CapturedRun.write(Array(text.utf8), to: "\(tool.directory)/\(name)")
    return (tool, try tool.run(["import", "@", "\(tool.directory)/\(name)", "--documents"] + options))
  }

  private func documents(
    _ text: String, _ options: [String] = [], name: String = "source.csv"
  ) throws -> [String] {
    let (tool, result) = try imported(text, options, name: name)
    #expect(result.code == .success, "\(result.error)")
    return try tool("export", "@", "--documents").lines
  }

  @Test func `a column is a number only if each of its cells keeps its text`() throws {
    let text = "zip,n,f,seen\n10115,1,0.5,true\n01067,-2,7,false\n,3,1e+20,\n"
    #expect(
      try documents(text) == [
        #"{"f":0.5,"n":1,"seen":true,"zip":"10115"}"#, #"{"f":7,"n":-2,"seen":false,"zip":"01067"}"#,
        #"{"f":1e+20,"n":3}"#,
      ])
    // Mixed cells are text, in any order.
    for text in ["a\n1\nx\n", "a\nx\n1\n"] { #expect(try !documents(text).contains(#"{"a":1}"#)) }
    #expect(try documents("a\ntrue\n1\n") == [#"{"a":"true"}"#, #"{"a":"1"}"#])
    #expect(try documents("a\n1\ntrue\n") == [#"{"a":"1"}"#, #"{"a":"true"}"#])
  }

  @Test func `the report names the cell that keeps a column of numbers from being one`() throws {
    let text = "title,zip,price\n1984,10115,1.25\nAlien,01067,1.5\nUp,1,1.50\n"
    let (_, result) = try imported(text)
    #expect(result.output.contains(#"The column "zip" is text: as a number, "01067" in line 3 would"#))
    #expect(result.output.contains(#"The column "price" is text: as a number, "1.50" in line 4 would"#))
    #expect(!result.output.contains(#""title" is text"#), "\(result.output)")
    #expect(result.output.contains("--columns NAME:number"))
    let (_, dates) = try imported("day,phone,version\n2026-11-27,030-1234,1.2.3\n2026-11-28,1-2,1.10.0\n")
    #expect(dates.code == .success && !dates.output.contains("is text"), "\(dates.output)")
  }

  @Test func `declared columns have their type, and a cell that does not fit is refused`() throws {
    let text = "zip,n,ok\n10115,007,TRUE\n1,1.50,false\n"
    let options = ["--columns", "zip:text,n:number,ok:boolean"]
    #expect(
      try documents(text, options) == [
        #"{"n":7,"ok":true,"zip":"10115"}"#, #"{"n":1.5,"ok":false,"zip":"1"}"#,
      ])
    let forms = "a\n+1\n.5\n2.\n-007\n-0\n1E7\n"
    #expect(
      try documents(forms, ["--columns", "a:number"]) == [
        #"{"a":1}"#, #"{"a":0.5}"#, #"{"a":2}"#, #"{"a":-7}"#, #"{"a":0}"#, #"{"a":10000000}"#,
      ])
    let wrong = ["x", "1e999", "--1", ".", "-.", "+.", "+", "+-5", "-+5", ".5.", "1e5.", "5..", "+.e5"]
    for (cell, type) in wrong.map({ ($0, "number") }) + [("1", "boolean")] {
      let (tool, result) = try imported("b,a\n,\n1,\(cell)\n", ["--columns", "a:\(type)"])
      #expect(result.code == .badInput && result.error.contains("line 3, column 3"), "\(result.error)")
      #expect(result.error.contains("is not a \(type), and the column \"a\" is of this type"))
      if try FileVolume().exists(tool.path) { #expect(try tool("doc", "list", "@").output.isEmpty) }
    }
    #expect(
      try documents("a:b,\"c,d\"\n1,2\n", ["--columns", #"a:b:text,c\,d:text"#]) == [
        #"{"a:b":"1","c,d":"2"}"#
      ])
  }

  @Test(arguments: [
    ("a", "Write the name of a column, a colon"), ("a:integer", "Write the name of a column, a colon"),
    (":text", "Write the name of a column, a colon"), ("a:text,a:number", "twice"),
    ("b:text", "The columns are \"a\", \"x\"; cells are separated by commas"),
  ])
  func `a wrong list of columns is refused with advice`(columns: String, advice: String) throws {
    let (tool, result) = try imported("a,x\n1,2\n", ["--columns", columns])
    #expect(result.code == .usage && result.error.contains(advice), "\(result.error)")
    #expect(try !FileVolume().exists(tool.path))
  }

  @Test func `separators are recognized or chosen, and the report names them`() throws {
    let expected = [#"{"a":1,"b c":"x,y"}"#]
    #expect(try documents("a\tb c\n1\tx,y\n") == expected)
    #expect(try documents("a;b c\n1;x,y\n", ["--separator", ";"]) == expected)
    #expect(try documents("a|b c\n1|\"x,y\"\n", ["--separator", "|"]) == expected)
    #expect(try documents("a\tb c\n1\tx,y\n", name: "source.TSV") == expected)
    #expect(try documents("a,x\tb c\n1,2\t3\n", ["--separator", "tab"]) == [#"{"a,x":"1,2","b c":3}"#])
    #expect(try documents("a\nx\ty\n") == [#"{"a":"x\ty"}"#])
    let (_, tabs) = try imported("a\tb\n1\t2\n")
    #expect(tabs.output.hasPrefix("Imported 1 value (csv, separated by tabs)"), "\(tabs.output)")
    let (_, wrong) = try imported("a;b\n1;2\n")
    #expect(wrong.code == .badInput && wrong.error.contains("--separator ';'"), "\(wrong.error)")
    for text in ["\"a\";\"b\"\n1;2\n", "\"a\"|b\n1|2\n"] {
      let (_, quoted) = try imported(text)
      let other = text.contains(";") ? ";" : "|"
      #expect(quoted.code == .badInput && quoted.error.contains("--separator '\(other)'"), "\(quoted.error)")
    }
    for separator in ["", ";;", "\"", "é", "\n"] {
      let (_, result) = try imported("a,b\n1,2\n", ["--separator", separator])
      #expect(result.code == .usage, "\(separator)")
    }
  }
}
