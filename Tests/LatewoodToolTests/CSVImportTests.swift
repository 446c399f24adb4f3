import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodTool

/// `latewood import --documents` of CSV.
@Suite struct CSVImportTests {
  private func imported(
    _ text: [UInt8], _ options: [String] = ["--documents"], name: String = "source.csv"
  ) throws -> (tool: ToolRun, result: ToolRun.Result) {
    let tool = try ToolRun()
    try CapturedRun.write(text, to: "\(tool.directory)/\(name)")
    return (tool, try tool.run(["import", "@", "\(tool.directory)/\(name)"] + options))
  }

  private func records(
    _ text: [UInt8], _ types: CSVFormat.Types = .infer, piece: Int = 65536, recordLimit: Int = 1 << 20
  ) throws -> [String] {
    var records = try CSVRecords(CSVFormat(types: types), recordLimit: recordLimit) {
      try TextWindow(text, pieceLength: piece)
    }
    var (list, element): ([String], [UInt8]) = ([], [])
    while try records.next(into: &element) { list.append(String(decoding: element, as: UTF8.self)) }
    #expect(records.count == list.count)
    return list
  }

  @Test func `each record becomes a document with the members of the header`() throws {
    let text = "title,year,rating,seen\r\nAlien,1979,8.5,true\r\n\r\n\"Up, \"\"up\"\"\",2009,,false"
    let (tool, result) = try imported(Array(text.utf8), ["--documents", "--id", "title"])
    #expect(result.code == .success && result.output.hasPrefix("Imported 2 values (csv)"), "\(result.error)")
    #expect(result.code == .success)
    #expect(
      try tool("doc", "get", "@", "Alien").output
        == #"{"rating":8.5,"seen":true,"title":"Alien","year":1979}"# + "\n")
  }

  @Test func `quotes, line breaks and empty cells follow RFC 4180`() throws {
    let text = "\u{FEFF}a,\"b \"\"c\"\"\",d\n\"x\ny\",\"\"\"\",\r\n\" 1\",,\"1,5\"\n\n,,\n"
    let expected = [#"{"a":"x\ny","b \"c\"":"\""}"#, #"{"a":" 1","d":"1,5"}"#, "{}"]
    for piece in [3, 4, 7, 65536] { #expect(try records(Array(text.utf8), piece: piece) == expected) }
    #expect(try records(Array("a\n1".utf8)) == [#"{"a":1}"#])
    #expect(try records(Array("a".utf8)).isEmpty && records(Array("a\r\n".utf8)).isEmpty)
    #expect(try records(Array("\"a;b\"\n1".utf8)) == [#"{"a;b":1}"#])
  }

  @Test(
    arguments: [
      ("0", true), ("-1", true), ("1.5", true), ("-0.5", true), ("1e+20", true), ("5e-324", true),
      ("true", true),
      ("false", true), ("1.50", false), ("1e3", false), ("-0.5E-2", false), ("1E7", false), ("0E8", false),
      ("-0", false), ("1.0", false), ("1e-400", false), ("9007199254740993.0", false),
      ("0.1000000000000000055511151231257827", false), ("18446744073709551615", true),
      ("-9223372036854775808", true),
      ("18446744073709551616", false), ("-9223372036854775809", false), ("1e999", false), ("007", false),
      ("+1", false), (".5", false), ("1.", false), ("1e", false), ("1 ", false), ("0x10", false),
      ("TRUE", false), ("null", false), ("nan", false), ("-", false), ("1_000", false), ("1,5", false),
    ])
  func `a cell becomes a number or Boolean only if it is printed the same way`(
    cell: String, isValue: Bool
  )
    throws
  {
    let text = Array("a\n\"\(cell)\"\n".utf8)
    #expect(try records(text) == [isValue ? #"{"a":\#(cell)}"# : #"{"a":"\#(cell)"}"#])
    #expect(try records(text, .text) == [#"{"a":"\#(cell)"}"#])
    let (tool, result) = try imported(text)
    #expect(result.code == .success, "\(result.error)")
    // The values in the database have the same text.
    let exported = try tool("export", "@", "--documents").output
    #expect(exported == (isValue ? "{\"a\":\(cell)}\n" : "{\"a\":\"\(cell)\"}\n"))
  }

  @Test(
    arguments: [
      ("", "line 1, column 1: the header is missing", "title,year"),
      ("\n\n", "line 3, column 1: the header is missing", "title,year"),
      ("a,,b\n", "line 1, column 3: column 2 has no name", "all columns"),
      ("a,b,a\n", "line 1, column 5: column 3 has the name of column 1", "Rename one"),
      ("a,_id\n", "line 1, column 3: the name \"_id\" is reserved", "--id"),
      ("a;b\n1;2\n", "line 1, column 1: the header names one column", "commas"),
      ("a,b\n1,2\n1\n", "line 3, column 1: the record ends after 1 cell", "missing cells"),
      ("a,b\n1,2,3\n", "line 2, column 5: this is cell 3, and the header names 2 columns", "quotes"),
      ("a,b\n1,2,\n", "line 2, column 5: this is cell 3", "quotes"),
      ("a,b\né,x\"y\"\n", "line 2, column 4: a quote stands inside a cell", "twice"),
      ("a,b\n\"x\"y,1\n", "line 2, column 4: y follows a cell in quotes", "comma"),
      ("a,b\n1,2\n\n3,\"x\ny\n", "line 4, column 3: the quote that begins here is not closed", "Close it"),
      ("a,b\n1,2\r3,4\n", "line 2, column 5: a carriage return without", "CR LF"),
    ])
  func `a failure reports its position with advice, and keeps no documents`(
    text: String, message: String, advice: String
  ) throws {
    let (tool, result) = try imported(Array(text.utf8))
    #expect(result.code == .badInput && result.output.isEmpty)
    #expect(result.error.contains("source.csv, ") && result.error.contains(advice), "\(result.error)")
    let error = result.error.replacing("'", with: "\"")
    #expect(
      error.contains(message) || error.contains(message.replacing("y stands", with: "\"y\" stands")),
      "\(error)")
    if try FileVolume().exists(tool.path) {
      #expect(try tool("doc", "list", "@").output.isEmpty)
    }
  }

  @Test func `a cell that is not UTF-8 is refused with its position`() throws {
    let (_, result) = try imported(Array("a,b\n1,".utf8) + [0xE9, 0x74] + Array("\n".utf8))
    #expect(result.code == .badInput && result.error.contains("line 2, column 3: this cell is not UTF-8"))
    #expect(result.error.contains("iconv"))
  }

  @Test func `a failing batch is not kept, but the batches before it are`() throws {
    let good = (0..<1500).map { "\($0),x" }.joined(separator: "\n")
    let text = Array("n,t\n\(good)\n1,2,3\n".utf8)
    let (tool, result) = try imported(text, ["--documents", "--types", "text"])
    #expect(result.code == .badInput && result.error.contains("line 1502, column 5"), "\(result.error)")
    #expect(result.error.contains("1,000 values before it are in the database"))
    #expect(try tool("doc", "list", "@").lines.count == 1000)
    try tool.expectSound()
    // Where types are inferred, the text is read before anything is saved.
    let (other, refused) = try imported(text)
    #expect(refused.code == .badInput && refused.error.contains("line 1502, column 5"), "\(refused.error)")
    #expect(try !FileVolume().exists(other.path))
  }

  @Test func `records are limited in size, so an open quote does not fill memory`() throws {
    func length(_ count: Int) throws -> Int {
      try records(Array("a\n\"\(String(repeating: "x", count: count))\"\n".utf8), recordLimit: 100).count
    }
    #expect(try length(97) == 1)
    for count in [98, 99, 5_000] {
      let failure = #expect(throws: Failure.self) { try length(count) }
      #expect(failure?.line == 2 && failure?.column == 1)
    }
    let columns = (0...CSVRecords.columnLimit).map(String.init)
    #expect(throws: Failure.self) { try records(Array(columns.joined(separator: ",").utf8)) }
    #expect(try records(Array(columns.dropLast().joined(separator: ",").utf8)).isEmpty)
  }

  @Test func `the format is taken from the name or an option, and is for documents`() throws {
    let text = Array("a,b\n1,2\n".utf8)
    try #expect(imported(text, ["--documents"], name: "T.CSV").result.code == .success)
    try #expect(imported(text, ["--documents", "--format", "csv"], name: "t").result.code == .success)
    for (options, name, part) in [
      (["--entries"], "t.csv", "Leave out --entries"), (["--key", "a"], "t.csv", "--key"),
      (["--format", "csv", "--entries"], "t", "do not go together"),
      (["--documents", "--types", "text"], "t", "--format csv"),
      (["--documents", "--separator", ";"], "t", "--format csv"),
      (["--documents", "--columns", "a:text"], "t", "--format csv"),
      (["--documents", "--at", "a"], "t.csv", "--at"),
    ] {
      let result = try imported(text, options, name: name).result
      #expect(result.code == .usage && result.error.contains(part), "\(result.error)")
    }
    let (tool, result) = try imported(
      Array("n\n007\n8\n".utf8), ["--documents", "--types", "text", "--json"])
    #expect(result.output.contains(#""format":"csv","values":2,"added":2"#))
    #expect(try tool("export", "@", "--documents").output == "{\"n\":\"007\"}\n{\"n\":\"8\"}\n")
  }

  @Test func `no input traps the reader, and its output is always JSON`() throws {
    let seed = SeededRandom(seed: SeededRandom.seed())
    var random = seed
    let alphabet = Array("ab,,\"\"\n\n\r1.e-;\t".utf8) + [0xC3, 0xA9, 0xFF, 0, 0xEF, 0xBB, 0xBF]
    var read = 0
    for _ in 0..<3_000 {
      let text = Array("a,b\nx,".utf8) + random.bytes(24).map { alphabet[Int($0) % alphabet.count] }
      do {
        // Types that are inferred need a text that is valid to its end.
        let types: CSVFormat.Types = random.oneIn(2) ? .infer : .text
        var records = try CSVRecords(CSVFormat(types: types)) { try TextWindow(text, pieceLength: 1) }
        var record: [UInt8] = []
        while try records.next(into: &record) {
          #expect(JSON.compact(record) != nil, "\(seed.replay)")
          read += 1
        }
      } catch {
        let failure = Failure(error)
        #expect(failure.code == "invalidCSV" && failure.line != nil && !failure.advice.isEmpty)
      }
    }
    #expect(read > 10)
  }
}
